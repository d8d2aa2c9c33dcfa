"""Semantic intervals from begin, end and on_behalf records: paired across threads, named, sorted out.

    records -> Labelling (which instance each thread worked for, and when) -> kept or excluded, with the reason

An id may be used again after its end, so an *instance* is a begin record; a label that refers to no begin in the file
is an instance as well, a foreign one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vprof.tables.ids import IntervalIds
from vprof.tables.lookup import latest
from vprof.tables.model import NONE, Aborted, Bool, Int32, Int64, Intervals
from vprof.trace.records import ABORTED, INTERVAL_BEGIN, INTERVAL_END, NOT_CREATED, OBJECT, ON_BEHALF, Records

UNFINISHED = "unfinished"
ABORTED_REASON = "aborted"
NO_BEGIN = "begun before the recording"
FLIP = "overlaps a flip of the plan"
OTHER_PLAN = "another plan was on"
LOSS = "touches lost records"


OLDEST_NS = 3600 * 10**9
"""A request that waited longer before its interval began: its program more likely named another clock or unit."""


@dataclass(frozen=True, kw_only=True)
class Instances:
    """One row per begin record, sorted by (id, begin). `end_thread` is NONE where no end was found.

    `given_up`: of those that were aborted, which clients do not repeat for sure.
    `created`: when the request was made that is taken up at `begin`, or `begin` where the program told no time that can
    be believed; `not_believed` counts those it told in vain, by what is wrong with them.
    """

    id: NDArray[np.uint64]
    type: Int32
    begin_thread: Int32
    created: Int64
    begin: Int64
    end_thread: Int32
    end: Int64
    aborted: Bool
    given_up: Bool
    ends_without_begin: int
    not_believed: dict[str, int]

    @property
    def finished(self) -> Bool:
        has_end: Bool = self.end_thread != NONE
        return has_end & ~self.aborted

    def what_aborted(self, joins: bool) -> Aborted:
        """`joins`: as of `Aborted`."""
        ended = self.end_thread != NONE
        ns = self.end - self.created
        gone = self.aborted & ended
        return Aborted(
            int(np.count_nonzero(gone)), int(np.count_nonzero(ended)), int(ns[gone].sum()), int(ns[ended].sum()), joins
        )


@dataclass(frozen=True)
class Labels:
    """What each thread worked for, from `t` to its next row: an instance, or NONE. Sorted by (thread, t)."""

    thread: Int32
    t: Int64
    instance: Int64

    def at(self, thread: Int32, t: Int64) -> Int64:
        """The instance a thread worked for at a time (from its change on), or NONE."""
        row = latest(self.thread, self.t, thread, t)
        return np.where(row >= 0, self.instance[row], NONE) if len(self.t) else np.full(len(t), NONE, np.int64)

    def renumbered(self, number: Int64) -> Labels:
        """With another number for each instance."""
        return Labels(self.thread, self.t, np.r_[number, NONE][self.instance])


def pair(records: Records, given_up: int | None = None) -> Instances:
    """Begin records and the first end of each, on whatever thread. A type given at the end counts, but the number
    `given_up`, if there is one, is no type: that end is an abort (TRACE_FORMAT.md section 2.8)."""
    begins = records.rows(INTERVAL_BEGIN)
    begins = begins[np.lexsort((records.t[begins], records.word[begins]))]
    ids, begin = records.word[begins], records.t[begins]
    ends = records.rows(INTERVAL_END)
    ends = ends[np.argsort(records.t[ends], kind="stable")]
    owner = latest(ids, begin, records.word[ends], records.t[ends])
    instance, first = np.unique(owner, return_index=True)
    first = first[instance >= 0]
    instance = instance[instance >= 0]
    end_row = np.full(len(begins), -1, np.int64)
    end_row[instance] = ends[first]
    has_end = end_row >= 0
    end_aux = np.where(has_end, records.aux[end_row], 0)
    end_type = end_aux >> 1
    is_given_up = end_type == given_up if given_up else np.zeros(len(begins), np.bool_)
    end_type = np.where(is_given_up, 0, end_type)
    created, not_believed = _created(records, begins)
    return Instances(
        id=ids,
        type=np.where(end_type != 0, end_type, records.aux[begins]).astype(np.int32),
        begin_thread=records.thread[begins],
        created=created,
        begin=begin,
        end_thread=np.where(has_end, records.thread[end_row], NONE).astype(np.int32),
        end=np.where(has_end, records.t[end_row], begin),
        aborted=((end_aux & ABORTED) != 0) | is_given_up,
        given_up=is_given_up,
        ends_without_begin=len(ends) - len(instance),
        not_believed=not_believed,
    )


def _created(records: Records, begins: Int64) -> tuple[Int64, dict[str, int]]:
    """When the requests of these begin records were made, and how many of the times told are not believed, and why."""
    told = np.isin(begins, records.rows(INTERVAL_BEGIN, OBJECT))
    age = np.zeros(len(begins), np.int64)
    age[told] = records.word[begins[told] + 1].view(np.int64)
    reasons = {
        "is 0": age == NOT_CREATED,
        "is in the future": (age < 0) & (age != NOT_CREATED),
        f"is more than {OLDEST_NS // 10**9} s before the begin": age > OLDEST_NS,
    }
    wrong = np.logical_or.reduce(list(reasons.values()))
    counts = {reason: int(np.count_nonzero(applies)) for reason, applies in reasons.items() if applies.any()}
    return records.t[begins] - np.where(wrong, 0, age), counts


def label(records: Records, instances: Instances) -> tuple[Labels, NDArray[np.uint64]]:
    """Who worked for what. Foreign labels get instance numbers from len(instances.id) on; their ids are returned."""
    rows = np.flatnonzero(
        (records.kind == INTERVAL_BEGIN) | (records.kind == INTERVAL_END) | (records.kind == ON_BEHALF)
    )
    ids = np.where(records.kind[rows] == INTERVAL_END, np.uint64(0), records.word[rows])
    found = latest(instances.id, instances.begin, ids, records.t[rows])
    foreign = (found < 0) & (ids != 0)
    foreign_ids, number = np.unique(ids[foreign], return_inverse=True)
    instance = np.where(ids != 0, found, NONE)
    instance[foreign] = len(instances.id) + number
    return Labels(records.thread[rows], records.t[rows], instance), foreign_ids


@dataclass(frozen=True)
class Selection:
    """The intervals to analyze, and what became of the others. `number[instance]` is the model's interval number,
    `instance[number]` the way back for those to analyze."""

    intervals: Intervals
    instance: Int64
    ids: Sequence[str]
    number: Int32
    excluded: dict[str, int]
    lost_latencies: Int64


def select(instances: Instances, foreign_ids: NDArray[np.uint64], reasons: dict[str, Bool]) -> Selection:
    """Keeps the finished instances to which no reason applies; each other one counts under its first reason."""
    kept = instances.finished
    excluded = {
        UNFINISHED: int(np.count_nonzero(instances.end_thread == NONE)),
        ABORTED_REASON: int(np.count_nonzero(instances.aborted)),
        NO_BEGIN: instances.ends_without_begin,
    }
    lost = np.zeros(len(kept), np.bool_)
    for reason, applies in reasons.items():
        hit = kept & applies
        excluded[reason] = int(np.count_nonzero(hit))
        kept = kept & ~applies
        if reason == LOSS:
            lost = hit
    rows = np.flatnonzero(kept)
    rows = rows[np.argsort(instances.created[rows], kind="stable")]
    others = np.flatnonzero(~kept)
    number = np.empty(len(kept) + len(foreign_ids), np.int32)
    number[rows] = np.arange(len(rows))
    number[others] = np.arange(len(rows), len(kept))
    number[len(kept) :] = np.arange(len(kept), len(number))
    return Selection(
        intervals=Intervals(
            type=instances.type[rows],
            begin_thread=instances.begin_thread[rows],
            begin=instances.created[rows],
            end_thread=instances.end_thread[rows],
            end=instances.end[rows],
            ignore=np.zeros(len(rows), np.bool_),
        ),
        instance=rows,
        ids=_ids(instances.id, np.concatenate([rows, others]), foreign_ids),
        number=number,
        excluded={reason: count for reason, count in excluded.items() if count},
        lost_latencies=instances.end[lost] - instances.created[lost],
    )


def _ids(ids: NDArray[np.uint64], order: Int64, foreign: NDArray[np.uint64]) -> IntervalIds:
    """Of the instances with these `ids`, which are sorted, in this order; then of the foreign ones."""
    starts = np.flatnonzero(np.r_[True, ids[1:] != ids[:-1]]) if len(ids) else np.zeros(0, np.int64)
    use = np.arange(len(ids)) - np.repeat(starts, np.diff(np.r_[starts, len(ids)])) + 1
    return IntervalIds(np.concatenate([ids[order], foreign]), np.concatenate([use[order], np.zeros(len(foreign), int)]))
