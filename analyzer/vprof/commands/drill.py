"""`vprof drill`: from "it varies" to the cause, in one build and one run of the program."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from vprof.drill.settings import CHANGEABLE, DrillSettings
from vprof.errors import UsageError, VprofError
from vprof.options import Duration, load_options, preload_option, server_options_option

if TYPE_CHECKING:
    from vprof.drill.file import DrillFile
    from vprof.drill.live import LiveProgram
    from vprof.drill.run import Rebuilder
    from vprof.variance.analysis import AnalysisOptions

_FILE = "session.json"
_LEAST_SHARE = 1e-4
"""Of nodes of the confirmation's tree that are kept: a server's may have 200,000, of which 2 % have more."""


@click.command(context_settings={"ignore_unknown_options": True})
@click.option("--target", "name", help="A target built by `vprof instrument`.")
@click.option(
    "--root",
    "roots",
    metavar="F",
    multiple=True,
    help="Without a target: each outermost call of function F is an interval. Given again: functions of other threads, "
    "which stay on from the start.",
)
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
    "--dir",
    "folder",
    type=click.Path(path_type=Path),
    help="Work folder. [default: .vprof/TARGET, or .vprof/program/PROGRAM; to go on or to show, the latest of these]",
)
@click.option("-k", default=3, show_default=True, help="Expand this many functions in a step.")
@click.option("--min-share", default=0.05, show_default=True, help="Ignore factors below this share of the variance.")
@click.option(
    "--step-seconds",
    type=click.FloatRange(min=0.1),
    default=3.0,
    show_default=True,
    help="Minimum length of a measurement. One is up to four times as long while the shares are uncertain.",
)
@click.option("--max-steps", default=20, show_default=True, help="Stop expanding after this many measurements.")
@click.option("--budget", type=Duration(), default="0", help="Stop expanding when this much time, such as 5m, is used.")
@click.option(
    "--max-distortion",
    type=click.FloatRange(min=0, min_open=True),
    default=0.03,
    show_default=True,
    help="Maximum part of the intervals' time that probes may take, estimated from their calls and the cost of one. "
    "Functions beyond it stay off.",
)
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
@click.option("--svg", "svg_file", type=click.Path(path_type=Path), help="Also draw the tree of the confirmation.")
@preload_option
@server_options_option
@load_options
@click.argument("program", nargs=-1, type=click.UNPROCESSED)
@click.pass_context
def command(
    context: click.Context,
    name: str | None,
    roots: tuple[str, ...],
    directory: Path | None,
    rebuild: bool,
    auto: bool,
    resume: bool,
    show: bool,
    folder: Path | None,
    k: int,
    min_share: float,
    step_seconds: float,
    max_steps: int,
    budget: float,
    max_distortion: float,
    form: str,
    svg_file: Path | None,
    preload: bool,
    server_options: str,
    load: str | None,
    scale: int | None,
    rate: float | None,
    clients: int | None,
    program: tuple[str, ...],
) -> None:
    """Drill down in a running program to the functions that cause its variance.

    Each step switches on the children of the factors that matter, in the running program, and measures again. vprof
    asks you which factors to expand (Enter: the best), or decides itself with --auto. A last, longer measurement
    checks the findings on fresh data.

    With --target, PROGRAM is options for the target's own load, after `--`. With --root, it is a command. A program
    without requests is waited for, up to ten minutes or the --budget: put load on it. vprof keeps the steps, their
    traces and the result in the work folder, below `drill/`.

    \b
    Examples:
      vprof drill --target minidb -- --pathology wal --seed 7
      vprof drill --auto --budget 5m --target postgres
      vprof drill --auto --target postgres --load tpcc --warehouses 4
      vprof drill --auto --root handle_request -- ./server --bench
      vprof drill --auto --root handle_request --root checkpoint -- ./server --bench
      vprof drill --resume --target postgres
      vprof drill --show --target postgres
    """
    from vprof.drill.file import DrillFile

    work = work_folder(name, folder, program, resume or show)
    path = work / "drill" / _FILE
    if show:
        _show(DrillFile.load(path), form)
        return
    settings = DrillSettings(
        name=name,
        roots=list(roots),
        directory=str(directory) if directory else None,
        rebuild=rebuild,
        k=k,
        min_share=min_share,
        step_seconds=step_seconds,
        max_steps=max_steps,
        budget=budget,
        max_distortion=max_distortion,
        preload=preload,
        server_options=server_options,
        load=load,
        scale=scale,
        rate=rate,
        clients=clients,
        program=list(program),
    )
    file = _resumed(path, settings, context) if resume else _new(path, settings)
    _drill(file, work, auto, form, svg_file)


def _resumed(path: Path, settings: DrillSettings, context: click.Context) -> DrillFile:
    """The drill-down that goes on, with those settings that may change and were given."""
    from vprof.drill.file import DrillFile

    file = DrillFile.load(path)
    if file.outcome:
        raise UsageError("this drill-down is done: --show shows it; without --resume a new one begins")
    given = [key for key in CHANGEABLE if context.get_parameter_source(key) is click.core.ParameterSource.COMMANDLINE]
    file.settings = replace(file.settings, **{key: getattr(settings, key) for key in given})
    return file


def _new(path: Path, settings: DrillSettings) -> DrillFile:
    """The file of a new one; the last one's is kept beside it."""
    from vprof.drill.file import DrillFile

    settings.check()
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.exists():
        path.replace(path.with_suffix(".old.json"))
    return DrillFile(path, settings)


