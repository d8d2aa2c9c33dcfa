#!/usr/bin/env python3
"""CPU time of a server per transaction: plain, and in the states of an instrumented one (targets/states.py).

The server is started anew for each measurement; rounds are interleaved, so a noisy machine touches all states alike.
Medians, quartiles and the ratio of medians are printed. `collector` is the CPU time of vprof's own process, which is
not in the server's. Run it where `vprof instrument --target postgres` was run; it builds a plain PostgreSQL first
(below .vprof/postgres/plain/, some 5 minutes once). The same for mysql.

    python targets/cost.py postgres --rounds 11 --seconds 5
    python targets/cost.py mysql --rounds 9 --seconds 5

Two runtimes are compared by `--before FOLDER`, where a libvprof.so of another commit lies that the server's account can
read: some 11 minutes for

    python targets/cost.py postgres --rounds 9 --seconds 3 --states dormant off before --before FOLDER

Other places of probes (VPROF_PROBES=light, body) are compared by `--probes`, which builds the server so first (below
.vprof/postgres/light/ and body/, some 8 minutes each once):

    python targets/cost.py postgres --rounds 9 --seconds 5 --probes light body
"""

from __future__ import annotations

import argparse
import os
import re
import statistics
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from os import getpid
from pathlib import Path
from shutil import copy2, copytree
from tempfile import TemporaryDirectory

from states import LOADS, State, cpu_seconds, name_of, processes, states

from vprof.installed import native
from vprof.session.owned import Session
from vprof.target.target import Target


@dataclass(frozen=True)
class Cost:
    """Of one measurement, per transaction."""

    server_us: float
    collector_us: float
    records: float
    lost: float


@contextmanager
def recorded_by(library: Path | None) -> Iterator[None]:
    """Programs started meanwhile are recorded by that folder's libvprof: programs look for it where `vprof` says, which
    is below its prefix. So there is another prefix, whose other parts are the installed ones."""
    if library is None:
        yield
        return
    installed = native("lib/vprof/libvprof.so").parents[2]
    before = os.environ.get("VPROF_PREFIX")
    with TemporaryDirectory() as prefix:
        Path(prefix).chmod(0o755)  # the server's account reads there
        for folder in ("bin", "lib/vprof"):
            copytree(installed / folder, Path(prefix, folder), copy_function=_link)
        Path(prefix, "lib/vprof/libvprof.so").unlink()
        copy2(library / "libvprof.so", Path(prefix, "lib/vprof"))
        os.environ["VPROF_PREFIX"] = prefix
        try:
            yield
        finally:
            del os.environ["VPROF_PREFIX"]
            os.environ.update({"VPROF_PREFIX": before} if before else {})


def _link(source: str, place: str) -> None:
    Path(place).symlink_to(Path(source).resolve())


@contextmanager
def running(state: State, folder: Path | None) -> Iterator[Session | None]:
    """The server in that state, its session if it has one writing to a trace as a user's would, in a folder (None: the
    target's)."""
    if state.plan is None:
        with state.server.running():
            yield None
        return
    trace = (folder or state.server.target.folder) / "cost.trace"
    server = state.server
    with Session.start(None, server.account.name) as session, server.running(session, state.plan):
        session.rotate(trace)
        yield session
    trace.unlink()


def measure(state: State, seconds: int, options: list[str], done: str, folder: Path | None = None) -> Cost:
    with recorded_by(state.library), running(state, folder) as session:
        state.server.load(1, options).wait()
        own, collector, records, lost = used(session)
        load = state.server.load(seconds, options)
        while load.poll() is None:
            if session and state.plan:
                session.follow(state.plan)
            time.sleep(0.1)
        state.server.check_load(load.returncode)
        time.sleep(0.3)  # the last backends end
        own_after, collector_after, records_after, lost_after = used(session)
        log = state.server.load_log.read_text(encoding="utf-8")
    count = int(re.search(done, log)[1])  # type: ignore[index]
    server_us, collector_us = (1e6 * spent / count for spent in (own_after - own, collector_after - collector))
    return Cost(server_us, collector_us, (records_after - records) / count, (lost_after - lost) / count)


