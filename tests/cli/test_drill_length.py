"""How long a confirmation has to be, told from the step before it."""

from dataclasses import replace

import numpy as np
import pytest
from replay import CASE

from vprof.drill.length import intervals_needed, known_well, seconds_needed
from vprof.trace.json_trace import load_json
from vprof.variance.analysis import Analysis, RankedFactor, analyze


def step(half_width: float, share: float = 0.5, count: int = 1000) -> Analysis:
    """`count` intervals in ten seconds, one factor with this share, its interval so far to either side."""
    found = analyze(load_json(CASE))
    factor = replace(found.factors[0].factor, share=share)
    ranked = RankedFactor(factor, (share - half_width, share + half_width), "")
    summary = replace(found.summary, count=count)
    return replace(
        found, n_eff=1000.0, factors=[ranked], summary=summary, trace=replace(found.trace, recorded_ns=10_000_000_000)
    )


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


@pytest.mark.parametrize("change", [{"no_ranking": "too much was lost"}, {"factors": []}])
def test_where_nothing_is_to_be_known_no_length_is_said(change: dict[str, object]) -> None:
    assert intervals_needed(replace(step(0.2), **change)) == 0  # type: ignore[arg-type]


def test_where_few_events_make_up_the_variance_more_of_them_are_waited_for() -> None:
    found = replace(step(0.2), heaviest=[("1", 9)], n_eff=10.0)
    assert intervals_needed(found) > 3 * found.summary.count
    assert intervals_needed(replace(found, n_eff=20.0)) == pytest.approx(intervals_needed(found) / 2, rel=0.01)


def test_while_nearly_all_is_waiting_for_a_cpu_it_measures_on() -> None:
    assert not known_well(replace(step(0.01), explained=0.04))
    assert known_well(replace(step(0.01), explained=0.06))


def test_a_confirmation_has_ample_blocks_that_count() -> None:
    narrow = step(0.01)
    assert intervals_needed(replace(narrow, n_eff=30.0)) == 2 * narrow.summary.count


def test_a_share_that_is_surely_above_the_threshold_is_known_well_enough_to_be_expanded() -> None:
    wide, sure = step(0.4, share=0.42), step(0.4, share=0.5)
    assert (known_well(wide), known_well(sure)) == (False, True)
    assert known_well(step(0.09, share=0.1))


def test_an_interval_that_reaches_0_counts_by_its_width() -> None:
    assert np.isfinite(seconds_needed(step(2.0, share=0.06)))
