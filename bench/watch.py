"""Does `vprof watch` keep every stall, and nothing else, beside minidb; what does it take of CPU, memory and disk?

    python bench/watch.py [--seconds 3600] [--every 20000] [--json FILE]

minidb runs in a session under its own load, with a stall of 40 ms planted once in so many transactions. It writes the
truth: the id and the latency of every transaction of more than 20 ms. `vprof watch --slower-than 20ms` runs beside it,
with a plan of a drill-down's size. Prints what was kept against the truth; the CPU time of minidb, of the collector and
of the watch, as parts of one core, from the tenth second on; the watch's largest memory; and the largest size of the
folder, looked at each second. minidb's own CPU time without a session, in a run of a tenth of the length, is there to
compare with.

An hour takes 67 minutes: with the build, and the run without. A smoke run: --seconds 20 --every 2000.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from vprof.installed import native
from vprof.target.target import Target
from vprof.watch.keep import Folder

_SITES = "serve_txn,txn_execute,txn_commit,commit_stall,log_commit,wal_flush,latch_acquire,lock_acquire,lock_wait"
_TICKS = os.sysconf("SC_CLK_TCK")
_LIMIT_MS = 20
_START_SECONDS = 10
"""Of the run, in which the watch imports and compiles: left out of its CPU time."""


@dataclass
class Result:
    """CPU as parts of one core. `missed`: slow by the truth, and not kept; `wrong`: kept, and not slow by it."""

    seconds: float
    transactions: int
    stalls: int
    slow: int
    kept: int
    missed: list[int]
    wrong: list[int]
    server_cpu: float
    server_cpu_without: float
    collector_cpu: float
    watch_cpu: float
    watch_rss_mb: float
    folder_mb: float
    kept_mb: float


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=int, default=3600, help="20 or more")
    parser.add_argument("--every", type=int, default=20000, help="one transaction in so many stalls")
    parser.add_argument("--json", type=Path, help="append the result to this file")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="vprof-bench-") as folder:
        minidb = build(Path(folder))
        without = cpu_without(minidb, max(5, options.seconds // 10))
        result = measure(minidb, Path(folder), options.seconds, options.every, without)
    show(result)
    if options.json:
        with options.json.open("a", encoding="utf-8") as out:
            print(json.dumps(asdict(result)), file=out)
    sys.exit(bool(result.missed or result.wrong))


def build(folder: Path) -> Path:
    target = Target.load("minidb", folder / "minidb").build(lambda step: None)
    return target.programs()[0]


def cpu_without(minidb: Path, seconds: int) -> float:
    """Of minidb with probes, without a session."""
    before = os.times()
    subprocess.run([minidb, "--seconds", str(seconds)], check=True, stdout=subprocess.DEVNULL)
    after = os.times()
    spent = after.children_user + after.children_system - before.children_user - before.children_system
    return spent / seconds


def measure(minidb: Path, folder: Path, seconds: int, every: int, without: float) -> Result:
    session, slow, truth = Path(f"/dev/shm/vprof-bench-{os.getpid()}"), folder / "slow", folder / "truth"
    truth.touch()
    command = [str(native("lib/vprof/vprof-collector")), "--session", str(session), "--output", "-"]
    collector = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert collector.stdout and collector.stdout.readline() == "ready\n"
    try:
        arguments = [str(slow), "--slower-than", f"{_LIMIT_MS}ms", "--session", str(session), "--sites", _SITES]
        watch = subprocess.Popen(
            [sys.executable, "-c", "from vprof.cli import main; main()", "watch", *arguments, "--per-hour", "1000"],
            stderr=(folder / "log").open("w"),
        )
        wait_until_begun(folder / "log", watch)
        load = [str(minidb), "--seconds", str(seconds), "--stall-every", str(every), "--slow", str(truth)]
        environment = {**os.environ, "VPROF_SESSION": str(session)}
        server = subprocess.Popen(load, env=environment, stdout=subprocess.PIPE, text=True)
        largest, cpu = observe(server, collector, watch, slow)
        assert server.stdout
        printed = server.stdout.read()
        time.sleep(1)
        rss = int(field_of(watch.pid, "VmHWM")) / 1024
        watch.send_signal(signal.SIGTERM)
        if watch.wait(timeout=300):
            sys.exit((folder / "log").read_text())
    finally:
        collector.terminate()
        collector.wait()
    kept = Folder(slow).kept.values()
    told = {int(line.split()[1]): line.split() for line in truth.read_text().splitlines()}
    found = {int(one.interval.partition("#")[0]) for one in kept}
    return Result(
        seconds=seconds,
        transactions=int(next(line.split()[1] for line in printed.splitlines() if line.startswith("transactions"))),
        stalls=sum(row[0] == "stall" for row in told.values()),
        slow=len(told),
        kept=len(kept),
        missed=sorted(told.keys() - found),
        wrong=sorted(found - told.keys()),
        server_cpu=cpu["server"],
        server_cpu_without=without,
        collector_cpu=cpu["collector"],
        watch_cpu=cpu["watch"],
        watch_rss_mb=rss,
        folder_mb=largest / 2**20,
        kept_mb=sum(one.bytes for one in kept) / 2**20,
    )


def wait_until_begun(log: Path, watch: subprocess.Popen[bytes]) -> None:
    while "vprof watch: begun" not in log.read_text():
        if watch.poll() is not None:
            sys.exit(log.read_text())
        time.sleep(0.1)


def observe(
    server: subprocess.Popen[str], collector: subprocess.Popen[str], watch: subprocess.Popen[bytes], slow: Path
) -> tuple[int, dict[str, float]]:
    """Until the server ends: the largest size of the folder, and CPU of each process, as a part of one core."""
    processes = {"server": server.pid, "collector": collector.pid, "watch": watch.pid}
    time.sleep(_START_SECONDS)
    before, begin = {name: cpu_of(pid) for name, pid in processes.items()}, time.monotonic()
    now, largest = dict(before), 0
    while server.poll() is None:
        now = {name: cpu_of(pid) or now[name] for name, pid in processes.items()}
        largest = max(largest, size_of(slow))
        time.sleep(1)
    seconds = time.monotonic() - begin
    return largest, {name: (now[name] - before[name]) / seconds for name in processes}


def cpu_of(pid: int) -> float:
    """Seconds so far; 0 of one that has ended."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / _TICKS


def field_of(pid: int, name: str) -> str:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(line.split()[1] for line in lines if line.startswith(f"{name}:"))


def size_of(folder: Path) -> int:
    total = 0
    for path in folder.rglob("*"):
        try:
            total += path.stat().st_size
        except OSError:
            continue
    return total


def show(result: Result) -> None:
    r = result
    print(f"{r.seconds} s, {r.transactions} transactions; {r.slow} took more than {_LIMIT_MS} ms, {r.stalls} by plan")
    print(f"kept {r.kept}; missed {len(r.missed)} {r.missed[:5]}; kept without cause {len(r.wrong)} {r.wrong[:5]}")
    print(
        f"CPU of one core: minidb {100 * r.server_cpu:.2f} % ({100 * r.server_cpu_without:.2f} % without a session), "
        f"collector {100 * r.collector_cpu:.2f} %, watch {100 * r.watch_cpu:.2f} %"
    )
    print(f"memory of the watch {r.watch_rss_mb:.0f} MB; folder at most {r.folder_mb:.1f} MB, kept {r.kept_mb:.1f} MB")


if __name__ == "__main__":
    main()
