"""The real compiler wrapper builds, the real runtime and collector write, the real reader reads.

The tools come from VPROF_PREFIX or the Python prefix; without them these tests fail and say what is missing.
"""

from __future__ import annotations

import os
import subprocess
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from patience import wait_for
from tuples import Tuples

from vprof.installed import native
from vprof.session.owned import Session
from vprof.session.plan import Plan
from vprof.tables.model import Trace
from vprof.trace.chunks import read_chunks
from vprof.trace.reading import load_binary

PROGRAMS = Path(__file__).parent / "programs"
Record = Callable[..., Trace]


def build(folder: Path, *sources: str) -> Path:
    program = folder / "program"
    files = [str(PROGRAMS / source) for source in sources]
    environment = {**os.environ, "VPROF_DESCRIPTOR": str(Path(__file__).parents[1] / "all_sites.json")}
    command = [str(native("bin/vprof-cc")), "-O1", "-g", "-pthread", "-Wall", "-Werror", "-o", str(program), *files]
    subprocess.run(command, check=True, env=environment)
    return program


@pytest.fixture
def record(tmp_path: Path) -> Record:
    """Builds C files, runs the program with every probe on, reads the trace."""

    def run(*sources: str, status: int = 0) -> Trace:
        program, output = build(tmp_path, *sources), tmp_path / "run.trace"
        with Session.start(output) as session:
            process = subprocess.Popen([program], env=session.environment())
            session.attend(process, Plan.of(["*"]))
            session.stop()
        assert process.returncode == status
        return load_binary(output)

    return run


def calls_of(trace: Trace) -> Counter[str]:
    return Counter(call[2] for call in Tuples(trace).calls())


def test_a_forced_lock_hand_over_is_exactly_that(record: Record) -> None:
    trace = record("handoff.c")
    tuples = Tuples(trace)
    [(id_, type_, (worker, begin), (end_thread, end))] = tuples.intervals()
    assert (id_, type_, worker) == ("1", "locked", end_thread)
    main = 1 - worker
    inside = [row for row in tuples.wakeups() if row[0] == worker and begin <= row[3][0] and row[3][1] <= end]
    [(_, waker, t, (blocked, resumed))] = inside
    assert waker == main
    assert resumed - blocked > 15_000_000
    [hold] = [call for call in tuples.calls() if call[2] == "hold"]
    assert hold[0] == main
    assert hold[3] < blocked < t < hold[4] + 1_000_000
    assert [row[::2] for row in tuples.created()] == [(main, worker)]


def test_requests_through_a_queue(record: Record) -> None:
    trace = record("queue.c")
    tuples = Tuples(trace)
    intervals = tuples.intervals()
    assert trace.excluded == {}
    assert [(id_, type_) for id_, type_, _, _ in intervals] == [(str(n), ("even", "odd")[n % 2]) for n in range(1, 21)]
    handed = {ts2: (creator, ts) for creator, ts, _, ts2 in tuples.created()}
    for id_, type_, (client, begin), (worker, end) in intervals:
        assert client != worker
        served = [row for row in tuples.segments() if row[0] == worker and row[1] == id_]
        creator, made = handed[served[0][2]]
        assert creator == client
        assert begin < made < served[0][2] < end
        assert end - begin > (2_000_000 if type_ == "odd" else 500_000)
    assert calls_of(trace)["serve"] == 20


def test_frames_left_by_longjmp_end_where_that_was_noticed(record: Record) -> None:
    trace = record("jump.c")
    assert calls_of(trace) == {"main": 1, "attempt": 10, "thrower": 30}
    assert any("upper bounds: 30" in note for note in trace.notes)
    depth = {call[2]: call[5] for call in Tuples(trace).calls() if call[2] != "thrower"}
    assert depth == {"main": 0, "attempt": 1}


def test_calls_after_a_longjmp_are_not_inside_the_frames_it_left(record: Record) -> None:
    calls = Tuples(record("jump_back.c")).calls()
    depth = {call[2]: call[5] for call in calls}
    assert depth == {"main": 0, "attempt": 1, "leaves": 2, "after": 2, "leaves_handler": 2, "raised": 3}
    assert [call[2] for call in calls].count("after") == 20


def test_after_sigkill_the_open_frames_are_known(record: Record) -> None:
    trace = record("killed.c", status=-9)
    assert calls_of(trace) == {"main": 1, "done": 5, "stuck": 1, "usleep": 6}
    still_open = [call[2] for call in Tuples(trace).calls() if call[4] == trace.open_at]
    assert still_open == ["main", "stuck"]


