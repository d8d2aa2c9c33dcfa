"""Predictions from recorded runs of minidb: nothing moves without a change, and what is planted is what would be
gained."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from patience import PATIENCE_SECONDS

from vprof.trace.loading import load_trace
from vprof.trace.sources import Loaded, open_sources
from vprof.trace.window import WHOLE
from vprof.variance.analysis import AnalysisOptions
from vprof.whatif.afterwards import Ranked
from vprof.whatif.changes import parse
from vprof.whatif.model import CPU_SCALED, USUAL, Model
from vprof.whatif.prediction import Replays, load
from vprof.whatif.retimed import retimed
from vprof.whatif.scales import Totals
from vprof.whatif.windows import Replay

PLANTED = {"wal": "wal_compress_block", "lock": "audit_checksum", "lru": "lru_evict_scan", "workers": "history_scan"}


def vprof(cwd: Path, *arguments: object) -> str:
    command = [sys.executable, "-c", "from vprof.cli import main; main()", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_SECONDS, cwd=cwd)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With a trace for each pathology."""
    folder = tmp_path_factory.mktemp("minidb")
    vprof(folder, "instrument", "--target", "minidb")
    for name in PLANTED:
        record = ["record", "--target", "minidb", "--sites", "all", "--seconds", 2, "-o", f"{name}.trace"]
        vprof(folder, *record, "--", "--pathology", name, "--seed", 7)
    return folder


@pytest.mark.parametrize("name", PLANTED)
def test_without_a_change_a_recorded_run_comes_out_as_it_was(runs: Path, name: str) -> None:
    trace = load_trace(runs / f"{name}.trace")
    run = Replay(0, Loaded(trace), [Totals([])], [False], USUAL)
    run.add(trace, WHOLE)
    begin, end = (times[0].astype(np.int64) + run.origin for times in (run.begin, run.end))
    same, _ = retimed(trace, run.clock(0), begin, end)
    for table in ("segments", "invocations", "wakeups", "created", "intervals"):
        for column, values in vars(getattr(trace, table)).items():
            assert np.array_equal(values, getattr(getattr(same, table), column)), (table, column)
    found = Replays(load([Loaded(trace)], AnalysisOptions())).predict([], factors=False)
    assert np.array_equal(found.latency_ns, found.predicted_ns)


@pytest.mark.parametrize("name", PLANTED)
@pytest.mark.parametrize(("records", "model"), [(700, USUAL), (5000, USUAL), (2000, Model(True, CPU_SCALED))])
def test_windows_change_nothing(runs: Path, name: str, records: int, model: Model) -> None:
    path, options = runs / f"{name}.trace", AnalysisOptions()
    of_planted = (f"{PLANTED[name]}={how}" for how in ("constant", "median", "-100us", "2"))
    for change in (*of_planted, "serve_txn=0.5", "[sched]=0", "[disk]=constant"):
        whole = Replays(load(open_sources([path], None, 0), options), model).predict([parse(change)])
        sources = open_sources([path], None, records)
        assert sources[0].size > 3
        found = Replays(load(sources, options), model).predict([parse(change)])
        assert found.predicted_ns == pytest.approx(whole.predicted_ns, abs=1e-3)
        check_alike(found.now, whole.now, 1e-9)
        check_alike(found.then, whole.then, 0.02)


def check_alike(found: Ranked | None, whole: Ranked | None, by: float) -> None:
    """All factors of some size have the same shares, but for so much."""
    assert found and whole
    shares = [{tuple(f.functions): f.share for f in one.ranking} for one in (found, whole)]
    for names in {name for one in shares for name, share in one.items() if share > 0.05}:
        assert shares[0].get(names, 0) == pytest.approx(shares[1].get(names, 0), abs=by), names


@pytest.mark.parametrize("name", PLANTED)
def test_without_what_is_planted_latencies_are_shorter(runs: Path, name: str) -> None:
    words = ["whatif", f"{name}.trace", "--change", f"{PLANTED[name]}=0", "--no-factors", "--format", "json"]
    found: dict[str, Any] = json.loads(vprof(runs, *words))
    assert found["figures"]["mean"]["ratio"] < 0.9
    assert found["figures"]["throughput"]["ratio"] > 1


@pytest.mark.quiet_cpus  # else most of the variance may be waiting for a CPU, which stays
@pytest.mark.parametrize("name", ["wal", "lock", "lru"])
def test_what_is_planted_is_what_would_be_gained(runs: Path, name: str) -> None:
    """Its callers would gain as much, by it."""
    found = json.loads(vprof(runs, "whatif", f"{name}.trace", "--rank", "--format", "json"))
    ratios = {tuple(one["changes"]): one["figures"]["variance"]["ratio"] for one in found["tried"] if one["figures"]}
    planted = min(ratios[f"{PLANTED[name]}={change}",] for change in ("constant", "0.5"))
    assert planted < 0.7
    assert planted < 1.1 * min(ratios.values())
