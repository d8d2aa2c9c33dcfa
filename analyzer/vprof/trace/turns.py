"""Finding in a trace that its probes were switched on and off in turn, by the marks of session/alternation.py.

marks -> spans -> whole rounds, ABBA or BAAB -> with intervals: Slices
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from vprof.tables.model import Int64, Slice
from vprof.trace.chunks import TraceFile
from vprof.trace.clock import Clock
from vprof.trace.epochs import Epoch
from vprof.trace.marks import SLICE_END, SLICE_OFF, SLICE_ON, SLICES

ROUND = 4
"""Slices of a round."""


@dataclass(frozen=True)
class Span:
    """A slice's begin and end in ns."""

    start: int
    end: int
    on: bool


def read_spans(file: TraceFile, clock: Clock) -> list[Span]:
    """The slices of a file that are in whole rounds, in the order of time."""
    events = [mark for mark in file.of("mark") if mark["text"] in SLICES]
    times = clock.to_ns(np.array([mark["ticks"] for mark in events], np.int64)).tolist()
    marks = sorted(zip(times, (mark["text"] for mark in events), strict=True))
    spans = [
        Span(start, end, kind == SLICE_ON)
        for (start, kind), (end, after) in pairwise(marks)
        if kind in (SLICE_ON, SLICE_OFF) and after == SLICE_END
    ]
    whole, at = [], 0
    while at + ROUND <= len(spans):
        one_round = spans[at : at + ROUND]
        fits = (
            one_round[0].on == one_round[3].on
            and one_round[1].on == one_round[2].on
            and one_round[0].on != one_round[1].on
        )
        whole += one_round if fits else []
        at += ROUND if fits else 1
    return whole


def plan_of(spans: list[Span], epochs: list[Epoch]) -> int | None:
    """The plan of the slices that are on; None without slices."""
    start = next((span.start for span in spans if span.on), None)
    return None if start is None else next((e.plan for e in epochs if e.start <= start <= e.end), None)


def slices(spans: list[Span], begin: Int64, end: Int64) -> list[Slice]:
    """The slices with the latencies of the intervals (`begin`, `end` in ns, in any order) that lie in one."""
    order = np.argsort(begin, kind="stable")
    begin, end = begin[order], end[order]
    found = []
    for span in spans:
        a, b = np.searchsorted(begin, [span.start, span.end])
        inside = end[a:b] <= span.end
        found.append(Slice(span.on, (end[a:b] - begin[a:b])[inside]))
    return found
