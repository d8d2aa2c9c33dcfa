"""What the report of a small trace can do without: it took 0.375 s of CPU with all of this, 0.3 s is the goal."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from imported import imported
from writer import Writer

SPARED = {
    "difflib",
    "hashlib",
    "numpy.ma",
    "numpy.random",
    "rich._emoji_codes",
    "rich.progress",
    "rich.table",
    "vprof.path.chosen",
    "vprof.trace.locks",
}
"""2 to 10 ms each. NumPy imports two of them when they are first used: np.unique uses numpy.ma."""


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    """Requests of two threads: one waits for the other, and for nobody who is known."""
    writer = Writer(end=9000, cpus=2)
    client, server = writer.thread(1, ticks=0), writer.thread(2, ticks=0)
    for k in range(1, 9):
        begin = 1000 * k
        server.invocation(5, begin, begin + 100 + 10 * k)
        client.begin(k, begin)
        client.invocation(4, begin + 10, begin + 150 + 10 * k, depth=1)
        client.blocked(begin + 20, begin + 130 + 10 * k, peer=2, woke=begin + 120 + 10 * k)
        client.blocked(begin + 300, begin + 300 + k)
        client.invocation(3, begin + 5, begin + 400 + 20 * k)
        client.end(k, begin + 500 + 20 * k)
    return writer.save(tmp_path / "run.trace")


def test_a_report_imports_little(trace: Path) -> None:
    modules = imported("analyze", trace)
    assert {"numpy", "rich.console", "vprof.variance.blocked"} <= modules
    assert not modules & SPARED


def test_garbage_is_not_looked_for_from_the_start_to_the_end(trace: Path) -> None:
    code = """
import atexit, gc, sys
from vprof.cli import main
searches = []
gc.callbacks.append(lambda phase, info: searches.append(phase))
atexit.register(lambda: print(searches.count("start"), gc.get_freeze_count(), file=sys.stderr))
main()
"""
    done = subprocess.run([sys.executable, "-c", code, "analyze", trace], capture_output=True, text=True, check=True)
    searches, frozen = map(int, done.stderr.split()[-2:])
    assert searches <= 2
    assert frozen > 10_000
