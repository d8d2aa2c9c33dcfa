"""PostgreSQL, built by `vprof instrument --target postgres`: what its descriptor promises."""

import filecmp
import json
import re
import subprocess
from pathlib import Path

import pytest
from build_cache import Built

from vprof.program import callgraph
from vprof.program.heights import acyclic, heights
from vprof.program.runtime_link import looks_itself

CLIENTS = 8


@pytest.fixture(scope="module")
def recorded(postgres: Built, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Eight clients, ten seconds, the functions of commit and of locks on."""
    trace = tmp_path_factory.mktemp("postgres") / "run.trace"
    sites = "exec_simple_query,CommitTransaction,XLogFlush,LWLockAcquireOrWait,ProcSleep"
    done = postgres.vprof("record", "--target", "postgres", "--sites", sites, "--seconds", 10, "-o", trace)
    assert done.returncode == 0, done.stderr
    return trace


@pytest.fixture(scope="module")
def processed(postgres: Built, recorded: Path) -> int:
    """Transactions of that run, by the load's own count."""
    return transactions_of_the_load(postgres)


@pytest.fixture(scope="module")
def analysis(postgres: Built, recorded: Path) -> dict:
    return analyzed(postgres, recorded, "--intervals")


def transactions_of_the_load(postgres: Built) -> int:
    log = (postgres.target.folder / "load.log").read_text()
    return int(log.split("number of transactions actually processed: ")[1].split()[0])


def analyzed(postgres: Built, trace: Path, *options: object) -> dict:
    done = postgres.vprof("analyze", trace, "--format", "json", *options)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_the_server_runs_with_the_installed_runtime(postgres: Built, installed: Path) -> None:
    """Where it looks for it by itself."""
    [program] = postgres.target.programs()
    assert looks_itself(program)
    dynamic = subprocess.run(["readelf", "-d", program], capture_output=True, text=True, check=True).stdout
    [path] = re.findall(r"\(RUNPATH\).*\[(.*)\]", dynamic)
    [library] = [file for folder in path.split(":") if (file := Path(folder) / "libvprof.so").exists()]
    assert library.is_relative_to(postgres.folder)
    assert filecmp.cmp(library, installed / "lib/vprof/libvprof.so", shallow=False)


def test_every_entry_applies_to_one_function(postgres: Built) -> None:
    for places in postgres.places():
        assert len(places) == 1, places


def test_waits_are_called_by_what_they_are_for(analysis: dict) -> None:
    """Ten branches, of which each transaction changes one, and one log."""
    names = {one["name"] for one in analysis["waited_for"]["objects"]}
    assert {"WALWrite", "transaction with a row of pgbench_branches"} <= names


def test_heights_separate_what_waits_from_what_runs_everything(postgres: Built) -> None:
    graph = callgraph.build(postgres.target.units())
    counted = graph.counted(graph.calls)
    height = dict(zip(graph.names, heights(acyclic(counted, graph.keys(), graph.apart())), strict=True))
    order = ["LWLockAcquireOrWait", "XLogFlush", "CommitTransaction", "ExecutorRun"]
    assert sorted(order, key=height.__getitem__) == order
    assert len({int(height[name]) for name in order}) == len(order)
    assert height["LockAcquire"] > height["LockAcquireExtended"] > height["ProcSleep"] > 0
    reachable = callgraph.reachable(counted, [graph.names.index("PostgresMain")])
    assert max(map(len, callgraph.components(counted))) < 0.05 * len(reachable)


def test_every_transaction_of_the_load_is_an_interval(processed: int, analysis: dict) -> None:
    intervals = analysis["intervals"]
    assert intervals["count"] + sum(intervals["excluded"].values()) == pytest.approx(processed, rel=0.01)


def test_transactions_of_a_script_of_ones_own_too(postgres: Built, tmp_path: Path) -> None:
    """Each takes the same advisory lock, after the client thought about it in the open transaction."""
    script = postgres.folder / "script.sql"
    script.write_text("BEGIN;\n\\sleep 1 ms\nSELECT pg_advisory_xact_lock(1);\nEND;\n")
    trace = tmp_path / "run.trace"
    done = postgres.vprof("record", "--target", "postgres", "--seconds", 3, "-o", trace, "--", "-f", script)
    assert done.returncode == 0, done.stderr
    processed = transactions_of_the_load(postgres)
    report = analyzed(postgres, trace, "--intervals")
    intervals = report["intervals"]
    assert abs(intervals["count"] + sum(intervals["excluded"].values()) - processed) <= 0.01 * processed + CLIENTS
    [think] = [node for node in report["tree"]["children"] if node["node"] == "[gap]"]
    assert think["mean_ns"] > 1e6
    assert len(through_others(report)) > 0.1 * intervals["count"]


def test_transactions_wait_for_other_backends(analysis: dict) -> None:
    assert len(through_others(analysis)) > 0.1 * len(analysis["per_interval"])


def through_others(analysis: dict) -> list[str]:
    """The intervals whose critical path goes through what another thread executed."""
    paths = {sid: interval["critical_path"] for sid, interval in analysis["per_interval"].items()}
    return [sid for sid, path in paths.items() if len({tid for kind, tid, *_ in path if kind == "exec"}) > 1]


def test_a_path_names_who_ended_a_wait_and_in_which_function(postgres: Built, recorded: Path, analysis: dict) -> None:
    """Some wakers, such as the WAL writer, run no function that is on: then there is no name."""
    for interval in through_others(analysis)[:20]:
        path = analyzed(postgres, recorded, "--path", interval)
        waits = [step for step in path["steps"] if step["kind"] == "blocked" and step["ended_by"]]
        assert waits
        for wait in waits:
            assert wait["ended_by"] != wait["thread"]
            assert wait["steps"][-1]["thread"] == wait["ended_by"] or wait["steps"][-1]["kind"] == "sched"
        if any(wait["ended_in"] for wait in waits):
            return
    pytest.fail("no wait was ended in a function that was on")
