"""What the waits of a factor were for: of each object how long, in all intervals, by what was waited within its calls.

    Paths + Stacks of a window  ->  waits that began within the function, or in a wait that did  ->  by object: time

As in objects.py a wait within another one for the same object counts once, one within a wait for another object for
both: the waker's.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from vprof.path.parts import Part
from vprof.path.stacks import T_LABEL, T_PARENT
from vprof.tables.columns import i64
from vprof.tables.kernels import kernel
from vprof.tables.lookup import distinct
from vprof.tables.model import NONE, Bool, Int64
from vprof.tables.objects import Key, described, key_of, title, where


@dataclass(frozen=True, kw_only=True)
class ObjectOfFactor:
    """`object_class`, `id`, `name` and `host` as in `WaitedObject`. `mean_ns`: over all intervals, of which so many
    `intervals` waited for it there."""

    title: str
    object_class: str
    id: str
    name: str
    host: str
    mean_ns: float
    intervals: int


class FactorObjects:
    """Grows with every `add`. `functions`: whose calls the waits lie in, by the numbers of all; None: all waits do."""

    def __init__(self, functions: Collection[int] | None) -> None:
        self._functions = functions
        self._ns: Counter[Key] = Counter()
        self._intervals: Counter[Key] = Counter()

    def blank(self) -> FactorObjects:
        return FactorObjects(self._functions)

    def merge(self, other: FactorObjects) -> None:
        self._ns.update(other._ns)
        self._intervals.update(other._intervals)

    def add(self, part: Part) -> None:
        trace, waits = part.trace, part.paths.waits
        if not len(trace.objects.id) or not len(waits.thread):
            return
        object_ = i64(np.r_[trace.segments.object, NONE][waits.segment])
        inside = self._inside(part)
        mine = inside & (object_ != NONE) & (part.opened.positions[waits.interval] != NONE)
        rows = np.flatnonzero(mine & ~_repeated(i64(waits.parent), object_, inside))
        count = len(trace.intervals.begin)
        pairs, which = distinct(i64(object_[rows] * count + waits.interval[rows]))
        ns = np.zeros(len(pairs), np.int64)
        np.add.at(ns, which, waits.stop[rows] - waits.start[rows])
        for pair, time in zip(pairs.tolist(), ns.tolist(), strict=True):
            key = key_of(trace, pair // count)
            self._ns[key] += time
            self._intervals[key] += 1

    def _inside(self, part: Part) -> Bool:
        waits, forest = part.paths.waits, part.stacks.forest
        if self._functions is None:
            return np.ones(len(waits.thread), np.bool_)
        within = _below(forest.nodes, np.isin(np.array(forest.function), list(self._functions)))
        call = part.stacks.innermost(waits.thread, waits.start)
        node = np.r_[part.stacks.timeline.frames.node, 0][call]
        return _or_around(within[node], i64(waits.parent))

    def most(self, count: int, intervals: int, hosts: list[str]) -> list[ObjectOfFactor]:
        """The first so many of them, the longest waited for first; `intervals`: how many were analyzed, of `hosts`."""
        ordered = sorted(self._ns.items(), key=lambda item: (-item[1], item[0]))[:count]
        found = []
        for key, ns in ordered:
            class_, id_, name = described(key)
            host = where(key, hosts)
            found.append(
                ObjectOfFactor(
                    title=title(class_, id_, name, host),
                    object_class=class_,
                    id=id_,
                    name=name,
                    host=host,
                    mean_ns=ns / intervals,
                    intervals=self._intervals[key],
                )
            )
        return found


@kernel
def _below(nodes: Int64, chosen: Bool) -> Bool:
    """By node of the forest whether it has one of the chosen labels, or lies below such a node."""
    found = np.zeros(len(nodes), np.bool_)
    for node in range(1, len(nodes)):
        found[node] = chosen[nodes[node, T_LABEL]] or found[nodes[node, T_PARENT]]
    return found


@kernel
def _or_around(inside: Bool, parent: Int64) -> Bool:
    """Whether a wait, or one that it lies in, is inside."""
    found = inside.copy()
    for w in range(len(parent)):
        around = parent[w]
        while not found[w] and around != NONE:
            found[w] = inside[around]
            around = parent[around]
    return found


@kernel
def _repeated(parent: Int64, object_: Int64, inside: Bool) -> Bool:
    """Whether a wait lies within one for the same object that is inside, too."""
    found = np.zeros(len(parent), np.bool_)
    for w in range(len(parent)):
        around = parent[w]
        while not found[w] and around != NONE:
            found[w] = inside[around] and object_[around] == object_[w]
            around = parent[around]
    return found
