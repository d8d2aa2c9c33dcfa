"""The report of `vprof reorder`: the new order beside the old one, what it gains, what moved, what could not."""

from __future__ import annotations

import json
from collections.abc import Sequence
from fractions import Fraction
from functools import partial

from rich.console import Console

from vprof.reorder.moves import Held, Move, Moves
from vprof.reorder.ordering import Solution, number
from vprof.reorder.problem import Before, Problem
from vprof.report.tables import PLAIN_WIDTH, Row, heading, line, print_table, to_terminal, to_text
from vprof.report.units import percent

_NAMED = 4
"""So many units are named in a sentence; of others their number."""


def print_solution(solution: Solution) -> None:
    """On standard output."""
    to_terminal(partial(show_solution, solution))


def render(solution: Solution, width: int = PLAIN_WIDTH) -> str:
    """As text without colour."""
    return to_text(partial(show_solution, solution), width)


def render_json(solution: Solution) -> str:
    """{"order": units, "objective": the sum of position times index}."""
    return json.dumps(solution.as_json()) + "\n"


def show_solution(solution: Solution, console: Console) -> None:
    """The parts of the report that need no source."""
    problem, moves = solution.problem, Moves(solution)
    line(console, _sentence(solution), "bold")
    line(console, f"the sum of position times conflict index: {_number(solution.old)} -> {_number(solution.new)}")
    heading(console, "New order")
    rows: list[Row] = [
        (_name(problem, place), str(new), str(place + 1), _number(problem.index[place]))
        for new, place in enumerate(solution.places, 1)
    ]
    if rows:
        print_table(console, ("new", "old", "index"), rows)
    moved = [_moved(problem, move) for move in moves.moved()]
    if moved:
        heading(console, "Why units moved")
        _lines(console, moved)
    held = [_held(problem, one) for one in moves.held()]
    if held:
        heading(console, "Why others could not")
        _lines(console, held)


def _sentence(solution: Solution) -> str:
    """What comes out, in one line."""
    if not any(solution.problem.index):
        return "no unit has a conflict index above 0: every order is as good as the old one"
    broken = solution.broken
    if broken:
        names = f"{_name(solution.problem, broken.first)} before {_name(solution.problem, broken.then)}"
        return f"the old order breaks a constraint itself: {names} ({broken.reason}); the new order keeps all"
    if solution.new == solution.old:
        return "the old order is the best one that keeps all constraints: nothing moves"
    gain = float((solution.new - solution.old) / solution.old)
    return f"contended queries come later: the objective is {percent(gain)} larger"


def _lines(console: Console, sentences: Sequence[str]) -> None:
    for sentence in sentences:
        line(console, sentence)


def _moved(problem: Problem, move: Move) -> str:
    name, index = _name(problem, move.place), problem.index[move.place]
    passed = _names(problem, move.passed)
    others = [problem.index[other] for other in move.passed]
    if not index and move.early:
        why = "it has no index, and each query behind it gains a position"
    elif not index:
        why = "it waits for what it needs"
    elif move.early and min(others) > index:
        why = f"its index {_number(index)} is smaller"
    elif not move.early and max(others) < index:
        why = f"its index {_number(index)} is larger"
    else:
        why = "the objective is larger so, since constraints tie some of them to others"
    return f"{name} goes {'in front of' if move.early else 'behind'} {passed}: {why}"


def _held(problem: Problem, held: Held) -> str:
    name, smaller = (_name(problem, place) for place in (held.place, held.smaller))
    index = _number(problem.index[held.smaller])
    first, then = held.because[0].first, held.because[-1].then
    because = "; ".join(_constraint(problem, one) for one in held.because)
    sentence = f"{name} stays in front of {smaller} (index {index}): {because}"
    return sentence if (first, then) == (held.place, held.smaller) else f"{sentence}, which gains more"


def _constraint(problem: Problem, one: Before) -> str:
    return f"{_name(problem, one.first)} must precede {_name(problem, one.then)} ({one.reason})"


def _names(problem: Problem, places: Sequence[int]) -> str:
    named = [_name(problem, place) for place in places[:_NAMED]]
    more = len(places) - len(named)
    if more:
        return f"{', '.join(named)} and {more} more"
    return " and ".join([", ".join(named[:-1]), named[-1]] if len(named) > 1 else named)


def _name(problem: Problem, place: int) -> str:
    return str(problem.units[place])


def _number(exact: Fraction) -> str:
    value = number(exact)
    return str(value) if isinstance(value, int) else f"{value:.6g}"
