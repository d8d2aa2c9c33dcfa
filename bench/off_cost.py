#!/usr/bin/env python3
"""What probes cost while they are off, and how much of a program lies inside of probed functions.

    off_cost_loads.py: each program built plain and by vprof-cc
      -> callgrind: instructions per operation, plain, dormant, and with a session attached
      -> CPU time per operation, plain and attached, runs interleaved: medians, quartiles, ratio of medians
      -> share of the plain build's instructions, of functions of the program's text, that are in functions with a probe
      -> growth of the text (machine code), and the hottest functions without a probe

Each figure is the difference of two runs of different length, so start and end are not in it. A busy machine does not
disturb instructions. A function that the compiler expands in another is counted there. Templates of the C++ library are
no text of the program: their share of its own instructions is told apart. It needs Debian's `valgrind`. VPROF_PROBES
says where probes stand; functions that are only expanded then have none.

    python bench/off_cost.py leveldb jsoncpp --rounds 11
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from callgrind import Profile, by_name, parse, without_debug_information
from elftools.elf.elffile import ELFFile
from off_cost_loads import LOADS, Client, Load

from vprof.program.elf import read_program
from vprof.program.places import read_places
from vprof.session.owned import Session
from vprof.session.plan import Plan

HOTTEST = 20
"""Functions without a probe that are listed."""

POLL_SECONDS = 0.01


@dataclass(frozen=True)
class Build:
    """A program in a state: with a session attached or not."""

    load: Load
    program: Path
    attached: bool

    def run(self, count: int, folder: Path, *before: str) -> float:
        """CPU seconds, user and system, of a run of so many operations; `before`: words before the command."""
        client = self.load.client
        with ExitStack() as stack:
            session = None
            if self.attached:
                session = stack.enter_context(Session.start(None, client.server.account.name if client else None))
            how = client.server.how(session) if client else {"env": session.environment() if session else None}
            said = stack.enter_context((folder / "said").open("wb"))
            command = [*before, str(self.program), *self.load.options(count)]
            child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=said, **{**how, "cwd": folder})

            def attend() -> bool:
                """What joins the session waits for that; false when the program has ended."""
                if session:
                    session.follow(Plan.of([]))
                time.sleep(POLL_SECONDS)
                return os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None

            if client:
                ask(client, count, attend)
            while attend():
                pass
            _, status, used = os.wait4(child.pid, 0)
            child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode:
            raise SystemExit(f"{self.program} failed: {(folder / 'said').read_text(errors='replace')[-300:]}")
        return used.ru_utime + used.ru_stime

    def counted(self, folder: Path) -> Profile:
        """What callgrind counts, of the operations between the two runs; of a server, in the process that is asked."""
        runs = []
        for count in self.load.counted:
            self.run(count, folder, "valgrind", "-q", "--tool=callgrind", f"--callgrind-out-file={folder}/profile.%p")
            files = list(folder.glob("profile.*"))
            profiles = [parse(file.read_text(encoding="utf-8")) for file in files]
            runs.append(max(profiles, key=self._asked))
            for file in files:
                file.unlink()
        return runs[1].minus(runs[0])

    def _asked(self, profile: Profile) -> int:
        name = self.load.client.asked if self.load.client else ""
        return sum(calls for (_, function), calls in profile.calls.items() if function == name)

    def timed(self, folder: Path) -> float:
        """CPU microseconds per operation."""
        short, long = self.load.timed
        before = self.run(short, folder)
        return 1e6 * (self.run(long, folder) - before) / (long - short)


def ask(client: Client, count: int, attend: Callable[[], bool]) -> None:
    """Waits until the server is ready, has the client ask, and stops the server. If it has ended, does nothing."""
    target, how = client.server.target, client.server.how()
    try:
        while subprocess.run(target.filled(target.descriptor.server["ready"]), **how).returncode:
            if not attend():
                return
        done = subprocess.run(client.command(count), capture_output=True, text=True, **how)
    finally:
        subprocess.run(target.filled(target.descriptor.server["stop"]), capture_output=True, **how)
    if done.returncode:
        raise SystemExit(f"{shlex.join(client.command(count))} failed: {done.stderr[-300:]}")


def plain_name(linker_name: str) -> str:
    """As the metadata has it: without parameters, template arguments and ABI tags."""
    name = linker_name.replace("(anonymous namespace)", "{anonymous}").replace("operator()", "{call}")
    name = re.sub(r"\[abi:\w+\]", "", name)
    while (shorter := re.sub(r"<[^<>]*>", "", name)) != name:
        name = shorter
    name = name.partition("(")[0].rpartition(" ")[2]
    return name.replace("{anonymous}", "(anonymous namespace)").replace("{call}", "operator()")


@dataclass
class Coverage:
    """Shares of the program's own instructions (not those of shared libraries)."""

    inside: float
    """Of those in functions of the program's text: in functions with a probe."""
    library: float
    """Of all: in templates and inline functions of the C++ library."""
    hottest: list[tuple[float, int, str, str]]
    """Without a probe: share of the text's, calls, name, reason."""


