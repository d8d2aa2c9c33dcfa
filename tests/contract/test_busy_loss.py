"""Records are lost where most happens: then the slow intervals are missing, and a ranking would be wrong.

Above 1 % of the intervals or of their variance a ranking carries a warning, above 10 % there is none unless forced.
"""

from __future__ import annotations

import json
import subprocess
from importlib.resources import files
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from jsonschema import Draft202012Validator
from test_real_runtime import build
from tuples import Load
from writer import Writer

from vprof.commands.analyze import command
from vprof.errors import VprofError
from vprof.installed import native
from vprof.session.owned import Session
from vprof.session.plan import Plan
from vprof.variance.analysis import AnalysisOptions, analyze

BUSY, ALL = 3, 83


def record(folder: Path, how: str) -> Path:
    """A run of busy.c with rings of 4096 records: what its quiet intervals write fits into one."""
    program, output, directory = build(folder, "busy.c"), folder / "run.trace", folder / "arena" / "session"
    directory.parent.mkdir()
    start = [native("lib/vprof/vprof-collector"), "--session", directory, "--output", output, "--hold"]
    collector = subprocess.Popen([*map(str, start), "--ring-bytes", "65536"], stdout=subprocess.PIPE, text=True)
    assert collector.stdout is not None
    assert collector.stdout.readline() == "ready\n"
    with Session(directory, collector) as session:
        process = subprocess.Popen([program, how], env=session.environment())
        session.attend(process, Plan.of(["*"]))
        session.stop()
    return output


def run(*options: object) -> Result:
    return CliRunner().invoke(command, [str(option) for option in options])


def test_when_the_slow_intervals_are_lost_there_is_no_ranking_unless_forced(tmp_path: Path) -> None:
    trace = record(tmp_path, "slow")
    refused = run(trace)
    assert isinstance(refused.exception, VprofError)
    assert f"{BUSY} of {ALL} intervals touch lost records and were left out, with " in refused.output
    assert "no ranking (record with larger rings or a smaller plan, or insist with --force)" in " ".join(
        refused.output.split()
    )
    report = json.loads(run(trace, "--format", "json").output)
    schema = files("vprof.report") / "schemas" / "vprof-analysis-1.json"
    Draft202012Validator(json.loads(schema.read_text(encoding="utf-8"))).validate(report)
    assert (report["factors"], report["next"]) == ([], [])
    assert report["intervals"]["excluded"] == {"touches lost records": BUSY}
    assert report["loss"]["dropped"] > 0
    assert report["loss"]["lost_share"] > 0.5
    with pytest.raises(VprofError, match="no ranking"):
        raise run(trace, "--explain", "quiet").exception or AssertionError("explained")

    forced = json.loads(run(trace, "--format", "json", "--force", "--min-share", -9).output)
    assert forced["factors"] != []
    assert forced["warnings"][-1].endswith("the ranking is biased")


def test_when_those_lost_are_like_the_others_the_ranking_carries_a_warning(tmp_path: Path) -> None:
    trace = record(tmp_path, "alike")
    done = run(trace, "--format", "json")
    assert done.exception is None
    report = json.loads(done.output)
    assert report["intervals"]["excluded"] == {"touches lost records": BUSY}
    assert 0.01 < report["loss"]["lost_share"] <= 0.10
    assert report["factors"][0]["functions"] == ["[queue]"]
    [warning] = [line for line in report["warnings"] if "lost records" in line]
    assert warning.startswith(f"{BUSY} of {ALL} intervals touch lost records")


@pytest.mark.parametrize(
    ("lost", "latency", "said"),
    [
        (0, 0, "nothing"),
        (9, 150, "nothing"),
        (11, 150, "a warning"),
        (1, 450, "a warning"),
        (1, 1200, "refused"),
        (112, 150, "refused"),
    ],
)
def test_the_worse_of_count_and_variance_decides(load: Load, lost: int, latency: int, said: str) -> None:
    """1000 intervals of 100 or 200 ns, and some more of which records are missing."""
    writer = Writer()
    thread = writer.thread(1)
    now = 0
    for i in range(1000 + lost):
        now += 1_000
        ns = latency if i >= 1000 else 100 + 100 * (i % 2)
        thread.begin(i + 1, now)
        thread.invocation(7, now + 1, now + ns - 1)
        if i >= 1000:
            thread.lost(now + 2, now + 3, count=50)
        now += ns
        thread.end(i + 1, now)
    analysis = analyze(load(writer))
    assert analysis.excluded == ({"touches lost records": lost} if lost else {})
    found = "refused" if analysis.refused else "a warning" if analysis.warnings else "nothing"
    assert found == said
    assert bool(analysis.ranking) == (said != "refused")
    forced = analyze(analysis.trace, AnalysisOptions(force=True))
    assert forced.ranking and bool(forced.warnings) == (said != "nothing")
