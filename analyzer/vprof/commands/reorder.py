"""`vprof reorder`: see the command's help."""

from __future__ import annotations

import sys
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, cast

import click

from vprof.errors import UsageError
from vprof.terminal import write_report

if TYPE_CHECKING:
    from vprof.tables.model import Int64
    from vprof.transaction.index import Index
    from vprof.transaction.reordering import Reordering
    from vprof.verify.verifying import Verified

_BACKUP = ".orig"
NOT_ALIKE = 3
"""Exit code."""


@click.command(name="reorder")
@click.argument("file", required=False, metavar="[FILE]", type=click.Path(path_type=Path))
@click.argument("options", nargs=-1, metavar="[-- COMPILER OPTIONS...]", type=click.UNPROCESSED)
@click.option("--function", metavar="F", help="The function of FILE that runs the transaction.")
@click.option(
    "--index",
    metavar="FILE.json",
    type=click.Path(path_type=Path),
    help="Conflict indices of queries: {line of the call: index}.",
)
@click.option(
    "--trace",
    metavar="TRACE",
    type=click.Path(path_type=Path),
    help="Instead of --index: a trace of the program that has F; the time of each query's call varies by its index.",
)
@click.option(
    "--schema",
    metavar="FILE.sql",
    type=click.Path(path_type=Path),
    help="The SQL that made the tables, for views, foreign keys and triggers.",
)
@click.option(
    "--calls",
    multiple=True,
    metavar="FILE.toml",
    type=click.Path(path_type=Path),
    help="More calls, and what they do, as in annotations/clients. May be given several times.",
)
@click.option(
    "--undone-by-caller",
    "undone",
    is_flag=True,
    help="F's caller undoes the transaction where F returns before its end.",
)
@click.option(
    "--verify",
    "plan",
    metavar="VERIFY.toml",
    type=click.Path(path_type=Path),
    help="Run both texts on copies of a database, and compare what they leave.",
)
@click.option("--apply", is_flag=True, help=f"Write FILE, and keep the old one as FILE{_BACKUP}.")
@click.option(
    "--problem",
    metavar="FILE.json",
    type=click.Path(path_type=Path),
    help="Instead of FILE: units, their conflict indices, and what must precede what.",
)
@click.option(
    "--format",
    "fmt",
    default="text",
    show_default=True,
    type=click.Choice(("text", "json")),
    help="Form of the report.",
)
@click.option("-o", "--output", metavar="OUT", type=click.Path(path_type=Path), help="Write the report to a file.")
def command(
    file: Path | None,
    options: tuple[str, ...],
    function: str | None,
    index: Path | None,
    trace: Path | None,
    schema: Path | None,
    calls: tuple[Path, ...],
    undone: bool,
    plan: Path | None,
    apply: bool,
    problem: Path | None,
    fmt: str,
    output: Path | None,
) -> None:
    """Find the order of a transaction's statements that holds contended locks for the least time.

    A transaction keeps its locks until it ends, so the queries that others wait for most should come last. vprof finds
    the order with the largest sum of position times conflict index that keeps all constraints, and says why units moved
    and why others could not.

    FILE is C or C++ with a function that runs one transaction through libpq, libmariadb or ODBC. vprof finds the
    constraints in it: what statements read and write, the tables of its queries, checks of errors. It prints a patch
    for review, and changes FILE only with --apply. What it does not understand stays where it is. The conflict index of
    a query is the standard deviation of its time, which a --trace has, or what --index says. Options of the compiler
    come from compile_commands.json, or stand behind --.

    Where F returns early without a ROLLBACK nothing may pass, since the transaction may go on. If its caller undoes the
    transaction then, say so: --undone-by-caller. A return with the same constant as the last one is no such return.

    With --verify, vprof builds FILE as it is and reordered, copies a database twice, makes the same calls with random
    inputs on both copies, each alone, and compares what is printed and all tables after each call. If VERIFY.toml has a
    [load], it then runs both with several clients, and compares them as `vprof diff` does. The exit code is 3, and
    --apply changes nothing, if they are not alike. docs/reorder-verify.md says what VERIFY.toml has in it.

    With --problem, no source is read, and whether the constraints are complete is up to you. The file has `units`,
    numbers or names in their old order; `conflict_index`, where units without one count as 0; and `before`, a list of
    [first, then, reason].

    Up to 20 queries are solved by dynamic programming, more by an integer linear program.

    \b
    Examples:
      vprof reorder payment.c --function payment --index index.json -- -I/usr/include/postgresql
      vprof reorder payment.c --function payment --trace run.trace
      vprof reorder payment.c --function payment --index index.json --schema schema.sql --apply
      vprof reorder payment.c --function payment --index index.json --verify verify.toml
      vprof reorder --problem payment.json --format json
    """
    if problem is not None:
        if file is not None or apply or plan is not None:
            raise UsageError("--problem has no source: leave out FILE, --verify and --apply")
        _solve(problem, fmt, output)
        return
    if file is None:
        raise UsageError("give the FILE with the transaction, or a --problem")
    if function is None or (index is None) == (trace is None):
        raise UsageError("give --function, the transaction in FILE, and the indices of its queries: --index or --trace")
    from vprof.transaction.index import load

    found = _measured(trace, file, function) if trace else load(cast(Path, index))
    reordering = _reordering(file, function, found, schema, calls, options, undone)
    verified = _verified(reordering, plan, options) if plan else None
    if apply and reordering.before != reordering.after and (verified is None or verified.alike):
        _write(file, reordering.before, reordering.after)
    _report(reordering, schema is not None, verified, fmt, output)
    if verified and not verified.alike:
        sys.exit(NOT_ALIKE)


