"""Invocations of probed functions: from records written at exit to nested calls in order of entry.

post-order rows (window.py) -> starts made to nest -> pre-order
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from vprof.tables.kernels import kernel, loop
from vprof.tables.model import NONE, Bool, Int32, Int64, UInt16
from vprof.trace.nesting import nest, preorder
from vprof.trace.window import PostOrder, Window


@dataclass(frozen=True)
class Calls:
    """Invocations sorted by (thread, start, depth); `number` is a site number, `call` the caller's call number.

    `parent` is the row of the innermost recorded call around it, or NONE. `corrected` starts had to be moved, of calls
    that ended in the window.
    """

    thread: Int32
    number: Int32
    call: UInt16
    start: Int64
    end: Int64
    depth: Int32
    parent: Int64
    corrected: int


def nested_calls(rows: PostOrder, window: Window) -> Calls:
    """Writes the starts of `rows`."""
    span, corrected = nest(rows.thread, rows.depth, rows.start, rows.end, window.begin, window.end)
    order, parent = preorder(rows.thread, span)
    return Calls(*_in_order(order, rows), parent, corrected)


@kernel
def _in_order(order: Int64, rows: PostOrder) -> PostOrder:
    """The rows in this order, in which those of a thread stay together; all columns at once, since rows that follow
    each other lie near each other."""
    to = PostOrder(
        rows.thread,
        np.empty_like(rows.number),
        np.empty_like(rows.call),
        np.empty_like(rows.start),
        np.empty_like(rows.end),
        np.empty_like(rows.depth),
    )
    _move(order, rows, to)
    return to


@loop
def _move(order: Int64, rows: PostOrder, to: PostOrder) -> None:
    for i in range(len(order)):
        of = order[i]
        to.number[i], to.call[i] = rows.number[of], rows.call[of]
        to.start[i], to.end[i], to.depth[i] = rows.start[of], rows.end[of], rows.depth[of]


def kept(calls: Calls, keep: Bool) -> Calls:
    """The calls marked in `keep`; a child whose parent goes belongs to the nearest one that stays."""
    if keep.all():
        return calls
    parent = _adopt(calls.parent, keep)
    position = np.cumsum(keep) - 1
    parent = parent[keep]
    return Calls(
        thread=calls.thread[keep],
        number=calls.number[keep],
        call=calls.call[keep],
        start=calls.start[keep],
        end=calls.end[keep],
        depth=calls.depth[keep],
        parent=np.where(parent >= 0, position[parent], NONE),
        corrected=calls.corrected,
    )


def _adopt(parent: Int64, keep: Bool) -> Int64:
    out = parent.copy()
    orphans = np.flatnonzero(out >= 0)
    while len(orphans := orphans[~keep[out[orphans]]]):
        out[orphans] = out[out[orphans]]
        orphans = orphans[out[orphans] >= 0]
    return out


@kernel
def labels_at_entry(thread: Int32, start: Int64, label_thread: Int32, label_t: Int64, label: Int32) -> Int32:
    """What the thread worked on when it entered each call; both tables sorted by (thread, time)."""
    out = np.empty(len(thread), np.int32)
    k = 0
    for i in range(len(thread)):
        while k < len(label_t) and (
            label_thread[k] < thread[i] or (label_thread[k] == thread[i] and label_t[k] <= start[i])
        ):
            k += 1
        out[i] = label[k - 1] if k and label_thread[k - 1] == thread[i] else NONE
    return out
