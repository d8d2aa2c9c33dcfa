"""A few random programs, others every day, and seeds that once found something."""

from __future__ import annotations

import datetime

import pytest

from fuzz import told_of, try_seed

FRESH = {"csmith": 8, "c": 12, "cxx": 8}
"""Seeds a day."""
FOUND = [
    ("c", 4),  # a number of an earlier call where another is called only under a condition
    ("c", 25),  # an argument that is not evaluated
    ("c", 9),  # calls after a longjmp recorded inside the call that it left
]


def fresh() -> list[tuple[str, int]]:
    first = datetime.date.today().toordinal() * 100
    return [(language, first + number) for language, count in FRESH.items() for number in range(count)]


@pytest.mark.parametrize(("language", "seed"), [*FOUND, *fresh()])
def test_a_random_program_does_the_same_and_its_calls_are_recorded(language: str, seed: int) -> None:
    outcome = try_seed(language, seed)
    assert outcome.kind in ("same", "skipped"), told_of(outcome)
