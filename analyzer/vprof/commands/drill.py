"""`vprof drill`: from "it varies" to the cause, in one build and one run of the program."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import click

from vprof.analysis import AnalysisOptions
from vprof.drill import Drill, DrillOptions
from vprof.errors import UsageError, VprofError
from vprof.live import LiveProgram
from vprof.plan import Plan
from vprof.report import dot
from vprof.report import drill as drill_report
from vprof.report import text as text_report
from vprof.server import LONG_SECONDS, Server
from vprof.session import Session
from vprof.target import Target


@click.command(context_settings={"ignore_unknown_options": True})
@click.option("--target", "name", required=True, help="A target built by `vprof instrument`.")
@click.option("--auto", is_flag=True, help="Decide without asking (asking is not there yet).")
@click.option(
    "--dir", "folder", type=click.Path(path_type=Path), help="Work folder of the target. [default: .vprof/TARGET]"
)
@click.option("-k", default=3, show_default=True, help="Expand this many functions in a step.")
@click.option("--min-share", default=0.05, show_default=True, help="Ignore factors below this share of the variance.")
@click.option("--step-seconds", default=3.0, show_default=True, help="Length of a measurement.")
@click.option("--max-steps", default=20, show_default=True, help="Stop expanding after so many measurements.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
@click.option("--svg", "svg_file", type=click.Path(path_type=Path), help="Also draw the tree of the confirmation.")
@click.argument("options", nargs=-1, type=click.UNPROCESSED)
def command(
    name: str,
    auto: bool,
    folder: Path | None,
    k: int,
    min_share: float,
    step_seconds: float,
    max_steps: int,
    form: str,
    svg_file: Path | None,
    options: tuple[str, ...],
) -> None:
    """Drill down in the running target to the functions that cause its variance.

    The target runs its own load; OPTIONS after `--` are for its command. Each step switches on the children
    of the factors that matter, in the running program, and measures again. A last, longer measurement confirms the
    findings.
    The traces of the steps and the result as JSON stay in the work folder, below `drill/`.

    \b
    Example:
      vprof drill --auto --target minidb -- --pathology wal --seed 7
    """
    if not auto:
        raise UsageError("give --auto: drilling down by questions and answers is not there yet")
    target = Target.load(name, folder)
    target.check(target.units())
    analysis_options = AnalysisOptions(k=k, min_share=min_share)
    drill_options = DrillOptions(step_seconds, max_steps, analysis_options)
    with _running(target, list(options), analysis_options) as program:
        drill = Drill(frozenset(target.descriptor.roots), program.measure, drill_options)
        for step in drill.steps():
            if form == "text":
                drill_report.print_step(step)
        if form == "text":
            drill_report.print_end(drill)
        fresh, findings = drill.confirm()
    result = json.dumps(drill_report.as_json(drill.done, fresh, findings), indent=1)
    (target.folder / "drill" / "result.json").write_text(result, encoding="utf-8")
    if svg_file:
        dot.write_svg(fresh, svg_file)
    if form == "json":
        print(result)
        return
    text_report.print_analysis(fresh)
    drill_report.print_findings(findings)


@contextmanager
def _running(target: Target, options: list[str], analysis: AnalysisOptions) -> Iterator[LiveProgram]:
    """The target and its load under a session, ended on the way out."""
    traces = target.folder / "drill"
    traces.mkdir(parents=True, exist_ok=True)
    plan = Plan.of(target.descriptor.roots)
    with ExitStack() as stack:
        if target.descriptor.server:
            server = Server.of(target)
            session = stack.enter_context(Session.start(None, server.account.name))
            stack.enter_context(server.running(session, plan))
            check = stack.enter_context(server.lasting_load(options))
        else:
            session = stack.enter_context(Session.start(None))
            check = stack.enter_context(_program(target, session, options))
        program = LiveProgram(session, check, traces, analysis, plan)
        program.wait_until_joined()
        yield program


@contextmanager
def _program(target: Target, session: Session, options: list[str]) -> Iterator[Callable[[], None]]:
    """A program that makes its own load, its output in `program.log`; ended by SIGTERM. Yields its check."""
    with (target.folder / "program.log").open("wb") as log:
        command = target.command(LONG_SECONDS, options)
        process = subprocess.Popen(command, env=session.environment(), stdout=log, stderr=subprocess.STDOUT)

    def check() -> None:
        if process.poll() is not None:
            status = process.returncode
            raise VprofError(f"the program ended (status {status}) before the drill-down was done: let it run longer")

    try:
        yield check
    finally:
        process.terminate()
        process.wait()
