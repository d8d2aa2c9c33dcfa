"""Where threads wait, by their call stacks: real runtime and collector, real reader; no probe is on."""

from __future__ import annotations

import subprocess
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from tuples import Load
from writer import Writer, function, unit

from vprof.installed import native
from vprof.program.symbols import plain_name
from vprof.session.owned import Session
from vprof.session.plan import Plan
from vprof.tables.model import NONE, Trace
from vprof.trace.reading import load_binary
from vprof.variance.wait_stacks import StackSums

SOURCE = Path(__file__).parent / "programs" / "wait_stacks.c"
REQUESTS, LONG_NS = 20, 30e6
PATH = ("worker", "serve", "descend", "descend", "descend")
WAITS_IN = {
    "mutex": "wait_for_mutex",
    "condition": "wait_for_condition",
    "semaphore": "wait_for_semaphore",
    "pipe": "wait_for_pipe",
    "time": "wait_for_time",
}


def recorded(folder: Path, flags: list[str], *arguments: str) -> Trace:
    """One run with nothing switched on."""
    program = folder / "prog"
    built = [
        native("bin/vprof-cc"),
        "-I",
        native("include"),
        "-O2",
        "-fno-optimize-sibling-calls",
        "-pthread",
        "-o",
        program,
        SOURCE,
        *flags,
    ]
    subprocess.run(built, check=True)
    with Session.start(folder / "run.trace") as session:
        process = subprocess.Popen([program, *arguments], env=session.environment(), stdout=subprocess.DEVNULL)
        session.attend(process, Plan.of([]))
        session.stop()
    assert process.returncode == 0
    return load_binary(folder / "run.trace")


def waited(trace: Trace) -> dict[tuple[str, ...], float]:
    """Of the requests: ns that samples stand for, by stack."""
    found: Counter[tuple[str, ...]] = Counter()
    samples = trace.wait_samples
    for row in np.flatnonzero((samples.interval != NONE) & (samples.ns > 0)):
        found[trace.wait_stacks[samples.stack[row]]] += int(samples.ns[row])
    return dict(found)


@pytest.mark.parametrize("kind", WAITS_IN)
def test_a_wait_is_where_the_program_waits(tmp_path: Path, kind: str) -> None:
    times = waited(recorded(tmp_path, [], kind))
    assert set(times) == {(*PATH, WAITS_IN[kind])}
    assert sum(times.values()) == pytest.approx(REQUESTS * LONG_NS, rel=0.5)


@pytest.mark.parametrize(
    "flags",
    [
        ["-fno-omit-frame-pointer"],
        ["-fomit-frame-pointer", "-O3", "-fno-inline"],
        ["-no-pie"],
        ["-g0", "-s"],
    ],
    ids=" ".join,
)
def test_however_it_was_built(tmp_path: Path, flags: list[str]) -> None:
    """A program stripped of its symbols has no names to tell, and loses nothing else."""
    trace = recorded(tmp_path, flags, "mutex")
    [stack] = waited(trace)
    assert stack == (() if "-s" in flags else (*PATH, WAITS_IN["mutex"]))
    assert len(trace.intervals.begin) == REQUESTS


@pytest.mark.parametrize("flags", [["-static"], ["-DREGISTERS_TABLES"]], ids=" ".join)
def test_where_the_unwinder_would_lock_no_stack_is_taken(tmp_path: Path, flags: list[str]) -> None:
    trace = recorded(tmp_path, flags, "mutex")
    assert len(trace.intervals.begin) == REQUESTS
    assert not len(trace.wait_samples.stack)


def test_code_without_unwind_tables_has_no_callers(tmp_path: Path) -> None:
    without = ["-fno-asynchronous-unwind-tables", "-fno-unwind-tables"]
    assert set(waited(recorded(tmp_path, without, "mutex"))) <= {("wait_for_mutex",), ()}


def test_who_ends_a_wait_is_seen_where_it_does(tmp_path: Path) -> None:
    trace = recorded(tmp_path, [], "mutex")
    samples = trace.wait_samples
    releases = {trace.wait_stacks[s] for s in samples.stack[samples.ns == 0].tolist()}
    assert ("helper", "release_mutex") in releases


def test_of_a_deep_stack_the_innermost_part_is_known(tmp_path: Path) -> None:
    assert set(waited(recorded(tmp_path, [], "time", "90"))) == {("descend",) * 47 + ("wait_for_time",)}


