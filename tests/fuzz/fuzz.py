"""Random programs, plain against instrumented.

    fuzz.py cxx c csmith --first 1 --count 1000 -j 2      seeds 1 to 1000 of each
    fuzz.py cxx --seed 17 --keep /tmp/seed17              one seed again, its files kept for reading

Exit code 1 if anything differs. A finding is printed with the command that repeats it.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from multiprocessing.pool import ThreadPool
from pathlib import Path

import compare
from compare import Verdict
from csmith import UnusableError

from programs import LANGUAGES, program, together

_TOLD_SECONDS = 30


@dataclass(frozen=True)
class Outcome:
    language: str
    seed: int
    verdict: Verdict


def try_seeds(language: str, seeds: list[int], folder: Path | None = None) -> list[Outcome]:
    """Compares the programs of seeds that are compiled together, in a temporary folder unless one is given."""
    try:
        source = program(language, together(language, seeds[0]))
        if folder:
            found = compare.verdicts(source, folder, seeds)
        else:
            with tempfile.TemporaryDirectory(prefix="fuzz-") as scratch:
                found = compare.verdicts(source, Path(scratch), seeds)
    except UnusableError as reason:
        found = dict.fromkeys(seeds, Verdict("skipped", (str(reason),)))
    except subprocess.TimeoutExpired as reason:
        found = dict.fromkeys(seeds, Verdict("different", (f"the compiler does not end: {reason.cmd[0]}",)))
    return [Outcome(language, seed, verdict) for seed, verdict in found.items()]


def grouped(language: str, seeds: Iterable[int]) -> list[list[int]]:
    """The seeds, those that are compiled together in one list."""
    return [list(group) for _, group in groupby(seeds, lambda seed: together(language, seed))]


def run(language: str, seeds: range, jobs: int) -> list[Outcome]:
    """All seeds; prints what is not the same when it turns up, and how far it is."""
    outcomes: list[Outcome] = []
    told = time.monotonic()
    compare.log_object()
    with ThreadPool(jobs) as pool:  # the work is done by other programs
        for group in pool.imap_unordered(partial(try_seeds, language), grouped(language, seeds)):
            outcomes += group
            for outcome in group:
                if outcome.verdict.kind != "same":
                    print(told_of(outcome), flush=True)
            if time.monotonic() - told > _TOLD_SECONDS:
                told = time.monotonic()
                print(summary(language, outcomes), flush=True)
    return outcomes


def told_of(outcome: Outcome) -> str:
    again = (
        f"{sys.executable} {Path(__file__)} {outcome.language} --seed {outcome.seed} --keep /tmp/fuzz-{outcome.seed}"
    )
    head = f"{outcome.language} {outcome.seed}: {outcome.verdict.kind}"
    return "\n  ".join([head, *outcome.verdict.lines[:4], f"again: {again}"])


def summary(language: str, outcomes: list[Outcome]) -> str:
    kinds = Counter(outcome.verdict.kind for outcome in outcomes)
    counts = ", ".join(f"{kinds[kind]} {kind}" for kind in ("same", "different", "skipped", "invalid"))
    skipped = Counter(outcome.verdict.lines[0] for outcome in outcomes if outcome.verdict.kind == "skipped")
    why = "".join(f"\n  {count} skipped: {reason}" for reason, count in skipped.items())
    return f"{language}: {len(outcomes)} seeds: {counts}{why}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("languages", nargs="+", choices=LANGUAGES)
    parser.add_argument("--first", type=int, default=1, help="first seed (1)")
    parser.add_argument("--count", type=int, default=1000, help="how many seeds of each language (1000)")
    parser.add_argument("-j", "--jobs", type=int, default=2, help="programs at one time (2)")
    parser.add_argument("--seed", type=int, help="only this seed")
    parser.add_argument("--keep", type=Path, help="with --seed: an empty or new folder for the files of the program")
    given = parser.parse_args()
    if given.seed is not None:
        if given.keep:
            given.keep.mkdir(exist_ok=True)
        outcomes = [one for language in given.languages for one in try_seeds(language, [given.seed], given.keep)]
        print("\n".join(told_of(outcome) for outcome in outcomes))
        return any(outcome.verdict.kind != "same" for outcome in outcomes)
    seeds = range(given.first, given.first + given.count)
    results = {language: run(language, seeds, given.jobs) for language in given.languages}
    print("\n".join(summary(language, outcomes) for language, outcomes in results.items()))
    return any(
        outcome.verdict.kind in ("different", "invalid") for outcomes in results.values() for outcome in outcomes
    )


if __name__ == "__main__":
    sys.exit(main())
