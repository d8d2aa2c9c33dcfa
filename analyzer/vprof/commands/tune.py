"""`vprof tune`: see the command's help."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from vprof.errors import UsageError, VprofError
from vprof.options import Duration, load_options, server_options_option
from vprof.terminal import printable, write_file

if TYPE_CHECKING:
    from vprof.target.target import Target
    from vprof.tune.auto import Findings
    from vprof.tune.file import Asked, Run, TuneFile
    from vprof.tune.outcome import Outcome
    from vprof.tune.runner import Runner
    from vprof.tune.settings import Setting

METRICS = ("variance", "mean", "cv", "p50", "p99", "p99.9", "max", "l2", "throughput")
_PAGE = Path("tune.html")
_FORMATS = {".html": "html", ".json": "json"}
_LEAST_ROUNDS = 3
_DRILL_FIRST = ""
_OF_BUDGET = 1 / 3
"""What a drill-down that comes first has of it; the runs have the rest, and what that leaves."""
_TOOK = "took_s"
"""In the kept file of such a drill-down: how long it took, with what came before it."""
_USUAL_LOAD = "tpcc"


@click.command(name="tune", context_settings={"ignore_unknown_options": True})
@click.option("--target", "name", help="A target built by `vprof instrument`.")
@click.option("--dir", "folder", type=click.Path(path_type=Path), help="Work folder. [default: .vprof/TARGET]")
@click.option(
    "--knob",
    "knobs",
    multiple=True,
    metavar="NAME[=V1,V2]",
    help="A knob of the target and the values to try. [default: those of its descriptor]",
)
@click.option("--list", "listed", is_flag=True, help="List the target's knobs.")
@click.option("--combine", is_flag=True, help="Try each combination of the knobs' values, not one knob at a time.")
@click.option(
    "--auto",
    "found_in",
    is_flag=False,
    flag_value=_DRILL_FIRST,
    metavar="[FILE]",
    help="Take the knobs that govern the findings of a drill-down, and its target and load. FILE: its session.json, or "
    "JSON of `vprof drill` or `vprof analyze`. Without FILE, drill down in the --target first, in a third of --budget.",
)
@click.option("--metric", type=click.Choice(METRICS), default="variance", show_default=True, help="What decides.")
@click.option(
    "--effect",
    type=click.FloatRange(0.01, 0.95),
    default=0.3,
    show_default=True,
    help="The fall of the metric that is worth finding: it and the noise say how many runs there are.",
)
@click.option("--seconds", type=click.IntRange(min=1), default=20, show_default=True, help="Length of a run.")
@click.option(
    "--warmup",
    type=click.FloatRange(min=0),
    default=5.0,
    show_default=True,
    help="Seconds before that, with a load of `vprof load`.",
)
@click.option(
    "--runs", "most_runs", type=click.IntRange(3, 1000), default=20, show_default=True, help="Most runs of a setting."
)
@click.option("--budget", type=Duration(), default="30m", show_default=True, help="Time for all runs; 0: no bound.")
@click.option("--seed", type=click.IntRange(min=0), default=1, show_default=True, help="Of the order of the runs.")
@click.option(
    "--session",
    "session",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Keeps each run; a sweep that is there goes on. [default: a new one, tune/session.json of the work folder]",
)
@click.option("--trace", "traced", is_flag=True, help="Trace the runs of a --load, too, and compare factors.")
@click.option(
    "--sites",
    help="Probes to switch on in traced runs, as in `vprof record`. [default: the target's roots and what the knobs "
    "govern]",
)
@click.option("--closed", is_flag=True, help="Use the target's own load, although it has workloads of `vprof load`.")
@click.option(
    "--format",
    "fmt",
    type=click.Choice(("text", "json", "html")),
    help="Form of the report.  [default: by the ending of OUT, else text]",
)
@click.option(
    "-o",
    "--output",
    metavar="OUT",
    type=click.Path(path_type=Path),
    help=f"Write the report to a file.  [default for html: {_PAGE}]",
)
@server_options_option
@load_options
@click.argument("program", nargs=-1, type=click.UNPROCESSED)
def command(
    name: str | None,
    folder: Path | None,
    knobs: tuple[str, ...],
    listed: bool,
    combine: bool,
    found_in: str | None,
    metric: str,
    effect: float,
    seconds: int,
    warmup: float,
    most_runs: int,
    budget: float,
    seed: int,
    session: Path | None,
    traced: bool,
    sites: str | None,
    closed: bool,
    fmt: str | None,
    output: Path | None,
    server_options: str,
    load: str | None,
    scale: int | None,
    rate: float | None,
    clients: int | None,
    program: tuple[str, ...],
) -> None:
    """Try settings of a target, and say which makes its latency vary less, with a verdict and what it costs.

    Each run starts the target with one setting; the baseline is the target's own. Runs are in random order, one of each
    setting in a round. The noise of the first two rounds says how many there are, so that a fall by --effect is found
    in 8 of 10 sweeps. After 3, 6, 12 rounds the hopeless of the settings are given up, and where --budget is too short
    for all, the worse half. Verdicts are those of `vprof diff`, corrected for the number of settings: with 5 % false
    alarms, one of them is better, worse, traded (mean or throughput got worse) or none of these. When nothing helps,
    vprof says so.

    A target with workloads of `vprof load` gets one in an open loop, at the same rate for all settings; without --rate
    that is 60 % of what the baseline reaches. Others run their own load in a closed loop, and are traced. After `--`
    come options of the load.

    Ctrl-C or a kill costs the running run only: with the same options and --session FILE the sweep goes on.

    \b
    Examples:
      vprof tune --target postgres --list
      vprof tune --target postgres --knob commit_delay=0,100,1000 --load tpcc --warehouses 4 --rate 200
      vprof tune --target postgres --knob wal_sync_method --knob commit_delay --budget 2h -o tune.html
      vprof tune --target minidb --knob workers=2,4,8 --seconds 3 -- --pathology workers
      vprof tune --auto --target postgres --load tpcc --warehouses 4 --budget 45m
      vprof tune --auto .vprof/minidb/drill/session.json
    """
    from vprof.target.target import Target
    from vprof.tune import auto

    if found_in == _DRILL_FIRST and not listed:
        if not name:
            raise UsageError("--auto without a FILE drills down first: give --target NAME")
        target = Target.load(name, folder)
        load = load or (_USUAL_LOAD if target.descriptor.workloads and not closed else None)
        found_in = str(
            _drilled(
                target,
                budget,
                session,
                seconds=seconds,
                warmup=warmup,
                seed=seed,
                load=load,
                scale=scale,
                rate=rate,
                clients=clients,
                server_options=server_options,
                program=list(program),
            )
        )
    raw = auto.read(Path(found_in)) if found_in else {}
    if _TOOK in raw:
        budget = max(budget * (1 - _OF_BUDGET), budget - raw[_TOOK])
    was = raw.get("settings", {})
    if name and was.get("name") not in (None, name):
        raise UsageError(f"--auto {found_in} is of {was['name']}, not of {name}: leave out --target")
    name = name or was.get("name")
    closed = closed or bool(was and not (load or was.get("load")))  # a finding is of the load that it was found under
    if not name:
        raise UsageError("nothing to tune: give --target NAME, or --auto with a drill-down of a target")
    target = Target.load(name, folder)
    if listed:
        _list(target)
        return
    findings = auto.findings_of(raw, target.descriptor.knobs) if found_in else None
    if findings:
        knobs = _governing(findings, knobs)
    if not knobs:
        raise UsageError(f"nothing to try: give --knob NAME=V1,V2; the target has {_names(target)}")
    asked, settings = _asked(
        target,
        knobs,
        combine,
        traced,
        sites,
        closed,
        budget,
        metric=metric,
        effect=effect,
        seconds=seconds,
        warmup=warmup,
        seed=seed,
        load=load or was.get("load"),
        scale=scale or was.get("scale"),
        rate=rate or was.get("rate"),
        clients=clients or was.get("clients"),
        server_options=server_options or was.get("server_options", ""),
        program=list(program) or list(was.get("program", [])),
    )
    outcome = _swept(target, asked, settings, most_runs, budget, session)
    _report(outcome, findings, fmt or (_FORMATS.get(output.suffix, "text") if output else "text"), output)


def _drilled(target: Target, budget: float, session: Path | None, **asked: Any) -> Path:
    """The file of the findings that a sweep begins with: of a drill-down under its load. It lies beside the sweep's own
    file; one that goes on has it."""
    from vprof.target.chosen_load import ChosenLoad
    from vprof.target.server import check_server_options
    from vprof.tune import auto
    from vprof.tune.file import Asked
    from vprof.tune.runner import Runner

    keep = _kept_in(target, session).with_suffix(".drill.json")
    if session and session.exists() and keep.exists():
        return keep
    check_server_options(asked["server_options"], target)
    ChosenLoad.of(asked["load"], asked["scale"], asked["rate"], asked["clients"], target)
    if not target.descriptor.knobs:
        raise UsageError("nothing to try: the target has no knobs")
    target.check(target.units())
    begun, wanted = time.monotonic(), Asked(target=target.called, settings=[], **asked)
    keep.parent.mkdir(parents=True, exist_ok=True)
    rate = asked["rate"]
    if wanted.load and rate is None:
        runner = Runner(target, wanted, keep.parent)
        runner.prepare()
        rate = _offered(runner)
    click.echo("vprof: a drill-down first, under the load of the sweep", err=True)
    found = auto.drilled(target, wanted, rate, budget * _OF_BUDGET)
    keep.write_text(json.dumps({**found, _TOOK: time.monotonic() - begun}), encoding="utf-8")
    return keep


def _kept_in(target: Target, session: Path | None) -> Path:
    return session or target.folder / "tune" / "session.json"


def _names(target: Target) -> str:
    return ", ".join(target.descriptor.knobs) or "none"


def _list(target: Target) -> None:
    for knob in target.descriptor.knobs.values():
        unit = f" {knob.unit}" if knob.unit else ""
        values = ", ".join(f"{value} (as it is)" if value == knob.default else value for value in knob.values)
        click.echo(f"{knob.name}: {values}{unit}" + (", needs a restart" if knob.restart else ""))
        click.echo(f"  governs {', '.join(knob.governs)}")
        click.echo(f"  trades {knob.trades}")
    for cure in target.descriptor.absent_cures:
        if cure.switch:
            click.echo(f"{cure.switch.name}: not in this build, comes with --cure {cure.name} of instrument")


def _governing(findings: Findings, knobs: tuple[str, ...]) -> tuple[str, ...]:
    """The knobs of the findings, with the values that were given, and those given besides. Says on standard error which
    finding has which."""
    from vprof.report.tune import finding_lines

    for text in finding_lines(findings):
        click.echo(printable(text), err=True)
    if not findings.knobs and not knobs:
        more = "; a longer drill-down (--budget) may confirm those left out" if findings.unconfirmed else ""
        raise VprofError(f"no knob of the target governs a finding: there is nothing to try{more}")
    given = {text.partition("=")[0].strip(): text for text in knobs}
    return (*(given.pop(name, name) for name in findings.knobs), *given.values())


def _asked(
    target: Target,
    knobs: tuple[str, ...],
    combine: bool,
    traced: bool,
    sites: str | None,
    closed: bool,
    budget: float,
    **asked: Any,
) -> tuple[Asked, list[Setting]]:
    """What the sweep is, and its settings. Raises UsageError when options do not fit together, or not to the target."""
    from vprof.target.chosen_load import ChosenLoad
    from vprof.target.server import check_server_options
    from vprof.tune.file import Asked
    from vprof.tune.settings import settings_of
    from vprof.workload.driver import check_name

    check_server_options(asked["server_options"], target)
    options = " ".join([asked["server_options"], *asked["program"]])
    settings = settings_of(knobs, target.descriptor, combine, options)
    if closed and asked["load"]:
        raise UsageError("--closed is the target's own load: leave out --load")
    if target.descriptor.workloads and not closed:
        asked["load"] = asked["load"] or _USUAL_LOAD
    if ChosenLoad.of(asked["load"], asked["scale"], asked["rate"], asked["clients"], target):
        check_name(asked["load"])
    elif not target.descriptor.run and not target.descriptor.server and not asked["program"]:
        raise UsageError(f"{target.descriptor.file}: there is no [run] or [server]: give a command after `--`")
    _check_budget(budget, len(settings), asked["seconds"] + (asked["warmup"] if asked["load"] else 0))
    is_traced = bool(traced or sites or not asked["load"])
    if is_traced or target.descriptor.build.get("programs"):
        target.check(target.units())  # a server that is not traced may be one that others built
    if is_traced:
        asked["sites"] = sites or ",".join(_sites(target, settings))
    return Asked(target=target.called, settings=[one.name for one in settings], **asked), settings


def _check_budget(budget: float, settings: int, seconds: float) -> None:
    """Raises UsageError if it is too short for any verdict."""
    needed = _LEAST_ROUNDS * settings * seconds
    if budget and needed > budget:
        raise UsageError(
            f"{settings} settings with the baseline, {_LEAST_ROUNDS} runs of each, take {needed:.0f} s at least: "
            "give a larger --budget, fewer values, or fewer --seconds"
        )


def _sites(target: Target, settings: list[Setting]) -> list[str]:
    """The roots, and the functions that the knobs govern: what shrank is seen in these."""
    governed = [name for setting in settings for one in setting.assignments for name in one.knob.governs]
    functions = [name for name in governed if not name.startswith("[")]
    return list(dict.fromkeys([*target.descriptor.roots, *functions]))


def _swept(
    target: Target, asked: Asked, settings: list[Setting], most_runs: int, budget: float, session: Path | None
) -> Outcome:
    from vprof.report.tune import run_line
    from vprof.tune.file import TuneFile
    from vprof.tune.outcome import outcome_of
    from vprof.tune.runner import Runner
    from vprof.tune.sweep import Sweep

    (target.folder / "tune").mkdir(parents=True, exist_ok=True)
    path = _kept_in(target, session)
    if not session and path.exists():
        path.replace(path.with_suffix(".old.json"))
    file = TuneFile.open(path, asked)
    if file.runs:
        click.echo(f"vprof: {path}: goes on after {len(file.runs)} runs", err=True)
    runner = Runner(target, asked, target.folder / "tune")
    try:
        runner.prepare()
        runner.rate = _rate(file, runner)

        def tell(run: Run, of: int) -> None:
            click.echo(printable(run_line(run, of, len(file.runs), asked.metric)), err=True)

        sweep = Sweep(file, settings, runner, most_runs, budget, tell)
        sweep.go()
    except KeyboardInterrupt:
        raise VprofError(f"interrupted; {len(file.runs)} runs kept: the same with --session {path} goes on") from None
    return outcome_of(sweep)


def _rate(file: TuneFile, runner: Runner) -> float | None:
    """That of an open loop; found out once, if nobody gave it."""
    if file.asked.load and file.rate is None:
        file.rate = _offered(runner)
        file.save()
    return file.rate


def _offered(runner: Runner) -> float:
    click.echo("vprof: how much to offer: the baseline in a closed loop", err=True)
    rate = runner.closed_rate()
    click.echo(f"vprof: {rate:g} transactions a second for all settings (--rate)", err=True)
    return rate


def _report(outcome: Outcome, findings: Findings | None, fmt: str, output: Path | None) -> None:
    from vprof.report import tune as report
    from vprof.tune.outcome import sentence

    if fmt == "html":
        from vprof.report.page.html import TUNE, render
        from vprof.report.page.tune import tune_data

        page, output = render(tune_data(outcome, findings), TUNE), output or _PAGE
        write_file(page, output)
        click.echo(sentence(outcome))
        for one in outcome.recommended[:1]:
            click.echo("\n".join(report.recommendation(one.setting)))
        click.echo(f"{output}: {len(page) / 1e6:.1f} MB", err=True)
    elif fmt == "text" and output is None:
        report.print_tune(outcome, findings)
    else:
        text = report.render_json(outcome, findings) if fmt == "json" else report.render(outcome, findings)
        if output is None:
            click.echo(text, nl=False)
        else:
            write_file(printable(text), output)
