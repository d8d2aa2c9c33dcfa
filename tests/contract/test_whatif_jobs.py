"""Predictions that are shared out are the same to the last bit, in whatever order parts come.

Here tasks run in this process (tests/shared/apart.py), in test_jobs_cluster.py in Dask's.
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

from apart import Apart
from history import History
from properties import seeds
from test_windows import disturbed, in_small_chunks

from vprof.errors import VprofError
from vprof.jobs.tasks import Jobs
from vprof.report.json import analysis_json
from vprof.trace.sources import open_sources
from vprof.variance.analysis import Analysis, AnalysisOptions
from vprof.whatif.changes import NODES, parse
from vprof.whatif.model import SIMULATION, USUAL, Model
from vprof.whatif.prediction import Found, Prediction, Ranking, Replays, load, rank

HOW = ("0.5", "0", "3", "constant", "median", "-20ns", "+5ns")
OPTIONS = AnalysisOptions(k=3, min_share=0.01, force=True)


def foretold(paths: list[Path], records: int, texts: list[str], model: Model = USUAL, jobs: Jobs | None = None) -> Any:
    """All that reports tell of some changes: latencies, figures, factors afterwards, and of each change alone."""
    replays = Replays(load(open_sources(paths, None, records, jobs=jobs), OPTIONS), model, jobs)
    found = [_prediction(replays, texts, factors) for factors in (False, True)]
    return [*found, [_found(one) for one in replays.outcomes([[parse(text)] for text in texts])]]


def ranked(paths: list[Path], records: int, jobs: Jobs | None = None) -> Any:
    try:
        return _ranking(rank(open_sources(paths, None, records, jobs=jobs), OPTIONS, jobs=jobs))
    except VprofError as error:
        return f"{type(error).__name__}: {error}"


def _prediction(replays: Replays, texts: list[str], factors: bool) -> Any:
    try:
        found = replays.predict([parse(text) for text in texts], factors)
    except VprofError as error:
        return f"{type(error).__name__}: {error}"
    return _told(found)


def _told(found: Prediction) -> Any:
    analyses = [_analysis(one) for one in (found.now, found.then)]
    return [_found(found.found), found.ids, found.latency_ns.tobytes(), found.warnings, *analyses]


def _analysis(one: Analysis | None) -> Any:
    return one and analysis_json(one)


def _found(one: Found | str) -> Any:
    """To the last bit."""
    if isinstance(one, str):
        return one
    figures = [repr(figure) for figure in one.outcome.figures]
    rest = (one.way, one.why_replay, repr(one.nearness), one.doubt, one.told, one.outcome.no_ci95)
    return one.rows.tobytes(), one.predicted_ns.tobytes(), figures, rest


def _ranking(ranking: Ranking) -> Any:
    found = [one.found and _found(one.found) for one in ranking.tried]
    return analysis_json(ranking.analysis), found, [(one.why_not, str(one.changes)) for one in ranking.tried]


def some_changes(rng: random.Random) -> list[str]:
    """Of functions of a history, and of a node."""
    texts = [f"site {number}={rng.choice(HOW)}" for number in rng.sample(range(1, 8), rng.randint(1, 2))]
    return [*texts, f"{rng.choice(NODES)}={rng.choice(HOW)}"] if rng.random() < 0.4 else texts


@seeds(5)
def test_tasks_give_the_bits_of_one_process(seed: int, tmp_path: Path) -> None:
    """Of a trace with losses and flips, of which windows are read apart, and of three, which are a task each."""
    rng = random.Random(seed)
    several = [in_small_chunks(History(seed + i, 3, 200, holds=i == 1).writer, i) for i in range(3)]
    alone = disturbed(History(seed, 3, 300).writer, seed)
    paths = [writer.save(tmp_path / f"{i}.trace") for i, writer in enumerate([alone, *several])]
    for some in (paths[:1], paths[1:]):
        texts, model = some_changes(rng), Model(rng.random() < 0.5)
        records, parts = rng.randint(5, 80), rng.randint(1, 9)
        here = foretold(some, records, texts, model)
        assert foretold(some, records, texts, model, Apart(parts, seed)) == here
        assert ranked(some, records, Apart(parts, seed)) == ranked(some, records)
        assert not isinstance(here[0], str) or some == paths[:1] or "[" in str(texts), "all functions are called"


def test_simulations_are_made_in_tasks(tmp_path: Path) -> None:
    """Each trace in one."""
    paths = []
    for i in range(2):
        writer = in_small_chunks(History(20 + i, 4, 400, holds=True).writer, i)
        writer.cpus = 2
        paths.append(writer.save(tmp_path / f"{i}.trace"))
    model = Model(way=SIMULATION)
    here = foretold(paths, 2000, ["site 3=0.5"], model)
    assert here[0][0][3][0] == SIMULATION
    assert foretold(paths, 2000, ["site 3=0.5"], model, Apart(3, 1)) == here
