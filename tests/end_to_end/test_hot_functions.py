"""A drill-down of a program in which a function is called more often than can be recorded: it ends in time, and leaves
that function off."""

import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from patience import PATIENCE_SECONDS

from vprof.installed import native
from vprof.trace.sources import open_sources

# A request takes some milliseconds, dormant, nearly all of it in rows; every fifth one has four times as many.
PROGRAM = """
__attribute__((noinline)) static unsigned row(unsigned n) { return n * 2654435761u ^ n >> 7; }
__attribute__((noinline)) static unsigned scan(long rows) {
  unsigned sum = 0;
  for (long i = 0; i < rows; i++) sum += row(sum + (unsigned)i);
  return sum;
}
__attribute__((noinline)) static unsigned handle_request(long number) { return scan(number % 5 ? 400000 : 1600000); }
int main(void) {
  for (long i = 0;; i++) handle_request(i);
}
"""
STEP_SECONDS = 3

# Fewer records than a part may have otherwise, so that a machine that is short of CPUs has as many in its time, too.
DRILL = """
from vprof.drill import cut
cut.MOST_RECORDS = 3_000_000
from vprof.cli import main
main()
"""


@pytest.fixture
def hot(tmp_path: Path) -> Path:
    (tmp_path / "hot.c").write_text(PROGRAM, encoding="utf-8")
    (tmp_path / "descriptor.json").write_text('{"probe": ["*"]}', encoding="utf-8")
    build = [native("bin/vprof-cc"), "-O1", "hot.c", "-o", "hot"]
    subprocess.run(build, cwd=tmp_path, check=True, env={**os.environ, "VPROF_DESCRIPTOR": "descriptor.json"})
    return tmp_path / "hot"


def drilled(program: Path) -> dict[str, Any]:
    """In whose folder the traces are kept. What probes cost is no limit: the number of records is."""
    drill = ["drill", "--auto", "--root", "handle_request", "--step-seconds", str(STEP_SECONDS), "--format", "json"]
    command = [sys.executable, "-c", DRILL, *drill, "--max-distortion", "1", "--", program]
    begin = time.monotonic()
    done = subprocess.run(command, cwd=program.parent, capture_output=True, text=True, timeout=PATIENCE_SECONDS)
    took = time.monotonic() - begin
    assert done.returncode == 0, (took, done.stderr)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_what_is_called_too_often_to_be_recorded_is_left_off(hot: Path) -> None:
    found = drilled(hot)
    steps = found["steps"]
    assert [name for step in steps for name in step["unkept"]] == ["row"]
    assert "row" not in steps[-1]["on"]
    # The part that recorded too much ended before its time.
    traces = hot.parent.rglob("step-*.trace")
    largest = max(traces, key=lambda trace: trace.stat().st_size)
    [source] = open_sources([largest], "handle_request")
    assert source.bare().recorded_ns < 0.7 * STEP_SECONDS * 1e9
    assert found["findings"][0]["functions"] == ["scan"]


def test_so_is_what_makes_every_interval_lose_records(hot: Path) -> None:
    # Under a limit of address space rings are small: they hold 2,000 calls, of 400,000 in a request.
    limited = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (1 << 40, limited[1]))
    try:
        found = drilled(hot)
    finally:
        resource.setrlimit(resource.RLIMIT_AS, limited)
    assert [name for step in found["steps"] for name in step["unkept"]] == ["row"]
    assert found["findings"][0]["functions"] == ["scan"]
