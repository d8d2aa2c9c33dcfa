"""The report of `vprof reorder FILE`: as for a problem alone, then what nothing may pass, what is taken for granted,
and the patch. The program patch(1) passes over the words in front of it."""

from __future__ import annotations

import difflib
import json
import sys
from functools import partial
from typing import TYPE_CHECKING, Any

from rich.console import Console

from vprof.report.reorder import show_solution
from vprof.report.tables import PLAIN_WIDTH, heading, line, to_terminal, to_text
from vprof.transaction.reordering import Reordering

if TYPE_CHECKING:
    from vprof.verify.verifying import Verified

_ISOLATION = (
    "All transactions run serializable, or under strict two-phase locking: at weaker levels, what this one reads may"
    " change between its queries, and the order says when it looks."
)
_ERRORS = "Where several queries would fail, another one may be the first: another error is reported, all is undone."
_TAIL = (
    "More throughput may come with a longer tail: a query that waits for its lock late holds more locks meanwhile, and"
    " makes their rivals wait twice. --verify with a [load] compares both."
)
_UNDONE = "Whoever calls it undoes the transaction where it returns before its end: --undone-by-caller says so."
_NO_SCHEMA = "No view, foreign key or trigger makes one table depend on another: give --schema to have vprof look."


def print_reordering(found: Reordering, with_schema: bool, verified: Verified | None = None) -> None:
    """On standard output."""
    to_terminal(partial(_show, found, with_schema, verified))
    sys.stdout.write(unified(found))


def render(found: Reordering, with_schema: bool, verified: Verified | None = None, width: int = PLAIN_WIDTH) -> str:
    """As text without colour."""
    return to_text(partial(_show, found, with_schema, verified), width) + unified(found)


def render_json(found: Reordering, verified: Verified | None = None) -> str:
    """{"order", "objective": as for a problem; "units": [{"unit", "line", "index", "fixed": why, or null}], "before":
    [[first, then, why]], "renamed": [{"variable", "name", "line": of the first use}], "weaker": [{"line", "level": of
    isolation}], where SQL asks for less than serializable; "patch": text}; "verified": verified_json, if it was asked
    for, and something moves."""
    document = _document(found)
    if verified:
        from vprof.report.verify import verified_json

        document["verified"] = verified_json(verified)
    return json.dumps(document, indent=1) + "\n"


def unified(found: Reordering) -> str:
    """The difference between both texts; empty if there is none."""
    before, after = (text.decode("utf-8", "surrogateescape").splitlines(True) for text in (found.before, found.after))
    name = str(found.file).lstrip("/")
    return "".join(difflib.unified_diff(before, after, f"a/{name}", f"b/{name}"))


def _document(found: Reordering) -> dict[str, Any]:
    problem = found.solution.problem
    fixed = dict(found.fixed)
    units = [
        {"unit": name, "line": unit.line, "index": float(index), "fixed": fixed.get(str(name))}
        for name, unit, index in zip(problem.units, found.units, problem.index, strict=True)
    ]
    before = [[problem.units[one.first], problem.units[one.then], one.reason] for one in problem.before]
    renamed = [{"variable": one.old, "name": one.name, "line": one.line} for one in found.renamed]
    weaker = [{"line": line, "level": level} for line, level in found.weaker]
    own = {"units": units, "before": before, "renamed": renamed, "weaker": weaker, "patch": unified(found)}
    return {**found.solution.as_json(), **own}


def _show(found: Reordering, with_schema: bool, verified: Verified | None, console: Console) -> None:
    show_solution(found.solution, console)
    if found.fixed:
        heading(console, "What nothing may pass")
        for name, why in found.fixed:
            line(console, f"{name}: {why}")
    if found.before == found.after:
        return
    if found.renamed:
        heading(console, "What gets another name")
    for one in found.renamed:
        text = f"{one.old} is {one.name} from line {one.line} on: it need not wait for what uses {one.old} before"
        line(console, text)
    if verified:
        from vprof.report.verify import show_verified

        show_verified(verified, console)
    heading(console, "What this takes for granted")
    undone = (_UNDONE,) if found.undone else ()
    weaker = [
        f"Line {at} asks for less, {level}: whether the order does the same there is up to you."
        for at, level in found.weaker
    ]
    tail = () if verified and verified.loaded else (_TAIL,)
    for sentence in (_ISOLATION, *weaker, _ERRORS, *tail, *undone, *(() if with_schema else (_NO_SCHEMA,))):
        line(console, sentence)
    heading(console, "The patch")
