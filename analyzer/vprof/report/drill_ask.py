"""Deciding a step of a drill-down by questions and answers: numbers of candidates, Enter for the default.

    1 3      expand these        s 2   skip: of no interest        c   enough: confirm now
    a 2      accept as finding   m     measure this plan again     q   leave; `--resume` goes on

Answers are read from standard input, a terminal or not; its end is `q`.
"""

from __future__ import annotations

from dataclasses import replace

import click

from vprof.drill.loop import Candidate, Decision, Measured
from vprof.report import drill as report

HELP = "numbers: expand; a N: accept as finding; s N: skip; m: measure again; c: confirm now; q: leave (--resume)"


class LeaveError(Exception):
    """The user left the drill-down at a step, which is not kept: it will be measured again."""


def ask(measured: Measured) -> Decision:
    """A `drill.Decide`. Raises LeaveError."""
    report.print_candidates(measured)
    default = " ".join(_numbers(measured)) or "c"
    decision = Decision()
    while True:
        try:
            answer = click.prompt("expand", default=default, err=True)
        except click.Abort:
            raise LeaveError from None
        parsed = _understand(measured, decision, answer.split())
        if isinstance(parsed, str):
            click.echo(parsed, err=True)
            continue
        decision = parsed
        if decision.expand or decision.again or decision.stop:
            return decision
        default = " ".join(n for n in _numbers(measured) if _open(measured.candidates[int(n) - 1], decision)) or "c"


def _numbers(measured: Measured) -> list[str]:
    """Of the candidates that the default expands."""
    chosen = set(measured.default)
    return [str(i) for i, c in enumerate(measured.candidates, 1) if chosen & c.children.keys()]


def _open(candidate: Candidate, decision: Decision) -> bool:
    return candidate.factor.name not in (*decision.accept, *decision.skip)


def _understand(measured: Measured, so_far: Decision, words: list[str]) -> Decision | str:
    """The decision with this answer in it, or what to say about an answer that is none."""
    verb, numbers = (words[0], words[1:]) if words and not words[0].isdigit() else ("", words)
    if verb == "q":
        raise LeaveError
    if verb in ("m", "c") and not numbers:
        return replace(so_far, again=verb == "m", stop=verb == "c")
    if verb not in ("", "a", "s") or not numbers or not all(n.isdigit() for n in numbers):
        return HELP
    known = len(measured.candidates)
    if any(not 1 <= int(n) <= known for n in numbers):
        return f"there are {known} candidates: give numbers from 1 to {known}" if known else "no candidates: c, m or q"
    chosen = [measured.candidates[int(n) - 1] for n in numbers]
    names = [candidate.factor.name for candidate in chosen]
    if verb == "a":
        return replace(so_far, accept=list(dict.fromkeys([*so_far.accept, *names])))
    if verb == "s":
        return replace(so_far, skip=list(dict.fromkeys([*so_far.skip, *names])))
    ends = [candidate.factor.name for candidate in chosen if not candidate.children]
    if ends:
        return f"{ends[0]} is an end point: nothing below it can be switched on (a N accepts it)"
    return replace(so_far, expand=list(dict.fromkeys(f for candidate in chosen for f in candidate.children)))