def used(session: Session | None) -> tuple[float, float, int, int]:
    """So far: CPU seconds of the server, of the collector, records, and lost ones."""
    collectors, servers = [], []
    for pid in processes(getpid())[1:]:
        (collectors if name_of(pid) == "vprof-collector" else servers).append(pid)
    stats = session.stats() if session else {"records": 0, "dropped": 0}
    return cpu_seconds(servers), cpu_seconds(collectors), stats["records"], stats["dropped"]


LITTLE = 0.01
"""Of the records: as many may be lost without a remark."""


def part_lost(measured: list[Cost]) -> float:
    """Of the records."""
    lost, records = (sum(column) for column in zip(*((c.lost, c.records) for c in measured), strict=True))
    return lost / (lost + records) if lost else 0.0


def table(load: str, costs: dict[str, list[Cost]]) -> None:
    plain = statistics.median(cost.server_us for cost in costs["plain"])
    rounds = len(costs["plain"])
    print(f"\n{load}, n = {rounds}: microseconds of CPU per transaction")
    print(f"{'state':9} {'median':>8} {'quartiles':>19} {'x plain':>8} {'collector':>10} {'records':>8}")
    for name, measured in costs.items():
        server = [cost.server_us for cost in measured]
        median = statistics.median(server)
        low, _, high = statistics.quantiles(server, method="inclusive") if rounds > 1 else (median,) * 3
        collector = statistics.median(cost.collector_us for cost in measured)
        records = statistics.median(cost.records for cost in measured)
        print(
            f"{name:9} {median:8.1f} {low:8.1f} .. {high:7.1f} {median / plain:8.3f} {collector:10.1f} {records:8.1f}"
        )
    if lost := [name for name, measured in costs.items() if part_lost(measured) > LITTLE]:
        print(f"more than 1 % of the records were lost, which costs more than to record them: {', '.join(lost)}")


def forget(target: Target) -> None:
    """The page cache gives up what is executed, so that all is read from the disk and none lies as the linker wrote it:
    in two runs with programs just linked the dormant ones were slower than in three others
    (docs/design/entry-probes.md).
    """
    os.sync()  # what is not written yet would stay
    for file in [*(target.folder / "install").rglob("*"), *target.programs()]:
        if file.is_file():
            with file.open("rb") as opened:
                os.posix_fadvise(opened.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("target", choices=LOADS)
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--seconds", type=int, default=5, help="length of a measurement")
    parser.add_argument("--before", type=Path, help="folder of another libvprof.so: a state more")
    parser.add_argument(
        "--probes",
        nargs="*",
        choices=("entry", "light", "body"),
        default=[],
        help="four states more for each: with probes in these places",
    )
    parser.add_argument("--states", nargs="*", help="those to measure besides plain; default: all")
    parser.add_argument("--loads", nargs="*", help="select-only, TPC-B; read-only, read-write; default: both")
    parser.add_argument("--one-client", action="store_true", help="no CPU is short then, and each statement is a sleep")
    arguments = parser.parse_args()
    loads = LOADS[arguments.target]
    chosen = arguments.loads or list(loads.options)
    if unknown := set(chosen) - set(loads.options):
        parser.error(f"--loads: there is no {', '.join(sorted(unknown))}")
    measured = states(Target.load(arguments.target), arguments.before, arguments.probes)
    if arguments.states:
        if unknown := {"plain", *arguments.states} - {state.name for state in measured}:
            parser.error(f"--states: there is no {', '.join(sorted(unknown))}")
        measured = [state for state in measured if state.name in {"plain", *arguments.states}]
    for target in {state.server.target.folder: state.server.target for state in measured}.values():
        forget(target)
    for load in chosen:
        options = loads.options[load] + (loads.one_client if arguments.one_client else [])
        costs: dict[str, list[Cost]] = defaultdict(list)
        for number in range(arguments.rounds):
            first = number % len(measured)
            for state in measured[first:] + measured[:first]:
                costs[state.name].append(measure(state, arguments.seconds, options, loads.done))
        table(load, {state.name: costs[state.name] for state in measured})


if __name__ == "__main__":
    main()
