"""The changes that are tried: what users write, and what of the program that means.

"fdatasync=0", "lru_evict_scan=constant", "[disk]=0.5", "parse=-200us"  ->  Change + the program  ->  Change, named
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

import numpy as np

from vprof.errors import UsageError
from vprof.path.path_tree import display_names
from vprof.tables.columns import floats
from vprof.tables.kinds import MEANINGS, OFF_CPU_KINDS, PREEMPTED
from vprof.tables.model import Bool, Float, Trace
from vprof.tables.naming import without_place

FORMS = "F=0.5 (times as long), F=0, F=constant, F=median or F=-200us"
SCHED, UNKNOWN, GAP = "[sched]", "[unknown]", "[gap]"
STATES = {kind.node: PREEMPTED + k for k, kind in enumerate(OFF_CPU_KINDS)}
"""Nodes whose time is that of segments in one state."""
NODES = (*STATES, SCHED, UNKNOWN, GAP)
"""Nodes that are no functions, and may be changed."""
ALIKE = ("constant", "median")
"""Rules that make calls alike."""
_UNITS = {"ns": 1.0, "us": 1e3, "ms": 1e6, "s": 1e9}
_NUMBER = re.compile(r"\d+(\.\d+)?|\.\d+")
_AMOUNT = re.compile(r"(?P<sign>[+-])(?P<number>\d+(\.\d+)?|\.\d+)(?P<unit>ns|us|ms|s)")


@dataclass(frozen=True)
class Change:
    """`name` of a function or a node. `rule`: its time is taken `times` the value, is made `constant` or the `median`,
    or gets longer by the value in ns, `more`."""

    name: str
    rule: str
    value: float = 0.0
    text: str = ""

    @property
    def is_relief(self) -> bool:
        """Whether it makes calls alike or shorter."""
        return self.rule in ALIKE or self.value < (1.0 if self.rule == "times" else 0.0)

    def apply(self, ns: Float, every: Float) -> Float:
        """How long calls take that took `ns`; `every`: how long all calls took."""
        if self.rule == "times":
            return ns * self.value
        if self.rule == "more":
            return np.maximum(ns + self.value, 0.0)
        return floats(np.full(len(ns), (np.mean if self.rule == "constant" else np.median)(every)))


def parse(text: str) -> Change:
    """Raises UsageError."""
    name, is_change, value = text.rpartition("=")
    name, value = name.strip(), value.strip()
    if not is_change or not name:
        raise UsageError(f"'{text}' is no change: write {FORMS}")
    if value in ALIKE:
        return Change(name, value, text=text)
    if _NUMBER.fullmatch(value):
        return Change(name, "times", float(value), text)
    if amount := _AMOUNT.fullmatch(value):
        ns = float(amount["number"]) * _UNITS[amount["unit"]]
        return Change(name, "more", -ns if amount["sign"] == "-" else ns, text)
    raise UsageError(f"'{text}' is no change, since '{value}' is no amount: write {FORMS}")


def parse_all(texts: Sequence[str]) -> list[Change]:
    """Raises UsageError, also if one thing is changed twice."""
    changes = [parse(text) for text in texts]
    names = [change.name for change in changes]
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise UsageError(f"{twice[0]} is changed twice: give it one change")
    return changes


@dataclass(frozen=True)
class Resolved:
    """A change of a function, of which `key` is the name and the place of its definition, or of a node: None."""

    change: Change
    key: tuple[str, str] | None

    def function(self, trace: Trace) -> int | None:
        """Its number in that trace, None if it has none."""
        program = trace.program
        keys = zip(program.functions, program.definitions, strict=True)
        return next((f for f, key in enumerate(keys) if key == self.key), None)


def resolve(changes: Sequence[Change], trace: Trace, called: Callable[[], Bool]) -> list[Resolved]:
    """`trace`: all bare traces merged; `called`: which of its functions were called, asked for only where the names do
    not tell. Raises UsageError that says what may have been meant, or what to do."""
    names = display_names(trace)
    return [_resolved(change, trace, names, called) for change in changes]


def _resolved(change: Change, trace: Trace, names: list[str], called: Callable[[], Bool]) -> Resolved:
    wanted = change.name
    if wanted in NODES:
        return Resolved(change, None)
    if wanted in MEANINGS or wanted.startswith(("body(", "rest(")):
        raise UsageError(f"{wanted} cannot be changed by itself: change functions, or one of {', '.join(NODES)}")
    found = [f for f, name in enumerate(names) if name == wanted]
    found = found or [f for f, name in enumerate(names) if without_place(name) == wanted]
    if not found:
        known = [names[f] for f in np.flatnonzero(called())]
        near = get_close_matches(wanted, {*known, *map(without_place, known), *NODES}, 3)
        meant = f": did you mean {' or '.join(near)}?" if near else ""
        raise UsageError(f"no function {wanted} in this trace{meant}")
    if len(found) > 1:
        is_called = called()
        found = [f for f in found if is_called[f]] or found[:1]
        if len(found) > 1:
            choice = " or ".join(names[f] for f in found)
            raise UsageError(f"{len(found)} functions are called {wanted}: choose {choice}")
    return Resolved(change, (trace.program.functions[found[0]], trace.program.definitions[found[0]]))


def not_called(resolved: Resolved, trace: Trace) -> str:
    """What to do about a function without calls. `trace`: all merged, concluded."""
    f = resolved.function(trace)
    was_on = f is not None and bool(trace.program.on[f])
    why = "was on, but was not called" if was_on else "was not on: record again with --sites that name it"
    return f"{resolved.change.name} {why}"
