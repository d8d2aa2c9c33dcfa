"""The states in which a server's cost is measured, and the build without vprof they are compared with.

plain     built by clang-19 from the same source with the same steps
dormant   built by vprof-cc, no session
off       a session attached, no function probe on; intervals and waits are recorded
before    the same with another libvprof.so, if asked for
100, 500  so many functions on, chosen evenly by name among those that the loads call for every statement or nearly so

With probes in other places (VPROF_PROBES=light, body), if asked for, in builds of their own: light, light-off,
light-100 and light-500 (body, ...), which are dormant, off, 100 and 500 of it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np

sys.path.append(str(Path(__file__).parent))

from plain_build import built_plain, built_with_probes

from vprof.session.owned import Session
from vprof.session.plan import Plan
from vprof.target.server import Server
from vprof.target.target import Target
from vprof.trace.loading import load_trace


@dataclass(frozen=True)
class Loads:
    """Of a target: names and options of its load, those of one client, how the load says what it has done, and the
    server's function that is called once for each statement."""

    options: dict[str, list[str]]
    one_client: list[str]
    done: str
    per_statement: str


LOADS = {
    "postgres": Loads(
        {"select-only": ["-S"], "TPC-B": []},
        ["-c", "1", "-j", "1"],
        r"transactions actually processed: (\d+)",
        "exec_simple_query",
    ),
    "mysql": Loads(
        # oltp_read_only but for the name
        {"read-only": ["--index-updates=0", "--non-index-updates=0", "--delete-inserts=0"], "read-write": []},
        ["--threads=1"],
        r"transactions: +(\d+)",
        "dispatch_command",
    ),
}


@dataclass(frozen=True)
class State:
    """A name, the server's build and data, and the plan of its session; None: there is none.

    `library`: the folder of the libvprof.so that records it, None: the installed one.
    """

    name: str
    server: Server
    plan: Plan | None
    library: Path | None = None


def states(target: Target, before: Path | None = None, places: Sequence[str] = ()) -> list[State]:
    """All five on one data folder, and `before`: as `off`, with that libvprof; and four for each of `places`
    (VPROF_PROBES). Builds what is not there yet."""
    server = Server.of(target)
    plain = Server(_on_data_of(target, built_plain(target)), server.account)
    called = called_functions(server, LOADS[target.descriptor.name])
    on = {str(count): Plan.of(evenly(called, count)) for count in (100, 500)}
    found = [
        State("plain", plain, None),
        State("dormant", server, None),
        State("off", server, Plan.of([])),
        *([State("before", server, Plan.of([]), before)] if before else []),
        *(State(name, server, plan) for name, plan in on.items()),
    ]
    for probes in places:
        beside = Server(_on_data_of(target, built_with_probes(target, probes)), server.account)
        found += [
            State(probes, beside, None),
            State(f"{probes}-off", beside, Plan.of([])),
            *(State(f"{probes}-{name}", beside, plan) for name, plan in on.items()),
        ]
    return found


def evenly(names: list[str], count: int) -> list[str]:
    """So many of them, all if there are fewer."""
    count = min(count, len(names))
    return [names[i * len(names) // count] for i in range(count)]


def _on_data_of(target: Target, beside: Target) -> Target:
    """Another build on the data of the instrumented one."""
    data = beside.folder / "server"
    if not data.is_symlink():
        data.symlink_to(target.folder / "server")
    return beside


def called_functions(server: Server, loads: Loads) -> list[str]:
    """Sorted names of functions that one of the loads calls at least half as often as it has statements.

    Seen in a second of each load by one client with every probe on; drops do not matter.
    """
    trace = server.target.folder / "called.trace"
    everything = Plan.of(["*"])
    names: set[str] = set()
    with Session.start(None, server.account.name) as session, server.running(session, everything):
        for options in loads.options.values():
            session.rotate(trace)
            server.load(1, [*options, *loads.one_client]).wait()
            session.rotate(None)
            recorded = load_trace(trace)
            functions = recorded.program.functions
            calls = np.bincount(recorded.invocations.function, minlength=len(functions))
            often = calls >= calls[functions.index(loads.per_statement)] / 2
            names |= {functions[f] for f in np.flatnonzero(often)}
    trace.unlink()
    return sorted(names)


def processes(root: int) -> list[int]:
    """A process and all its descendants that have not been waited for."""
    found = [root]
    for pid in found:
        with suppress(FileNotFoundError, ProcessLookupError):  # it has ended since
            for children in Path(f"/proc/{pid}/task").glob("*/children"):
                found += map(int, _read(children).split())
    return found


def name_of(pid: int) -> str:
    """Of its program; empty if the process is gone."""
    return _read(Path(f"/proc/{pid}/comm")).strip()


def cpu_seconds(pids: list[int]) -> float:
    """User and system time of these processes and of the children they waited for."""
    ticks = 0
    for pid in pids:
        fields = _read(Path(f"/proc/{pid}/stat")).rpartition(")")[2].split()
        ticks += sum(map(int, fields[11:15]))  # nothing of a process that is gone: its parent has its time
    return ticks / os.sysconf("SC_CLK_TCK")


def _read(file: Path) -> str:
    try:
        return file.read_text()
    except (FileNotFoundError, ProcessLookupError):
        return ""
