"""How long measurements of a drill-down have to be for their shares to be known well.

    a step's Analysis -> intervals that the shares need -> seconds of the confirmation, known before it begins

A confirmation that stopped when it looks good would confirm too much (docs/algorithms.md section 6): so its length
comes from the step before it, and of what it measures itself from the latencies alone, never from a share.
"""

from __future__ import annotations

import math

from vprof.drill.budget import PATIENCE
from vprof.drill.moments import FEW, moments_of, number_of
from vprof.variance import statistics
from vprof.variance.analysis import Analysis

WIDE = 0.10
"""A share is known well when its 95 % interval reaches no further than this to either side."""

CLEAR = 0.5
"""Nor further than this part of the share: the interval of a small share has to exclude 0."""

_TOGETHER = 1.5
"""Intervals that hold for three shares at once are some 1.2 times as wide: so many more are needed."""

_AMPLE = 2.0
"""To how many blocks the variance amounts differs from run to run: so many times the fewest are aimed at."""


def known_well(analysis: Analysis) -> bool:
    """Whether measuring longer would not help to choose: the best shares are surely above the threshold, or known, or a
    few intervals make them up. While nearly all is waiting for a CPU, a quieter moment may come."""
    if analysis.no_ranking:
        return True
    if analysis.explained < analysis.options.min_share:
        return False
    if analysis.heaviest:
        return True
    least, wide = analysis.least_share, _wide(analysis)
    return all(r.ci95 and (r.ci95[0] >= least or r.ci95[1] - r.ci95[0] <= 2 * wide) for r in analysis.factors)


def _wide(analysis: Analysis) -> float:
    """WIDE of what is left without waits for a CPU."""
    return WIDE * min(1.0, analysis.explained)


def worth_more(analysis: Analysis, times: float = PATIENCE) -> bool:
    """Whether the latencies tell that shares are not sure yet, and that so many `times` as much may suffice."""
    blocks = analysis.blocks
    if analysis.no_ranking or not isinstance(blocks, statistics.NoBlocks):
        return False
    if moments := number_of(moments_of(analysis)):
        return FEW / times <= moments < FEW
    return blocks.needed <= times * analysis.summary.count


def seconds_needed(analysis: Analysis) -> float:
    """For a confirmation of these factors; 0: it is not known."""
    recorded = analysis.trace.recorded_ns / 1e9
    return recorded * intervals_needed(analysis) / analysis.summary.count


def intervals_needed(analysis: Analysis) -> int:
    """So many that the factors' shares will be known well, all at once; 0: there is nothing to be known."""
    if analysis.no_ranking or not analysis.factors:
        return 0
    count = analysis.summary.count
    enough = count * _AMPLE * statistics.MIN_EFFECTIVE / analysis.n_eff if analysis.n_eff else 0.0
    if analysis.heaviest:  # something rare, or a stall that will not come again: more of them may tell
        return math.ceil(enough)
    known = [(r.ci95[1] - r.ci95[0], r.factor.share) for r in analysis.factors if r.ci95]
    if known:
        wide = _wide(analysis) or WIDE
        reach = max(width / 2 / min(wide, CLEAR * share) for width, share in known)
        return math.ceil(max(count * _TOGETHER * reach**2, enough))
    return math.ceil(_TOGETHER * analysis.blocks.needed) if isinstance(analysis.blocks, statistics.NoBlocks) else 0
