"""The best order of units under constraints: the worked case, both solvers against all orders, and what is refused."""

from __future__ import annotations

import json
import random
from fractions import Fraction
from itertools import combinations, permutations
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from properties import examples

from vprof.errors import InvariantError, UsageError
from vprof.reorder import linear, ordering, solve, subsets
from vprof.reorder.constraints import chain, first_violated
from vprof.reorder.moves import Moves
from vprof.reorder.problem import Before, parse

CASE = json.loads((Path(__file__).parents[1] / "cases/31_reorder.json").read_text())
SOLVERS = pytest.mark.parametrize("solver", [subsets.best_order, linear.best_order], ids=["subsets", "linear"])


def problem(index: list[float], before: list[tuple[int, int]] = []) -> dict[str, Any]:  # noqa: B006
    """Units 0, 1, ... in their old order."""
    named = {str(unit): value for unit, value in enumerate(index)}
    return {"units": [*range(len(index))], "conflict_index": named, "before": [[*pair, "r"] for pair in before]}


def all_orders(raw: dict[str, Any]) -> Fraction:
    """The largest objective of all orders that keep the constraints, one by one."""
    asked = parse(raw)
    places = range(len(asked.units))
    kept = (one for one in permutations(places) if all(one.index(b.first) < one.index(b.then) for b in asked.before))
    return max(sum((p * asked.index[place] for p, place in enumerate(one, 1)), Fraction(0)) for one in kept)


@st.composite
def problems(draw: st.DrawFn, most: int, values: st.SearchStrategy[Any]) -> dict[str, Any]:
    """Constraints may contradict the old order, but do not go round."""
    index = draw(st.lists(values, max_size=most))
    ranks = draw(st.permutations(range(len(index))))
    pairs = [(i, j) for at, i in enumerate(ranks) for j in ranks[at + 1 :]]
    return problem(index, draw(st.lists(st.sampled_from(pairs), max_size=10)) if pairs else [])


FEW = st.sampled_from([0, 0, 1, 2, 3, 50])
"""Zeros and equal values are where places and ties are decided."""
WIDE = st.one_of(FEW, st.floats(0, 1e6), st.integers(0, 10**9))


@SOLVERS
def test_the_worked_case(solver: ordering.Solver) -> None:
    solution = solve(CASE, solver)
    assert solution.order in CASE["expected"]["optimal_orders"]
    assert solution.objective == CASE["expected"]["optimal_objective"]
    assert solution.old == CASE["expected"]["original_objective"]


@examples(150)
@given(problems(6, WIDE))
def test_the_dynamic_program_against_all_orders(raw: dict[str, Any]) -> None:
    assert solve(raw, subsets.best_order).new == all_orders(raw)


@examples(60)
@given(problems(6, FEW))
def test_the_linear_program_against_all_orders(raw: dict[str, Any]) -> None:
    assert solve(raw, linear.best_order).new == all_orders(raw)


@examples(40)
@given(problems(11, FEW))
def test_both_solvers_reach_the_same(raw: dict[str, Any]) -> None:
    assert solve(raw, subsets.best_order).objective == solve(raw, linear.best_order).objective


def test_programs_that_are_solved_again_since_queries_went_round(monkeypatch: pytest.MonkeyPatch) -> None:
    rounds: list[int] = []
    round_again = linear._round
    monkeypatch.setattr(linear, "_round", lambda before: rounds.append(1) or round_again(before))
    again = 0
    for seed in range(40):
        chance = random.Random(seed)
        index: list[float] = [chance.choice([0, 1, 2, 5, 50]) for _ in range(12)]
        raw = problem(index, [pair for pair in combinations(range(12), 2) if chance.random() < 0.1])
        rounds.clear()
        assert solve(raw, linear.best_order).new == solve(raw, subsets.best_order).new, seed
        again += len(rounds) > 1
    assert again


def test_more_queries_than_the_dynamic_program_takes() -> None:
    # Pairs that must keep their order lie together, each where its mean index belongs: the largest first is the worst.
    pairs = [(0, 22), (5, 21)]
    free = {(unit,) for unit in range(23)} - {(unit,) for pair in pairs for unit in pair}
    blocks = sorted([*free, *pairs], key=lambda block: sum(23 - unit for unit in block) / len(block))
    expected = sum(position * (23 - unit) for position, unit in enumerate(sum(blocks, ()), 1))
    solution = solve(problem([*range(23, 0, -1)], pairs))
    assert solution.new == expected > solution.old
    assert solution.objective == sum(position * (23 - unit) for position, unit in enumerate(solution.places, 1))


@SOLVERS
def test_of_equal_orders_the_old_one_is_kept(solver: ordering.Solver) -> None:
    assert solve(problem([7, 7, 7, 7]), solver).order == [0, 1, 2, 3]
    assert solve(problem([5, 2, 5, 2, 5]), solver).order == [1, 3, 0, 2, 4]
    assert solve(problem([1, 2, 0, 0], [(0, 1), (1, 3), (1, 2)]), solver).order == [0, 1, 2, 3]


@SOLVERS
def test_units_without_index_count_as_positions(solver: ordering.Solver) -> None:
    # 1 is free and comes first; 2 comes as soon as 3 is there, and so does 0, which has the smaller index.
    solution = solve(problem([9, 0, 0, 2], [(3, 2)]), solver)
    assert (solution.order, solution.objective) == ([1, 3, 2, 0], 2 * 2 + 4 * 9)


