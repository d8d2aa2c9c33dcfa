"""`vprof watch` beside PostgreSQL under TPC-C, with a checkpoint and a long transaction in each part of the time.

Run it as `watch.py postgres`. The server is the target postgres, built below --build if it is not there (minutes),
loaded by `vprof load tpcc` in an open loop. After a third of each part somebody asks for a checkpoint, after two thirds
somebody updates a warehouse and goes away for --hold seconds before the transaction is rolled back. `--slower-than
p99.9` is learned; what was kept is counted by what went on meanwhile, and `vprof watch --report` says what it has in
common: of all parts, since they share a folder.
"""

from __future__ import annotations

import argparse
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, LiteralString

import psycopg
from watch_parts import (
    STOP_SECONDS,
    below,
    cpu_of,
    ended,
    lengths,
    mean,
    not_kept,
    observe,
    parts,
    vprof,
    wait_until,
)

from vprof.target.chosen_load import ChosenLoad
from vprof.target.target import Target
from vprof.watch.keep import Folder, Kept

_LONG = "UPDATE warehouse SET w_ytd = w_ytd WHERE w_id = 1"
_OPTIONS = "-c checkpoint_timeout=1h -c max_wal_size=16GB -c log_checkpoints=on"
"""No checkpoint but the one that is asked for."""
_AFTER_NS = 10**9
"""What ended so long after something belongs to it: what it made wait is done then."""


@dataclass
class Part:
    """CPU as parts of one core. `events`: (name, begin, end) by the clock on the wall, in ns. `kept`: numbers in the
    folder, of this part."""

    seconds: float
    cpu: dict[str, float]
    watch_rss_mb: float
    folder_mb: float
    kept: list[int]
    log: list[str]
    events: list[tuple[str, int, int]] = field(default_factory=list)


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--warehouses", type=int, default=4)
    parser.add_argument("--rate", type=float, default=200.0, help="transactions a second")
    parser.add_argument("--hold", type=float, default=3.0, help="how long the long transaction takes, in seconds")
    parser.add_argument("--slower-than", default="p99.9")
    parser.add_argument("--build", type=Path, default=Path(".vprof/postgres"), help="work folder of the target")


def main(options: argparse.Namespace) -> None:
    slow = options.folder / "postgres-slow"

    def make(number: int, seconds: int) -> Part:
        with _watched(options, slow, seconds) as (watch, log):
            return _part(options, slow, seconds, watch, log)

    found = parts(options.folder / "postgres.jsonl", Part, lengths(options.seconds, options.part), make)
    show(found, Folder(slow))
    sys.exit(subprocess.run(vprof("watch", "--report", slow), check=False).returncode)


@contextmanager
def _watched(options: argparse.Namespace, slow: Path, seconds: int) -> Iterator[tuple[subprocess.Popen[bytes], Path]]:
    """A watch with the server and its load; stopped on the way out."""
    if not (options.build / "build" / "src" / "backend" / "postgres").exists():
        subprocess.run(vprof("instrument", "--target", "postgres", "--dir", options.build), check=True)
    load = ["--load", "tpcc", "--warehouses", options.warehouses, "--rate", options.rate]
    more = ["--openmetrics", options.folder / "postgres.prom"] if options.openmetrics else []
    command = [slow, "--target", "postgres", "--dir", options.build, *load, f"--server-options={_OPTIONS}"]
    log = options.folder / "postgres.log"
    limit = ["--slower-than", options.slower_than, "--per-hour", 100]
    with log.open("w") as out, ended(vprof("watch", *command, *limit, *more), stderr=out) as watch:
        wait_until(log, "begun", watch)
        yield watch, log


