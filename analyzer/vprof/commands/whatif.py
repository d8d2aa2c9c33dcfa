"""`vprof whatif`: see the command's help."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from vprof.blas import import_numpy
from vprof.errors import UsageError, VprofError
from vprof.lock_options import LockWishes, lock_options
from vprof.options import jobs_options, root_option
from vprof.terminal import stages, write_report
from vprof.trace.arguments import TracePath, all_matching

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vprof.jobs.tasks import Jobs, Stages
    from vprof.trace.sources import Source
    from vprof.variance.analysis import AnalysisOptions
    from vprof.whatif.changes import Change
    from vprof.whatif.model import Model
    from vprof.whatif.prediction import Prediction


@click.command(name="whatif")
@click.argument("traces", nargs=-1, metavar="[TRACE]...", type=TracePath(), callback=all_matching)
@click.option(
    "--change",
    "texts",
    multiple=True,
    metavar="F=HOW",
    help="What to change: F=0.5 (times as long), F=0, F=constant, F=median or F=-200us. May be given several times.",
)
@click.option("--rank", "ranks", is_flag=True, help="Try changes of each factor instead, and sort them by their gain.")
@root_option
@click.option(
    "--open/--closed",
    "is_open",
    default=None,
    help="Whether requests arrive when they did, whatever became of those before. Default: as the trace says, or where "
    "threads would drift apart otherwise; with --locks, if only that meets what was measured.",
)
@click.option(
    "--model",
    "way",
    default="auto",
    show_default=True,
    type=click.Choice(("auto", "replay", "simulation")),
    help="How waits follow: as recorded (replay), or CPUs, locks and shared queues serve who comes first (simulation).",
)
@click.option("-k", default=3, show_default=True, type=click.IntRange(1), help="How many factors to show.")
@click.option(
    "--min-share",
    default=0.05,
    show_default=True,
    type=float,
    help="Minimum share of the variance that a factor must hold (0.05 = 5 %).",
)
@click.option("--no-factors", is_flag=True, help="Predict latencies only, which is faster.")
@click.option("--intervals", is_flag=True, help="Add the latency of every interval, now and then (json only).")
@click.option(
    "--format",
    "fmt",
    default="text",
    show_default=True,
    type=click.Choice(("text", "json")),
    help="Form of the report.",
)
@click.option("-o", "--output", metavar="OUT", type=click.Path(path_type=Path), help="Write the report to a file.")
@click.option("--force", is_flag=True, help="Predict even if more than 10 % of the intervals were lost.")
@lock_options
@jobs_options
def command(
    traces: tuple[Path, ...],
    texts: tuple[str, ...],
    ranks: bool,
    root: str | None,
    is_open: bool | None,
    way: str,
    k: int,
    min_share: float,
    no_factors: bool,
    intervals: bool,
    fmt: str,
    output: Path | None,
    force: bool,
    wishes: LockWishes,
    jobs: int | None,
    scheduler: str | None,
) -> None:
    """Predict what a change would gain, before anybody makes it.

    vprof goes through the trace with the times of some functions changed: how long threads wait follows. The program is
    not run. The report has the latencies now and then, and the factors that lead afterwards.

    A change concerns a function's own time and that of what it calls, but not the waits that other threads end: those
    follow. F=constant gives each call for an interval the mean of all of these, F=median the median, F=-200us takes
    that much from each.

    Where the trace says how many CPUs there were, CPUs, locks and queues that threads share serve who comes first
    (--model simulation), if without a change that gives nearly the recorded latencies. Otherwise who waited for whom
    stays, and waits for a CPU stay as recorded (--model replay). Who has a lock is known where somebody waited for it,
    and always if vprof record --locks told.

    Nodes that can be changed are [preempted], [fault], [disk], [off cpu], [sleep], [memory], [idle], [sched],
    [unknown] and [gap].

    With --locks, vprof replays logical locks by other policies, which decide who gets a lock that comes free: fcfs,
    fifo, rs, vats, vats-theory, ldsf, bldsf, hldsf, mlf, mblf, ddf. Transactions come from a trace that was recorded
    with --locks, from a script, or are generated; figures have intervals over several seeds. vprof replays a trace by
    its own policy first, and refuses if that is more than 10 % off. docs/lock-scheduling.md says when each policy
    helps.

    \b
    Examples:
      vprof whatif run.trace --change fdatasync=0 --change lru_evict_scan=constant
      vprof whatif run.trace --change '[disk]=0.5'
      vprof whatif run.trace --rank
      vprof whatif run.trace --change parse=-200us --format json --intervals
      vprof whatif run.trace --locks vats,ldsf
      vprof whatif --locks fcfs,vats,bldsf --script transactions.json --clients 32
      vprof whatif --locks fifo,ldsf --generate zipf --theta 0.9 --writes 0.6 --rate 5000
    """
    import_numpy()
    from vprof.jobs.cluster import open_jobs
    from vprof.report import whatif as report
    from vprof.trace.sources import open_sources
    from vprof.variance.analysis import AnalysisOptions
    from vprof.whatif.changes import parse_all
    from vprof.whatif.model import Model
    from vprof.whatif.prediction import rank

    if wishes.given():
        if jobs is not None or scheduler is not None:
            raise UsageError("--locks replays one trace, in one process: leave out --jobs and --scheduler")
        _locks(traces, root, wishes, is_open, fmt, output)
        return
    if not traces:
        raise UsageError("nothing to replay: give a trace, or --locks with --script or --generate")
    _check(texts, ranks, intervals, fmt)
    changes = parse_all(texts)
    options = AnalysisOptions(k=k, min_share=min_share, force=force)
    model, prediction = Model(is_open, way), None
    with open_jobs(jobs, scheduler) as workers, stages() as stage:
        sources = open_sources(traces, root, progress=stage("reading"), jobs=workers)
        ranking = rank(sources, options, model, workers, stage) if ranks else None
        if not ranking or fmt != "text":
            factors = not no_factors and not ranks
            prediction = _predicted(sources, options, changes, model, workers, stage, factors=factors, few=intervals)
    if not prediction:
        assert ranking
        if output is None:
            report.print_ranking(ranking)
        else:
            write_report(report.render_ranking(ranking), output)
    elif fmt == "json":
        write_report(report.render_json(prediction, intervals, ranking), output)
    elif output is None:
        report.print_prediction(prediction)
    else:
        write_report(report.render(prediction), output)


def _locks(
    traces: tuple[Path, ...], root: str | None, wishes: LockWishes, is_open: bool | None, fmt: str, output: Path | None
) -> None:
    """Raises UsageError if there is nothing to replay by a policy."""
    from vprof.report import locks as report
    from vprof.scheduling.asked import answer

    if wishes.locks is None:
        raise UsageError(f"{wishes.given()[0]} is for --locks: give the policies, too")
    if len(traces) > 1:
        raise UsageError("--locks replays one trace: give one")
    if root is not None:
        raise UsageError("--root is not for --locks: locks belong to the intervals that the program annotates")
    if not traces and not wishes.script and not wishes.generate:
        raise UsageError("no transactions to replay: give a trace, --script FILE, or --generate zipf")
    found = answer(wishes, traces[0] if traces else None, is_open)
    if fmt == "json":
        write_report(report.render_json(found), output)
    elif output is None:
        report.print_answer(found)
    else:
        write_report(report.render(found), output)


def _check(texts: tuple[str, ...], ranks: bool, intervals: bool, fmt: str) -> None:
    """Raises UsageError for options that do not go together."""
    if texts and ranks:
        raise UsageError("--change and --rank are different reports: ask for one")
    if intervals and fmt != "json":
        raise UsageError("--intervals needs --format json")


def _predicted(
    sources: Sequence[Source],
    options: AnalysisOptions,
    changes: Sequence[Change],
    model: Model,
    jobs: Jobs | None,
    stage: Stages,
    factors: bool,
    few: bool,
) -> Prediction:
    """`few`: one interval is enough."""
    from vprof.whatif.prediction import Replays, load

    loads = load(sources, options)
    if len(loads.rows) == 1 and not few:
        raise VprofError("nothing to predict from one interval: record longer, or see it by --format json --intervals")
    return Replays(loads, model, jobs, stage).predict(changes, factors)
