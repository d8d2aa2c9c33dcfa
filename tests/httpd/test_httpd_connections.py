"""Single connections to httpd: requests one after another and all at once, none at all, and a server that is killed."""

import os
import re
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from build_cache import Built, command
from patience import PATIENCE_SECONDS, wait_for

import vprof
from vprof.session.owned import Session
from vprof.session.plan import Plan
from vprof.target.server import Server
from vprof.target.target import Target

MPMS = ["event", "worker", "prefork"]
ADDRESS = ("127.0.0.1", 18964)
GET = b"GET /small.txt HTTP/1.1\r\nHost: localhost\r\n\r\n"
CLIENTS = 8
LOG_BYTES, LOG_LINE_BYTES = 200_000, 100
"""To wait for some requests: this much more of the access log, at most so much for each."""


@contextmanager
def recording(target: Target, mpm: str, trace: Path) -> Iterator[Session]:
    """httpd runs and is recorded inside."""
    server = Server.of(target, f"-D {mpm}")
    plan = Plan.of(target.descriptor.roots)
    with Session.start(None, server.account.name) as session, server.running(session, plan):
        session.rotate(trace)
        yield session
        session.rotate(None)


def converse(*sent: bytes) -> list[str]:
    """Sends one after another on one connection, each when all before was answered; the statuses of the answers."""
    statuses: list[str] = []
    with socket.create_connection(ADDRESS, timeout=PATIENCE_SECONDS) as connection:
        for data in sent:
            connection.sendall(data)
            expected = len(statuses) + data.count(b"HTTP/1.1")
            answers = b""
            while len(statuses) < expected:
                received = connection.recv(1 << 16)
                assert received, "the server closed the connection"
                answers += received
                whole = re.findall(rb"HTTP/1.1 (\d+)(?:.*\r\n)*?Content-Length: (\d+)", answers)
                body = sum(int(length) for _, length in whole)
                if len(whole) == expected - len(statuses) and len(answers) >= body:
                    statuses += [status.decode() for status, _ in whole]
    return statuses


@pytest.mark.parametrize("mpm", MPMS)
def test_requests_of_a_connection_one_after_another_and_all_at_once(target: Target, mpm: str, tmp_path: Path) -> None:
    trace = tmp_path / "run.trace"
    missing = GET.replace(b"small", b"missing")
    with recording(target, mpm, trace) as session:
        assert converse(GET, GET, 3 * GET, missing, GET) == ["200"] * 5 + ["404", "200"]
        wait_for(lambda: session.stats()["intervals"] >= 7, "the last answer is logged")
    run = vprof.load(trace)
    assert len(run.intervals) == 7
    assert set(run.analysis.trace.excluded) <= {"aborted"}, "the end of the connection is no request"


@pytest.mark.parametrize("mpm", MPMS)
def test_a_connection_without_a_request_is_none(target: Target, mpm: str, tmp_path: Path) -> None:
    trace = tmp_path / "run.trace"
    with recording(target, mpm, trace) as session:
        socket.create_connection(ADDRESS, timeout=PATIENCE_SECONDS).close()
        assert converse(GET) == ["200"]
        wait_for(lambda: session.stats()["intervals"] >= 1, "the answer is logged")
    assert len(vprof.load(trace).intervals) == 1


def test_kill_of_the_server(httpd: Built, tmp_path: Path) -> None:
    """What it had recorded by then can be read."""
    Server.of(httpd.target)
    trace = tmp_path / "run.trace"
    record = command("record", "--target", "httpd", "--seconds", 6, "-o", trace)
    vprof_record = subprocess.Popen(record, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, **httpd.how())
    log = httpd.target.folder / "server/access.log"
    wait_for(lambda: trace.exists() and log.exists(), "the load begins")
    before = log.stat().st_size
    wait_for(lambda: log.stat().st_size > before + LOG_BYTES, "some requests")
    leader = int((httpd.target.folder / "server/httpd.pid").read_text())
    os.killpg(leader, signal.SIGKILL)
    _, said = vprof_record.communicate(timeout=PATIENCE_SECONDS)
    assert vprof_record.returncode == 1
    assert "the server ended (status -9)" in said
    run = vprof.load(trace)
    assert len(run.intervals) > LOG_BYTES / LOG_LINE_BYTES
    assert run.analysis.trace.excluded.get("unfinished", 0) <= CLIENTS


def test_kill_of_a_process_that_serves(target: Target, tmp_path: Path) -> None:
    """Its connections are lost; the others, and the process that takes its place, go on."""
    trace = tmp_path / "run.trace"
    server = Server.of(target)
    with recording(target, "prefork", trace) as session:
        load = server.load(4, [])
        wait_for(lambda: session.stats()["intervals"] > 500, "some requests")
        leader = (target.folder / "server/httpd.pid").read_text().strip()
        children = Path(f"/proc/{leader}/task/{leader}/children").read_text().split()
        for child in children[: len(children) // 2]:
            os.kill(int(child), signal.SIGKILL)
        before = session.stats()["intervals"]
        wait_for(lambda: session.stats()["intervals"] > before + 500, "more requests")
        load.wait()
    run = vprof.load(trace)
    assert len(run.intervals) > 1000
    assert run.analysis.trace.excluded.get("unfinished", 0) <= CLIENTS
