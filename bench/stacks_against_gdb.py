#!/usr/bin/env python3
"""Call stacks of waits as vprof records them, against gdb's at the same moments.

    python bench/stacks_against_gdb.py            (a minute; needs gdb)

Runs the waits of tests/contract/programs/wait_stacks.c, built in several ways, and in a library that is loaded at run
time, below gdb, which prints the stack wherever the runtime samples a wait. The functions of the program and its
library are compared, innermost first, for all samples: the set of gdb's stacks with the set in the trace.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from pathlib import Path

from vprof.installed import native
from vprof.session.owned import Session
from vprof.session.plan import Plan
from vprof.trace.reading import load_binary

SOURCE = Path(__file__).parents[1] / "tests" / "contract" / "programs" / "wait_stacks.c"
KINDS = ("mutex", "condition", "semaphore", "pipe", "time", "handler")
OURS = {"main", "worker", "helper", "serve", "descend", "on_signal", "release_mutex", "release_others"} | {
    f"wait_for_{kind}" for kind in KINDS
}
BUILDS = {
    "-O2": ["-O2"],
    "-O2 with frame pointers": ["-O2", "-fno-omit-frame-pointer"],
    "-O3 without": ["-O3", "-fomit-frame-pointer"],
    "-O0": ["-O0"],
    "-O2 -no-pie": ["-O2", "-no-pie"],
    "plugin": ["-O2"],
}
MAIN = """
#include <dlfcn.h>
int main(int argc, char **argv) {
  int (*run)(int, char **) = (int (*)(int, char **))dlsym(dlopen(argv[1], RTLD_NOW), "main");
  return run(argc - 1, argv + 1);
}
"""
FRAME = re.compile(r"^#\d+\s+(?:0x[0-9a-f]+ in )?([\w:]+)", re.MULTILINE)
Stack = tuple[str, ...]


def compiled(output: Path, *arguments: object) -> Path:
    command = [native("bin/vprof-cc"), "-I", native("include"), "-pthread", "-o", output, *arguments]
    subprocess.run([str(word) for word in command], check=True)
    return output


def built(name: str, folder: Path) -> list[str]:
    """The program, and what comes before the kind of wait."""
    if name != "plugin":
        return [str(compiled(folder / "prog", *BUILDS[name], SOURCE))]
    plugin = compiled(folder / "plugin.so", "-shared", "-fPIC", *BUILDS[name], SOURCE)
    source = folder / "main.c"
    source.write_text(MAIN)
    return [str(compiled(folder / "prog", "-O2", source)), str(plugin)]


def of_gdb(output: str) -> set[Stack]:
    """Of each stop the functions of ours, outermost first."""
    found = set()
    for stop in output.split("SAMPLE")[1:]:
        names = [name for name in FRAME.findall(stop.partition("END")[0]) if name in OURS]
        found.add(tuple(reversed(names)))
    return found


def compared(name: str, kind: str, folder: Path) -> tuple[set[Stack], set[Stack]]:
    """gdb's stacks and ours."""
    program = built(name, folder)
    script = folder / "gdb"
    script.write_text(
        "set pagination off\nset breakpoint pending on\nset width 0\nhandle SIGUSR1 nostop noprint pass\n"
        "break vprof::sample_wait\ncommands\nsilent\necho SAMPLE\\n\nbt\necho END\\n\ncontinue\nend\nrun\n"
    )
    trace = folder / "run.trace"
    with Session.start(trace) as session:
        command = ["gdb", "-nx", "-batch", "-x", str(script), "--args", *program, kind]
        process = subprocess.Popen(
            command, env=session.environment(), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        session.attend(process, Plan.of([]))
        output = process.communicate()[0]
        session.stop()
    read = load_binary(trace)
    samples = read.wait_samples
    stacks = {read.wait_stacks[s] for s in samples.stack[samples.ns > 0].tolist()}
    return of_gdb(output), {tuple(f for f in stack if f in OURS) for stack in stacks}


def main() -> None:
    print(f"{'build':26} {'wait':10} {'stacks by gdb':>13} {'same':>5} {'deepest':>8}")
    wrong = none = 0
    for name in BUILDS:
        for kind in KINDS:
            with tempfile.TemporaryDirectory() as folder:
                gdb, ours = compared(name, kind, Path(folder))
            seen = ours & gdb
            deepest = max(map(len, seen), default=0)
            print(f"{name:26} {kind:10} {len(gdb):13} {len(seen):5} {deepest:8}", flush=True)
            none += not seen
            for stack in sorted(ours - gdb):
                wrong += 1
                print(f"    not gdb's: {' > '.join(stack)}")
    print(f"{wrong} stacks are not gdb's" if wrong else "every stack is one of gdb's")
    if none:
        print(f"{none} waits have no stack")
    sys.exit(bool(wrong or none))


if __name__ == "__main__":
    main()
