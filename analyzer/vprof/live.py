"""Measuring a running program: its load goes on, each measurement flips switch bytes and cuts a trace of its own."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from vprof.analysis import Analysis, AnalysisOptions, analyze
from vprof.control import Note
from vprof.errors import VprofError
from vprof.loading import load_trace
from vprof.plan import Plan
from vprof.session import Session

_JOIN_SECONDS = 20.0
_POLL_SECONDS = 0.02
_FEWEST_INTERVALS = 200
_PATIENCE = 4
"""A measurement with fewer intervals than the fewest goes on, up to this many times its length."""


@dataclass
class LiveProgram:
    """A program that runs under a session. `traces` are kept in `folder`, one per measurement.

    `check` raises VprofError when the program, or the load that drives it, has ended for good.
    """

    session: Session
    check: Callable[[], None]
    folder: Path
    options: AnalysisOptions
    plan: Plan
    count: int = 0

    def __post_init__(self) -> None:
        """The steps switch the probes, nobody else."""
        self.session.write_note(Note(owner="vprof drill"))

    def wait_until_joined(self) -> None:
        """Returns when the program has joined with its plan on. Raises VprofError when it ends first or never joins."""
        deadline = time.monotonic() + _JOIN_SECONDS
        while not self.session.programs:
            self.check()
            if time.monotonic() > deadline:
                raise VprofError("the program did not join: it was not built (or not linked) by vprof-cc")
            time.sleep(_POLL_SECONDS)
            self.session.follow(self.plan)

    def measure(self, functions: frozenset[str], seconds: float) -> Analysis:
        """A `drill.Measure`. Raises VprofError when the program ended, or recorded no interval."""
        plan = Plan.of(functions)
        self.session.switch(self.plan, plan)
        self.plan = plan
        self.count += 1
        trace = self.folder / f"step-{self.count}.trace"
        self.session.rotate(trace)
        self._wait(seconds)
        self.session.rotate(None)
        return analyze(load_trace(trace), self.options)

    def _wait(self, seconds: float) -> None:
        begin = time.monotonic()
        while True:
            time.sleep(min(seconds, 0.2))
            self.check()
            self.session.follow(self.plan)
            elapsed = time.monotonic() - begin
            enough = self.session.stats()["intervals"] >= _FEWEST_INTERVALS
            if elapsed >= seconds and (enough or elapsed >= _PATIENCE * seconds):
                return
