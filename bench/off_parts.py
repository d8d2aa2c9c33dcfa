#!/usr/bin/env python3
"""Where the instructions lie that a dormant program executes beyond one without probes.

    a load of off_cost_loads.py: built plain and by vprof-cc -> callgrind -> calls and instructions of both
      by where a function's probe stands: before its body, in it, nowhere; and of libvprof and other libraries

A call that only the probed program makes is one that the compiler expands in the plain one. Then the plain one has its
instructions in the caller: so compare sums of rows, not rows, and see the functions listed behind. VPROF_PROBES says
where probes stand. Figures are of one operation, the difference of two runs; a busy machine does not disturb them.

    VPROF_PROBES=entry python bench/off_parts.py postgres jsoncpp
"""

from __future__ import annotations

import argparse
import tempfile
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from callgrind import Profile, by_name, without_debug_information
from off_cost import Build, plain_name
from off_cost_loads import LOADS, Load

from vprof.program.elf import read_program
from vprof.program.places import read_places

LISTED = 15
"""Functions that the plain program expands, by calls."""


@dataclass
class Part:
    """Per operation, plain and probed."""

    functions: set[str] = field(default_factory=set)
    calls: list[float] = field(default_factory=lambda: [0.0, 0.0])
    instructions: list[float] = field(default_factory=lambda: [0.0, 0.0])


def kinds(program: Path) -> dict[str, str]:
    """Where the probe of each function stands, by its name without parameters."""
    places, found = read_places(program), {}
    for unit in read_program(program):
        for function in unit.functions:
            if function.site is not None:
                own = unit.switch_addr + function.site in places.own
                found[function.name] = "before the body" if own else "in the body"
    return found


def parts(profiles: list[Profile], programs: list[Path], where: dict[str, str], operations: int) -> dict[str, Part]:
    found: dict[str, Part] = {}
    for state, (profile, program) in enumerate(zip(profiles, programs, strict=True)):
        for name, (instructions, calls) in by_name(profile, program).items():
            part = found.setdefault(where.get(plain_name(name), "no probe"), Part())
            part.functions.add(name)
            part.calls[state] += calls / operations
            part.instructions[state] += instructions / operations
        for (where_from, _), instructions in profile.instructions.items():
            library = Path(where_from).name
            if library != program.name:
                row = "libvprof" if library.startswith("libvprof") else "other libraries"
                found.setdefault(row, Part()).instructions[state] += instructions / operations
    return found


def expanded(profiles: list[Profile], programs: list[Path], operations: int) -> Iterable[tuple[str, float, float]]:
    """Most first: functions with calls per operation that only the probed program makes, and their instructions."""
    plain, probed = (by_name(profile, program) for profile, program in zip(profiles, programs, strict=True))
    more = Counter({name: calls - plain.get(name, (0, 0))[1] for name, (_, calls) in probed.items()})
    for name, calls in more.most_common(LISTED):
        if calls >= operations / 10:
            yield name, calls / operations, probed[name][0] / operations


def report(load: Load, folder: Path) -> None:
    operations = load.counted[1] - load.counted[0]
    built = [load.plain, load.probed]
    programs = [without_debug_information(one, one.with_name(f"{one.name}.counted")) for one in built]
    Build(load, programs[0], False).run(load.counted[1], folder)  # what earlier runs left to clean up is nobody's cost
    profiles = [Build(load, program, False).counted(folder) for program in programs]
    for program in programs:
        program.unlink()
    totals = [profile.total() / operations for profile in profiles]
    print(f"\n{load.name}: {totals[0]:,.0f} instructions per operation, with probes x{totals[1] / totals[0]:.3f}")
    print(f"{'probe':16} {'functions':>9} {'calls, plain':>12} {'probed':>9} {'instructions':>12} {'probed':>9}")
    rows = parts(profiles, programs, kinds(load.probed), operations)
    for name, part in sorted(rows.items(), key=lambda row: -row[1].instructions[1]):
        (before, calls), (plain, probed) = part.calls, part.instructions
        print(
            f"{name:16} {len(part.functions):9} {before:12,.1f} {calls:9,.1f} {plain:12,.0f} {probed:9,.0f} "
            f"{(probed - plain) / totals[0]:+8.2%}"
        )
    print("calls that only the probed program makes, as the plain one has them expanded:")
    for name, calls, instructions in expanded(profiles, programs, operations):
        print(f"{calls:9,.1f} calls {instructions:9,.0f} instructions  {name[:70]}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", nargs="+", choices=LOADS, metavar="PROGRAM", help=f"of {', '.join(LOADS)}")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="vprof-off-parts-") as name:
        Path(name).chmod(0o777)  # the backend runs as another account
        for program in arguments.programs:
            for load in LOADS[program]():
                report(load, Path(name))


if __name__ == "__main__":
    main()
