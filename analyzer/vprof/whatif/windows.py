"""One trace, replayed window by window, under several sets of changes at once: exactly as if it were one.

    what was read of windows, in order  ->  [stretch.py] what is known  ->  [graph.py] graph, until when it is decided
    -> [replay.py] new times until then  ->  begins and ends of all intervals

All edges go forward in time, so what comes before a time needs nothing of what comes after it. Carried over it are the
times of moments that are still needed: each thread's last one, the begin of what it is in, those that ended a wait that
goes on, those at which tasks were made that nobody has taken up.

Memory: one graph, of a window and what is not decided before it; a few numbers by interval and changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from vprof.tables.kinds import BLOCKED
from vprof.tables.model import NONE, Bool, Float, Int64, Trace
from vprof.trace.sources import Source
from vprof.trace.window import Window
from vprof.whatif.changes import Resolved
from vprof.whatif.graph import Built, build
from vprof.whatif.model import USUAL, Model
from vprof.whatif.replay import Known, Times, check_identity, known, replay
from vprof.whatif.scales import Totals, lengths, numbers_of, prepare
from vprof.whatif.stretch import NOTHING_MARKED, Read, Stretch, Stretches, read_of


class Looks:
    """The graphs of a trace's windows, in order."""

    def __init__(
        self,
        source: Source,
        changes: Sequence[Sequence[Resolved]],
        model: Model = USUAL,
        marked: tuple[Int64, Int64] = NOTHING_MARKED,
    ) -> None:
        """`changes`: all sets of them that are asked about. `marked`: as of `Stretches`."""
        bare = source.bare()
        self.of_function = [numbers_of(one, bare) for one in changes]
        self.wanted: Bool = np.zeros(len(bare.program.functions), np.bool_)
        """The functions whose calls are changed."""
        for numbers in self.of_function:
            self.wanted |= numbers != NONE
        self.intervals = bare.intervals
        self._stretches, self._is_open = Stretches(source, marked), bool(model.is_open)
        self._strict = any(resolved.key is None for one in changes for resolved in one)

    @property
    def origin(self) -> int:
        return self._stretches.origin or 0

    def read(self, trace: Trace, window: Window) -> Read:
        """What counts of a window, whichever it is."""
        return read_of(trace, window, self.wanted)

    def next(self, read: Read, window: Window) -> tuple[Stretch, Built]:
        part = self._stretches.next(read, window)
        built = build(part, self._is_open, self._strict)
        graph, origin = built.graph, built.moments.origin
        kept = graph.thread[built.kept], graph.time[built.kept] + origin
        self._stretches.carry(part, built.until, kept, origin if len(graph.time) else part.origin)
        return part, built


@dataclass(frozen=True)
class Replayed:
    """A trace under several sets of changes: `begin` and `end` of each interval in each, in ns since `origin`.
    `has_edges`: something links its threads; `unknown_ns`: how long intervals were blocked, ended by nobody."""

    begin: Float
    end: Float
    origin: int
    has_edges: bool
    unknown_ns: int


class Replay:
    """Goes through the windows of a trace: `Replayed` grows."""

    def __init__(
        self, number: int, source: Source, variants: Sequence[Totals], counts: Sequence[bool], model: Model
    ) -> None:
        """`number` of the trace. `variants`: what is known of each set of changes, which has to be complete unless
        these only multiply; `counts`: whether to add to it. `model` of all."""
        self._number, self._model, self._variants, self._counts = number, model, variants, counts
        self._looks = Looks(source, [one.changes for one in variants], model)
        none = np.zeros(0)
        self._kept = [Times(none, none) for _ in variants]
        size = (len(variants), len(self._looks.intervals.begin))
        self.begin, self.end = np.zeros(size), np.zeros(size)
        self.has_edges, self.unknown_ns = False, 0

    @property
    def origin(self) -> int:
        return self._looks.origin

    @property
    def wanted(self) -> Bool:
        return self._looks.wanted

    def done(self) -> Replayed:
        """What is left when all windows were added."""
        return Replayed(self.begin, self.end, self.origin, self.has_edges, self.unknown_ns)

    def add(self, read: Read, window: Window) -> tuple[Built, list[Times]]:
        """The next window. Returns its graph, and the new times under each set."""
        part, built = self._looks.next(read, window)
        graph, found = built.graph, []
        check_identity(graph, built.arrives)
        self.has_edges |= bool(len(graph.waits.end) or len(graph.made))
        self.unknown_ns += _unknown_ns(part, built)
        begins = part.intervals.begin[part.begins] < built.until
        ends = part.intervals.end[part.ends] < built.until
        for k, totals in enumerate(self._variants):
            one = prepare(part, built, totals.changes, self._looks.of_function[k])
            if self._counts[k]:
                totals.add(self._number, one)
            times = replay(graph, lengths(self._number, one, totals, bool(self._model.is_open)), self._known(built, k))
            self.begin[k, part.begins[begins]] = times.at[built.begin[begins]]
            self.end[k, part.ends[ends]] = times.at[built.end[ends]]
            self._kept[k] = Times(times.at[built.kept], times.after[built.kept])
            found.append(times)
        return built, found

    def _known(self, built: Built, k: int) -> Known:
        """The moments of the windows before, under a set of changes."""
        before, graph = known(built.graph), built.graph
        n = np.arange(len(graph.time))
        old = (n < graph.known[graph.thread]) & (graph.thread < len(graph.first) - 2)
        before.times.at[old], before.times.after[old] = self._kept[k]
        return before


def look(number: int, looks: Looks, variants: Sequence[Totals], read: Read, window: Window) -> None:
    """Adds the next window to what is known of the changes."""
    part, built = looks.next(read, window)
    for totals, numbers in zip(variants, looks.of_function, strict=True):
        totals.add(number, prepare(part, built, totals.changes, numbers))


def _unknown_ns(part: Stretch, built: Built) -> int:
    """How long threads were blocked for intervals while nobody is known to have ended it."""
    graph, rows = built.graph, part.rows
    length = np.diff(graph.time, prepend=0)
    blocked = np.r_[(rows.state == BLOCKED) & (rows.label != NONE), False][graph.segment] & (graph.wait == NONE)
    n = np.arange(len(length))
    blocked &= (n >= graph.known[graph.thread]) & (n < graph.until[graph.thread])
    return int(length[blocked].sum())


def needs_totals(changes: Sequence[Resolved]) -> bool:
    """What a change makes of a call depends on other calls, or on what that takes in other windows."""
    return any(resolved.change.rule != "times" for resolved in changes)
