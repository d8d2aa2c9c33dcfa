#!/usr/bin/env python3
"""How often `vprof diff` is wrong: independent starts of minidb, where nothing changed and where something did.

    vprof instrument --target minidb
    python bench/diff_study.py record --folder /tmp/pool      (1200 starts of minidb: 40 minutes)
    python bench/diff_study.py judge --folder /tmp/pool

`record` makes rounds of starts: sixteen of the baseline and, between them, eight with less of the planted work
(`--planted`: only the eight baseline starts next to these). Each has a seed of its own; a start that is there already
is kept, so it can be stopped and go on.

`judge` deals the baseline starts to pairs of sides: alternating, as they were made, then in random order. In one deal
every start is in one pair. An alarm is a verdict about two sides that are the same program. The starts with less work
are each compared once, with baseline starts of the same rounds.
"""

from __future__ import annotations

import argparse
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from vprof.commands.record import command as record_command
from vprof.compare.diff import diff
from vprof.compare.judgement import NO_DIFFERENCE
from vprof.compare.run_metrics import MeasuredRun, measure, run_of
from vprof.trace.loading import load_trace

PATHOLOGY = "lock"
PER_SIDE = 8
ROUNDS = 50
DEALS = 4
SIZES = (3, 5, PER_SIDE)
"""Runs per side that are judged."""


def starts(round_: int, planted_only: bool) -> Iterator[tuple[str, bool]]:
    """Names of a round's starts, in the order in which they are made, and whether they have less work."""
    for i in range(2 * PER_SIDE):
        if i % 2 or not planted_only:
            yield f"{round_:03}-{i:02}-base", False
        if i % 2:
            yield f"{round_:03}-{i:02}-less", True


def record(folder: Path, seconds: float, amount: int, planted_only: bool) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for round_ in range(ROUNDS):
        for name, less in starts(round_, planted_only):
            if not (folder / f"{name}.trace").exists():
                start(folder, name, seconds, amount if less else 100)
        with (folder / "load").open("a", encoding="utf-8") as log:
            print(round_, *os.getloadavg(), file=log)


def start(folder: Path, name: str, seconds: float, amount: int) -> None:
    """One run of minidb, recorded as `vprof record` does; what it prints goes to NAME.log."""
    seed = int.from_bytes(os.urandom(4), "little")
    part = folder / "part"
    options = ["--pathology", PATHOLOGY, "--seconds", seconds, "--seed", seed, "--amount", amount]
    arguments = ["--target", "minidb", "-o", part, "--", *options]
    with quiet(folder / f"{name}.log"):
        record_command.main(list(map(str, arguments)), standalone_mode=False)
    part.rename(folder / f"{name}.trace")


class quiet:  # noqa: N801
    """Standard output and error, those of children too, go to a file."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def __enter__(self) -> None:
        self._kept = os.dup(1), os.dup(2)
        with self._file.open("wb") as log:
            os.dup2(log.fileno(), 1)
            os.dup2(log.fileno(), 2)

    def __exit__(self, *_: object) -> None:
        for number, kept in enumerate(self._kept, 1):
            os.dup2(kept, number)
            os.close(kept)


Pair = tuple[Sequence[MeasuredRun], Sequence[MeasuredRun]]


def load(folder: Path, kind: str) -> list[MeasuredRun]:
    """In the order in which they were made."""
    return [run_of(path, load_trace(path), None) for path in sorted(folder.glob(f"*-{kind}.trace"))]


def same(base: list[MeasuredRun], per_side: int, deal: int) -> list[Pair]:
    """Pairs without a difference; the first deal alternates neighbours, the others are random."""
    order = np.arange(len(base)) if deal == 0 else np.random.default_rng(deal).permutation(len(base))
    groups = order[: len(base) // (2 * per_side) * 2 * per_side].reshape(-1, 2 * per_side)
    return [([base[i] for i in group[::2]], [base[i] for i in group[1::2]]) for group in groups]


def planted(base: list[MeasuredRun], less: list[MeasuredRun], per_side: int) -> list[Pair]:
    """One pair of each round: its first starts with less work, and the baseline starts made just before them."""
    pairs = []
    for round_ in sorted({run.path.name[:3] for run in less}):
        sides = [[r for r in runs if r.path.name.startswith(round_)] for runs in (base, less)]
        sides[0] = [r for r in sides[0] if int(r.path.name[4:6]) % 2]
        if min(map(len, sides)) >= per_side:
            pairs.append((sides[0][:per_side], sides[1][:per_side]))
    return pairs


def judge(folder: Path) -> None:
    base, less = load(folder, "base"), load(folder, "less")
    loads = np.loadtxt(folder / "load", ndmin=2)[:, 1]
    print(f"{len(base)} baseline starts, {len(less)} with less work; load average {loads.min():.0f}-{loads.max():.0f}")
    logs = [np.log([measure(run)["variance"] for run in runs]) for runs in (base, less)]
    print(f"log variance over runs: sd {logs[0].std(ddof=1):.3f} and {logs[1].std(ddof=1):.3f}", end="; ")
    print(f"variance with less work: {np.exp(logs[1].mean() - logs[0].mean()):.3f} times that of the baseline\n")
    for per_side in SIZES:
        for deal in range(DEALS):
            verdicts = Counter(diff(*pair).verdict for pair in same(base, per_side, deal))
            pairs = verdicts.total()
            print(f"{per_side} runs a side, same, deal {deal}: {pairs - verdicts[NO_DIFFERENCE]} alarms in {pairs}")
        verdicts = Counter(diff(*pair).verdict for pair in planted(base, less, per_side))
        print(f"{per_side} runs a side, less work: better in {verdicts['better']} of {verdicts.total()}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["record", "judge"])
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--seconds", type=float, default=1.5, help="of each start")
    parser.add_argument("--amount", type=int, default=84, help="of planted work in the lesser starts, in percent")
    parser.add_argument("--planted", action="store_true", help="record no baseline starts but those to be compared")
    options = parser.parse_args()
    if options.what == "record":
        record(options.folder, options.seconds, options.amount, options.planted)
    else:
        judge(options.folder)


if __name__ == "__main__":
    main()
