"""An event loop: what it does for others holds a request up, and the time of its client is nobody's fault."""

import json
import os
import random
import socket
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from vprof.installed import native
from vprof.report.page.data import PageSource, page_data
from vprof.variance.analysis import AnalysisOptions

PROGRAM = Path(__file__).parents[1] / "programs" / "event_loop" / "event_loop.c"
CLIENTS, REQUESTS = 4, 150
THINKING = 0.004


VPROF = [sys.executable, "-c", "from vprof.cli import main; main()"]


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Small functions have probes, too."""
    built = tmp_path_factory.mktemp("event_loop") / "event_loop"
    probes = built.with_suffix(".json")
    probes.write_text('{"probe": ["*"]}', encoding="utf-8")
    command = [native("bin/vprof-cc"), "-O1", "-g", PROGRAM, "-o", built]
    subprocess.run(command, check=True, env={**os.environ, "VPROF_DESCRIPTOR": str(probes)})
    return built


@pytest.fixture(scope="module")
def trace(program: Path) -> Path:
    found = program.with_name("run.trace")
    served(program, "record", "--sites", "all", "-o", found, requests=REQUESTS)
    return found


def served(program: Path, *command: object, requests: int) -> str:
    """Standard output of a command that runs the program; clients ask it for so many requests each, or until it is
    gone."""
    address = program.with_name("socket")
    address.unlink(missing_ok=True)
    words = [*VPROF, *map(str, command), "--", str(program), str(address)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, cwd=program.parent) as running:
        clients = [threading.Thread(target=ask, args=(address, seed, requests)) for seed in range(CLIENTS)]
        for client in clients:
            client.start()
        output, _ = running.communicate(timeout=300)
        for client in clients:
            client.join()
        assert running.returncode == 0
    return output


def ask(address: Path, seed: int, requests: int) -> None:
    """Each request is a question of the server's, which the client answers after it has thought for up to 4 ms."""
    rng = random.Random(seed)
    with suppress(ConnectionError), connected(address) as server:
        for _ in range(requests):
            server.sendall(b"a")
            server.recv(1)
            time.sleep(rng.random() * THINKING)
            server.sendall(b"b")
            server.recv(1)


def connected(address: Path) -> socket.socket:
    until = time.monotonic() + 60
    while True:
        server = socket.socket(socket.AF_UNIX)
        try:
            server.connect(str(address))
            return server
        except OSError:
            server.close()
            if time.monotonic() > until:
                raise
            time.sleep(0.05)


def analyzed(trace: Path, *options: str) -> Any:
    command = [*VPROF, "analyze", trace, "--format", "json", *options]
    return json.loads(subprocess.run(command, capture_output=True, check=True, timeout=120).stdout)


def headline(trace: Path) -> str:
    page = page_data(PageSource([trace]), AnalysisOptions())
    return str(page["headline"]["answer"])


def places(node: dict[str, Any], above: tuple[str, ...] = ()) -> dict[tuple[str, ...], dict[str, Any]]:
    """By path of names without places."""
    path = (*above, node["node"].split("@")[0])
    found = {path: node}
    for child in node.get("children", []):
        found |= places(child, path)
    return found


def test_the_stall_is_the_one_cause_in_its_request_and_in_those_that_wait(trace: Path) -> None:
    report = analyzed(trace)
    first = report["factors"][0]
    assert first["functions"] == ["usleep"]
    assert {"refresh_quota", "begin_request"} <= set(first["explains"])
    assert next(iter(report["blocked_ns"])) == "time"
    assert headline(trace).startswith("refresh_quota (in usleep) makes latency vary most")
    shares = {path: node["share"] for path, node in places(report["tree"]).items() if path[-1] == "refresh_quota"}
    waiting = sum(share for path, share in shares.items() if "[busy]" in path)
    own = sum(share for path, share in shares.items() if "[busy]" not in path)
    # 1 of 16 requests has the stall itself, and up to 3 others wait for it.
    assert own > 0.1, shares
    assert waiting > 0.1, shares


def test_the_clients_time_is_apart_unless_it_is_asked_for(trace: Path) -> None:
    report = analyzed(trace)
    assert report["client_time"]["counted"] == "apart"
    gap = next(node for path, node in places(report["tree"]).items() if path[-1] == "[gap]")
    assert gap["mean_ns"] == pytest.approx(THINKING / 2 * 1e9, rel=0.5)
    assert not any("[gap]" in factor["functions"] for factor in report["factors"])
    back = analyzed(trace, "--client-time", "in", "--min-share", "0.001", "-k", "20")
    assert any("[gap]" in factor["functions"] for factor in back["factors"])
    assert not any(path[-1] == "[unknown]" for path in places(report["tree"]))
