"""Steps of logical locks: what a program did, step by step, is what is read back (TRACE_FORMAT.md section 2.10)."""

from __future__ import annotations

import random
import subprocess
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from click.testing import CliRunner
from properties import seeds
from test_real_runtime import build
from writer import Writer

from vprof.cli import root
from vprof.errors import UsageError, VprofError
from vprof.installed import native
from vprof.scheduling.comparison import NotMetError
from vprof.session.owned import Session
from vprof.session.plan import Plan
from vprof.trace.chunks import read_chunks
from vprof.trace.locks import GRANT, RELEASE, RELEASE_ALL, REQUEST, LockTrace, read_locks
from vprof.trace.reading import load_binary, open_windows

THREADS = 4
MODES = {0: 1, 1: 2, -1: 0}
"""Of vprof_lock, as they are recorded."""


class Line(NamedTuple):
    thread: int
    step: str
    object: int = 0
    mode: int = -1
    owner: int = 0


class Step(NamedTuple):
    step: int
    mode: int
    object: int
    owner: int


def schedule(rng: random.Random, length: int) -> list[Line]:
    """Intervals begin, end and are aborted on any thread; steps name their owner, or leave it to the thread."""
    lines: list[Line] = []
    open_, working, fresh = list[int](), dict[int, int](), 0
    for _ in range(length):
        thread, chance = rng.randrange(THREADS), rng.random()
        if chance < 0.1 or not open_:
            fresh += 1
            open_.append(fresh)
            lines.append(Line(thread, "b", owner=fresh))
            working[thread] = fresh
        elif chance < 0.16:
            gone = open_.pop(rng.randrange(len(open_)))
            lines.append(Line(thread, rng.choice("ea"), owner=gone))
            working[thread] = 0
        elif chance < 0.25:
            working[thread] = rng.choice([0, *open_])
            lines.append(Line(thread, "w", owner=working[thread]))
        else:
            own = working.get(thread, 0)
            owner = 0 if own in open_ and rng.random() < 0.5 else rng.choice(open_)
            step = rng.choice((REQUEST, GRANT, RELEASE, RELEASE_ALL))
            thing = 0 if step == RELEASE_ALL else rng.choice((rng.randint(1, 9), 1 << 63 | rng.getrandbits(60)))
            mode = rng.choice((0, 1)) if step == REQUEST else rng.choice((-1, 0, 1)) if step == GRANT else -1
            lines.append(Line(thread, str(step), thing, mode, owner))
    return lines + [Line(rng.randrange(THREADS), "e", owner=id_) for id_ in open_[1:]]


def expected(lines: list[Line]) -> tuple[list[Step], list[int]]:
    """The steps with their owners, and of each the number of its line. An interval's end gives all back."""
    working: dict[int, int] = {}
    steps, places = list[Step](), list[int]()
    for place, line in enumerate(lines):
        if line.step in "bw":
            working[line.thread] = line.owner
        elif line.step in "ea":
            working[line.thread] = 0
            steps.append(Step(RELEASE_ALL, 0, 0, line.owner))
            places.append(place)
        elif line.step != "k":
            owner = line.owner or working[line.thread]
            steps.append(Step(int(line.step), MODES[line.mode], line.object, owner))
            places.append(place)
    return steps, places


