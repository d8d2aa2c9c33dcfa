"""memcached, built by `vprof instrument --target memcached`: what its descriptor promises."""

import re
import socket
from pathlib import Path

import conversation
import pytest
from build_cache import Built
from conversation import recording
from patience import PATIENCE_SECONDS, wait_for

import vprof
from vprof.api import Run
from vprof.target.server import Server
from vprof.target.target import Target

ADDRESS = ("127.0.0.1", 18965)
CLIENTS = 8
PAUSE_SECONDS = 0.2
"""Of a client; far longer than what the server needs for a request."""
SET, GET, MISS = b"set key 0 0 5\r\nvalue\r\n", b"get key\r\n", b"get nothing\r\n"
STORED, HIT, END = b"STORED\r\n", b"VALUE key 0 5\r\nvalue\r\nEND\r\n", b"END\r\n"


def test_every_entry_applies(memcached: Built) -> None:
    assert all(memcached.places())


def test_every_request_of_the_load_is_an_interval(memcached: Built, tmp_path: Path) -> None:
    """The load counts what it has sent: at its end, each client may have had no answer yet."""
    trace = tmp_path / "run.trace"
    done = memcached.vprof("record", "--target", "memcached", "--seconds", 3, "-o", trace)
    assert done.returncode == 0, done.stderr
    log = (memcached.target.folder / "load.log").read_text()
    counted = {name: int(re.findall(rf"cmd_{name}: (\d+)", log)[0]) for name in ("get", "set")}
    run = vprof.load(trace)
    of_type = run.intervals.type.value_counts()
    for name, count in counted.items():
        assert count > 100
        assert count - CLIENTS <= of_type[name] <= count
    assert set(of_type.index) == set(counted)
    assert set(run.analysis.trace.excluded) <= {"aborted", "unfinished"}
    assert sum(run.analysis.trace.excluded.values()) <= 2 * CLIENTS


def converse(target: Target, trace: Path, *turns: tuple[list[bytes], bytes]) -> Run:
    return conversation.converse(target, ADDRESS, trace, turns, PAUSE_SECONDS)


def test_requests_one_after_another(target: Target, tmp_path: Path) -> None:
    """Types are told apart, and the client's pause before a request is in none."""
    run = converse(
        target,
        tmp_path / "run.trace",
        ([SET], STORED),
        ([GET], HIT),
        ([b"", MISS], END),
        ([b"version\r\n"], b"VERSION 1.6.18\r\n"),
    )
    assert list(run.intervals.type) == ["set", "get", "get", "other"]
    assert run.intervals.latency_ns.max() < PAUSE_SECONDS * 1e9 / 2


def test_what_is_answered_together_is_one_interval(target: Target, tmp_path: Path) -> None:
    """A get is answered at once, with all before it. The type is that of the first command that was read."""
    run = converse(target, tmp_path / "run.trace", ([SET + 3 * GET], STORED + 3 * HIT), ([MISS], END))
    assert list(run.intervals.type) == ["set", "set", "set", "get"]


@pytest.mark.parametrize("cut", [3, len(SET) - 3], ids=["line", "value"])
def test_the_rest_of_a_request_comes_late(target: Target, tmp_path: Path, cut: int) -> None:
    """Meanwhile the worker works for nobody."""
    run = converse(target, tmp_path / "run.trace", ([SET[:cut], SET[cut:]], STORED), ([GET], HIT))
    assert list(run.intervals.type) == ["set", "get"]
    first = run.pieces[run.pieces.interval == run.intervals.index[0]]
    gap = first[first.kind == "gap"]
    assert gap.duration_ns.sum() > 0.9 * PAUSE_SECONDS * 1e9
    assert run.intervals.latency_ns.iloc[1] < PAUSE_SECONDS * 1e9 / 2


def test_a_client_that_only_connects_or_quits_has_no_request(target: Target, tmp_path: Path) -> None:
    with recording(target, tmp_path / "run.trace") as session:
        socket.create_connection(ADDRESS, timeout=PATIENCE_SECONDS).close()
        with socket.create_connection(ADDRESS, timeout=PATIENCE_SECONDS) as connection:
            connection.sendall(MISS)
            assert connection.recv(100) == END
        wait_for(lambda: session.stats()["intervals"] >= 1, "the request has ended")
    run = vprof.load(tmp_path / "run.trace")
    assert len(run.intervals) == 1
    assert set(run.analysis.trace.excluded) <= {"aborted"}


def test_the_server_has_by_itself_what_the_knobs_say(memcached: Built) -> None:
    with Server.of(memcached.target).running(), socket.create_connection(ADDRESS, timeout=PATIENCE_SECONDS) as client:
        client.sendall(b"stats settings\r\nquit\r\n")
        with client.makefile() as answer:
            settings = dict(line.split()[1:3] for line in answer if line.startswith("STAT "))
    defaults = {name: float(knob.default) for name, knob in memcached.target.descriptor.knobs.items()}
    assert defaults == {
        "threads": float(settings["num_threads"]),
        "memory": float(settings["maxbytes"]) / (1 << 20),
        "slab_growth_factor": float(settings["growth_factor"]),
        "slab_automove": float(settings["slab_automove"]),
    }