def test_a_forked_child_is_recorded_too(record: Record) -> None:
    trace = record("forked.c")
    tuples = Tuples(trace)
    intervals = {type_: (begin, end) for _, type_, begin, end in tuples.intervals()}
    assert set(intervals) == {"parent", "child"}
    pids = {type_: trace.threads[begin[0]].split("/")[0] for type_, (begin, _) in intervals.items()}
    assert pids["parent"] != pids["child"]
    assert calls_of(trace)["work"] == 2


def test_a_header_function_is_one_function_with_a_site_in_every_unit(record: Record) -> None:
    trace = record("shared_main.c", "shared_other.c")
    assert calls_of(trace) == {"main": 1, "other": 1, "pause_us": 3, "usleep": 3}
    assert trace.program.functions.count("pause_us") == 1


def test_the_call_graph_comes_with_the_trace(record: Record) -> None:
    program = record("handoff.c").program
    number = {name: f for f, name in enumerate(program.functions)}
    callees = {name: {program.functions[f] for f in program.calls[number[name]]} for name in ("main", "worker", "take")}
    assert callees["take"] == {"pthread_mutex_lock", "pthread_mutex_unlock"}
    assert {"hold", "pthread_create"} <= callees["main"]
    assert program.height[number["worker"]] == 2
    assert program.root_height >= 2
    assert not program.can_switch(number["pthread_mutex_lock"])
    assert program.complete[number["worker"]]


def wait_for_intervals(session: Session, plan: Plan, count: int) -> None:
    """In the current file."""

    def are_there() -> bool:
        session.follow(plan)
        return session.stats()["intervals"] >= count

    wait_for(are_there, f"{count} intervals", every_seconds=0.002)


def test_a_plan_switched_in_the_running_program_makes_epochs_and_files(tmp_path: Path) -> None:
    program, go_on = build(tmp_path, "steady.c"), tmp_path / "go-on"
    go_on.touch()
    outer, both = Plan.of(["work"]), Plan.of(["work", "inner"])
    with Session.start(tmp_path / "first.trace") as session:
        process = subprocess.Popen([program, go_on], env=session.environment())
        wait_for_intervals(session, outer, 50)
        before = session.stats()["intervals"]
        session.switch(both)
        # More than before: the plan with the most intervals is the file's.
        wait_for_intervals(session, both, 2 * before + 150)
        session.rotate(tmp_path / "second.trace")
        wait_for_intervals(session, both, 150)
        session.switch(outer)
        go_on.unlink()
        process.wait()
        session.stop()

    for name, reasons in (("first", 1), ("second", 0)):
        trace = load_binary(tmp_path / f"{name}.trace")
        assert trace.threads[0].endswith("program")
        assert {trace.program.functions[f] for f in trace.program.on.nonzero()[0]} == {"work", "inner"}
        assert trace.excluded.get("another plan was on", 0) >= 40 * reasons
        calls = Tuples(trace).calls()
        assert len(trace.intervals.begin) > 100
        for id_ in trace.interval_ids[: len(trace.intervals.begin)]:
            inside = [call[2] for call in calls if call[1] == id_]
            assert inside == ["work", "inner"]


def test_what_a_full_ring_drops_is_counted_and_spoils_its_intervals(tmp_path: Path) -> None:
    program, output, directory = build(tmp_path, "storm.c"), tmp_path / "run.trace", tmp_path / "arena" / "session"
    directory.parent.mkdir()
    command = [native("lib/vprof/vprof-collector"), "--session", directory, "--output", output, "--hold"]
    collector = subprocess.Popen([*map(str, command), "--ring-bytes", "4096"], stdout=subprocess.PIPE, text=True)
    assert collector.stdout is not None
    assert collector.stdout.readline() == "ready\n"
    with Session(directory, collector) as session:
        # Calls of one record each are counted: not main, which takes two if it lasts for seconds, nor time off the CPU.
        environment = session.environment() | {"GLIBC_TUNABLES": "glibc.pthread.rseq=0"}
        process = subprocess.Popen([program], env=environment)
        session.attend(process, Plan.of(["call", "leaf"]))
        session.stop()

    trace = load_binary(output)
    [ended] = read_chunks(output).of("thread_end")
    assert trace.loss == {"written": ended["written"], "dropped": ended["dropped"]}
    assert len(trace.invocations.fs) + trace.loss["dropped"] == 20 * 100_000 * 2
    assert len(trace.intervals.begin) + trace.excluded["touches lost records"] == 20
    assert len(trace.excluded_latencies) == trace.excluded["touches lost records"]
