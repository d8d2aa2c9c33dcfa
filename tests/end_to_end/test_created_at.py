"""Requests that wait where vprof does not see it (another language, the network, a queue nobody described) and say when
they were created: that time is in the interval, as `[queue]`, whichever clock it is told by."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from patience import PATIENCE_SECONDS

REQUESTS = 200
PROGRAM = """
#include <stdio.h>
#include <string.h>
#include <time.h>
struct request { unsigned long id, created_ns; };
static unsigned long now_ns(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return t.tv_sec * 1000000000ul + t.tv_nsec;
}
static void work(unsigned long ns) {
  for (unsigned long end = now_ns(CLOCK_MONOTONIC) + ns; now_ns(CLOCK_MONOTONIC) < end;) {}
}
static void serve(const struct request *request) { work(request->id % 2 ? 300000 : 100000); }
int main(int argc, char **argv) {
  for (unsigned long id = 1; id <= REQUESTS; ++id) {
    struct request request = {id, now_ns(CLOCK) - id % 20 * 1000000};  /* created 0 to 19 ms ago */
    if (argc > 1 && id % 4 == 0) request.created_ns = 0;
    if (argc > 1 && id % 4 == 1) request.created_ns += 3600000000000;
    if (argc > 1 && id % 4 == 2) request.created_ns -= 3700000000000;
    serve(&request);
  }
  return 0;
}
""".replace("REQUESTS", str(REQUESTS))
DESCRIPTOR = """
name = "late"
roots = ["serve"]
[source]
kind = "tree"
path = "."
[build]
steps = ["{cc} -O1 -g {source}/late.c -o late"]
programs = ["late"]
[run]
command = "{build}/late"
[[interval]]
event = "begin"
function = "serve"
id = "request->id"
created_at = "request->created_ns"
clock = "CLOCK"
[[interval]]
event = "end"
function = "serve"
at = "exit"
id = "request->id"
"""


def vprof(cwd: Path, *arguments: object) -> str:
    command = [sys.executable, "-c", "from vprof.cli import main; main()", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_SECONDS, cwd=cwd)
    assert done.returncode == 0, done.stderr
    return done.stdout


def analyzed(tmp_path: Path, clock: str, *options: str) -> dict[str, Any]:
    target = tmp_path / "late"
    target.mkdir()
    (target / "late.c").write_text(PROGRAM.replace("CLOCK)", f"{clock})"))
    (target / "target.toml").write_text(DESCRIPTOR.replace("CLOCK", clock))
    vprof(tmp_path, "instrument", "--target", target)
    vprof(tmp_path, "record", "--target", target, "-o", "run.trace", "--", *options)
    analyze = ["analyze", "run.trace", "--cpu-wait", "in", "--intervals", "--format", "json"]
    said: dict[str, Any] = json.loads(vprof(tmp_path, *analyze))
    return said


def queued_ms(interval: dict[str, Any]) -> float:
    return float(sum(piece[3] - piece[2] for piece in interval["critical_path"] if piece[0] == "queue") / 1e6)


@pytest.mark.parametrize("clock", ["CLOCK_REALTIME", "CLOCK_MONOTONIC"])
def test_time_since_the_creation_is_queue(tmp_path: Path, clock: str) -> None:
    """0 to 19 ms, each as often: 9.5 ms in the mean, a variance of 33.25 ms^2. Between the program's look at the clock
    and the begin it may be interrupted: that is queue as well."""
    said = analyzed(tmp_path, clock)
    assert said["intervals"]["count"] == REQUESTS
    late = {id_: queued_ms(interval) - int(id_) % 20 for id_, interval in said["per_interval"].items()}
    assert min(late.values()) > -0.001
    assert sum(value < 0.1 for value in late.values()) > 0.9 * REQUESTS
    [queue] = [node for node in said["tree"]["children"] if node["node"] == "[queue]"]
    assert queue["mean_ns"] == pytest.approx(9.5e6, rel=0.05)
    assert queue["var_ns2"] == pytest.approx(33.25e12, rel=0.1)
    assert said["factors"][0]["functions"] == ["[queue]"]


def test_what_cannot_be_is_counted_and_ignored(tmp_path: Path) -> None:
    """By the clock that has gone for more than an hour on a machine that has just started, too."""
    said = analyzed(tmp_path, "CLOCK_REALTIME", "some-wrong")
    assert said["intervals"]["count"] == REQUESTS
    assert [note for note in said["notes"] if note.startswith("created_at")] == [
        "created_at is 0: 50 intervals begin where the program began them",
        "created_at is in the future: 50 intervals begin where the program began them",
        "created_at is more than 3600 s before the begin: 50 intervals begin where the program began them",
    ]
    for id_, interval in said["per_interval"].items():
        believed = int(id_) % 4 == 3
        assert queued_ms(interval) == pytest.approx(int(id_) % 20 if believed else 0, abs=5), id_
        assert believed or not queued_ms(interval)
