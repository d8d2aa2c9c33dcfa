"""A few random programs, always the same ones, and seeds that once found something; `make fuzz` makes new ones."""

from __future__ import annotations

import pytest

from fuzz import told_of, try_seed

FIRST = {"csmith": 8, "c": 12, "cxx": 7}
"""How many, from seed 1 on."""
FOUND = [
    ("c", 4),  # a number of an earlier call where another is called only under a condition
    ("c", 25),  # an argument that is not evaluated
    ("c", 9),  # calls after a longjmp recorded inside the call that it left
]


SEEDS = [(language, seed) for language, count in FIRST.items() for seed in range(1, count + 1)]


@pytest.mark.parametrize(("language", "seed"), sorted({*FOUND, *SEEDS}))
def test_a_random_program_does_the_same_and_its_calls_are_recorded(language: str, seed: int) -> None:
    outcome = try_seed(language, seed)
    assert outcome.kind in ("same", "skipped"), told_of(outcome)
