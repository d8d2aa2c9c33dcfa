"""Measuring a running program: its load goes on, each measurement flips switch bytes and cuts a trace of its own."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from vprof.drill.budget import PATIENCE
from vprof.drill.cut import FEWEST_INTERVALS, MOST_RECORDS
from vprof.drill.flood import flood_in
from vprof.drill.loop import Enough
from vprof.errors import NoIntervalError, VprofError
from vprof.program.expanded import expanded_in_others, said_unseen
from vprof.session.alternation import Alternation
from vprof.session.control import Control, Note
from vprof.session.owned import Session
from vprof.session.plan import Plan, Switched
from vprof.variance.analysis import Analysis, AnalysisOptions
from vprof.variance.stream import analyze_traces

_OWNER = "vprof drill"
_JOIN_SECONDS = 20.0
_POLL_SECONDS = 0.02
_CHECK_SECONDS = 0.2
_TURN_SECONDS = 0.02
_FIRST_LOOK_SECONDS = 8.0
"""After so long, or the first measurement if that is shorter, it is said whether intervals end often enough."""


@dataclass
class LiveProgram:
    """A program that runs under a session: our own, or one that somebody else holds. The steps switch its probes,
    nobody else.

    `traces` of the measurements are kept in `folder`, `count` so far. `root`: its outermost calls are the intervals,
    instead of annotated ones. `first_seconds`: how long an idle program is waited for. `check` raises VprofError when
    the program, or the load that drives it, has ended for good. `seen` is told once, early in the first measurement,
    how many intervals ended in how many seconds.
    """

    session: Control
    check: Callable[[], None]
    folder: Path
    options: AnalysisOptions
    plan: Plan
    root: str | None = None
    count: int = 0
    first_seconds: float = 600.0
    seen: Callable[[int, float], None] = field(default=lambda intervals, seconds: None)
    _is_cut: bool = field(default=False, init=False)
    _has_looked: bool = field(default=False, init=False)
    _has_begun: bool = field(default=False, init=False)
    _has_said: bool = field(default=False, init=False)

    def wait_until_joined(self) -> None:
        """Returns when the program has joined with its plan on. Raises VprofError when it ends first or never joins."""
        self._tell()
        deadline = time.monotonic() + _JOIN_SECONDS
        while not self.session.programs:
            self.check()
            if time.monotonic() > deadline:
                raise VprofError("the program did not join: it was not built (or not linked) by vprof-cc")
            time.sleep(_POLL_SECONDS)
            self._follow()

    def measure(
        self, functions: frozenset[str], seconds: float, enough: Enough | None = None, compared: bool = False
    ) -> Analysis:
        """A `drill.Measure`. Waits for the program's first interval. Raises VprofError when the program ended, or later
        recorded no interval, FloodError if that is for lost records.

        Nothing is analyzed while it records: on a small machine that would slow down what is measured. A part ends with
        MOST_RECORDS; then its probes are off while it is analyzed.
        """
        self.plan = Plan.of(functions)
        self.session.switch(self.plan)
        self._tell()
        self.count += 1
        length = 2 * seconds if compared else seconds
        begin = time.monotonic()
        parts = [self._record(1, length, compared)]
        while True:
            try:
                analysis = analyze_traces(parts, self.root, self.options)
            except NoIntervalError as error:
                if error.lost:
                    raise flood_in(parts, error) from error
                if self._is_cut:  # before a call of the root ended
                    parts = [self._record(1, length, most=math.inf)]
                    continue
                if error.began or self._has_begun or time.monotonic() - begin > self.first_seconds:
                    raise
                self._say_that_it_waits()
                parts = [self._record(1, length, compared)]
                continue
            self._has_begun = True
            self._look(analysis.summary.count, analysis.trace.recorded_ns / 1e9)
            if enough is None or enough(analysis) or (not compared and len(parts) == PATIENCE):
                return analysis
            # A confirmation is long, and its plan is known to be measurable.
            parts.append(self._record(len(parts) + 1, seconds, most=math.inf if compared else MOST_RECORDS))

    def _say_that_it_waits(self) -> None:
        if not self._has_said:
            what = f"call of {self.root} that returns" if self.root else "interval that ends"
            print(f"vprof: waiting for the first {what}: put load on the program", file=sys.stderr)
            programs = [Path(module["path"]) for module in self.session.modules]
            if self.root and (others := expanded_in_others(programs, self.root)):
                print(f"vprof: {said_unseen(self.root, others)}", file=sys.stderr)
        self._has_said = True

    def _record(self, part: int, seconds: float, compared: bool = False, most: float = MOST_RECORDS) -> Path:
        trace = self.folder / (f"step-{self.count}.trace" if part == 1 else f"step-{self.count}.{part}.trace")
        baseline = Plan.of([self.root] if self.root else [])
        if self._is_cut:
            self.session.switch(self.plan)
        self._is_cut = False
        self.session.rotate(trace)
        if compared:
            turns = Alternation(self.session, self.plan, baseline)
            self._wait(seconds, turns.look)
            turns.end()
        else:
            self._wait(seconds, most=most)
        self.session.rotate(None)
        if self._is_cut:
            self.session.switch(baseline)
        return trace

    def _wait(self, seconds: float, look: Callable[[], None] = lambda: None, most: float = math.inf) -> None:
        begin = time.monotonic()
        next_check = 0.0
        while True:
            look()
            time.sleep(min(seconds, _TURN_SECONDS))
            if time.monotonic() < next_check:
                continue
            next_check = time.monotonic() + _CHECK_SECONDS
            self.check()
            self._follow()
            stats = self.session.stats()
            elapsed, intervals = time.monotonic() - begin, stats["intervals"]
            if intervals and not self.root and elapsed >= _FIRST_LOOK_SECONDS:
                self._look(intervals, elapsed)
            enough = self.root or intervals >= FEWEST_INTERVALS
            if elapsed >= seconds and (enough or elapsed >= PATIENCE * seconds):
                return
            if stats["records"] + stats["dropped"] > most and (self.root or intervals):
                self._is_cut = True
                return

    def _look(self, intervals: int, seconds: float) -> None:
        if not self._has_looked and seconds > 0:
            self.seen(intervals, seconds)
        self._has_looked = True

    def _follow(self) -> None:
        """What joins gets the plan as well: from us if the session is ours, else from its owner, by the note."""
        if isinstance(self.session, Session):
            self.session.follow(self.plan)
        elif self.session.join():
            self.session.switch(self.plan)

    def _tell(self) -> None:
        """Whoever looks at the session learns whose plan is on, and its owner what to switch on in what joins."""
        with self.session.alone():
            switched = Switched({"*": False}).then(Switched.of(self.plan))
            self.session.write_note(Note(_OWNER, switched, self.session.note().retry))
