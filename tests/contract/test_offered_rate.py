"""A load that begins requests at a rate of its own: the trace says so, and predictions hold for such a load."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from writer import Writer, function, unit

from vprof.cli import root
from vprof.report.recorded import said
from vprof.session.about import About
from vprof.session.owned import Session
from vprof.tables.model import Recorded
from vprof.trace.chunks import read_chunks
from vprof.whatif.model import Model


@pytest.mark.parametrize("rate", [150.0, 0.25, None])
def test_the_collector_writes_it_into_each_file_of_a_session(tmp_path: Path, rate: float | None) -> None:
    files = [tmp_path / f"{n}.trace" for n in range(2)]
    with Session.start(files[0], about=About(offered_rate=rate)) as session:
        session.rotate(files[1])
        session.stop()
    assert [read_chunks(file).of("session")[0].get("offered_rate") for file in files] == [rate] * 2


def served(path: Path, rate: float | None) -> Path:
    writer = Writer()
    writer.offered_rate = rate
    writer.unit(unit([function("serve", 0), function("work", 1)]))
    worker = writer.thread(1)
    for k in range(4):
        begin = 1000 * (k + 1)
        worker.begin(k + 1, begin)
        worker.invocation(65, begin + 10, begin + 500 + 50 * k)
        worker.end(k + 1, begin + 600 + 50 * k)
    writer.save(path)
    return path


def is_open(*words: object) -> bool:
    done = CliRunner().invoke(root, ["whatif", *map(str, words), "--change", "work=0.5", "--format", "json"])
    assert done.exit_code == 0, done.output or done.exception
    found: dict[str, Any] = json.loads(done.output)
    assert ("requests arrive when they did" in found["model"]) == found["open"]
    return bool(found["open"])


def test_predictions_hold_for_the_load_that_there_was_unless_somebody_says_otherwise(tmp_path: Path) -> None:
    """Under a rate, who is done sooner does not ask sooner: else a replay has them wait for one another ever longer."""
    offered, asked = served(tmp_path / "offered.trace", 150.0), served(tmp_path / "asked.trace", None)
    assert is_open(offered)
    assert not is_open(asked)
    assert not is_open(offered, "--closed")
    assert is_open(asked, "--open")
    assert not is_open(offered, asked)


def test_a_model_is_settled_by_all_recordings() -> None:
    rate, none = Recorded(offered_rate=2.5), Recorded()
    assert [Model().settled(told).is_open for told in ([rate, rate], [rate, none], [none], [])] == [True] + 3 * [False]
    assert [Model(is_open=given).settled([rate]).is_open for given in (True, False)] == [True, False]


def test_reports_say_which_load_there_was() -> None:
    assert said([Recorded(offered_rate=150.0)]) == {"load": ["150 a second, answered or not"]}
    assert said([Recorded()]) == {}
