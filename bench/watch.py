"""Does `vprof watch` keep every stall, and nothing else; what does it take of CPU, memory and disk?

    python bench/watch.py minidb [--seconds 3600] [--every 20000] [--openmetrics]
    python bench/watch.py postgres [--seconds 1800] [--warehouses 4] [--rate 200] [--openmetrics]

minidb runs in a session under its own load, with a stall of 40 ms planted once in so many transactions. It writes the
truth: the id and the latency of every transaction of more than 20 ms. `vprof watch --slower-than 20ms` runs beside it,
with a plan of a drill-down's size. Prints what was kept against the truth; the CPU time of minidb, of the collector and
of the watch, as parts of one core, from the tenth second of each part on; the watch's largest memory; and the largest
size of the folder, looked at each second. minidb's own CPU time without a session, in a run of a tenth of the length,
is there to compare with. postgres: watch_postgres.py.

Both are made in parts of --part seconds, each noted in FOLDER/minidb.jsonl or FOLDER/postgres.jsonl once it is done
(--folder): run again, the same command goes on with those that are missing, and prints the table if none is. An hour of
minidb takes 67 minutes, half an hour of postgres 35 and a build. Smoke runs: minidb --seconds 20 --every 2000; postgres
--seconds 60.
"""

from __future__ import annotations

import argparse
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from watch_parts import STOP_SECONDS, cpu_of, ended, lengths, mean, not_kept, observe, parts, vprof, wait_until
from watch_postgres import add_options as add_postgres
from watch_postgres import main as postgres

from vprof.installed import native
from vprof.target.target import Target
from vprof.watch.keep import Folder

_SITES = "serve_txn,txn_execute,txn_commit,commit_stall,log_commit,wal_flush,latch_acquire,lock_acquire,lock_wait"
_LIMIT_MS = 20
_TOLD = re.compile(r"not-kept intervals=(\d+)")


@dataclass
class Part:
    """CPU as parts of one core. `missed`: (id, ms by the truth) of what was slow by it, and not kept;
    `wrong`: kept, and not slow by it. `log`: of the watch, without what it kept."""

    seconds: float
    transactions: int
    stalls: int
    slow: int
    kept: int
    missed: list[tuple[int, float]]
    wrong: list[int]
    server_cpu: float
    server_cpu_without: float
    collector_cpu: float
    watch_cpu: float
    watch_rss_mb: float
    folder_mb: float
    kept_mb: float
    log: list[str]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    shows = parser.add_subparsers(dest="show", required=True)
    for name, seconds in (("minidb", 3600), ("postgres", 1800)):
        show = shows.add_parser(name)
        show.add_argument("--seconds", type=int, default=seconds, help="20 or more")
        show.add_argument("--part", type=int, default=1200, help="the longest that is made anew after a stop")
        show.add_argument("--folder", type=Path, default=Path("watch-shows"), help="where results go")
        show.add_argument("--openmetrics", action="store_true", help="with metrics, and so with analyses")
    shows.choices["minidb"].add_argument("--every", type=int, default=20000, help="one transaction in so many stalls")
    add_postgres(shows.choices["postgres"])
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    postgres(options) if options.show == "postgres" else minidb(options)


