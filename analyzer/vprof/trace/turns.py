"""Finding in a trace that its probes were switched on and off in turn, by the marks of vprof/alternation.py.

marks -> spans -> whole fours, ABBA or BAAB -> with intervals: Slices
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from vprof.alternation import SLICE_END, SLICE_OFF, SLICE_ON
from vprof.chunks import TraceFile
from vprof.clock import Clock
from vprof.epochs import Epoch
from vprof.model import Int64, Slice

FOUR = 4


@dataclass(frozen=True)
class Span:
    """A slice's begin and end in ns."""

    start: int
    end: int
    on: bool


def read_spans(file: TraceFile, clock: Clock) -> list[Span]:
    """The slices of a file that are in whole fours, in the order of time."""
    marks = sorted((clock.one(mark["ticks"]), str(mark["text"])) for mark in file.of("mark"))
    spans = [
        Span(start, end, kind == SLICE_ON)
        for (start, kind), (end, after) in pairwise(marks)
        if kind in (SLICE_ON, SLICE_OFF) and after == SLICE_END
    ]
    whole, at = [], 0
    while at + FOUR <= len(spans):
        four = spans[at : at + FOUR]
        fits = four[0].on == four[3].on and four[1].on == four[2].on and four[0].on != four[1].on
        whole += four if fits else []
        at += FOUR if fits else 1
    return whole


def plan_of(spans: list[Span], epochs: list[Epoch]) -> frozenset[int] | None:
    """The sites that were on in the slices that are on; None without slices."""
    start = next((span.start for span in spans if span.on), None)
    return None if start is None else next((e.on for e in epochs if e.start <= start <= e.end), None)


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
