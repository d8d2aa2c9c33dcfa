"""What makes slow moments slow, where so few intervals hold the variance that no share has a 95 % interval.

    the intervals that hold half of the variance -> moments -> in how many of them a factor is most of the excess
    -> in what part of all such moments it is, at least

Intervals that overlap may be slow for one reason (a stall hits all that are under way), so they are one moment; of
different moments the reasons are independent, and an exact bound of the binomial distribution holds, whatever the
distribution of latencies is.
"""

from __future__ import annotations

import numpy as np
from scipy.special import betaincinv

from vprof.tables.model import Bool, Int32, Int64
from vprof.trace.usable import rows_of
from vprof.variance.analysis import Analysis
from vprof.variance.statistics import NoBlocks

FEW = 30
"""Fewer moments than this that hold half of the variance confirm nothing: an idle machine makes up to 13 itself."""
MOST = 0.5
"""A factor is most of a moment's excess from this part of it on."""
LEVEL = 0.95


def moments_of(analysis: Analysis) -> Int32:
    """By analyzed interval: the moment that it belongs to, or -1; there are none where shares have intervals, or where
    it is not known which intervals hold the variance."""
    rows = rows_of(analysis.trace)
    none = np.full(len(rows), -1, np.int32)
    if not isinstance(analysis.blocks, NoBlocks):
        return none
    begin, end = analysis.trace.intervals.begin[rows], analysis.trace.intervals.end[rows]
    return _grouped(begin, end, analysis.blocks.heaviest, none)


def number_of(moment: Int32) -> int:
    return int(moment.max(initial=-1)) + 1


def _grouped(begin: Int64, end: Int64, heaviest: Int64, moment: Int32) -> Int32:
    """The heaviest interval is a moment, with all others that overlap it; of those left the heaviest, and so on."""
    left, found = heaviest, 0
    while len(left):
        first = left[0]
        overlaps = (begin[left] <= end[first]) & (begin[first] <= end[left])
        moment[left[overlaps]] = found
        left, found = left[~overlaps], found + 1
    return moment


def most_of(time: Int64, latency: Int64, moment: Int32) -> int:
    """In how many moments this `time` of the intervals is most of what their `latency` is beside its mean."""
    mine: Bool = moment >= 0
    if not mine.any():
        return 0
    excess, whole = (np.bincount(moment[mine], (x - x.mean())[mine]) for x in (time, latency))
    return int(np.count_nonzero(excess * np.sign(whole) > MOST * np.abs(whole)))


def at_least(hits: int, moments: int, findings: int) -> float:
    """The part of all such moments, of which `hits` of `moments` were seen; for so many findings all at once (exact:
    Clopper and Pearson, with Bonferroni's correction)."""
    return float(betaincinv(hits, moments - hits + 1, (1 - LEVEL) / max(1, findings))) if hits else 0.0
