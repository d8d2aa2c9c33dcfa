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
from dataclasses import dataclass
from multiprocessing.pool import ThreadPool
from pathlib import Path

import compare

from programs import LANGUAGES, UnusableError, program

_TOLD_SECONDS = 30


@dataclass(frozen=True)
class Outcome:
    language: str
    seed: int
    kind: str
    """same, different, skipped (it runs too long), invalid (the generator's fault)."""
    lines: tuple[str, ...] = ()


def try_seed(language: str, seed: int, folder: Path | None = None) -> Outcome:
    """Compares the program of one seed, in a temporary folder unless one is given."""
    try:
        if folder:
            found = compare.findings(program(language, seed), folder)
        else:
            with tempfile.TemporaryDirectory(prefix="fuzz-") as scratch:
                found = compare.findings(program(language, seed), Path(scratch))
    except (compare.SkippedError, UnusableError) as reason:
        return Outcome(language, seed, "skipped", (str(reason),))
    except subprocess.TimeoutExpired as reason:
        return Outcome(language, seed, "different", (f"the compiler does not end: {reason.cmd[0]}",))
    except compare.InvalidError as reason:
        return Outcome(language, seed, "invalid", (str(reason),))
    return Outcome(language, seed, "different" if found else "same", tuple(found))


def _try(job: tuple[str, int]) -> Outcome:
    return try_seed(*job)


def run(language: str, seeds: range, jobs: int) -> list[Outcome]:
    """All seeds; prints what is not the same when it turns up, and how far it is."""
    outcomes: list[Outcome] = []
    told = time.monotonic()
    compare.log_object()
    with ThreadPool(jobs) as pool:  # the work is done by other programs
        for outcome in pool.imap_unordered(_try, [(language, seed) for seed in seeds]):
            outcomes.append(outcome)
            if outcome.kind != "same":
                print(told_of(outcome), flush=True)
            if time.monotonic() - told > _TOLD_SECONDS:
                told = time.monotonic()
                print(summary(language, outcomes), flush=True)
    return outcomes


def told_of(outcome: Outcome) -> str:
    again = (
        f"{sys.executable} {Path(__file__)} {outcome.language} --seed {outcome.seed} --keep /tmp/fuzz-{outcome.seed}"
    )
    return "\n  ".join([f"{outcome.language} {outcome.seed}: {outcome.kind}", *outcome.lines[:4], f"again: {again}"])


def summary(language: str, outcomes: list[Outcome]) -> str:
    kinds = Counter(outcome.kind for outcome in outcomes)
    counts = ", ".join(f"{kinds[kind]} {kind}" for kind in ("same", "different", "skipped", "invalid"))
    return f"{language}: {len(outcomes)} seeds: {counts}"


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
        outcomes = [try_seed(language, given.seed, given.keep) for language in given.languages]
        print("\n".join(told_of(outcome) for outcome in outcomes))
        return any(outcome.kind != "same" for outcome in outcomes)
    seeds = range(given.first, given.first + given.count)
    results = {language: run(language, seeds, given.jobs) for language in given.languages}
    print("\n".join(summary(language, outcomes) for language, outcomes in results.items()))
    return any(outcome.kind in ("different", "invalid") for outcomes in results.values() for outcome in outcomes)


if __name__ == "__main__":
    sys.exit(main())
