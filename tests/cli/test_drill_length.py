"""How long a confirmation has to be, told from the step before it."""

from dataclasses import replace

import numpy as np
import pytest
from replay import CASE

from vprof.analysis import Analysis, RankedFactor, analyze
from vprof.drill_length import intervals_needed, seconds_needed
from vprof.json_trace import load_json


def step(half_width: float, share: float = 0.5, count: int = 1000) -> Analysis:
    """`count` intervals in ten seconds, one factor with this share, its interval so far to either side."""
    found = analyze(load_json(CASE))
    factor = replace(found.factors[0].factor, share=share)
    ranked = RankedFactor(factor, (share - half_width, share + half_width), "")
    summary = replace(found.summary, count=count)
    return replace(found, factors=[ranked], summary=summary, trace=replace(found.trace, recorded_ns=10_000_000_000))


def test_half_the_width_takes_four_times_the_intervals() -> None:
    assert intervals_needed(step(0.2)) == pytest.approx(4 * intervals_needed(step(0.1)), rel=0.01)


def test_a_small_share_takes_more_to_exclude_0() -> None:
    assert intervals_needed(step(0.1, share=0.05)) == pytest.approx(16 * intervals_needed(step(0.1)), rel=0.01)


def test_seconds_follow_from_the_rate_of_intervals() -> None:
    assert seconds_needed(step(0.1)) == pytest.approx(15, rel=0.01)
    assert seconds_needed(step(0.1, count=500)) == pytest.approx(15, rel=0.01)


def test_where_there_is_no_interval_yet_the_blocks_say_how_many_are_missing() -> None:
    found = analyze(load_json(CASE))
    assert found.factors[0].ci95 is None
    assert intervals_needed(found) > found.summary.count


@pytest.mark.parametrize("change", [{"no_ranking": "too much was lost"}, {"events": [("1", 9)]}, {"factors": []}])
def test_where_no_length_would_help_none_is_said(change: dict[str, object]) -> None:
    assert intervals_needed(replace(step(0.2), **change)) == 0  # type: ignore[arg-type]


def test_an_interval_that_reaches_0_counts_by_its_width() -> None:
    assert np.isfinite(seconds_needed(step(2.0, share=0.06)))
