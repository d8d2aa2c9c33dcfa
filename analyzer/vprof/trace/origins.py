"""On which host and in which process of it an interval began.

    a file's `session` event, or its folder  ->  host;  its `thread` events  ->  processes
    traces  ->  the order of their intervals: host by host, by begin

Times of two hosts are of two clocks: they are never compared, so intervals of several hosts have no order of time.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from vprof.tables.columns import i32
from vprof.tables.model import Int32, Int64, Process, Trace
from vprof.trace.chunks import TraceFile

_SAYS_NOTHING = {"", "(none)", "localhost", "localhost.localdomain"}
"""Names of hosts that any host may have."""


def folder_of(path: Path) -> str:
    """The name of the folder that a file lies in."""
    return path.absolute().parent.name


def host_of(file: TraceFile) -> str:
    """As the recorder called it; where that says nothing, the file's folder."""
    names = (str(event.get("host", "")) for event in file.of("session"))
    return next((name for name in names if name not in _SAYS_NOTHING), file.folder)


def processes(file: TraceFile, uids: Sequence[int]) -> tuple[list[Process], Int32]:
    """Those of the threads with these uids, and by thread which one it is. A process is called as its first thread
    is."""
    pid_of: dict[int, int] = {}
    names: dict[int, str] = {}
    for event in file.of("thread"):
        pid_of[event["uid"]] = event["pid"]
        if event["pid"] not in names or event["tid"] == event["pid"]:
            names[event["pid"]] = str(event["name"])
    number: dict[int, int] = {}
    of = i32([number.setdefault(pid_of.get(uid, 0), len(number)) for uid in uids])
    found = [Process(0, file.session, pid, names.get(pid, "")) for pid in number]
    return found or [Process(0, file.session, 0, "")], of


def process_of_intervals(trace: Trace) -> Int64:
    """By interval an index into `trace.processes`: where it began."""
    if trace.process_of is None:
        return np.zeros(len(trace.intervals.begin), np.int64)
    return trace.process_of[trace.intervals.begin_thread].astype(np.int64)


def host_of_intervals(trace: Trace) -> Int64:
    """By interval an index into `trace.hosts`."""
    hosts = np.array([process.host for process in trace.processes], np.int64)
    host: Int64 = hosts[process_of_intervals(trace)]
    return host


def joined(traces: Sequence[Trace]) -> tuple[list[str], list[Int64], list[Process], Int32]:
    """The hosts of all, for each trace the new number of each of its hosts; the processes of all, and which one each of
    the threads is of, one trace's after the other's."""
    hosts = sorted({host for trace in traces for host in trace.hosts})
    maps = [np.array([hosts.index(host) for host in trace.hosts], np.int64) for trace in traces]
    number: dict[Process, int] = {}
    of = []
    for trace, new in zip(traces, maps, strict=True):
        moved = [Process(int(new[one.host]), one.session, one.pid, one.name) for one in trace.processes]
        mine = np.array([number.setdefault(one, len(number)) for one in moved], np.int64)
        own = np.zeros(len(trace.threads), np.int64) if trace.process_of is None else trace.process_of
        of.append(mine[own])
    return hosts, maps, list(number), i32(np.concatenate(of))


def in_order(traces: Sequence[Trace]) -> Int64:
    """Which of all intervals, one trace's after the other's, comes first when they are merged, which next."""
    hosts = sorted({host for trace in traces for host in trace.hosts})
    host = [np.array([hosts.index(one) for one in trace.hosts])[host_of_intervals(trace)] for trace in traces]
    begin = np.concatenate([trace.intervals.begin for trace in traces])
    order: Int64 = np.lexsort((begin, np.concatenate(host)))
    return order


def since_first_begin(trace: Trace, rows: Int64) -> Int64:
    """Of intervals, sorted as merged ones are: how long after the first of these on the same host each began."""
    _, first, which = np.unique(host_of_intervals(trace)[rows], return_index=True, return_inverse=True)
    begin = trace.intervals.begin[rows]
    since: Int64 = begin - begin[first][which]
    return since
