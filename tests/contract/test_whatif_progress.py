"""How far a prediction is: each of its stages is told from its first window or trace to its last."""

from __future__ import annotations

from pathlib import Path

import pytest
from apart import Apart
from history import History
from test_windows import in_small_chunks

from vprof.jobs.tasks import Progress
from vprof.trace.sources import Source, open_sources
from vprof.variance.analysis import AnalysisOptions
from vprof.whatif.changes import parse
from vprof.whatif.model import REPLAY, SIMULATION, Model
from vprof.whatif.prediction import Replays, load, rank

OPTIONS = AnalysisOptions(k=3, min_share=0.01, force=True)


class Told:
    """What was told of each stage, in order."""

    def __init__(self) -> None:
        self.stages: list[tuple[str, list[float]]] = []

    def __call__(self, stage: str) -> Progress:
        parts: list[float] = []
        self.stages.append((stage, parts))
        return parts.append

    def names(self) -> list[str]:
        """REQUIRES: each stage grew until it was done."""
        for stage, parts in self.stages:
            assert parts == sorted(parts), stage
            assert parts[-1:] == [1.0], stage
        return [stage for stage, _ in self.stages]


def sources(folder: Path, count: int, jobs: Apart | None = None, records: int = 40) -> list[Source]:
    paths = []
    for i in range(count):
        writer = in_small_chunks(History(20 + i, 4, 400, holds=True).writer, i)
        writer.cpus = 2
        paths.append(writer.save(folder / f"{i}.trace"))
    return open_sources(paths, None, records, jobs=jobs)


@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize("parts", [None, 4])
def test_a_prediction_tells_how_far_it_is(tmp_path: Path, count: int, parts: int | None) -> None:
    jobs, told = parts and Apart(parts), Told()
    loads = load(sources(tmp_path, count, jobs or None), OPTIONS)
    replays = Replays(loads, Model(way=REPLAY), jobs or None, told)
    replays.predict([parse("site 3=constant")], factors=False)
    assert told.names()[-2:] == ["measuring", "replaying"]
    by_window = count == 1 or parts is None
    steps = sum(source.size for source in loads.sources) if by_window else count
    assert [len(parts) for _, parts in told.stages[-2:]] == [steps, steps]
    assert not by_window or steps > 5


@pytest.mark.parametrize("parts", [None, 4])
def test_factors_and_simulations_have_stages_of_their_own(tmp_path: Path, parts: int | None) -> None:
    jobs, told = parts and Apart(parts), Told()
    loads = load(sources(tmp_path, 2, jobs or None, records=2000), OPTIONS)
    Replays(loads, Model(way=SIMULATION), jobs or None, told).predict([parse("site 3=0.5")])
    names = told.names()
    assert names[-4:] == ["replaying", "simulating", "analyzing", "analyzing"]
    assert ("loading" in names) == (parts is None)


def test_a_ranking_begins_with_an_analysis(tmp_path: Path) -> None:
    told = Told()
    rank(sources(tmp_path, 1), OPTIONS, stages=told)
    assert told.names()[0] == "analyzing"
    assert "replaying" in told.names()