def _solve(problem: Path, fmt: str, output: Path | None) -> None:
    from vprof.reorder.ordering import solve
    from vprof.reorder.problem import load
    from vprof.report import reorder as report

    solution = solve(load(problem))
    if fmt == "json":
        write_report(report.render_json(solution), output)
    elif output is None:
        report.print_solution(solution)
    else:
        write_report(report.render(solution), output)


def _reordering(
    file: Path,
    function: str,
    index: Index,
    schema: Path | None,
    calls: tuple[Path, ...],
    options: tuple[str, ...],
    undone: bool,
) -> Reordering:
    from vprof.transaction.clients import known_calls
    from vprof.transaction.reordering import reorder

    return reorder(file, function, index, known_calls(calls), schema, options, undone)


def _verified(found: Reordering, plan: Path, options: tuple[str, ...]) -> Verified | None:
    """None if there is nothing to compare."""
    from vprof.verify.plan import load
    from vprof.verify.verifying import verify

    wanted = load(plan)
    if found.client is None:
        raise UsageError(f"--verify cannot copy databases of the client library that {found.function} uses")
    if found.before == found.after:
        return None
    return verify(found.file, found.before, found.after, wanted, found.client, options)


def _report(found: Reordering, with_schema: bool, verified: Verified | None, fmt: str, output: Path | None) -> None:
    from vprof.report import patch as report

    if fmt == "json":
        write_report(report.render_json(found, verified), output)
    elif output is None:
        report.print_reordering(found, with_schema, verified)
    else:
        write_report(report.render(found, with_schema, verified), output)


def _measured(trace: Path, file: Path, function: str) -> Index:
    """How much each call of the function varies, in its own intervals."""
    from vprof.api import load_run
    from vprof.transaction.index import Index

    lines: dict[int, Int64] = {}
    functions: dict[str, float] = {}
    tree = load_run([trace], function, None).tree
    for node in (child for one in tree.walk() if one.name == function for child in one.children):
        _, at, place = node.name.rpartition("@")
        name, _, line = place.rpartition(":")
        if not at:
            functions[node.name] = float(node.times.std())
        elif PurePath(name).name == file.name:
            lines[int(line)] = lines.get(int(line), 0) + node.times
    return Index({line: float(times.std()) for line, times in lines.items()}, functions, all_are_queries=False)


def _write(file: Path, before: bytes, after: bytes) -> None:
    backup = file.with_name(file.name + _BACKUP)
    if backup.exists():
        raise UsageError(f"{backup} is there already: move it away, it may be the only copy of an older text")
    try:
        backup.write_bytes(before)
        file.write_bytes(after)
    except OSError as e:
        raise UsageError(f"cannot write {e.filename}: {e.strerror}") from e
