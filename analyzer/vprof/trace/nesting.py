"""Calls and waits of a thread nest; clocks and lost records may say otherwise. Here they are made to.

Both come in post-order (written at their end). A row is inside a later one when it ends before it and the greater part
of it lies after the later one's start, so neither a skew of the clocks nor a lost parent moves a row to a wrong place.
"""

from __future__ import annotations

import numpy as np

from vprof.tables.kernels import kernel
from vprof.tables.model import Int32, Int64

SATURATED = 4095
"""The largest depth a record can hold: rows with it nest by their times alone."""


@kernel
def nest(thread: Int32, depth: Int32, start: Int64, end: Int64, since: int, until: int) -> tuple[Int64, int]:
    """Corrects `start` in place so that rows of a thread nest; returns the span of each row, and the corrections of
    those that end in [since, until).

    A row and those inside it are `span` neighbours, itself the last. A correction of one nanosecond is rounding and
    does not count. REQUIRES: grouped by thread, in post-order, `end` never decreasing per thread. Of two rows where one
    contains the other, the inner one is deeper, or both are SATURATED.
    """
    n = len(thread)
    span = np.ones(n, np.int64)
    pending = np.empty(n, np.int64)
    top = 0
    corrected = 0
    for i in range(n):
        if i and thread[i] != thread[i - 1]:
            top = 0
        wanted = min(start[i], end[i])
        began = wanted
        while top:
            j = pending[top - 1]
            deeper = depth[j] > depth[i] or depth[i] == SATURATED
            if not deeper or start[j] + (end[j] - start[j]) // 2 < wanted:
                break
            began = min(began, start[j])
            span[i] += span[j]
            top -= 1
        if top:
            began = max(began, end[pending[top - 1]])
        if abs(began - start[i]) > 1 and since <= end[i] < until:
            corrected += 1
        start[i] = began
        pending[top] = i
        top += 1
    return span, corrected


@kernel
def preorder(thread: Int32, span: Int64) -> tuple[Int64, Int64]:
    """The post-order rows in pre-order (outer before inner, else by time), and the pre-order row around each of these,
    or -1."""
    n = len(thread)
    order = np.empty(n, np.int64)
    parent = np.full(n, -1, np.int64)
    open_rows, places = np.empty(n, np.int64), np.empty(n, np.int64)
    top = 0
    for i in range(n - 1, -1, -1):
        while top and open_rows[top - 1] - span[open_rows[top - 1]] >= i:
            top -= 1
        place = i - span[i] + 1 + top
        if top:
            parent[place] = places[top - 1]
        order[place] = i
        open_rows[top], places[top] = i, place
        top += 1
    return order, parent