def coverage(plain: Profile, program: Path, probed: Path) -> Coverage:
    units, places = read_program(probed), read_places(probed)
    functions = [function for unit in units for function in unit.functions]
    sited = [(unit.switch_addr + f.site, f.name) for unit in units for f in unit.functions if f.site is not None]
    only_expanded = places.copies.keys() - places.own  # of probes before bodies: there is nothing to switch
    sites = {name for byte, name in sited if byte not in only_expanded}
    reasons = {name: "expanded" for _, name in sited}
    reasons |= {function.name: function.no_site for function in functions if function.no_site}
    own = by_name(plain, program)
    total = sum(instructions for instructions, _ in own.values())
    left = {name: cost for name, cost in own.items() if plain_name(name) not in sites}
    foreign = {name for name in left if plain_name(name) not in reasons}
    of_the_text = total - sum(left[name][0] for name in foreign)
    hottest = sorted(((left[name], name) for name in left.keys() - foreign), reverse=True)[:HOTTEST]
    return Coverage(
        1 - sum(left[name][0] for name in left.keys() - foreign) / of_the_text,
        1 - of_the_text / total,
        [(cost / of_the_text, calls, name, reasons[plain_name(name)]) for (cost, calls), name in hottest],
    )


def text_bytes(program: Path) -> int:
    with program.open("rb") as file:
        return int(ELFFile(file).get_section_by_name(".text")["sh_size"])


def report(load: Load, rounds: int, folder: Path) -> Coverage:
    """Prints the table's rows of a load."""
    operations = load.counted[1] - load.counted[0]
    plain = without_debug_information(load.plain, load.plain.with_name(f"{load.plain.name}.counted"))
    probed = without_debug_information(load.probed, load.probed.with_name(f"{load.probed.name}.counted"))
    Build(load, plain, False).run(load.counted[1], folder)  # what earlier runs left to clean up is nobody's cost
    base = Build(load, plain, False).counted(folder)
    ratios = []
    for attached in (False, True):
        ratios.append(Build(load, probed, attached).counted(folder).total() / base.total())
    states = [Build(load, plain, False), Build(load, probed, True)]
    times: list[list[float]] = [[], []]
    for number in range(rounds):
        for state in (0, 1) if number % 2 else (1, 0):
            times[state].append(states[state].timed(folder))
    for copy in (plain, probed):
        copy.unlink()
    found = coverage(base, plain, load.probed)
    medians = [statistics.median(times[0]), statistics.median(times[1])]
    quartiles = ["{:.4g}-{:.4g}".format(*statistics.quantiles(one, method="inclusive")[::2]) for one in times]
    print(
        f"{load.name:25} {base.total() / operations:11,.0f} {ratios[0]:7.3f} {ratios[1]:8.3f} "
        f"{medians[0]:8.4g} ({quartiles[0]}) {medians[1]:8.4g} ({quartiles[1]}) {medians[1] / medians[0]:6.3f} "
        f"{found.inside:7.1%} {found.library:7.1%} {text_bytes(load.probed) / text_bytes(load.plain) - 1:+6.0%}",
        flush=True,
    )
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", nargs="*", help=f"of {', '.join(LOADS)}; default: all")
    parser.add_argument("--rounds", type=int, default=11, help="of CPU times, at least 2")
    arguments = parser.parse_args()
    if arguments.rounds < 2:
        parser.error("--rounds: quartiles need 2 or more")
    if unknown := set(arguments.programs) - set(LOADS):
        parser.error(f"no such program: {', '.join(sorted(unknown))}")
    loads = [load for name in arguments.programs or LOADS for load in LOADS[name]()]
    print(f"{'':25} {'instructions':^28} {'CPU, microseconds: median (quartiles), n = ' + str(arguments.rounds):^54}")
    print(
        f"{'per operation':25} {'plain':>11} {'dormant':>7} {'attached':>8} {'plain':>8} {'attached':>26} "
        f"{'x':>12} {'inside':>7} {'library':>7} {'text':>6}"
    )
    hottest = {}
    with tempfile.TemporaryDirectory(prefix="vprof-off-cost-") as name:
        Path(name).chmod(0o777)  # the backend runs as another account
        for load in loads:
            hottest[load.name] = report(load, arguments.rounds, Path(name)).hottest
    for name, rows in hottest.items():
        print(f"\n{name}: the hottest functions without a probe, share of instructions")
        for share, calls, function, reason in rows:
            print(f"{share:7.2%} {calls:12,} calls  {function[:70]} ({reason})")


if __name__ == "__main__":
    main()
