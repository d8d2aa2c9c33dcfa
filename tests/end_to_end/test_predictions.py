"""Predictions from recorded runs of minidb: nothing moves without a change, and what is planted is what would be
gained."""

from pathlib import Path

import numpy as np
import pytest
from verbs import printed, report

from vprof.trace.loading import load_trace
from vprof.trace.sources import Loaded, open_sources
from vprof.trace.window import WHOLE
from vprof.variance.analysis import AnalysisOptions
from vprof.whatif.changes import parse
from vprof.whatif.model import MODEL_ERROR, REPLAY, SIMULATION, USUAL, Model
from vprof.whatif.prediction import Replays, load
from vprof.whatif.retimed import Clock, retimed
from vprof.whatif.scales import Totals
from vprof.whatif.windows import Looks, Replay

PLANTED = {"wal": "wal_compress_block", "lock": "audit_checksum", "lru": "lru_evict_scan", "workers": "history_scan"}


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With a trace for each pathology. Who has a row where nobody waits for it, only the program can tell."""
    folder = tmp_path_factory.mktemp("minidb")
    printed(folder, "instrument", "--target", "minidb")
    for name in PLANTED:
        record = ["record", "--target", "minidb", "--sites", "all", "--seconds", 2, "-o", f"{name}.trace"]
        record += ["--locks"] if name == "lock" else []
        printed(folder, *record, "--", "--pathology", name, "--seed", 7)
    return folder


@pytest.mark.parametrize("name", PLANTED)
def test_without_a_change_a_recorded_run_comes_out_as_it_was(runs: Path, name: str) -> None:
    trace = load_trace(runs / f"{name}.trace")
    run = Replay(0, Loaded(trace), [Totals([])], [False], USUAL)
    built, times = run.add(Looks(Loaded(trace), [[]]).read(trace, WHOLE), WHOLE)
    begin, end = (new[0].astype(np.int64) + run.origin for new in (run.begin, run.end))
    same = retimed(trace, Clock(built.moments, times[0]), begin, end)
    for table in ("segments", "invocations", "wakeups", "created", "intervals"):
        for column, values in vars(getattr(trace, table)).items():
            assert np.array_equal(values, getattr(getattr(same, table), column)), (table, column)
    found = Replays(load([Loaded(trace)], AnalysisOptions())).predict([], factors=False)
    assert np.array_equal(found.latency_ns, found.predicted_ns)


@pytest.mark.parametrize("name", PLANTED)
@pytest.mark.parametrize("model", [Model(way=REPLAY), Model(is_open=True, way=REPLAY)], ids=["closed", "open"])
@pytest.mark.parametrize("records", [700, 4321])
def test_windows_change_nothing(runs: Path, name: str, records: int, model: Model) -> None:
    path, options = runs / f"{name}.trace", AnalysisOptions()
    whole = Replays(load(open_sources([path], None, 0), options), model)
    sources = open_sources([path], None, records)
    assert sources[0].size > 3
    windows = Replays(load(sources, options), model)
    of_planted = [f"{PLANTED[name]}={how}" for how in ("constant", "median", "-100us", "2")]
    texts = [*of_planted, "serve_txn=0.5", "[sched]=0", "[disk]=constant", "[unknown]=0.5"]
    variants = [[parse(text)] for text in texts]
    for text, one, other in zip(texts, whole.outcomes(variants), windows.outcomes(variants), strict=True):
        if isinstance(one, str) or isinstance(other, str):
            assert one == other, text
        else:
            assert other.predicted_ns == pytest.approx(one.predicted_ns, abs=1e-3), text


@pytest.mark.parametrize("name", PLANTED)
def test_without_what_is_planted_latencies_are_shorter(runs: Path, name: str) -> None:
    found = report(runs, "whatif", f"{name}.trace", "--change", f"{PLANTED[name]}=0", "--no-factors")
    assert found["figures"]["mean"]["ratio"] < 0.9
    assert found["figures"]["throughput"]["ratio"] > 1


@pytest.mark.parametrize("name", PLANTED)
def test_a_simulation_is_like_the_run(runs: Path, name: str) -> None:
    """Its mean lies near the recorded one also on a busy machine: waits for a CPU that others took stay."""
    found = report(
        runs, "whatif", f"{name}.trace", "--change", f"{PLANTED[name]}=0", "--no-factors", "--model", SIMULATION
    )
    assert found["way"] == SIMULATION
    assert found["nearness"]["mean"] == pytest.approx(1, abs=0.4)
    assert found["figures"]["mean"]["ratio"] < 0.8


@pytest.mark.quiet_cpus  # else most of the variance may be waiting for a CPU, which stays
@pytest.mark.parametrize("name", ["wal", "lock", "lru"])
def test_what_is_planted_is_what_would_be_gained(runs: Path, name: str) -> None:
    """Its callers would gain as much, by it: what is predicted of both may differ by the model's error."""
    found = report(runs, "whatif", f"{name}.trace", "--rank")
    ratios = {tuple(one["changes"]): one["figures"]["variance"]["ratio"] for one in found["tried"] if one["figures"]}
    planted = min(ratios[f"{PLANTED[name]}={change}",] for change in ("constant", "0.5"))
    assert planted < 0.7
    assert planted < min(ratios.values()) + sum(MODEL_ERROR[found["way"]]["variance"])
