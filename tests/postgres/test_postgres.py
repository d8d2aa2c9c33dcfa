"""PostgreSQL, built by `vprof instrument --target postgres` in this folder: what its descriptor promises.

Not part of `make test`: `make test-postgres` builds PostgreSQL first.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from vprof import callgraph
from vprof.heights import acyclic, heights
from vprof.target import Target


def vprof(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", "from vprof.cli import main; main()", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=300)


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Eight clients, ten seconds, the functions of commit and of locks on."""
    trace = tmp_path_factory.mktemp("postgres") / "run.trace"
    sites = "exec_simple_query,CommitTransaction,XLogFlush,LWLockAcquireOrWait,ProcSleep"
    done = vprof("record", "--target", "postgres", "--sites", sites, "--seconds", 10, "-o", trace)
    assert done.returncode == 0, done.stderr
    return trace


@pytest.fixture(scope="module")
def analysis(recorded: Path) -> dict:
    done = vprof("analyze", recorded, "--format", "json", "--intervals")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_every_entry_applies_to_one_function() -> None:
    done = vprof("targets", "check", "postgres", "--format", "json")
    assert done.returncode == 0, done.stderr
    for entry in json.loads(done.stdout)["entries"]:
        assert len(entry["places"]) == 1, entry


def test_heights_separate_what_waits_from_what_runs_everything() -> None:
    graph = callgraph.build(Target.load("postgres").units())
    counted = graph.counted(graph.calls)
    height = dict(zip(graph.names, heights(acyclic(counted, graph.keys(), graph.apart())), strict=True))
    order = ["LWLockAcquireOrWait", "XLogFlush", "CommitTransaction", "ExecutorRun"]
    assert sorted(order, key=height.__getitem__) == order
    assert len({int(height[name]) for name in order}) == len(order)
    assert height["LockAcquire"] > height["LockAcquireExtended"] > height["ProcSleep"] > 0
    reachable = callgraph.reachable(counted, [graph.names.index("PostgresMain")])
    assert max(map(len, callgraph.components(counted))) < 0.05 * len(reachable)


def test_every_transaction_of_the_load_is_an_interval(analysis: dict) -> None:
    log = Path(".vprof/postgres/load.log").read_text()
    processed = int(log.split("number of transactions actually processed: ")[1].split()[0])
    excluded = sum(analysis["intervals"]["excluded"].values())
    assert analysis["intervals"]["count"] + excluded == pytest.approx(processed, rel=0.01)


def test_transactions_wait_for_other_backends(analysis: dict) -> None:
    through_others = 0
    for interval in analysis["per_interval"].values():
        threads = {tid for kind, tid, *_ in interval["critical_path"] if kind == "exec"}
        through_others += len(threads) > 1
    assert through_others > 0.1 * len(analysis["per_interval"])
