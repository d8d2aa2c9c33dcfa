"""An event loop: what it does for others holds a request up, and the time of its client is nobody's fault."""

import json
import os
import random
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from vprof.installed import native

PROGRAM = Path(__file__).parents[1] / "programs" / "event_loop" / "event_loop.c"
CLIENTS, REQUESTS = 4, 150
THINKING = 0.004


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("event_loop")
    built, address = folder / "event_loop", folder / "socket"
    command = [native("bin/vprof-cc"), "-O1", "-g", PROGRAM, "-o", built]
    (folder / "probes.json").write_text('{"probe": ["*"]}', encoding="utf-8")
    subprocess.run(command, check=True, env={**os.environ, "VPROF_DESCRIPTOR": str(folder / "probes.json")})
    vprof = [sys.executable, "-c", "from vprof.cli import main; main()"]
    record = [*vprof, "record", "--sites", "all", "-o", folder / "run.trace", "--", built, address]
    with subprocess.Popen(record) as recording:
        clients = [threading.Thread(target=ask, args=(address, seed)) for seed in range(CLIENTS)]
        for client in clients:
            client.start()
        for client in clients:
            client.join()
        assert recording.wait(timeout=60) == 0
    return folder / "run.trace"


def ask(address: Path, seed: int) -> None:
    """Each request is a question of the server's, which the client answers after it has thought for up to 4 ms."""
    rng = random.Random(seed)
    with connected(address) as server:
        for _ in range(REQUESTS):
            server.sendall(b"a")
            assert server.recv(1) == b"?"
            time.sleep(rng.random() * THINKING)
            server.sendall(b"b")
            assert server.recv(1) == b"."


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
    command = [sys.executable, "-c", "from vprof.cli import main; main()", "analyze", trace, "--format", "json"]
    return json.loads(subprocess.run([*command, *options], capture_output=True, check=True, timeout=120).stdout)


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
    assert list(report["blocked_ns"])[0] == "time"
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