def minidb(options: argparse.Namespace) -> None:
    with tempfile.TemporaryDirectory(prefix="vprof-bench-") as made:
        folder = Path(made)
        program: list[Path] = []

        def make(number: int, seconds: int) -> Part:
            if not program:
                program.append(build(folder))
            without = cpu_without(program[0], max(5, seconds // 10))
            work = folder / str(number)
            work.mkdir()
            return measure(program[0], work, seconds, options, without)

        found = parts(options.folder / "minidb.jsonl", Part, lengths(options.seconds, options.part), make)
    show(found)
    sys.exit(any(part.missed or part.wrong for part in found))


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


def measure(minidb: Path, folder: Path, seconds: int, options: argparse.Namespace, without: float) -> Part:
    session, slow, truth = Path(f"/dev/shm/vprof-bench-{os.getpid()}"), folder / "slow", folder / "truth"
    truth.touch()
    command = [str(native("lib/vprof/vprof-collector")), "--session", str(session), "--output", "-"]
    with ExitStack() as ends:
        collector = ends.enter_context(ended(command, stdout=subprocess.PIPE))
        assert collector.stdout and collector.stdout.readline() == b"ready\n"
        arguments = [slow, "--slower-than", f"{_LIMIT_MS}ms", "--session", session, "--sites", _SITES]
        more = ["--openmetrics", folder / "vprof.prom"] if options.openmetrics else []
        log = ends.enter_context((folder / "log").open("w"))
        watch = ends.enter_context(ended(vprof("watch", *arguments, "--per-hour", 1000, *more), stderr=log))
        wait_until(folder / "log", "begun", watch)
        load = [str(minidb), "--seconds", str(seconds), "--stall-every", str(options.every), "--slow", str(truth)]
        environment = {**os.environ, "VPROF_SESSION": str(session)}
        server = ends.enter_context(ended(load, env=environment, stdout=subprocess.PIPE))
        looked_at = {"server": server.pid, "collector": collector.pid, "watch": watch.pid}
        cpu = {name: lambda pid=pid: cpu_of(pid) for name, pid in looked_at.items()}
        taken = observe(lambda: server.poll() is not None, cpu, watch, slow)
        assert server.stdout
        printed = server.stdout.read().decode()
        time.sleep(1)
        watch.send_signal(signal.SIGTERM)
        if watch.wait(timeout=STOP_SECONDS):
            sys.exit((folder / "log").read_text())
    kept = Folder(slow).kept.values()
    told = {int(line.split()[1]): line.split() for line in truth.read_text().splitlines()}
    found = {int(one.interval.partition("#")[0]) for one in kept}
    return Part(
        seconds=seconds,
        transactions=int(next(line.split()[1] for line in printed.splitlines() if line.startswith("transactions"))),
        stalls=sum(row[0] == "stall" for row in told.values()),
        slow=len(told),
        kept=len(kept),
        missed=[(id_, int(told[id_][2]) / 1e6) for id_ in sorted(told.keys() - found)],
        wrong=sorted(found - told.keys()),
        server_cpu=taken.cpu["server"],
        server_cpu_without=without,
        collector_cpu=taken.cpu["collector"],
        watch_cpu=taken.cpu["watch"],
        watch_rss_mb=taken.watch_rss_mb,
        folder_mb=taken.folder_mb,
        kept_mb=sum(one.bytes for one in kept) / 2**20,
        log=not_kept(folder / "log"),
    )


def show(found: list[Part]) -> None:
    seconds = [part.seconds for part in found]
    transactions, slow, stalls, kept = (
        sum(getattr(part, name) for part in found) for name in ("transactions", "slow", "stalls", "kept")
    )
    missed, wrong = ([id_ for part in found for id_ in getattr(part, name)] for name in ("missed", "wrong"))
    with_, without, collector, watch = (
        100 * mean(column, seconds)
        for column in (
            [part.server_cpu for part in found],
            [part.server_cpu_without for part in found],
            [part.collector_cpu for part in found],
            [part.watch_cpu for part in found],
        )
    )
    print(
        f"{sum(seconds)} s in {len(found)} parts, {transactions} transactions; {slow} took more than {_LIMIT_MS} ms, "
        f"{stalls} by plan"
    )
    told = sum(int(count) for part in found for line in part.log for count in _TOLD.findall(line))
    print(f"kept {kept}; missed {len(missed)} {missed[:5]}, of which the log tells {told}")
    print(f"kept without cause {len(wrong)} {wrong[:5]}")
    print(
        f"CPU of one core: minidb {with_:.2f} % ({without:.2f} % without a session), collector {collector:.2f} %, "
        f"watch {watch:.2f} %"
    )
    rss, folder = (max(getattr(part, name) for part in found) for name in ("watch_rss_mb", "folder_mb"))
    print(
        f"memory of the watch {rss:.0f} MB; folder at most {folder:.1f} MB, "
        f"kept {sum(part.kept_mb for part in found):.1f} MB"
    )


if __name__ == "__main__":
    main()
