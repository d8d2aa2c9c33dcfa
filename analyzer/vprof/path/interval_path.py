"""One interval's critical path as a person reads it: what filled its time, in which function, and who made it wait.

    Trace + interval  ->  [critical_path.py, stacks.py]  ->  PathStep tree: waits hold what their wakers did meanwhile

Executing time belongs to the innermost call that takes a visible part of the interval; what is shorter counts for its
caller or for the step before it, and runs of waits that are all shorter become one step of kind "short".
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np

from vprof.errors import UsageError
from vprof.path.critical_path import critical_paths
from vprof.path.path_tree import display_names
from vprof.path.pieces import BUSY
from vprof.path.stacks import Stacks, build_stacks
from vprof.tables.kinds import P_BLOCKED_UNKNOWN, P_EXEC, PIECE_NAMES, QUEUE
from vprof.tables.model import NONE, OBJECT_CLASSES, Trace
from vprof.tables.objects import described, key_of

VISIBLE = 0.005
"""Smallest part of the interval that a step of its own may take."""

SLOWEST, MEDIAN = "slowest", "median"


@dataclass
class PathStep:
    """[start, stop) in ns since the interval's begin. `kind`: of a piece, or blocked, busy, aborted, short.

    `stack`: functions with a probe, outermost first. A wait (blocked, queue) says what for (`object_class`, "" if not
    known; `object`: which one, its name or id) and which thread ended it, in which function (None, "": nobody is
    known); `steps` is what the waker did, or the thread itself while it was busy, or an attempt that was aborted.
    """

    kind: str
    thread: str
    start: int
    stop: int
    stack: list[str]
    object_class: str = ""
    object: str = ""
    ended_by: str | None = None
    ended_in: str = ""
    steps: list[PathStep] = field(default_factory=list)


@dataclass(frozen=True)
class IntervalPath:
    interval: str
    type: str
    latency_ns: int
    steps: list[PathStep]


def interval_path(trace: Trace, wanted: str, stacks: Stacks | None = None) -> IntervalPath:
    """`wanted`: an interval's id, "slowest" or "median". Raises UsageError when there is no such interval.

    `stacks`: the trace's, so that several paths of one trace need them built only once.
    """
    row = _row(trace, wanted)
    iv = trace.intervals
    ignore = np.ones(len(iv.ignore), np.bool_)
    ignore[row] = False
    one = replace(trace, intervals=replace(iv, ignore=ignore))
    steps = _Builder(one, row, stacks or build_stacks(trace)).steps()
    return IntervalPath(trace.interval_ids[row], trace.types[iv.type[row]], int(iv.end[row] - iv.begin[row]), steps)


def named(trace: Trace, wanted: str) -> str:
    """The id of an interval that is wanted as `interval_path` says."""
    return trace.interval_ids[_row(trace, wanted)]


def _row(trace: Trace, wanted: str) -> int:
    iv = trace.intervals
    rows = np.flatnonzero(~iv.ignore)
    if wanted in (SLOWEST, MEDIAN) and len(rows):
        by_latency = rows[np.argsort(iv.end[rows] - iv.begin[rows], kind="stable")]
        return int(by_latency[-1] if wanted == SLOWEST else by_latency[(len(rows) - 1) // 2])
    for row in rows:
        if trace.interval_ids[int(row)] == wanted:
            return int(row)
    some = ", ".join(trace.interval_ids[row] for row in rows[:3])
    known = f"ids look like {some}" if some else "there is none to analyze"
    raise UsageError(f"no interval {wanted} in this trace: {known}; or ask for {SLOWEST} or {MEDIAN}")


class _Builder:
    """Nests the pieces of one interval's path in its waits."""

    def __init__(self, trace: Trace, row: int, stacks: Stacks) -> None:
        self.trace, self.row = trace, row
        self.begin = int(trace.intervals.begin[row])
        self.visible = VISIBLE * int(trace.intervals.end[row] - self.begin)
        self.paths = critical_paths(trace)
        self.stacks = stacks
        self.names = display_names(trace)

    def steps(self) -> list[PathStep]:
        p = self.paths.pieces
        home: list[PathStep] = []
        waits: dict[int, PathStep] = {}
        for k in range(len(p.kind)):
            where = self._inside(int(p.wait[k]), waits, home)
            if p.kind[k] == P_EXEC:
                where += self._calls(int(p.thread[k]), int(p.start[k]), int(p.stop[k]))
            elif p.kind[k] != P_BLOCKED_UNKNOWN:  # that is the wait itself
                kind, thread, start = PIECE_NAMES[p.kind[k]], int(p.thread[k]), int(p.start[k])
                where.append(self._step(kind, thread, start, int(p.stop[k]), self._stack(thread, start)))
        return self._shortened(self._in_attempts(_without_idle_work(home)))

    def _in_attempts(self, home: list[PathStep]) -> list[PathStep]:
        """What aborted attempts did as the steps of one step each. None of `home` lies across the begin or the end of
        an attempt."""
        attempts, found = self.trace.attempts, home
        for row in np.flatnonzero(attempts.interval == self.row):
            thread, begin, end = int(attempts.thread[row]), int(attempts.begin[row]), int(attempts.end[row])
            step = self._step("aborted", thread, begin, end, [])
            step.steps = [inner for inner in found if step.start <= inner.start < step.stop]
            before = [other for other in found if other.start < step.start]
            found = [*before, step, *(other for other in found if other.start >= step.stop)]
        return found

    def _inside(self, wait: int, waits: dict[int, PathStep], home: list[PathStep]) -> list[PathStep]:
        """The steps of a wait, of the home path if it is NONE. Makes the wait's own step, and those around it, when
        they come up first."""
        chain = []
        while wait != NONE and wait not in waits:
            chain.append(wait)
            wait = int(self.paths.waits.parent[wait])
        steps = home if wait == NONE else waits[wait].steps
        for inner in reversed(chain):
            waits[inner] = self._wait(inner)
            steps.append(waits[inner])
            steps = waits[inner].steps
        return steps

    def _wait(self, w: int) -> PathStep:
        waits, segments = self.paths.waits, self.trace.segments
        segment, waker = int(waits.segment[w]), int(waits.waker[w])
        if waits.anchored[w] == BUSY:
            kind = "busy"
        else:
            kind = "queue" if segment == NONE or segments.state[segment] == QUEUE else "blocked"
        thread, start = int(waits.thread[w]), int(waits.start[w])
        stack = [] if kind == "busy" else self._stack(thread, start)
        step = self._step(kind, thread, start, int(waits.stop[w]), stack)
        if kind == "busy":
            return step
        if kind == "blocked":
            step.object_class = OBJECT_CLASSES[segments.object_class[segment]]
            step.object = self._object(int(segments.object[segment]))
        if waker != NONE:
            step.ended_by = self.trace.threads[waker]
            step.ended_in = "".join(self._stack(waker, int(waits.ended[w]))[-1:])
        return step

    def _object(self, row: int) -> str:
        _, id_, name = described(key_of(self.trace, row)) if row != NONE else ("", "", "")
        return name or id_

    def _step(self, kind: str, thread: int, start: int, stop: int, stack: list[str]) -> PathStep:
        return PathStep(kind, self.trace.threads[thread], start - self.begin, stop - self.begin, stack)

    def _stack(self, thread: int, t: int) -> list[str]:
        return self._functions(int(self.stacks.innermost(np.array([thread], np.int32), np.array([t]))[0]))

    def _functions(self, call: int) -> list[str]:
        """The call's function and those around it, outermost first."""
        found = []
        while call != NONE:
            found.append(self.names[self.trace.invocations.function[call]])
            call = int(self.stacks.timeline.frames.around[call])
        return found[::-1]

    def _calls(self, thread: int, start: int, stop: int) -> list[PathStep]:
        """An executing piece, cut where the innermost visible call changes."""
        timeline = self.stacks.timeline
        times, rows = timeline.times, timeline.innermost
        a, b = timeline.first[thread], timeline.first[thread + 1]
        i = int(a + np.searchsorted(times[a:b], start, "right"))
        cuts = [start, *times[i : a + np.searchsorted(times[a:b], stop)].tolist(), stop]
        calls = [NONE if i == a else int(rows[i - 1]), *rows[i : i + len(cuts) - 2].tolist()]
        steps: list[PathStep] = []
        before = None
        for call, (t, until) in zip(calls, pairwise(cuts), strict=True):
            shown = self._visible(call, start, stop)
            if steps and shown == before:
                steps[-1].stop = until - self.begin
            else:
                steps.append(self._step("exec", thread, t, until, self._functions(shown)))
            before = shown
        return steps

    def _visible(self, call: int, start: int, stop: int) -> int:
        """The innermost call around that takes long enough within the piece."""
        fs, fe = self.trace.invocations.fs, self.trace.invocations.fe
        while call != NONE and min(fe[call], stop) - max(fs[call], start) < min(self.visible, stop - start):
            call = int(self.stacks.timeline.frames.around[call])
        return call

    def _shortened(self, steps: list[PathStep]) -> list[PathStep]:
        """Joins neighbours that say the same, and those that are too short to be seen."""
        out: list[PathStep] = []
        for step in steps:
            step.steps = self._shortened(step.steps)
            last = out[-1] if out else None
            if last and self._is_same_work(last, step):
                last.stop = step.stop
            elif last and self._is_short(step) and (last.kind == "short" or self._is_short(last)):
                out[-1] = PathStep("short", last.thread, last.start, step.stop, [])
            else:
                out.append(step)
        return out

    def _is_short(self, step: PathStep) -> bool:
        return step.stop - step.start < self.visible

    def _is_same_work(self, last: PathStep, step: PathStep) -> bool:
        executes = (last.kind, last.thread) == (step.kind, step.thread) == ("exec", step.thread)
        return executes and (last.stack == step.stack or self._is_short(step))


def _without_idle_work(home: list[PathStep]) -> list[PathStep]:
    """A time in which the thread did nothing else is the client's alone."""
    found: list[PathStep] = []
    for step in home:
        waits_only = step.kind == "busy" and all(inner.kind == "gap" for inner in step.steps)
        found += step.steps if waits_only else [step]
    return found
