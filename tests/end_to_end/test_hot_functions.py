"""A drill-down of a program in which a function is called more often than can be recorded: it ends in time, and leaves
that function off."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

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


def test_what_is_called_too_often_to_be_recorded_is_left_off(tmp_path: Path) -> None:
    (tmp_path / "hot.c").write_text(PROGRAM, encoding="utf-8")
    (tmp_path / "descriptor.json").write_text('{"probe": ["*"]}', encoding="utf-8")
    build = [native("bin/vprof-cc"), "-O1", "hot.c", "-o", "hot"]
    subprocess.run(build, cwd=tmp_path, check=True, env={**os.environ, "VPROF_DESCRIPTOR": "descriptor.json"})
    drill = ["drill", "--auto", "--root", "handle_request", "--step-seconds", str(STEP_SECONDS), "--format", "json"]
    # What probes cost is no limit: the number of records is.
    words = [*drill, "--max-distortion", "1", "--", "./hot"]
    command = [sys.executable, "-c", "from vprof.cli import main; main()", *words]
    begin = time.monotonic()
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE_SECONDS)
    took = time.monotonic() - begin
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    steps = found["steps"]
    assert [name for step in steps for name in step["unkept"]] == ["row"], took
    assert "row" not in steps[-1]["on"]
    # The part that recorded too much ended before its time.
    traces = tmp_path.rglob("step-*.trace")
    largest = max(traces, key=lambda trace: trace.stat().st_size)
    [source] = open_sources([largest], "handle_request")
    assert source.bare().recorded_ns < 0.7 * STEP_SECONDS * 1e9, took
    assert found["findings"][0]["functions"] == ["scan"]
