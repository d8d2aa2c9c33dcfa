"""`vprof watch`: a flight recorder beside a server."""

from __future__ import annotations

import json
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

import click

from vprof.errors import UsageError, VprofError
from vprof.options import Size, preload_option, root_option
from vprof.session.plan import Plan
from vprof.terminal import one_line

if TYPE_CHECKING:
    from vprof.session.control import Control
    from vprof.watch.keep import Folder
    from vprof.watch.loop import Settings
    from vprof.watch.probes import Probes

_LEAST_BYTES = 64 << 20


@click.command(context_settings={"ignore_unknown_options": True})
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--list", "lists", is_flag=True, help="Show what was kept, and record nothing.")
@click.option(
    "--show", metavar="N", type=click.IntRange(1), help="Show one of these: its critical path and a usual one."
)
@click.option("--report", is_flag=True, help="Show what the slow ones have in common.")
@click.option(
    "--slower-than",
    metavar="LIMIT",
    help="Keep what takes longer: a time such as 20ms, or a percentile such as p99.9, learned for each type from the "
    "last ten minutes.",
)
@click.option("--session", "directory", type=click.Path(path_type=Path), help="Watch this running session.")
@click.option("--sites", help="Probes to switch on: names and globs with commas, or a plan file. [default: none]")
@click.option(
    "--plan-from",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Take them from a drill-down: its drill/session.json. Its findings and the ways to them are on.",
)
@root_option
@click.option(
    "--per-hour", default=20, show_default=True, type=click.IntRange(1), help="Keep the N slowest of an hour."
)
@click.option(
    "--max-size", "max_bytes", type=Size(), default="1G", show_default=True, help="Maximum size of FOLDER, 64M or more."
)
@click.option(
    "--max-distortion",
    type=click.FloatRange(min=0, min_open=True),
    default=0.01,
    show_default=True,
    help="Maximum part of the intervals' time that probes may take, estimated from their calls. What costs most is "
    "switched off.",
)
@click.option(
    "--piece-seconds",
    type=click.FloatRange(0.2, 600),
    default=5.0,
    show_default=True,
    help="How often to look at what was recorded.",
)
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
@preload_option
@click.argument("program", nargs=-1, type=click.UNPROCESSED)
def command(
    folder: Path,
    lists: bool,
    show: int | None,
    report: bool,
    slower_than: str | None,
    directory: Path | None,
    sites: str | None,
    plan_from: Path | None,
    root: str | None,
    per_hour: int,
    max_bytes: int,
    max_distortion: float,
    piece_seconds: float,
    form: str,
    preload: bool,
    program: tuple[str, ...],
) -> None:
    """Keep the records of slow intervals, for as long as a server runs.

    FOLDER gets a small trace for each interval that takes longer than --slower-than: its records, those of all threads
    at the time, and ordinary intervals of the same seconds. All other records are thrown away. `vprof analyze` reads
    the traces.

    PROGRAM, behind `--`, is run and recorded, and the watch ends with it. With --session, the programs of a running
    session are watched, also those that join later, until the watch gets a SIGTERM. At a SIGHUP it reads its plan
    again. What it does is logged on standard error, one line each.

    \b
    Examples:
      vprof watch slow --slower-than 20ms --plan-from .vprof/minidb -- ./minidb --seconds 3600
      vprof watch slow --slower-than p99.9 --session /dev/shm/server --sites 'wal_*,lock_wait'
      vprof watch slow --slower-than 5ms --root handle_request -- ./server
      vprof watch --list slow
      vprof watch --show 3 slow
      vprof watch --report slow
    """
    from vprof.watch.keep import Folder

    if sum([lists, show is not None, report]) > 1:
        raise UsageError("--list, --show and --report are different reports: ask for one")
    if lists or show is not None or report:
        if program or directory or slower_than:
            raise UsageError("--list, --show and --report read the folder: leave out what records")
        _say_kept(Folder.existing(folder), show, report, form)
        return
    if not slower_than:
        raise UsageError("nothing to look for: give --slower-than, such as 20ms or p99.9 (or --list, --show, --report)")
    if bool(program) == bool(directory):
        raise UsageError("nothing to watch: give a command after `--`, or --session DIR, one of both")
    if directory and preload:
        raise UsageError("--preload is for a program that is started: leave it out with --session")
    if max_bytes < _LEAST_BYTES:
        raise UsageError(f"--max-size: at least {_LEAST_BYTES >> 20}M")
    if sites and plan_from:
        raise UsageError("--sites and --plan-from both say what to switch on: give one")
    read_plan, root = _plan(sites, plan_from, root)
    read_plan()
    from vprof.session.calibration import probe_ns
    from vprof.watch.loop import Settings
    from vprof.watch.threshold import threshold

    settings = Settings(threshold(slower_than), per_hour, max_bytes, piece_seconds, root, probe_ns())
    watched = Folder(folder)
    watched.begin()
    try:
        if directory:
            _watch_session(directory, watched, settings, read_plan, max_distortion)
        else:
            _watch_program(list(program), preload, watched, settings, read_plan, max_distortion)
    finally:
        watched.end()


