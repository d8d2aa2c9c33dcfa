"""What wake-up edges cost, and how often they are right.

    python bench/edges.py --lib build/lib/vprof

Pairs: an uncontended acquire and release, instructions (callgrind) and nanoseconds of CPU, without libvprof, with it
but no session, and with a session; interleaved, medians. Hand-overs: two threads on one CPU that wake each other, so
that each costs a context switch; nanoseconds of CPU of both. Contention: threads that keep the ground truth themselves
(edges.c); of the time that was recorded as blocked, the share whose waker is wrong or unknown, and the share of waits
whose time is flagged.
"""

from __future__ import annotations

import argparse
import os
import re
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from runtime import HERE, Session
from vprof.tables.model import NONE, Bool, Int64
from vprof.trace.chunks import read_chunks
from vprof.trace.clock import Clock
from vprof.trace.records import BLOCKED, PEER_TIME_UNKNOWN, PEER_UNKNOWN

PRIMITIVES = ("mutex", "read", "write", "spin", "semaphore")
"""Of edges.c."""
MEANS = ("semaphore", "condition", "pipe")
"""Of edges.c, to hand over."""
HOLDS = (20, 200, 2000, 200_000)
"""Turns of an empty loop, about a nanosecond each."""
JOIN = 4
CLOCK_ERROR_NS = 300
"""Between the trace's clock and the program's: far less than a hold and the look at the clock behind it take."""
NEVER = np.iinfo(np.int64).min


def build(lib: Path, folder: Path) -> dict[str, Path]:
    compile_ = ["clang-19", "-O2", "-D_GNU_SOURCE", "-pthread", HERE / "edges.c"]
    subprocess.run([*compile_, "-o", folder / "plain"], check=True)
    with_runtime = [lib / "vprof_begin.o", f"-L{lib}", "-lvprof", f"-Wl,-rpath,{lib}", "-o", folder / "edges"]
    subprocess.run([*compile_, *with_runtime], check=True)
    return {"plain": folder / "plain", "dormant": folder / "edges", "session": folder / "edges"}


def environment(session: Path | None) -> dict[str, str]:
    plain = {k: v for k, v in os.environ.items() if k != "VPROF_SESSION"}
    return plain if session is None else {**plain, "VPROF_SESSION": str(session)}


def instructions(program: Path, primitive: str, session: Path | None) -> float:
    """By the difference of two runs."""
    counts = []
    for pairs in (20_000, 40_000):
        command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", program, primitive, str(pairs)]
        run = subprocess.run(command, env=environment(session), capture_output=True, text=True, check=True)
        found = re.search(r"Collected : (\d+)", run.stderr)
        assert found
        counts.append(int(found[1]))
    return (counts[1] - counts[0]) / 20_000


def nanoseconds(program: Path, session: Path | None, *arguments: str) -> float:
    command = [program, *arguments]
    return float(subprocess.run(command, env=environment(session), capture_output=True, text=True, check=True).stdout)


def pairs(programs: dict[str, Path], lib: Path, rounds: int) -> None:
    print(f"{'acquire + release':<20} {'plain':>16} {'dormant':>16} {'session':>16}   (instructions, ns of CPU)")
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        session = Session(lib, Path(folder))
        paths = {"plain": None, "dormant": None, "session": session.path}
        for primitive in PRIMITIVES:
            times: dict[str, list[float]] = {name: [] for name in programs}
            for _ in range(rounds):
                for name, program in programs.items():
                    times[name].append(nanoseconds(program, paths[name], primitive, "2000000"))
            cells = [
                f"{instructions(programs[name], primitive, paths[name]):8.0f} {statistics.median(times[name]):7.2f}"
                for name in programs
            ]
            print(f"{primitive:<20} {cells[0]:>16} {cells[1]:>16} {cells[2]:>16}")
        session.stop()


def hand_overs(programs: dict[str, Path], lib: Path, rounds: int) -> None:
    print(f"\n{'hand-over':<20} {'plain':>16} {'dormant':>16} {'session':>16}   (ns of CPU: median, least)")
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        session = Session(lib, Path(folder))
        paths = {"plain": None, "dormant": None, "session": session.path}
        for means in MEANS:
            times: dict[str, list[float]] = {name: [] for name in programs}
            for _ in range(rounds):
                for name, program in programs.items():
                    times[name].append(nanoseconds(program, paths[name], "handoff", means, "20000"))
            cells = [f"{statistics.median(times[name]):8.0f} {min(times[name]):7.0f}" for name in programs]
            print(f"{means:<20} {cells[0]:>16} {cells[1]:>16} {cells[2]:>16}")
        session.stop()


UID, ENDED, LENGTH, PEER, FLAGS = range(5)
"""Columns of a table of recorded waits, in ns."""


