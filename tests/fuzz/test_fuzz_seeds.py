"""A few random programs, always the same ones; `make fuzz` makes new ones."""

from __future__ import annotations

import pytest

from fuzz import grouped, told_of, try_seeds

ENDLESS = [1008, 1035]
"""Made too many calls for a log, or ran for ever, while only what csmith says ended their loops."""
SEEDS = {"csmith": [*range(1, 7), *ENDLESS], "c": range(1, 21), "cxx": range(1, 11)}
GROUPS = [(language, group) for language, seeds in SEEDS.items() for group in grouped(language, seeds)]


@pytest.mark.parametrize(("language", "seeds"), GROUPS, ids=[f"{name}-{seeds[0]}" for name, seeds in GROUPS])
def test_random_programs_do_the_same_and_their_calls_are_recorded(language: str, seeds: list[int]) -> None:
    outcomes = try_seeds(language, seeds)
    assert len(outcomes) == len(seeds)
    for outcome in outcomes:
        assert outcome.verdict.kind == "same", told_of(outcome)
