#!/usr/bin/env python3
"""Instructions that probes cost while they are off, and how much of a program lies inside of probed functions.

A program built twice, plain and by vprof-cc, runs the same command below callgrind with two counts of operations, whose
difference is counted: start and end are not, and a busy machine does not disturb it. In the command `{count}` is the
count, `{program}` the program. A function that the compiler expands in
another is counted there. It needs Debian's `valgrind`.

    python bench/off_cost.py --plain plain/db_bench --probed .vprof/leveldb/build/db_bench --counts 5000 15000 -- \\
        {program} --db=/tmp/db --num={count} --write_buffer_size=100000000 --benchmarks=fillrandom,readrandom
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import tempfile
from contextlib import ExitStack
from pathlib import Path

from callgrind import Profile, by_name, profile, without_debug_information

from vprof.metadata import read_program
from vprof.session import Session

HOTTEST = 20
"""Functions without a probe that are listed."""


def counted(command: list[str], program: Path, counts: tuple[int, int], folder: Path, attached: bool) -> Profile:
    """What the longer run does more than the shorter one."""
    runs = []
    for count in counts:
        with ExitStack() as stack:
            session = stack.enter_context(Session.start(None)) if attached else None
            environment = session.environment() if session else dict(os.environ)
            filled = [word.format(program=program, count=count) for word in command]
            runs.append(profile(filled, folder / "profile", env=environment, stderr=subprocess.DEVNULL))
    return runs[1].minus(runs[0])


def plain_name(linker_name: str) -> str:
    """As the metadata has it: without parameters and template arguments."""
    name = linker_name.replace("(anonymous namespace)", "{anonymous}")
    while (shorter := re.sub(r"<[^<>]*>", "", name)) != name:
        name = shorter
    return name.partition("(")[0].rpartition(" ")[2].replace("{anonymous}", "(anonymous namespace)")


def coverage(plain: Profile, program: Path, probed: Path) -> None:
    """Prints the share of the program's own instructions in functions with a probe, and the hottest others."""
    functions = [function for unit in read_program(probed) for function in unit.functions]
    sites = {function.name for function in functions if function.site is not None}
    reasons = {function.name: function.left for function in functions if function.left}
    own = by_name(plain, program)
    total = sum(instructions for instructions, _ in own.values())
    left = {name: cost for name, cost in own.items() if plain_name(name) not in sites}
    inside = total - sum(instructions for instructions, _ in left.values())
    print(f"{inside / total:.1%} of the program's own instructions are in functions with a probe; without one:")
    for name, (instructions, calls) in sorted(left.items(), key=lambda item: -item[1][0])[:HOTTEST]:
        reason = reasons.get(plain_name(name), "not of the program's text")
        print(f"{instructions / total:7.2%} {calls:12,} calls  {name[:60]} ({reason})")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--plain", type=Path, required=True)
    parser.add_argument("--probed", type=Path, required=True)
    parser.add_argument("--counts", type=int, nargs=2, required=True)
    parser.add_argument("command", nargs="+")
    arguments = parser.parse_args()
    short, long = arguments.counts
    with tempfile.TemporaryDirectory(prefix="vprof-off-cost-") as name:
        folder = Path(name)
        plain = without_debug_information(arguments.plain, folder / "plain")
        probed = without_debug_information(arguments.probed, folder / "probed")
        base = counted(arguments.command, plain, (short, long), folder, attached=False)
        print(f"plain    {base.total() / (long - short):12,.0f} instructions per operation")
        for state in ("dormant", "attached"):
            more = counted(arguments.command, probed, (short, long), folder, attached=state == "attached")
            print(f"{state:8} {more.total() / (long - short):12,.0f} x {more.total() / base.total():.3f}", flush=True)
        coverage(base, plain, arguments.probed)


if __name__ == "__main__":
    main()