def work_folder(target: str | None, folder: Path | None, program: tuple[str, ...], goes_on: bool) -> Path:
    """Without a target, of each program one of its own. Raises UsageError when the target is unknown."""
    from vprof.target.target import Target

    if target:
        return Target.load(target, folder).folder
    if folder:
        return folder.resolve()
    programs = (Path(".vprof") / "program").resolve()
    if program:
        return programs / Path(program[0]).name
    latest = max(programs.glob(f"*/drill/{_FILE}"), key=lambda path: path.stat().st_mtime, default=None)
    return latest.parents[1] if latest and goes_on else programs / "session"


def _drill(file: DrillFile, folder: Path, auto: bool, form: str, svg_file: Path | None) -> None:
    from vprof.drill.cpu_places import heaviest_place
    from vprof.drill.findings import confirm
    from vprof.drill.loop import Drill, DrillOptions, automatic
    from vprof.program.expanded import expanded_below
    from vprof.report import dot, text
    from vprof.report import drill as report
    from vprof.report.drill_ask import LeaveError, ask
    from vprof.report.json import analysis_json
    from vprof.variance.analysis import AnalysisOptions
    from vprof.variance.cpu_share import client_share, cpu_share
    from vprof.whatif.prediction import gains

    settings = file.settings
    analysis = AnalysisOptions(k=settings.k, min_share=settings.min_share)
    options = DrillOptions(
        settings.step_seconds, settings.max_steps, settings.budget, settings.max_distortion, analysis
    )
    with _kept(file), _running(settings, folder, analysis) as program:
        program.count = len(file.steps)
        if settings.budget:
            program.first_seconds = min(program.first_seconds, settings.budget)
        drill = Drill(frozenset(program.plan.patterns), program.measure, options, automatic if auto else ask)
        drill.done, drill.ended = file.steps, file.ended
        program.seen = partial(report.say_if_too_few, options.budget)
        if form == "text" and not file.steps:
            report.print_plan(options.budget)
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
    gained = gains(fresh, [finding.factor for finding in findings], ["constant", "0"])
    with_copies = [Path(path) for one in fresh.trace.recorded if one.before_bodies for path in one.modules]
    unseen = expanded_below(with_copies, {name for finding in findings for name in finding.factor.functions})
    rows = [
        report.finding_json(finding, fresh.explained, unseen)
        | {"gain": report.gain_json(alike), "gain_without": report.gain_json(without)}
        for finding, alike, without in zip(findings, gained[::2], gained[1::2], strict=True)
    ]
    cpu_wait = cpu_share(fresh.tree)
    place = heaviest_place(fresh)
    file.outcome = {"confirmation": analysis_json(fresh, _LEAST_SHARE), "findings": rows, "cpu_wait": cpu_wait}
    file.outcome |= {"cpu_place": asdict(place) if place else None, "client_time": client_share(fresh.tree)}
    file.save()
    if svg_file:
        dot.write_svg(fresh, svg_file)
    if form == "json":
        print(json.dumps(file.as_json(), indent=1))
        return
    text.print_analysis(fresh)
    report.print_findings(file.outcome)


@contextmanager
def _kept(file: DrillFile) -> Iterator[None]:
    """Says with an error that ended a drill-down how to go on."""
    try:
        yield
    except VprofError as error:
        if file.steps and not file.outcome:
            done = f"{len(file.steps)} finished step{'s' * (len(file.steps) > 1)}"
            raise VprofError(f"{error}; {done} kept: --resume goes on") from None
        raise


def _running(
    settings: DrillSettings, folder: Path, analysis: AnalysisOptions
) -> AbstractContextManager[LiveProgram | Rebuilder]:
    """The program to drill in, as the settings say."""
    from vprof.drill import run as drill_run
    from vprof.target.chosen_load import ChosenLoad
    from vprof.target.server import LONG_SECONDS, check_server_options
    from vprof.target.target import Target
    from vprof.workload.driver import check_command

    traces, load, preload = folder / "drill", settings.program, settings.preload
    target = Target.load(settings.name, folder) if settings.name else None
    check_server_options(settings.server_options, target)
    chosen = ChosenLoad.of(settings.load, settings.scale, settings.rate, settings.clients, target)
    if target and chosen:
        target = replace(target, chosen_load=chosen)
        check_command(target.command(LONG_SECONDS, load))
    run = drill_run.TargetRun(target, load, settings.server_options, traces, analysis, preload) if target else None
    if run and settings.rebuild:
        return drill_run.rebuilding(run)
    if target:
        target.check(target.units())
    if settings.directory:
        roots = list(target.descriptor.roots) if target else settings.roots
        calls_of = None if target else roots[0]
        return drill_run.attached(Path(settings.directory), roots, calls_of, traces, analysis)
    if run:
        return drill_run.target_running(run)
    return drill_run.program_running(load, settings.roots, traces, analysis, preload)


def _show(file: DrillFile, form: str) -> None:
    from vprof.report import drill as report

    if form == "json":
        print(json.dumps(file.as_json(), indent=1))
        return
    for step in file.steps:
        report.print_step(step)
    if file.outcome:
        try:
            report.print_findings(file.outcome)
        except (LookupError, TypeError, ValueError, AttributeError):
            raise VprofError(f"{file.path}: a finding is not as a drill-down writes it") from None
    else:
        print("not finished: --resume goes on" if file.steps else "no step was finished")
