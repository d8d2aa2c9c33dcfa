"""The variance split by where intervals began: by host, by process.

    latencies, the host or process of each  ->  parts within and between (law of total variance), share of each
    hosts -> [outliers.py] which one is unlike the others

A share is a part of Var(L): of the intervals of a host, their number times (their variance + the square of how far
their mean is from that of all), by the number of all intervals. So shares add up to 1, and what a host has because it
is slower than the others is its own. Clocks do not matter: an interval begins and ends on one host.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from vprof.tables.model import Int64, Trace
from vprof.trace.origins import host_of_intervals, process_of_intervals
from vprof.variance.outliers import Outliers, outliers
from vprof.variance.statistics import summarize

HOST, PROCESS = "host", "process"


@dataclass(frozen=True, kw_only=True)
class Origin:
    """A host, or a process of it: `pid` 0: its number is not known, None: it is a host. `share` of Var(L), None if the
    latencies do not vary; `between` is the part of it that its mean makes."""

    host: str
    pid: int | None
    name: str
    count: int
    mean_ns: float
    variance_ns2: float
    p99_ns: int
    share: float | None
    between: float | None

    @property
    def title(self) -> str:
        host = self.host or "(host not known)"
        if self.pid is None:
            return host
        return " ".join((host, str(self.pid) if self.pid else "(process not known)", self.name)).rstrip()


@dataclass(frozen=True)
class OriginSplit:
    """`within_ns2` = E[Var | origin], `between_ns2` = Var(E | origin); their sum is Var(L). `rows`: the largest share
    first. `outliers`: their hosts are indices into `rows`; None: of processes nobody asks that."""

    within_ns2: float
    between_ns2: float
    rows: list[Origin]
    outliers: Outliers | None = None


def by_host(trace: Trace, rows: Int64) -> OriginSplit:
    """Of the intervals `rows`, in the order of merged ones."""
    host = host_of_intervals(trace)[rows]
    latency = trace.intervals.end[rows] - trace.intervals.begin[rows]
    found = _split(latency, host, {number: (name, None, "") for number, name in enumerate(trace.hosts)})
    number = {name: index for index, name in enumerate(trace.hosts)}
    tested = outliers([latency[host == number[row.host]] for row in found.rows])
    return OriginSplit(found.within_ns2, found.between_ns2, found.rows, tested)


def by_process(trace: Trace, rows: Int64) -> OriginSplit:
    """The same, by the process in which each interval began."""
    process = process_of_intervals(trace)[rows]
    latency = trace.intervals.end[rows] - trace.intervals.begin[rows]
    names: dict[int, tuple[str, int | None, str]] = {
        number: (trace.hosts[one.host], one.pid, one.name) for number, one in enumerate(trace.processes)
    }
    return _split(latency, process, names)


def _split(latency: Int64, of: Int64, names: dict[int, tuple[str, int | None, str]]) -> OriginSplit:
    n, mean, variance = len(latency), float(latency.mean()), float(latency.var())
    order = np.argsort(of, kind="stable")
    numbers, first = np.unique(of[order], return_index=True)
    rows, within, between = [], 0.0, 0.0
    for number, mine in zip(numbers.tolist(), np.split(latency[order], first[1:]), strict=True):
        part = summarize(mine)
        inside, apart = part.count / n * part.variance_ns2, part.count / n * (part.mean_ns - mean) ** 2
        within, between = within + inside, between + apart
        host, pid, name = names[number]
        rows.append(
            Origin(
                host=host,
                pid=pid,
                name=name,
                count=part.count,
                mean_ns=part.mean_ns,
                variance_ns2=part.variance_ns2,
                p99_ns=part.p99_ns,
                share=(inside + apart) / variance if variance > 0 else None,
                between=apart / variance if variance > 0 else None,
            )
        )
    rows.sort(key=lambda row: (-(row.share or 0), -row.count, row.host, row.pid or 0, row.name))
    return OriginSplit(within, between, rows)