def test_a_small_stack_is_left_alone(tmp_path: Path) -> None:
    assert waited(recorded(tmp_path, [], "time", "2", str(20 << 10))) == {}


def test_a_wait_in_a_signal_handler_lies_below_what_it_interrupted(tmp_path: Path) -> None:
    [stack] = waited(recorded(tmp_path, [], "handler"))
    assert stack == (*PATH, "on_signal", "wait_for_time")


def test_callers_are_told_apart_where_their_frames_are_alike(tmp_path: Path) -> None:
    times = waited(recorded(tmp_path, [], "rows"))
    assert set(times) == {(*PATH, "read_row", "wait_for_time"), (*PATH, "write_row", "wait_for_time")}
    assert list(times.values()) == pytest.approx([REQUESTS / 2 * LONG_NS] * 2, rel=0.5)


def stack_record(number: int, waited: int) -> tuple[int, int]:
    return 2 << 8, waited << 16 | number


def test_a_sample_belongs_to_what_its_thread_worked_for_while_it_waited(load: Load) -> None:
    trace = Writer()
    trace.unit(unit([function("serve", 0)]))
    trace.event("stack", number=7, functions=[[0, "wait(int)"], [0, ""], [0, "serve()"]])
    thread = trace.thread(1)
    thread.blocked(5, 90)
    thread.raw(0, 90, *stack_record(7, 85))
    thread.begin(1, 100)
    thread.blocked(110, 190)
    thread.raw(0, 190, *stack_record(7, 80))
    thread.raw(0, 190, *stack_record(8, 80))  # no event tells of it
    thread.end(1, 200)
    loaded = load(trace)
    assert loaded.wait_stacks == [("serve", "wait")]
    samples = loaded.wait_samples
    assert (samples.interval.tolist(), samples.stack.tolist(), samples.ns.tolist()) == ([NONE, 0], [0, 0], [85, 80])
    assert not loaded.notes


def test_shares_are_scaled_to_all_time_waited(load: Load) -> None:
    """Of two waits in each interval one was sampled; the intervals differ by their waits alone."""
    trace = Writer()
    trace.unit(unit([function("serve", 0)]))
    trace.event("stack", number=1, functions=[[0, "wait(int)"], [0, "serve()"]])
    thread, t = trace.thread(1), 0
    for i, length in enumerate((100, 200, 300, 400), 1):
        thread.begin(i, t)
        thread.blocked(t + 10, t + 10 + length)
        thread.raw(0, t + 10 + length, *stack_record(1, length))
        thread.blocked(t + 20 + length, t + 20 + 2 * length)
        t += 30 + 2 * length
        thread.end(i, t)
    loaded = load(trace)
    sums = StackSums()
    sums.add(loaded, np.arange(4))
    where = sums.where(loaded.intervals.end - loaded.intervals.begin)
    [wait] = where.waits
    assert (wait.functions, wait.total_ns, wait.samples) == (("serve", "wait"), pytest.approx(2000, rel=0.01), 4)
    assert wait.share == pytest.approx(1.0, rel=0.01)
    assert where.by_function() == {"serve": wait.share, "wait": wait.share}


@pytest.mark.parametrize(
    "symbol, name",
    [
        ("int ns::f<long>(int) const [clone .cold]", "ns::f"),
        ("worker.part.0", "worker"),
        ("(anonymous namespace)::f(int)", "(anonymous namespace)::f"),
        ("void (anonymous namespace)::g<1>()", "(anonymous namespace)::g"),
        ("outer(int)::Local::f()", "outer()::Local::f"),
        ("X::m(int) const::Y::z()", "X::m()::Y::z"),
        ("Class::operator int() const", "Class::operator int"),
        ("Class::operator()(int) const", "Class::operator()"),
        ("bool operator< <int>(A<int> const&, A<int> const&)", "operator<"),
        ("std::ostream& operator<<(std::ostream&, X const&)", "operator<<"),
        ("outer(int)::{lambda(int)#1}::operator()(int) const", "outer"),
        ("std::vector<A<int>, std::allocator<A<int> > >::push_back(A<int>&&)", "std::vector::push_back"),
        ("f(int (*)(int))", "f"),
        ("", ""),
    ],
)
def test_symbols_are_named_as_the_metadata_do(symbol: str, name: str) -> None:
    assert plain_name(symbol) == name