def _plan(sites: str | None, plan_from: Path | None, root: str | None) -> tuple[Callable[[], Plan], str | None]:
    """How to read the plan, now and again; and the root, which a drill-down's file may name."""
    if plan_from:
        from vprof.watch.plan import plan_of_drill, root_of_drill

        return (lambda: plan_of_drill(plan_from)), root or root_of_drill(plan_from)
    return (lambda: Plan.parse(sites) if sites else Plan.of([])), root


class _Signals:
    """What the watch was told: to end (SIGTERM, SIGINT), to read its plan again (SIGHUP)."""

    def __init__(self) -> None:
        self.ends = self.rereads = False

    @contextmanager
    def heard(self) -> Iterator[None]:
        """They no longer end us."""
        before = {one: signal.signal(one, self._hear) for one in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)}
        try:
            yield
        finally:
            for one, handler in before.items():
                signal.signal(one, handler)

    def _hear(self, number: int, frame: FrameType | None) -> None:
        if number == signal.SIGHUP:
            self.rereads = True
        else:
            self.ends = True

    def new_plan(self, read_plan: Callable[[], Plan]) -> Plan | None:
        """At most once for each SIGHUP; a plan that cannot be read changes nothing."""
        if not self.rereads:
            return None
        self.rereads = False
        try:
            return read_plan()
        except VprofError as error:
            say("plan-unreadable", reason=error)
            return None


def say(event: str, **fields: Any) -> None:
    """One line of the log: event, then key=value; values with spaces in quotes."""
    values = {key: str(value) for key, value in fields.items()}
    told = [f"{key}={json.dumps(value) if ' ' in value or not value else value}" for key, value in values.items()]
    print(one_line(" ".join(["vprof watch:", event, *told])), file=sys.stderr, flush=True)


def _watch_session(
    directory: Path, folder: Folder, settings: Settings, read_plan: Callable[[], Plan], most: float
) -> None:
    """A session of somebody else, which is left as it was."""
    from vprof.session.control import Note
    from vprof.session.running import find
    from vprof.watch.probes import OWNER, Probes

    session = find(directory)
    with session.alone():
        note, file, on = session.note(), session.stats()["file"], session.sites_on()
        if note.owner == OWNER:
            # A watch that was killed left it so, and nobody else was there before.
            note, file, on = Note(retry=note.retry), None, set()
        elif note.owner:
            raise VprofError(f"{note.owner} switches the probes of this session: wait until it is done")
    session.join()
    probes = Probes(session, read_plan(), settings.root, most)
    signals = _Signals()
    try:
        with signals.heard():
            _run(session, folder, probes, settings, lambda: signals.ends, signals, read_plan)
        probes.leave(note, on)
        session.rotate(Path(f"{file}.after-watch") if file else None)
    finally:
        session.disconnect()


def _watch_program(
    arguments: list[str], preload: bool, folder: Folder, settings: Settings, read_plan: Callable[[], Plan], most: float
) -> None:
    from vprof.session.owned import Limit, Session
    from vprof.target.shell import popen
    from vprof.watch.probes import Probes

    signals = _Signals()
    limit = Limit(2 * settings.piece_bytes)
    with Session.start(None, None, limit, settings.probe_ns, preload=preload) as session, signals.heard():
        probes = Probes(session, read_plan(), settings.root, most)
        process = popen(arguments, env=session.environment(arguments[0]))
        told = False

        def is_over() -> bool:
            nonlocal told
            if signals.ends and not told:
                told = True
                process.terminate()
            return process.poll() is not None

        try:
            _run(session, folder, probes, settings, is_over, signals, read_plan)
        except VprofError as error:
            say("collector-lost", reason=f"{error}; the program goes on unrecorded")
            process.wait()
            raise
        if not session.programs:
            raise VprofError("no records: no program built by vprof-cc joined; build it with CC=vprof-cc")
    if process.returncode and not (told and process.returncode == -signal.SIGTERM):
        status = process.returncode if process.returncode > 0 else 128 - process.returncode
        say("program-ended", status=status)
        sys.exit(status)


def _run(
    session: Control,
    folder: Folder,
    probes: Probes,
    settings: Settings,
    is_over: Callable[[], bool],
    signals: _Signals,
    read_plan: Callable[[], Plan],
) -> None:
    from vprof.watch.loop import Watch

    watch = Watch(session, folder, probes, settings, say)
    say("begun", folder=folder.path, session=session.directory, limit=settings.threshold.text)
    try:
        watch.run(is_over, lambda: signals.new_plan(read_plan))
    finally:
        say("ended", kept=watch.kept, in_folder=len(folder.kept))


def _say_kept(folder: Folder, number: int | None, report: bool, form: str) -> None:
    from vprof.path.chosen import chosen_paths
    from vprof.report import watch as text
    from vprof.watch.common import common, pairs_of

    if report:
        found = common(pairs_of(folder))
        sys.stdout.write(text.report_json(found) if form == "json" else text.render_report(found))
    elif number is not None:
        kept = folder.one(number)
        ids = [kept.interval, *([kept.median] if kept.median else [])]
        slow, *rest = chosen_paths([folder.trace(number)], lambda trace: ids, kept.root)
        median = rest[0] if rest else None
        render = text.show_json if form == "json" else text.render_show
        sys.stdout.write(render(kept, slow, median))
    else:
        kept_ones = sorted(folder.kept.values(), key=lambda one: one.number)
        sys.stdout.write(text.list_json(kept_ones) if form == "json" else text.render_list(kept_ones))
