"""Aborted and repeated work: what a client tried again until it was not aborted is one interval of several attempts.

    instances of begin records, how clients repeat -> which one follows which -> joined instances, and their attempts

An instance that was aborted is followed by the next one of the same connection, if that begins soon enough. Which is
the connection's, the program's descriptor tells: the next of the same id, or the next that begins on the thread on
which the aborted one ended. What the client gave up on purpose is followed by none. The descriptor's setting reaches
the analysis as a mark in the trace (marks.py).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from vprof.tables.columns import i32, i64
from vprof.tables.lookup import values_of
from vprof.tables.model import NONE, Attempts, Bool, Int32, Int64
from vprof.trace.intervals import Instances
from vprof.trace.marks import Retry, parse_retry


@dataclass(frozen=True)
class Joined:
    """`instances`: those that clients see, attempts joined. `number[instance]`: the joined one of each begin record.
    `before`, `after`: begin records of which the latter is the next attempt after the former."""

    instances: Instances
    number: Int64
    records: Instances
    before: Int64
    after: Int64

    def attempts(self, number: Int32, count: int) -> Attempts:
        """Those of the intervals 0 .. count - 1. `number`: of each joined instance."""
        one = self.records
        interval = number[self.number[self.before]]
        since = one.created.copy()
        since[self.after] = np.maximum(one.created[self.after], one.end[self.before])
        order = np.lexsort((since[self.before], interval))
        order = order[interval[order] < count]
        before, after = self.before[order], self.after[order]
        return Attempts(
            interval=i32(interval[order]),
            thread=one.end_thread[before],
            begin=since[before],
            end=one.end[before],
            next_thread=one.begin_thread[after],
            next_begin=since[after],
        )


def retry_of(marks: Iterable[dict[str, Any]]) -> Retry | None:
    """From the `mark` events of a trace: how clients repeat what was aborted; None if it does not say that they do."""
    return next((retry for mark in marks if (retry := parse_retry(mark["text"]))), None)


def join(instances: Instances, retry: Retry | None) -> Joined:
    """All attempts as they are if nobody repeats."""
    rows = np.arange(len(instances.id))
    if retry is None:
        return Joined(instances, rows, instances, rows[:0], rows[:0])
    repeated = instances.aborted & ~instances.given_up
    before, after = _next_on_thread(instances, repeated) if retry.by_thread else _next_of_id(instances, repeated)
    soon = instances.begin[after] - instances.end[before] <= retry.within_ns
    before, after = before[soon], after[soon]
    following = np.full(len(rows), NONE, np.int64)
    following[before] = after
    is_first = np.ones(len(rows), np.bool_)
    is_first[after] = False
    first = np.flatnonzero(is_first)
    last, number = first.copy(), np.full(len(rows), NONE, np.int64)
    number[first] = np.arange(len(first))
    going_on = np.flatnonzero(following[last] != NONE)
    while len(going_on):
        last[going_on] = following[last[going_on]]
        number[last[going_on]] = going_on
        going_on = going_on[following[last[going_on]] != NONE]
    joined = replace(
        instances,
        id=instances.id[first],
        type=instances.type[last],
        begin_thread=instances.begin_thread[first],
        created=instances.created[first],
        begin=instances.begin[first],
        end_thread=instances.end_thread[last],
        end=instances.end[last],
        aborted=instances.aborted[last],
        given_up=instances.given_up[last],
    )
    return Joined(joined, number, instances, before, after)


def _next_of_id(instances: Instances, repeated: Bool) -> tuple[Int64, Int64]:
    """Instances that may be repeated, and the next one of the same id: they are sorted by it."""
    before = np.flatnonzero(repeated[:-1] & (instances.id[1:] == instances.id[:-1]))
    return before, before + 1


def _next_on_thread(instances: Instances, repeated: Bool) -> tuple[Int64, Int64]:
    """Instances that may be repeated, and the next one that begins on the thread on which they ended. Of several that
    one follows, the one that ended last."""
    aborted = np.flatnonzero(repeated)
    aborted = aborted[np.argsort(instances.end[aborted], kind="stable")]
    after = np.full(len(aborted), NONE, np.int64)
    for thread in values_of(instances.end_thread[aborted]):
        mine = np.flatnonzero(instances.end_thread[aborted] == thread)
        here = np.flatnonzero(instances.begin_thread == thread)
        here = here[np.argsort(instances.begin[here], kind="stable")]
        at = np.searchsorted(instances.begin[here], instances.end[aborted[mine]], "right")
        after[mine] = np.r_[here, NONE][at]
    last = np.full(len(instances.id), NONE, np.int64)
    last[after[after != NONE]] = aborted[after != NONE]
    follows = np.flatnonzero(last != NONE)
    return i64(last[follows]), i64(follows)