def _part(options: argparse.Namespace, slow: Path, seconds: int, watch: subprocess.Popen[bytes], log: Path) -> Part:
    before = set(Folder(slow).kept)
    chosen = ChosenLoad("tpcc", options.warehouses, options.rate)
    server = replace(Target.load("postgres", options.build), chosen_load=chosen).server_dir
    postmaster = int((server / "data" / "postmaster.pid").read_text().split()[0])
    collector = next(pid for pid in below(watch.pid) if _name(pid).startswith("vprof-collect"))
    cpu = {
        "server": lambda: sum(map(cpu_of, below(postmaster))),
        "collector": lambda: cpu_of(collector),
        "watch": lambda: cpu_of(watch.pid),
    }
    disturb = _Disturb(server, seconds, options.hold)
    try:
        taken = observe(disturb.is_over, cpu, watch, slow)
    finally:
        disturb.end()
    if watch.poll() is not None or len(disturb.events) < 2:
        sys.exit(f"the watch has ended, or the checkpoint or the long transaction failed:\n{log.read_text()}")
    watch.send_signal(signal.SIGTERM)
    if watch.wait(timeout=STOP_SECONDS):
        sys.exit(log.read_text())
    kept = sorted(set(Folder(slow).kept) - before)
    return Part(seconds, taken.cpu, taken.watch_rss_mb, taken.folder_mb, kept, not_kept(log), disturb.events)


def _name(pid: int) -> str:
    return Path(f"/proc/{pid}/comm").read_text()


class _Disturb:
    """Asks for a checkpoint, later for the long transaction, each in a thread; knows when time is up."""

    def __init__(self, server: Path, seconds: int, hold: float) -> None:
        self.events: list[tuple[str, int, int]] = []
        self._server, self._hold = server, hold
        self._begun, self._seconds = time.monotonic(), seconds
        self._due: list[tuple[float, str, Callable[[psycopg.Connection[Any]], None]]] = [
            (seconds / 3, "checkpoint", lambda client: _say(client, "CHECKPOINT")),
            (2 * seconds / 3, "long transaction", self._long),
        ]
        self._running: list[threading.Thread] = []

    def is_over(self) -> bool:
        age = time.monotonic() - self._begun
        while self._due and age >= self._due[0][0]:
            _, name, what = self._due.pop(0)
            self._running.append(threading.Thread(target=self._do, args=(name, what)))
            self._running[-1].start()
        return age >= self._seconds and not any(one.is_alive() for one in self._running)

    def _do(self, name: str, what: Callable[[psycopg.Connection[Any]], None]) -> None:
        with psycopg.connect(host=str(self._server), user="postgres", dbname="postgres", autocommit=True) as client:
            begun = time.time_ns()
            what(client)
            self.events.append((name, begun, time.time_ns()))

    def _long(self, client: psycopg.Connection[Any]) -> None:
        _say(client, "BEGIN")
        _say(client, _LONG)
        time.sleep(self._hold)
        _say(client, "ROLLBACK")

    def end(self) -> None:
        for one in self._running:
            one.join()


def _say(client: psycopg.Connection[Any], text: LiteralString) -> None:
    client.execute(text)


def show(found: list[Part], folder: Folder) -> None:
    seconds = [part.seconds for part in found]
    events = [tuple(event) for part in found for event in part.events]
    by_event: dict[str, list[Kept]] = {}
    for one in folder.kept.values():
        by_event.setdefault(_during(one, events), []).append(one)
    print(f"{sum(seconds)} s in {len(found)} parts; in the folder {len(folder.kept)} slow transactions")
    for name, ones in sorted(by_event.items()):
        types = ", ".join(f"{count} {type_}" for type_, count in Counter(one.type for one in ones).most_common())
        slowest = max(one.latency_ns for one in ones) / 1e6
        print(f"  {name}: {len(ones)} ({types}), the slowest {slowest:.0f} ms")
    cpu = {name: 100 * mean([part.cpu[name] for part in found], seconds) for name in found[0].cpu}
    print("CPU of one core: " + ", ".join(f"{name} {value:.2f} %" for name, value in cpu.items()))
    rss, largest = max(part.watch_rss_mb for part in found), max(part.folder_mb for part in found)
    print(f"memory of the watch {rss:.0f} MB; folder at most {largest:.1f} MB\n")


def _during(one: Kept, events: list[tuple[str, int, int]]) -> str:
    begun = one.ended_ns - one.latency_ns
    return next(
        (name for name, begin, end in events if begun <= end + _AFTER_NS and one.ended_ns >= begin), "at other times"
    )
