import json
from pathlib import Path

from build_cache import Built
from conversation import converse

import vprof
from vprof.target.target import Target

ADDRESS = ("127.0.0.1", 18968)
PAUSE_SECONDS = 0.2
"""Of a client; far longer than what the server needs for a request."""
SET, GET = b"SET key value\r\n", b"GET key\r\n"
OK, VALUE = b"+OK\r\n", b"$5\r\nvalue\r\n"
LARGE = 4 << 20
"""More than Redis writes to a client at once, and more than a socket takes."""


def test_every_entry_applies(redis: Built) -> None:
    assert all(redis.places())


def test_requests_wait_for_another_clients_keys(redis: Built, tmp_path: Path) -> None:
    """The loop lists all keys for one client while the others wait: it is busy with that."""
    trace = tmp_path / "run.trace"
    done = redis.vprof("record", "--target", "redis", "--seconds", 3, "--sites", "keysCommand", "-o", trace)
    assert done.returncode == 0, done.stderr
    of_type = vprof.load(trace).intervals.type.value_counts()
    assert of_type["SET"] > 100 and of_type["GET"] > 100 and of_type["keys"] > 5
    done = redis.vprof("analyze", trace, "--format", "json")
    assert done.returncode == 0, done.stderr
    (busy,) = (node for node in json.loads(done.stdout)["tree"]["children"] if node["node"] == "[busy]")
    keys = [node for node in busy["children"] if node["node"] == "keysCommand"]
    assert keys and keys[0]["share"] > 0.02


def test_requests_one_after_another(target: Target, tmp_path: Path) -> None:
    """The client's pause before a request is in none; a request that comes in two parts begins when it is complete."""
    turns = [([SET], OK), ([b"", GET], VALUE), ([GET[:4], GET[4:]], VALUE)]
    run = converse(target, ADDRESS, tmp_path / "run.trace", turns, PAUSE_SECONDS)
    assert list(run.intervals.type) == ["SET", "GET", "GET"]
    assert run.intervals.latency_ns.max() < PAUSE_SECONDS * 1e9 / 2


def test_what_is_answered_together_is_one_interval(target: Target, tmp_path: Path) -> None:
    run = converse(target, ADDRESS, tmp_path / "run.trace", [([SET + 3 * GET], OK + 3 * VALUE), ([GET], VALUE)])
    assert list(run.intervals.type) == ["SET", "GET"]


def test_an_answer_that_the_socket_does_not_take_at_once(target: Target, tmp_path: Path) -> None:
    """It ends when all of it is with the kernel, in a later turn of the loop."""
    value = b"x" * LARGE
    stored = b"*3\r\n$3\r\nSET\r\n$3\r\nkey\r\n$%d\r\n%s\r\n" % (LARGE, value)
    turns = [([stored], OK), ([GET], b"$%d\r\n%s\r\n" % (LARGE, value)), ([GET], b"$%d\r\n%s\r\n" % (LARGE, value))]
    run = converse(target, ADDRESS, tmp_path / "run.trace", turns)
    assert list(run.intervals.type) == ["SET", "GET", "GET"]
