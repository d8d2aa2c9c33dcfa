"""`vprof drill`: from "it varies" to the cause, in one build and one run of the program."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import click

from vprof.errors import UsageError, VprofError
from vprof.options import server_options_option

_FILE = "session.json"


class Duration(click.ParamType):  # type: ignore[type-arg]
    """Seconds: a number with s, m or h after it, or without."""

    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        if isinstance(value, float):
            return value
        match = re.fullmatch(r"(\d+(?:\.\d+)?)([smh]?)", value)
        if not match:
            self.fail(f"'{value}' is no duration: give one such as 90s, 5m or 1h", param, ctx)
        return float(match[1]) * {"": 1, "s": 1, "m": 60, "h": 3600}[match[2]]


@click.command(context_settings={"ignore_unknown_options": True})
@click.option("--target", "name", help="A target built by `vprof instrument`.")
@click.option("--root", metavar="F", help="Without a target: each outermost call of function F is an interval.")
@click.option(
    "--session", "directory", type=click.Path(path_type=Path), help="Drill in this running session; start nothing."
)
@click.option(
    "--rebuild",
    is_flag=True,
    help="Build anew for each measurement, with probes in the plan's functions alone, as VProfiler did. With --target.",
)
@click.option("--auto", is_flag=True, help="Decide without asking.")
@click.option("--resume", is_flag=True, help="Go on with the last drill-down of this work folder.")
@click.option("--show", is_flag=True, help="Show the last drill-down of this work folder, and run nothing.")
@click.option(
    "--dir", "folder", type=click.Path(path_type=Path), help="Work folder. [default: .vprof/TARGET or .vprof/program]"
)
@click.option("-k", default=3, show_default=True, help="Expand this many functions in a step.")
@click.option("--min-share", default=0.05, show_default=True, help="Ignore factors below this share of the variance.")
@click.option(
    "--step-seconds",
    type=click.FloatRange(min=0.1),
    default=3.0,
    show_default=True,
    help="Least length of a measurement; up to four times as long while the shares are not known well.",
)
@click.option("--max-steps", default=20, show_default=True, help="Stop expanding after so many measurements.")
@click.option("--budget", type=Duration(), default="0", help="Stop expanding when this much time, such as 5m, is used.")
@click.option(
    "--max-distortion",
    type=click.FloatRange(min=0, min_open=True),
    default=0.03,
    show_default=True,
    help="Most of the intervals' time that probes may take, by their calls and what one costs; the others stay off.",
)
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
@click.option("--svg", "svg_file", type=click.Path(path_type=Path), help="Also draw the tree of the confirmation.")
@server_options_option
@click.argument("program", nargs=-1, type=click.UNPROCESSED)
@click.pass_context
def command(context: click.Context, /, **given: Any) -> None:
    """Drill down in a running program to the functions that cause its variance.

    Each step switches on the children of the factors that matter, in the running program, and measures again. It asks
    which to expand (Enter: the best), or decides itself with --auto. A last, longer measurement on fresh data
    confirms the findings.

    PROGRAM is options for a target's own load, after `--`; with --root instead of a target, a command. The steps and
    the result, and the steps' traces, stay in the work folder, below `drill/`.

    \b
    Examples:
      vprof drill --target minidb -- --pathology wal --seed 7
      vprof drill --auto --budget 5m --target postgres
      vprof drill --auto --root handle_request -- ./server --bench
      vprof drill --resume --target postgres
      vprof drill --show --target postgres
    """
    from vprof.drill_file import DrillFile

    folder = _folder(given)
    path = folder / "drill" / _FILE
    if given["show"]:
        _show(DrillFile.load(path), given["form"])
        return
    settings = {key: _plain(value) for key, value in given.items() if key in _SETTINGS}
    if given["resume"]:
        file = DrillFile.load(path)
        if file.outcome:
            raise UsageError("this drill-down is done: --show shows it; without --resume a new one begins")
        changed = {key: given[key] for key in _CHANGEABLE if _was_given(context, key)}
        file.settings = settings | file.settings | changed  # an older vprof knew fewer
    else:
        file = DrillFile(path, settings)
        _check(file.settings)
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.exists():
            path.replace(path.with_suffix(".old.json"))
    _drill(file, folder, bool(given["auto"]), given["form"], given["svg_file"])


_CHANGEABLE = ("k", "min_share", "step_seconds", "max_steps", "budget", "max_distortion")
"""A drill-down may go on with other values of these."""
_SETTINGS = ("name", "root", "directory", "rebuild", *_CHANGEABLE, "server_options", "program")


def _plain(value: Any) -> Any:
    return str(value) if isinstance(value, Path) else list(value) if isinstance(value, tuple) else value


def _was_given(context: click.Context, key: str) -> bool:
    return context.get_parameter_source(key) is click.core.ParameterSource.COMMANDLINE


def _folder(given: dict[str, Any]) -> Path:
    """The work folder. Raises UsageError when the target is unknown."""
    from vprof.target import Target

    if given["name"]:
        return Target.load(given["name"], given["folder"]).folder
    return Path(given["folder"] or Path(".vprof") / "program").resolve()


def _check(settings: dict[str, Any]) -> None:
    if settings["name"] and settings["root"]:
        raise UsageError("give --target or --root, not both: a target's descriptor names its intervals")
    if not settings["name"] and not settings["root"]:
        raise UsageError("nothing to drill into: give --target NAME, or --root F and a command after `--`")
    if settings["rebuild"] and (settings["directory"] or not settings["name"]):
        raise UsageError("--rebuild builds a target and runs it: give --target, and no --session")
    if settings["directory"] and (settings["program"] or settings["server_options"]):
        raise UsageError("with --session nothing is started: leave out --server-options, and what is behind `--`")
    if settings["root"] and not settings["directory"] and not settings["program"]:
        raise UsageError("nothing to run: give a command after `--`, or --session DIR")


def _drill(file: Any, folder: Path, auto: bool, form: str, svg_file: Path | None) -> None:
    from vprof.analysis import AnalysisOptions
    from vprof.cpu_view import cpu_share
    from vprof.drill import Drill, DrillOptions, automatic
    from vprof.drill_ask import LeaveError, ask
    from vprof.findings import confirm
    from vprof.report import dot, text
    from vprof.report import drill as report
    from vprof.report.json import analysis_json

    settings = file.settings
    analysis = AnalysisOptions(k=settings["k"], min_share=settings["min_share"], cpu_apart=True)
    options = DrillOptions(
        settings["step_seconds"], settings["max_steps"], settings["budget"], settings["max_distortion"], analysis
    )
    with _kept(file), _running(settings, folder, analysis) as program:
        program.count = len(file.steps)
        drill = Drill(frozenset(program.plan.patterns), program.measure, options, automatic if auto else ask)
        drill.done, drill.ended = file.steps, file.ended
        file.save()
        try:
            for step in drill.steps():
                file.save()
                if form == "text":
                    report.print_step(step)
        except LeaveError:
            click.echo("vprof: left; --resume goes on here", err=True)
            return
        file.ended = drill.ended
        file.save()
        if form == "text":
            report.print_end(drill)
        fresh, findings = confirm(drill)
    rows = [report.finding_json(finding) for finding in findings]
    file.outcome = {"confirmation": analysis_json(fresh), "findings": rows, "cpu_wait": cpu_share(fresh.tree)}
    file.save()
    if svg_file:
        dot.write_svg(fresh, svg_file)
    if form == "json":
        print(json.dumps(file.as_json(), indent=1))
        return
    text.print_analysis(fresh)
    report.print_findings(rows, file.outcome["cpu_wait"])


@contextmanager
def _kept(file: Any) -> Iterator[None]:
    """Says with an error that ended a drill-down how to go on."""
    try:
        yield
    except VprofError as error:
        if file.steps and not file.outcome:
            done = f"{len(file.steps)} finished step{'s' * (len(file.steps) > 1)}"
            raise VprofError(f"{error}; {done} kept: --resume goes on") from None
        raise


def _running(settings: dict[str, Any], folder: Path, analysis: Any) -> AbstractContextManager[Any]:
    """The program to drill in, as the settings say."""
    from vprof import drill_run
    from vprof.server import check_server_options
    from vprof.target import Target

    traces = folder / "drill"
    target = Target.load(settings["name"], folder) if settings["name"] else None
    check_server_options(settings["server_options"], target)
    if target and settings["rebuild"]:
        return drill_run.rebuilding(target, settings["program"], settings["server_options"], traces, analysis)
    if target:
        target.check(target.units())
    if settings["directory"]:
        roots = list(target.descriptor.roots) if target else [settings["root"]]
        return drill_run.attached(Path(settings["directory"]), roots, settings["root"], traces, analysis)
    if target:
        return drill_run.target_running(target, settings["program"], settings["server_options"], traces, analysis)
    return drill_run.program_running(settings["program"], settings["root"], traces, analysis)


def _show(file: Any, form: str) -> None:
    from vprof.report import drill as report

    if form == "json":
        print(json.dumps(file.as_json(), indent=1))
        return
    for step in file.steps:
        report.print_step(step)
    if file.outcome:
        report.print_findings(file.outcome["findings"], file.outcome.get("cpu_wait", {}))
    else:
        print("not finished: --resume goes on" if file.steps else "no step was finished")
