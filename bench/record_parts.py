#!/usr/bin/env python3
"""Where the time of a record goes in a server: the way to the runtime and back, the clock, the rest.

    python bench/record_parts.py [--rounds 5] [--seconds 3] [--functions 500] [--load select-only]

PostgreSQL's CPU time a transaction, with so many functions on: recorded as ever, and by a libvprof before which another
library lies, whose enter and leave return at once, or read the clock and return. Its backends have no frames then, so
nothing is recorded of their functions; the records of the first give the count to divide by. Traces lie in memory (some
gigabytes), since a disk may not take 600 MB a second. All rows in turn, medians with quartiles. Run it where `vprof
instrument --target postgres` was run, as root in a folder that others may enter.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "targets"))

from cost import Cost, measure, part_lost  # noqa: E402
from states import LOADS, State, called_functions, evenly  # noqa: E402

from vprof.installed import native  # noqa: E402
from vprof.session.plan import Plan  # noqa: E402
from vprof.target.server import Server  # noqa: E402
from vprof.target.target import Target  # noqa: E402

CLOCK = {
    "enter": "pushq %rdx\n rdtsc\n popq %rdx\n",
    "leave": "pushq %rax\n pushq %rdx\n rdtsc\n popq %rdx\n popq %rax\n",
}
OTHER_NAME = b"libvprox.so"
"""As long as its own, which the library before it has now."""
ROWS = {"returns at once": dict.fromkeys(CLOCK, ""), "reads the clock twice": CLOCK}
"""What enter and leave do before they return."""


def library(folder: Path, parts: dict[str, str]) -> Path:
    """A folder with a libvprof.so that brings the installed one along and has its own enter and leave (PROBE_ABI.md):
    enter's result is where a call number may be stored."""
    enter = f"{parts['enter']} movq %r10, %rax\n ret\n"
    code = [f".globl {name}\n{name}:\n{enter}" for name in ("__vprof_enter_site", "__vprof_enter_called")]
    code += [f".globl __vprof_leave_frame\n__vprof_leave_frame:\n{parts['leave']} ret\n"]
    folder.mkdir(mode=0o755)
    source = folder / "parts.S"
    source.write_text('.text\n.section .note.GNU-stack,""\n.text\n' + "".join(code), encoding="utf-8")
    behind = folder / OTHER_NAME.decode()
    behind.write_bytes(native("lib/vprof/libvprof.so").read_bytes().replace(b"\0libvprof.so\0", b"\0%b\0" % OTHER_NAME))
    linked = ["-shared", "-nostdlib", source, "-Wl,--no-as-needed", behind, f"-Wl,-rpath,{folder}"]
    subprocess.run(["gcc", *linked, "-o", folder / "libvprof.so"], check=True)
    return folder


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=3)
    parser.add_argument("--functions", type=int, default=500)
    loads = LOADS["postgres"]
    parser.add_argument("--load", choices=loads.options, default="select-only")
    arguments = parser.parse_args()
    server = Server.of(Target.load("postgres"))
    plan = Plan.of(evenly(called_functions(server, loads), arguments.functions))
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory(dir="/dev/shm") as traces:
        Path(folder).chmod(0o755)  # the server's account reads there
        states = [State("nothing on", server, Plan.of([])), State("everything", server, plan)]
        for number, (name, parts) in enumerate(ROWS.items()):
            states.append(State(name, server, plan, library(Path(folder, str(number)), parts)))
        costs: dict[str, list[Cost]] = {state.name: [] for state in states}
        for _ in range(arguments.rounds):
            for state in states:
                found = measure(state, arguments.seconds, loads.options[arguments.load], loads.done, Path(traces))
                costs[state.name].append(found)
    table(costs, f"{arguments.load}, {arguments.functions} functions, n = {arguments.rounds}")


def table(costs: dict[str, list[Cost]], title: str) -> None:
    records = statistics.median(c.records for c in costs["everything"])
    records -= statistics.median(c.records for c in costs["nothing on"])
    print(f"{title}: {records:.0f} records of functions a transaction, {part_lost(costs['everything']):.1%} lost")
    print(f"{'what a probe that is on does':29} {'us a transaction':>28} {'ns a record':>26}")
    off = statistics.median(c.server_us for c in costs["nothing on"])
    for name, measured in costs.items():
        low, median, high = statistics.quantiles([c.server_us for c in measured], method="inclusive")
        ns = [1e3 * (us - off) / records for us in (median, low, high)]
        own = f"{ns[0]:.1f} ({ns[1]:.1f} .. {ns[2]:.1f})" if name != "nothing on" else ""
        print(f"{name:29} {f'{median:.1f} ({low:.1f} .. {high:.1f})':>28} {own:>26}")


if __name__ == "__main__":
    main()