def recorded_waits(trace: Path) -> tuple[dict[int, int], Int64]:
    """Thread numbers of the kernel by uid, and the waits for locks."""
    file = read_chunks(trace)
    clock = Clock.of(file.of("session")[0]["clock"], file.of("anchor"))
    tids = {int(event["uid"]): int(event["tid"]) for event in file.of("thread")}
    waits = [np.zeros((0, 5), np.int64)]
    for chunk in file.chunks:
        head = chunk.words[:, 0]
        kind, object_class = head >> np.uint64(60), head >> np.uint64(48) & np.uint64(0xFFF)
        rows = np.flatnonzero((kind == BLOCKED) & (object_class != JOIN))
        words = chunk.words.view(np.int64)
        ended = chunk.base_ticks + ((words[rows, 0] - chunk.base_ticks) << 16 >> 16)
        end, begin = clock.to_ns(ended), clock.to_ns(words[rows, 1])
        flags, peer = words[rows + 2, 0] >> 48 & 0xFFF, words[rows + 2, 1] & 0xFFFFFFFF
        waits.append(np.column_stack((np.full(len(rows), chunk.uid), end, end - begin, peer, flags)))
    return tids, np.concatenate(waits)


@dataclass(frozen=True)
class Contention:
    """Of the waits that were recorded: how many; shares of their time, and of their number, by what is recorded."""

    waits: int
    wrong: float
    unknown: float
    flagged: float


def contention(program: Path, lib: Path, primitive: str, work: int) -> Contention:
    """Of each recorded wait the program knows the truth: the acquire that ended with it, by thread and time."""
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        session = Session(lib, Path(folder))
        rounds = max(200, min(200_000, 40_000_000 // work))
        command = [program, "contend", primitive, "4", str(rounds), str(work)]
        run = subprocess.run(command, env=environment(session.path), capture_output=True, text=True, check=True)
        session.stop()
        truth = np.array(run.stdout.split(), np.int64).reshape(-1, 7)
        right = may_have_been_last if primitive == "mixed" else was_last
        return judge(truth, *recorded_waits(Path(folder) / "run.trace"), right)


TID, BEGIN, END, RELEASER, WRITES, LEAVING, LEFT = range(7)
"""Columns of what edges.c prints of each hold."""

Right = Callable[[dict[int, Int64], Int64, Int64], Bool]
"""Of all holds by thread, the hold that each wait led to, and the thread that is recorded to have ended it or NONE."""


def was_last(holds: dict[int, Int64], taken: Int64, tid: Int64) -> Bool:
    right: Bool = tid == taken[:, RELEASER]
    return right


def may_have_been_last(holds: dict[int, Int64], taken: Int64, tid: Int64) -> Bool:
    """Of a lock with readers, who let go at once: nobody else surely released after that thread, and before the end of
    the wait. A reader waits for writers only."""
    latest, latest_of_peer = np.full((2, len(taken)), NEVER)
    for other, all_holds in holds.items():
        for writes, rows in ((1, all_holds), (0, all_holds[all_holds[:, WRITES] == 1])):
            asking = np.flatnonzero((taken[:, WRITES] == writes) & (taken[:, TID] != other))
            before = np.searchsorted(rows[:, LEAVING], taken[asking, END], "right") - 1
            asking, before = asking[before >= 0], before[before >= 0]
            latest[asking] = np.maximum(latest[asking], rows[before, LEAVING])
            peers = tid[asking] == other
            latest_of_peer[asking[peers]] = rows[before[peers], LEFT]
    right: Bool = (latest_of_peer != NEVER) & (latest <= latest_of_peer)
    return right


def judge(truth: Int64, tids: dict[int, int], waits: Int64, right: Right) -> Contention:
    """Each thread's holds come in order of time, so what a wait led to is found by bisection."""
    holds = {tid: truth[truth[:, TID] == tid] for tid in np.unique(truth[:, TID]).tolist()}
    taken = np.zeros((len(waits), truth.shape[1]), np.int64)
    for uid in np.unique(waits[:, UID]).tolist():
        mine, own = waits[:, UID] == uid, holds[tids[uid]]
        at = np.searchsorted(own[:, END], waits[mine, ENDED] - CLOCK_ERROR_NS)
        taken[mine] = own[np.minimum(at, len(own) - 1)]
    length = np.minimum(taken[:, END] - taken[:, BEGIN], waits[:, LENGTH])
    unknown = waits[:, FLAGS] & PEER_UNKNOWN != 0
    peer = np.array([tids.get(uid, NONE) for uid in waits[:, PEER].tolist()], np.int64)
    wrong = ~unknown & ~right(holds, taken, peer)
    flagged = int(np.count_nonzero(waits[:, FLAGS] & PEER_TIME_UNKNOWN))
    time, count = max(1, int(length.sum())), max(1, len(waits))
    return Contention(len(waits), int(length[wrong].sum()) / time, int(length[unknown].sum()) / time, flagged / count)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])  # type: ignore[union-attr]
    parser.add_argument("--lib", type=Path, default=Path(sys.prefix) / "lib" / "vprof", help="where libvprof.so lies")
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        lib = options.lib.resolve()
        programs = build(lib, Path(folder))
        pairs(programs, lib, options.rounds)
        hand_overs(programs, lib, options.rounds)
        heads = ("waits", "wrong waker", "unknown waker", "time flagged")
        print(f"\n{'4 threads':<10} {'hold':>8} {heads[0]:>7} {heads[1]:>12} {heads[2]:>14} {heads[3]:>14}")
        for primitive in ("mutex", "write", "mixed", "spin", "semaphore"):
            for work in HOLDS:
                found = contention(programs["session"], lib, primitive, work)
                shares = f"{found.wrong:>12.2%} {found.unknown:>14.2%} {found.flagged:>14.2%}"
                print(f"{primitive:<10} {work:>8} {found.waits:>7} {shares}")


if __name__ == "__main__":
    main()
