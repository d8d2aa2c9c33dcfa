"""A replayed program for drill-downs: the worked case WriteLog, seen through what is on."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from vprof.drill.loop import DrillOptions, Enough
from vprof.tables.model import Invocations, Trace
from vprof.trace.json_trace import load_json
from vprof.variance.analysis import Analysis, analyze

CASE = Path(__file__).parents[1] / "cases" / "01_writelog.json"
TIMES = 100
CALLS = {"txn": ["Execute", "WriteLog"], "WriteLog": ["Lock", "CopyData", "Unlock"]}
STEPWISE = DrillOptions(ahead=0)
"""Each step goes down one call."""
ALL = {"txn", "Execute", "WriteLog", "Lock", "CopyData", "Unlock"}


def repeated(trace: Trace, times: int) -> Trace:
    """The same intervals over and over again: shares stay as they are, and there are enough for their intervals."""
    period, n = int(trace.intervals.end.max()) + 1, len(trace.intervals.begin)

    def tiled(table: Any) -> Any:
        columns = {}
        for name, column in vars(table).items():
            step = {**dict.fromkeys(("begin", "end", "ts", "te", "fs", "fe"), period), "interval": n}.get(name, 0)
            shift = np.repeat(np.arange(times), len(column)) * step
            columns[name] = (np.tile(column, times) + shift).astype(column.dtype)
        return type(table)(**columns)

    return replace(
        trace,
        interval_ids=[f"{sid}.{k}" for k in range(times) for sid in trace.interval_ids],
        intervals=tiled(trace.intervals),
        segments=tiled(trace.segments),
        invocations=tiled(trace.invocations),
    )


def seen_through(trace: Trace, functions: frozenset[str]) -> Trace:
    """What would have been recorded with only these functions on."""
    names = trace.program.functions
    on = np.array([name in functions for name in names])
    calls = [[names.index(child) for child in CALLS.get(name, [])] for name in names]
    complete = np.array([all(on[child] for child in children) for children in calls])
    table = trace.invocations
    rows = on[table.function]
    columns = {column: getattr(table, column)[rows] for column in Invocations.__dataclass_fields__}
    program = replace(trace.program, on=on, complete=complete, calls=calls)
    return replace(trace, program=program, invocations=Invocations(**columns))


class Replay:
    """A `Measure` that always finds the worked case, many times; `plans` is what it was asked for.

    `probe_ns`: a probe's cost.
    """

    def __init__(self, probe_ns: float | None = None) -> None:
        self.probe_ns = probe_ns
        self.plans: list[frozenset[str]] = []

    def __call__(
        self, functions: frozenset[str], seconds: float, enough: Enough | None = None, compared: bool = False
    ) -> Analysis:
        self.plans.append(functions)
        trace = seen_through(repeated(load_json(CASE), TIMES), functions)
        return analyze(replace(trace, probe_ns=self.probe_ns))