def record(folder: Path, lines: list[Line], *options: str, locks: bool = True, status: int = 0) -> list[list[int]]:
    """Runs the lines; returns what was printed. Writes run.trace."""
    program, script = folder / "program", folder / "script"
    if not program.exists():
        build(folder, "lock_schedule.c")
    script.write_text("".join(f"{' '.join(map(str, line))}\n" for line in lines))
    directory = folder / "session"
    start = [native("lib/vprof/vprof-collector"), "--session", directory, "--output", folder / "run.trace", "--hold"]
    more = [*options, *(["--locks"] if locks else [])]
    collector = subprocess.Popen([*map(str, start), *more], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert collector.stdout is not None
    assert collector.stdout.readline() == "ready\n"
    with Session(directory, collector) as session, (folder / "printed").open("w") as printed:
        env = {**session.environment(), "COLLECTOR": str(collector.pid)}
        process = subprocess.Popen([program, script], env=env, stdout=printed)
        session.attend(process, Plan.of([]))
        session.stop()
    assert process.returncode == status
    return [list(map(int, line.split())) for line in (folder / "printed").read_text().splitlines()]


def steps_of(trace: LockTrace, lines: list[Line]) -> list[Step]:
    """With the ids of their intervals: those that ended are numbered by their begin, the others by their id."""
    ended = {line.owner for line in lines if line.step == "e"}
    begun = [line.owner for line in lines if line.step == "b"]
    ids = [id_ for id_ in begun if id_ in ended] + sorted(id_ for id_ in begun if id_ not in ended)
    s = trace.steps
    return [
        Step(step, mode, thing & (1 << 64) - 1, ids[owner])
        for step, mode, thing, owner in zip(
            s.step.tolist(), s.mode.tolist(), s.object.tolist(), s.owner.tolist(), strict=True
        )
    ]


@seeds(3)
def test_each_step_comes_back_with_its_mode_owner_and_time(tmp_path: Path, seed: int) -> None:
    lines = schedule(random.Random(seed), 300)
    times = record(tmp_path, lines)
    trace = read_locks(tmp_path / "run.trace")
    wanted, places = expected(lines)
    assert steps_of(trace, lines) == wanted
    assert (trace.unowned, trace.lost) == (0, 0)
    numbers = {(lines[place].thread, number) for place, number in zip(places, trace.steps.thread.tolist(), strict=True)}
    assert len(numbers) == len({thread for thread, _ in numbers}) == len({number for _, number in numbers}) > 1
    windows = open_windows(tmp_path / "run.trace", 50)
    steps = windows.lock_steps()
    assert steps is not None and windows.size > 1
    for name, column in vars(trace.steps).items():
        assert np.array_equal(getattr(steps, name), column), name
    # CLOCK_MONOTONIC runs apart from the trace's clock between two anchors.
    slack = 20_000
    assert all(
        times[place][0] - slack <= t <= times[place][1] + slack
        for t, place in zip(trace.steps.t.tolist(), places, strict=True)
    )


def test_a_kill_loses_nothing_that_was_done(tmp_path: Path) -> None:
    lines = schedule(random.Random(5), 200)
    before = lines[: next(place for place in range(150, 200) if lines[place].step not in "bwea")]
    record(tmp_path, [*before, Line(0, "k"), *lines[150:]], status=-9)
    assert steps_of(read_locks(tmp_path / "run.trace"), before) == expected(before)[0]


def test_what_a_full_ring_drops_is_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rings of 256 records, and nobody who drains them meanwhile. The time off the CPU is not recorded, so all that is
    dropped are steps."""
    monkeypatch.setenv("GLIBC_TUNABLES", "glibc.pthread.rseq=0")
    steps = 4_000
    undrained = [Line(0, "s"), *([Line(0, "0", 5, 1)] * steps), Line(0, "c")]
    lines = [Line(0, "b", owner=7), *undrained, Line(0, "e", owner=7)]
    record(tmp_path, lines, "--ring-bytes", "4096")
    file = read_chunks(tmp_path / "run.trace")
    [end] = file.of("end")
    assert {event["off_cpu"] for event in file.of("thread")} == {"unknown"}
    kept = sum(int((chunk.words[:, 0] >> np.uint64(56) == 4).sum()) for chunk in file.chunks)
    assert end["dropped"] > 0
    assert kept + end["dropped"] // 2 == steps
    trace = load_binary(tmp_path / "run.trace")
    assert trace.excluded == {"touches lost records": 1}


def test_without_the_option_nothing_is_recorded(tmp_path: Path) -> None:
    record(tmp_path, schedule(random.Random(1), 100), locks=False)
    with pytest.raises(UsageError, match="no lock events: record it with vprof record --locks"):
        read_locks(tmp_path / "run.trace")


def written(tmp_path: Path, *steps: tuple[Any, ...], end: int | None = 100) -> Path:
    """One interval, 1, from 10 on; steps are arguments of Thread.lock."""
    writer = Writer()
    thread = writer.thread(1, ticks=0)
    thread.begin(1, 10)
    for step in steps:
        thread.lock(*step)
    if end:
        thread.end(1, end)
    return writer.save(tmp_path / "run.trace")


def test_a_trace_with_steps_is_analyzed_as_without(tmp_path: Path) -> None:
    trace = load_binary(written(tmp_path, (REQUEST, 20, 5, 2), (GRANT, 30, 5, 0), (RELEASE_ALL, 90)))
    assert not any("unknown" in note for note in trace.notes)
    assert (trace.intervals.begin.tolist(), trace.intervals.end.tolist()) == ([10], [100])


def test_waits_for_what_is_given_back_at_once_are_no_ground_for_a_prediction(tmp_path: Path) -> None:
    """As where somebody else inserts the same key: a lock on that one's number, which goes when it has ended."""
    writer = Writer()
    holder, waiter = writer.thread(1, ticks=0), writer.thread(2, ticks=0)
    holder.begin(1, 10)
    holder.lock(REQUEST, 20, 5, 2)
    holder.lock(GRANT, 20, 5)
    waiter.begin(2, 25)
    waiter.lock(REQUEST, 30, 5, 1)
    holder.lock(RELEASE_ALL, 90)
    holder.end(1, 100)
    waiter.lock(GRANT, 90, 5)
    waiter.lock(RELEASE, 91, 5)
    waiter.lock(REQUEST, 95, 6, 2)
    waiter.lock(GRANT, 95, 6)
    waiter.end(2, 120)
    path = writer.save(tmp_path / "run.trace")
    done = CliRunner().invoke(root, ["whatif", str(path), "--locks", "vats"])
    assert isinstance(done.exception, NotMetError)
    assert "gave back 1 lock that they had waited for before they took their last one, 100 % of" in str(done.exception)


def test_what_the_program_calls_its_waits_is_known_by_owner_and_time(tmp_path: Path) -> None:
    writer = Writer()
    writer.event("name", number=1, text="row of t")
    thread = writer.thread(1, ticks=0)
    thread.begin(1, 10)
    thread.lock(REQUEST, 20, 5, 2)
    thread.blocked(30, 50)
    thread.named(1, 25, 52)
    thread.lock(GRANT, 60, 5)
    thread.named(2, 65, 66)  # no event gives its text
    thread.end(1, 100)
    thread.named(1, 70, 110)  # of nobody
    names = read_locks(writer.save(tmp_path / "run.trace")).names
    asked = [(0, 20, 60), (0, 52, 60), (0, 53, 60), (0, 20, 24), (0, 60, 100), (1, 20, 60)]
    assert [names.between(*one) for one in asked] == [["row of t"], ["row of t"], [], [], [], []]


def test_a_step_without_an_interval_is_counted(tmp_path: Path) -> None:
    trace = read_locks(written(tmp_path, (REQUEST, 20, 5, 2, 9), (GRANT, 30, 5)))
    assert (trace.unowned, trace.steps.step.tolist()) == (1, [GRANT, RELEASE_ALL])


def test_steps_of_no_finished_interval_are_refused(tmp_path: Path) -> None:
    with pytest.raises(VprofError, match="no finished interval"):
        read_locks(written(tmp_path, (REQUEST, 20, 5, 2), end=None))


def test_they_were_wanted_and_there_are_none(tmp_path: Path) -> None:
    lines = [Line(0, "b", owner=1), Line(0, "e", owner=1)]
    record(tmp_path, lines)
    with pytest.raises(UsageError, match="they were wanted, but nothing was locked"):
        read_locks(tmp_path / "run.trace")
