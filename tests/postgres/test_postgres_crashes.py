"""Kills in mid-run: what was committed to the trace can be read. The server goes on serving; it ends in order when the
vprof that started it is gone."""

import json
import os
import signal
import subprocess
from pathlib import Path

from build_cache import Built, command
from patience import wait_for
from states import name_of, processes

from vprof.session.owned import Session
from vprof.session.plan import Plan
from vprof.target.server import Server
from vprof.target.target import Target

ROOTS = Plan.of(["exec_simple_query"])


def answers(server: Server, query: str = "select 1") -> str:
    """What the server says to a query; empty if it does not answer."""
    psql = [*server.target.filled("{install}/bin/psql -X -q -A -t -c"), query]
    done = subprocess.run(psql, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, **server.how())
    return done.stdout.strip()


def committed(server: Server) -> int:
    return int(answers(server, "select count(*) from pgbench_history") or 0)


def wait_until_written(trace: Path) -> None:
    """Until more is in the file than there is now."""
    size = trace.stat().st_size
    wait_for(lambda: trace.stat().st_size > size, "the trace grows")


def analyzed(postgres: Built, trace: Path) -> dict:
    done = postgres.vprof("analyze", trace, "--format", "json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def named(name: str, root: int) -> int:
    """The process of this name among a process and its descendants."""
    [found] = [pid for pid in processes(root) if name_of(pid) == name]
    return found


def gone(pid: int) -> bool:
    return not Path(f"/proc/{pid}").exists()


def test_kill_of_vprof_record(postgres: Built, target: Target, tmp_path: Path) -> None:
    server = Server.of(target)
    trace = tmp_path / "run.trace"
    record = command("record", "--target", "postgres", "--seconds", 60, "-o", trace)
    vprof = subprocess.Popen(record, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **postgres.how())
    wait_for(lambda: trace.exists() and answers(server), "the load begins")
    before = committed(server)
    wait_for(lambda: committed(server) > before + 500, "some transactions")
    wait_until_written(trace)
    collector = named("vprof-collector", vprof.pid)
    postmaster_file = server.folder / "data/postmaster.pid"
    postmaster = int(postmaster_file.read_text().split()[0])
    vprof.kill()
    vprof.wait()
    wait_for(lambda: gone(collector), "the collector ends")
    wait_for(lambda: gone(postmaster), "the server ends")
    assert not postmaster_file.exists()
    assert analyzed(postgres, trace)["intervals"]["count"] > 0


def test_kill_of_the_collector(postgres: Built, target: Target, tmp_path: Path) -> None:
    server = Server.of(target)
    trace = tmp_path / "run.trace"
    with Session.start(None, server.account.name) as session, server.running(session, ROOTS):
        session.rotate(trace)
        load = server.load(10, [])
        wait_for(lambda: session.stats()["intervals"] > 500, "some transactions")
        wait_until_written(trace)
        os.kill(named("vprof-collector", os.getpid()), signal.SIGKILL)
        assert load.wait() == 0, server.load_log.read_text()
        assert answers(server) == "1"
    assert analyzed(postgres, trace)["intervals"]["count"] > 0


def test_kill_of_a_backend(postgres: Built, target: Target, tmp_path: Path) -> None:
    """The postmaster ends all backends and recovers; the session goes on with the new ones."""
    server = Server.of(target)
    before, after = tmp_path / "before.trace", tmp_path / "after.trace"
    with Session.start(None, server.account.name) as session, server.running(session, ROOTS):
        session.rotate(before)
        load = server.load(60, [])
        wait_for(lambda: session.stats()["intervals"] > 500, "some transactions")
        backend = answers(server, "select pid from pg_stat_activity where application_name = 'pgbench' limit 1")
        os.kill(int(backend), signal.SIGKILL)
        load.wait()
        wait_for(lambda: answers(server) == "1", "the server serves again")
        session.rotate(after)
        assert server.load(2, []).wait() == 0, server.load_log.read_text()
        session.rotate(None)
    intervals = analyzed(postgres, before)["intervals"]
    assert intervals["count"] > 400
    assert 1 <= intervals["excluded"]["unfinished"] <= 8, "each client had at most one transaction open"
    assert analyzed(postgres, after)["intervals"]["count"] > 0
