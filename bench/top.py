"""Does a refresh of `vprof top` cost the same however long the session runs?

    python bench/top.py [--seconds 1200] [--rate 500] [--sites all]

minidb runs at a fixed rate in a session, and `vprof top --lines` beside it. By fifth of the time: refreshes, CPU time
of `top` for one, its memory at most so far, and what lies in the folder of the window. The first minute is left out:
then kernels are loaded, and the window fills. CPU time is that of `top` alone; the collector's and minidb's are told as
parts of one core. Smoke run: --seconds 80.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import tempfile
import threading
import time
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from watch_parts import cpu_of, ended, most_memory, size_of, vprof

from vprof.installed import native
from vprof.target.target import Target

_WARM_SECONDS = 60
_FIFTHS = 5


@dataclass(frozen=True)
class Moment:
    """Seconds on a clock, refreshes and CPU seconds of top, server and collector so far; memory in kB, the folder in
    bytes."""

    at: float
    refreshes: int
    cpu: list[float]
    memory: int
    folder: int


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=int, default=1200, help="80 or more")
    parser.add_argument("--rate", type=int, default=500, help="transactions a second")
    parser.add_argument("--sites", default="serve_txn,txn_execute,txn_commit,log_commit,wal_flush,lock_wait")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="vprof-bench-") as made:
        show(measured(Path(made), options))


def measured(folder: Path, options: argparse.Namespace) -> list[Moment]:
    """Each second from the end of the warm-up on."""
    minidb = Target.load("minidb", folder / "minidb").build(lambda step: None).programs()[0]
    session, files = Path(f"/dev/shm/vprof-bench-{os.getpid()}"), folder / "files"
    files.mkdir()
    with ExitStack() as ends:
        command = [str(native("lib/vprof/vprof-collector")), "--session", str(session), "--output", "-"]
        collector = ends.enter_context(ended(command, stdout=subprocess.PIPE))
        assert collector.stdout and collector.stdout.readline() == b"ready\n"
        load = [minidb, "--seconds", str(options.seconds + 30), "--rate", str(options.rate)]
        environment = {**os.environ, "VPROF_SESSION": str(session), "TMPDIR": str(files)}
        server = ends.enter_context(ended(list(map(str, load)), env=environment, stdout=subprocess.DEVNULL))
        subprocess.run(vprof("ctl", "on", options.sites, "--session", session), check=True, stdout=subprocess.DEVNULL)
        command = vprof("top", "--session", session, "--lines")
        top = ends.enter_context(ended(command, env=environment, stdout=subprocess.PIPE))
        count = _Lines(top)
        begun, found = time.monotonic(), list[Moment]()
        while (age := time.monotonic() - begun) < options.seconds:
            time.sleep(1)
            if age >= _WARM_SECONDS:
                cpu = [cpu_of(process.pid) for process in (top, server, collector)]
                found.append(Moment(age, count.lines, cpu, most_memory(top.pid), size_of(files)))
        assert top.poll() is None and server.poll() is None
    return found


class _Lines:
    """Counts what a process writes."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.lines, self._process = 0, process
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self._process.stdout
        for _ in self._process.stdout:
            self.lines += 1


def show(found: list[Moment]) -> None:
    print(f"{'minutes':>12} {'refreshes':>10} {'CPU ms each':>12} {'memory MB':>10} {'folder MB':>10}")
    places = [round(k * (len(found) - 1) / _FIFTHS) for k in range(_FIFTHS + 1)]
    for first, last in pairwise(places):
        a, b = found[first], found[last]
        each = 1e3 * (b.cpu[0] - a.cpu[0]) / max(b.refreshes - a.refreshes, 1)
        span, files = f"{a.at / 60:.1f} .. {b.at / 60:.1f}", max(one.folder for one in found[first : last + 1])
        print(f"{span:>12} {b.refreshes - a.refreshes:10d} {each:12.1f} {b.memory / 1024:10.0f} {files / 2**20:10.1f}")
    a, b = found[0], found[-1]
    parts = [f"{100 * (end - begin) / (b.at - a.at):.2f} %" for begin, end in zip(a.cpu, b.cpu, strict=True)]
    print("CPU of one core: top {}, minidb {}, collector {}".format(*parts))


if __name__ == "__main__":
    main()
