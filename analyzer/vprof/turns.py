"""Finding in a trace that its probes were switched on and off in turn (vprof/alternation.py): fours of slices, ABBA or
BAAB, of one length.

    epochs + intervals -> runs of one or two slices -> whole fours -> Slices

Two slices of one kind in a row are one epoch, as nothing flips between: it is cut in the middle.
"""

from __future__ import annotations

from itertools import pairwise, product

import numpy as np

from vprof.epochs import Epoch
from vprof.model import Int64, Slice

FOUR = 4
_UNEVEN = 0.35
"""A slice may differ by this part from the usual length: a busy machine flips late."""

_Span = tuple[int, int, bool]
"""Begin, end in ns, on."""


def slices(epochs: list[Epoch], chosen: list[Epoch], begin: Int64, end: Int64) -> list[Slice]:
    """Whole fours, and the latencies of the intervals (`begin`, `end` in ns) that lie inside; [] where the plan was not
    switched in turn."""
    order = np.argsort(begin, kind="stable")
    begin, end = begin[order], end[order]
    known = (int(begin[0]), int(end.max())) if len(begin) else (0, 0)
    fours = _fours(_spans(epochs, chosen, known))
    inside = np.zeros(len(begin), np.bool_)
    for epoch in epochs if fours else []:
        inside |= (begin >= epoch.start) & (end <= epoch.end)
    begin, latency = begin[inside], (end - begin)[inside]
    found = []
    for start, stop, on in fours:
        a, b = np.searchsorted(begin, [start, stop])
        found.append(Slice(on, latency[a:b]))
    return found


def _spans(epochs: list[Epoch], chosen: list[Epoch], known: tuple[int, int]) -> list[_Span]:
    """The slices, if the epochs are such. The first and the last epoch are longer than theirs: of these up to two, as
    far as the trace reaches."""
    inner = [epoch.end - epoch.start for epoch in epochs[1:-1]]
    if len(inner) < FOUR or len({epoch.on for epoch in epochs}) != 2:
        return []
    usual = round(float(np.median([length / max(1, round(length / min(inner))) for length in inner])))
    spans: list[_Span] = []
    for epoch, length in zip(epochs[1:-1], inner, strict=True):
        count = round(length / usual)
        if count not in (1, 2) or abs(length / usual - count) > _UNEVEN:
            return []
        cuts = np.linspace(epoch.start, epoch.end, count + 1).astype(np.int64).tolist()
        spans += [(a, b, epoch in chosen) for a, b in pairwise(cuts)]
    ahead = [(epochs[0].end - n * usual, epochs[0].end - (n - 1) * usual, epochs[0] in chosen) for n in (2, 1)]
    behind = [(epochs[-1].start + n * usual, epochs[-1].start + (n + 1) * usual, epochs[-1] in chosen) for n in (0, 1)]
    return [span for span in (*ahead, *spans, *behind) if span[0] >= known[0] and span[1] <= known[1] + usual // 4]


def _fours(spans: list[_Span]) -> list[_Span]:
    """Those that make whole fours, wherever the first begins."""
    for first, left in product(range(FOUR + 2), range(FOUR + 2)):
        whole = spans[first : len(spans) - left]
        groups = [[on for _, _, on in whole[i : i + FOUR]] for i in range(0, len(whole), FOUR)]
        if len(whole) % FOUR == 0 and groups and all(_is_four(group) for group in groups):
            return whole
    return []


def _is_four(on: list[bool]) -> bool:
    return on[0] == on[3] and on[1] == on[2] and on[0] != on[1]
