"""What a closed loop hides: the same server, the same stalls, measured both ways. The server's delays are known."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from patience import PATIENCE_SECONDS, wait_for

from vprof.installed import native

STALL_MS, EACH_S, SECONDS, RATE = 400, 2, 6, 300


@pytest.fixture(scope="module")
def stub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Answers after 2 ms, but for 400 ms in each 2 s, in which nothing goes on."""
    folder = tmp_path_factory.mktemp("stub")
    with (folder / "said").open("w") as said:
        command = [
            native("lib/vprof/vprof-load-stub"),
            "--socket",
            folder,
            "--delay=constant:2ms",
            "--truth",
            folder / "truth",
        ]
        server = subprocess.Popen([*command, f"--stall={STALL_MS}ms/{EACH_S}s"], stdout=said, stderr=said)
    try:
        wait_for(lambda: "ready" in (folder / "said").read_text(), "the server")
        yield folder
    finally:
        server.terminate()
        server.wait()


def load(stub: Path, *options: str) -> dict[str, Any]:
    words = f"load noop --on postgres --socket {stub} --clients 8 --seconds {SECONDS} --warmup 0.5 --floor 0".split()
    command = [sys.executable, "-c", "from vprof.cli import main; main()", *words, *options, "--format", "json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_SECONDS, env=os.environ)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_a_closed_loop_hides_what_an_open_loop_shows(stub: Path) -> None:
    """What should begin t before the end of a stall waits for t: in an open loop a fifth of all does, evenly spread up
    to 400 ms, so the p95 is 300 ms, or less if the run ends in one. In a closed loop a client waits for each once."""
    opened, closed = load(stub, "--rate", str(RATE), "--arrivals", "even"), load(stub)
    stalls = SECONDS / EACH_S
    assert opened["reached"] is True
    assert opened["all"]["p95_ns"] == pytest.approx(300e6, rel=0.15)
    assert opened["all"]["mean_ns"] == pytest.approx(2e6 + 0.2 * 200e6, rel=0.25)
    assert opened["all"]["max_ns"] > 0.95 * STALL_MS * 1e6
    assert closed["all"]["p95_ns"] < 20e6
    assert closed["all"]["mean_ns"] < opened["all"]["mean_ns"] / 5
    assert closed["all"]["max_ns"] > 0.95 * STALL_MS * 1e6
    slow = closed["all"]["count"] * (closed["all"]["mean_ns"] - 2e6) / (STALL_MS * 1e6)
    assert slow < 2 * 8 * stalls, "each client waits once for each stall"


def test_stalls_that_are_laid_over_explain_the_tail(stub: Path, tmp_path: Path) -> None:
    """Moved by half of their distance, they explain none of it."""
    epoch_s = int((stub / "truth").read_text().split()[1]) / 1e9 + time.time() - time.monotonic()
    for name, moved_s in (("stalls", 0.0), ("others", EACH_S / 2)):
        begins = [epoch_s + k * EACH_S + moved_s for k in range(1, 100)]
        (tmp_path / name).write_text("".join(f"{at:.6f},{at + STALL_MS / 1000:.6f}\n" for at in begins))
    overlays = [f"--overlay={tmp_path / name}" for name in ("stalls", "others")]
    found = load(stub, "--rate", str(RATE), "--arrivals", "even", *overlays)
    stalls, others = (next(p for p in found["pauses"] if p["source"] == name) for name in ("stalls", "others"))
    assert stalls["explained"] > 0.95 and stalls["slowest"]["held_up"]
    assert stalls["without_p999_ns"] < found["all"]["p999_ns"] / 1.5
    assert others["held_up"] == 0 and others["explained"] == 0