def test_objectives_beyond_64_bits_are_exact() -> None:
    large = 10**30
    solution = solve(problem([large + 1, large, large + 2]), subsets.best_order)
    assert (solution.order, solution.objective) == ([1, 0, 2], 6 * large + 8)
    assert solve(problem([0.1, 0.2])).new == Fraction(5, 10)


def test_nothing_to_order() -> None:
    assert solve(problem([])).as_json() == {"order": [], "objective": 0}
    assert solve(problem([0, 0, 0])).as_json() == {"order": [0, 1, 2], "objective": 0}
    assert solve({**problem([]), "units": [1, "1b", 3]}).order == [1, "1b", 3]


def test_an_old_order_that_breaks_a_constraint_is_mended() -> None:
    solution = solve(problem([0, 0], [(1, 0)]))
    assert solution.order == [1, 0] and solution.broken == Before(1, 0, "r")


def test_the_first_violated_constraint() -> None:
    before = (Before(0, 1, "a"), Before(2, 1, "b"), Before(0, 2, "c"))
    assert first_violated([0, 2, 1], before) is None
    assert first_violated([0, 1, 2], before) == before[1]
    assert first_violated([1, 2, 0], before) == before[0]
    assert first_violated([0, 1], before) == before[1]
    assert first_violated([0], (Before(0, 0, "itself"),)) == Before(0, 0, "itself")


@pytest.mark.parametrize(("wrong", "says"), [([2, 1, 0], "0 before 1"), ([0, 1], "each unit once")])
def test_a_wrong_result_of_a_solver_is_noticed(monkeypatch: pytest.MonkeyPatch, wrong: list[int], says: str) -> None:
    monkeypatch.setattr(ordering, "_with_others", lambda *_: wrong)
    with pytest.raises(InvariantError, match=says):
        solve(problem([3, 2, 1], [(0, 1)]))


def test_the_shortest_chain() -> None:
    before = parse(problem([0] * 5, [(0, 1), (1, 2), (2, 3), (1, 3), (3, 4)])).before
    assert [(one.first, one.then) for one in chain(before, 0, 4)] == [(0, 1), (1, 3), (3, 4)]
    assert chain(before, 4, 0) == []


@examples(100)
@given(problems(7, FEW))
def test_each_query_in_front_of_a_smaller_one_is_held_by_constraints(raw: dict[str, Any]) -> None:
    solution = solve(raw)
    index, order = solution.problem.index, solution.places
    in_front = {
        place for at, place in enumerate(order) if any(0 < index[other] < index[place] for other in order[at + 1 :])
    }
    held = list(Moves(solution).held())
    assert {one.place for one in held} == in_front
    for one in held:
        span = order[order.index(one.place) : order.index(one.smaller) + 1]
        ends = {one.because[0].first, one.because[-1].then}
        assert ends & {one.place, one.smaller} and ends <= set(span)


@examples(100)
@given(problems(7, FEW))
def test_without_moves_the_order_is_the_old_one(raw: dict[str, Any]) -> None:
    solution = solve(raw)
    assert (not list(Moves(solution).moved())) == (list(solution.places) == sorted(solution.places))


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"units": [1, 2, 1]}, "unit 1 is there twice in units"),
        ({"units": [1, "1"]}, "unit 1 is there twice in units"),
        ({"units": [1, 2.5]}, "units must be whole numbers or texts, not 2.5"),
        ({"units": {}}, "units must be a list"),
        ({"conflict_index": {"9": 1}}, "conflict_index names unit 9, which is not in units"),
        ({"conflict_index": {"1": 1, 1: 2}}, "unit 1 is there twice in conflict_index"),
        ({"conflict_index": {"1": -1}}, "the conflict index of unit 1 is -1: it must be 0 or more"),
        ({"conflict_index": {"1": float("nan")}}, "the conflict index of unit 1 is nan"),
        ({"conflict_index": {"1": float("inf")}}, "the conflict index of unit 1 is inf"),
        ({"conflict_index": {"1": 10**400}}, "it must be 0 or more, and at most 1e\\+300"),
        ({"conflict_index": {"1": True}}, "the conflict index of unit 1 must be a number, not true"),
        ({"conflict_index": [1]}, "conflict_index must be an object"),
        ({"before": [[1, 9, "x"]]}, "before names unit 9, which is not in units"),
        ({"before": [[1, 2, "x"], [2, 1, "y"]]}, "the constraints in before go round: (1 before 2 before 1|2 .* 2);"),
        ({"before": [[1, 1, "x"]]}, "the constraints in before go round: 1 before 1;"),
        ({"before": [[1]]}, "an entry of before must be \\[first, then, reason\\], not \\[1\\]"),
        ({"before": [[1, 2, 3]]}, "the reason in before must be a text, not 3"),
        ({"before": None}, "before must be a list"),
    ],
)
def test_what_is_no_problem_is_refused_in_one_line(change: dict[str, Any], says: str) -> None:
    with pytest.raises(UsageError, match=says) as refused:
        solve({"units": [1, 2], "conflict_index": {"1": 3}, "before": [], **change})
    assert "\n" not in str(refused.value)
