"""`vprof ctl`: look at a running session and switch its probes, from another terminal."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from vprof.errors import UsageError, VprofError
from vprof.session.control import Control
from vprof.session.plan import Plan, Switched
from vprof.terminal import one_line

_SCHEMA = "vprof-ctl/1"


@click.command()
@click.argument("action", type=click.Choice(["on", "off", "list", "status", "symbols", "sessions"]))
@click.argument("names", nargs=-1)
@click.option(
    "--session",
    "directory",
    envvar="VPROF_SESSION",
    show_envvar=True,
    type=click.Path(path_type=Path),
    help="The session's directory, if several run. [default: the one that runs]",
)
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
def command(action: str, names: tuple[str, ...], directory: Path | None, form: str) -> None:
    """Look at a running session, and switch its probes in all its processes.

    NAMES are functions, globs in quotes, `all`, or a plan file.

    \b
      on, off   switch these functions, in programs that join later too
      list      the functions that are on; with NAMES those, on and off
      status    threads, records, file, functions on
      symbols   give perf the names in code that processes share (VPROF_PROBES)
      sessions  the sessions that run: program, pid, since when

    What you switch adds to the plan of `vprof record`. The steps of `vprof drill` switch the probes themselves, and
    so does `vprof top` by its keys: meanwhile, only list, status, symbols and sessions work.

    \b
    Examples:
      vprof ctl status
      vprof ctl on 'wal_*' lock_wait
      vprof ctl list 'wal_*'
    """
    from vprof.session.running import find

    plan = Plan.of(pattern for name in names for pattern in Plan.parse(name).patterns)
    if action in ("on", "off") and not names:
        raise UsageError(f"nothing to switch {action}: give names, globs in quotes, `all`, or a plan file")
    if action in ("status", "symbols", "sessions") and names:
        raise UsageError(f"{action} takes no names; `vprof ctl list NAMES` shows functions")
    if action == "sessions":
        _sessions(form)
        return
    session = find(directory)
    if action == "status":
        report = _status(session)
    elif action == "symbols":
        report = _symbols(session)
    elif action == "list":
        report = _list(session, plan)
    else:
        report = _switch(session, plan, action)
    if form == "json":
        click.echo(json.dumps({"schema": _SCHEMA, "session": str(session.directory), **report}))
    else:
        click.echo("\n".join(map(one_line, _TEXT[action](report))))


def _sessions(form: str) -> None:
    from vprof.session.running import running

    found = running()
    if form == "json":
        rows = [
            {
                "session": str(one.directory),
                "programs": [{"name": name, "pid": pid} for name, pid in one.programs],
                "processes": one.processes,
                "seconds": one.seconds,
            }
            for one in found
        ]
        click.echo(json.dumps({"schema": _SCHEMA, "sessions": rows}))
        return
    click.echo("\n".join(map(str, found)) or "no session is running")


def _switch(session: Control, plan: Plan, action: str) -> dict[str, Any]:
    with session.alone():
        note = session.note()
        if note.owner:
            raise VprofError(
                f"{one_line(note.owner)} switches the probes of this session: it would measure something else"
            )
        session.join()
        _check(session, plan)
        numbers = session.sites.numbers(plan)
        note.switched = note.switched.then(Switched.of(plan, action == "on"))
        session.write_note(note)
        flip = session.flip(action, numbers)
    named = set(numbers)
    functions = sorted({name for name, _, sites in session.sites.sites() if not named.isdisjoint(sites)})
    return {"action": action, "functions": functions, "sites": len(numbers), **flip, "on": len(session.sites_on())}


def _list(session: Control, plan: Plan) -> dict[str, Any]:
    session.join()
    _check(session, plan)
    on = session.sites_on()
    shown = set(session.sites.numbers(plan)) if plan.patterns else on
    return {
        "functions": [
            {"function": name, "module": module, "on": not on.isdisjoint(sites)}
            for name, module, sites in session.sites.sites()
            if not shown.isdisjoint(sites)
        ]
    }


def _status(session: Control) -> dict[str, Any]:
    session.join()
    on = session.sites_on()
    functions = {name for name, _, sites in session.sites.sites() if not on.isdisjoint(sites)}
    stats = session.stats()
    for key in ("ticks", "pids", "p50_ticks", "p99_ticks"):
        stats.pop(key, None)
    return {**stats, "modules": len(session.programs), "sites_on": len(on), "functions_on": len(functions)}


def _symbols(session: Control) -> dict[str, Any]:
    from vprof.session.shared_code import give_names

    session.join()
    named = give_names(session.directory, {module["base"]: Path(module["path"]) for module in session.programs})
    if not named:
        raise VprofError("no program shares its code here, or none has symbols: perf finds what there is by itself")
    return {"functions": named, "text": str(session.directory / "text")}


def _check(session: Control, plan: Plan) -> None:
    """Raises UsageError when a name or glob matches no site: most often it is misspelt."""
    if not session.programs:
        raise VprofError("no program has joined this session yet")
    unmatched = session.sites.unmatched(plan)
    if unmatched:
        more = f" (and {len(unmatched) - 1} more)" if len(unmatched) > 1 else ""
        raise UsageError(f"{unmatched[0]}{more}; nothing was done")


def _switch_text(report: dict[str, Any]) -> list[str]:
    functions = report["functions"]
    what = functions[0] if len(functions) == 1 else f"{len(functions)} functions"
    return [f"{what} {report['action']}; sites on now: {report['on']}"]


def _list_text(report: dict[str, Any]) -> list[str]:
    rows = [
        f"{'on' if row['on'] else 'off':4}{row['function']}  {Path(row['module']).name}" for row in report["functions"]
    ]
    return rows or ["no function is on"]


def _status_text(report: dict[str, Any]) -> list[str]:
    kept = f"{report['records']} records, {report['dropped']} dropped, {report['intervals']} intervals"
    return [
        f"running   {report['threads']} threads in {report['processes']} processes, {report['modules']} modules",
        f"on        {report['functions_on']} functions ({report['sites_on']} sites)",
        f"file      {report['file'] or 'none'}" + (f": {kept}" if report["file"] else ""),
    ]


def _symbols_text(report: dict[str, Any]) -> list[str]:
    return [f"perf finds {report['functions']} functions in {report['text']}, until the session ends"]


_TEXT = {
    "on": _switch_text,
    "off": _switch_text,
    "list": _list_text,
    "status": _status_text,
    "symbols": _symbols_text,
}
