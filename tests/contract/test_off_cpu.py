"""OFF_CPU records: where in a thread's time they lie, and what they become."""

import pytest
from tuples import Load, Tuples
from writer import Writer

from vprof.variance.analysis import AnalysisOptions, analyze

PREEMPTED, BLOCKED, FAULT, READ, STORAGE, FOR_WOKEN, SLEEP, MEMORY = 1, 2, 4, 8, 16, 32, 64, 128


@pytest.mark.parametrize(
    ("bits", "state"),
    [
        (PREEMPTED, "preempted"),
        (BLOCKED, "blocked"),
        (BLOCKED | FAULT, "fault"),
        (BLOCKED | FAULT | READ, "fault"),
        (BLOCKED | READ, "disk"),
        (BLOCKED | STORAGE, "disk"),
        (PREEMPTED | BLOCKED | STORAGE, "off_cpu"),
        (PREEMPTED | FAULT, "preempted"),
        (PREEMPTED | BLOCKED, "off_cpu"),
        (BLOCKED | FOR_WOKEN, "off_cpu"),
        (BLOCKED | SLEEP, "sleep"),
        (PREEMPTED | BLOCKED | SLEEP, "off_cpu"),
        (PREEMPTED | FOR_WOKEN, "preempted"),
        (BLOCKED | MEMORY, "memory"),
        (BLOCKED | MEMORY | FAULT, "fault"),
        (BLOCKED | MEMORY | READ, "disk"),
        (PREEMPTED | BLOCKED | MEMORY, "off_cpu"),
    ],
)
def test_a_piece_lies_directly_before_the_event_that_noticed_it(load: Load, bits: int, state: str) -> None:
    trace = Writer()
    thread = trace.thread(1, ticks=0)
    thread.begin(5, 100)
    thread.off_cpu(400, 200, bits)
    thread.end(5, 401)
    segments = [row for row in Tuples(load(trace)).segments() if row[1] == "5"]
    assert segments == [(0, "5", 100, 200, "exec"), (0, "5", 200, 400, state), (0, "5", 400, 401, "exec")]


def test_it_is_cut_at_the_event_before_also_at_a_calls_entry(load: Load) -> None:
    trace = Writer()
    thread = trace.thread(1, ticks=0)
    thread.begin(5, 100)
    thread.off_cpu(200, 500, PREEMPTED)
    thread.invocation(1, 250, 290, depth=1)
    thread.off_cpu(300, 500, PREEMPTED)
    thread.invocation(2, 201, 301)
    thread.end(5, 401)
    loaded = load(trace)
    off = [row[2:4] for row in Tuples(loaded).segments() if row[4] == "preempted"]
    assert off == [(100, 200), (290, 300)]
    assert "time off the CPU between records too close for it, left out: 0.00089 ms" in loaded.notes


def test_a_wait_explains_all_time_off_the_cpu_in_it(load: Load) -> None:
    trace = Writer()
    thread = trace.thread(1, ticks=0)
    thread.begin(5, 100)
    thread.off_cpu(250, 100, PREEMPTED)
    thread.blocked(200, 300, peer=2, woke=290)
    thread.off_cpu(400, 60, BLOCKED)
    thread.end(5, 450)
    trace.thread(2, ticks=0).on_behalf(0, 450)
    loaded = load(trace)
    segments = [row[2:] for row in Tuples(loaded).segments() if row[1] == "5"]
    assert segments == [
        (100, 150, "exec"),
        (150, 200, "preempted"),
        (200, 300, "blocked"),
        (300, 340, "exec"),
        (340, 400, "blocked"),
        (400, 450, "exec"),
    ]
    assert len(Tuples(loaded).wakeups()) == 1, "none for the second wait"


def test_each_kind_is_a_node_below_the_function_it_interrupts(load: Load) -> None:
    trace = Writer()
    thread = trace.thread(1, ticks=0)
    thread.begin(5, 100)
    now = 200
    for bits in (PREEMPTED, BLOCKED, BLOCKED | FAULT, BLOCKED | READ, PREEMPTED | BLOCKED):
        thread.off_cpu(now + 90, 80, bits)
        thread.invocation(1, now, now + 91)
        now += 100
    thread.end(5, now)
    tree = analyze(load(trace), AnalysisOptions(cpu_apart=False)).tree
    names, [site] = tree.paths.name, [x for x, name in enumerate(tree.paths.name) if name == "site 1"]
    below = {names[x]: int(tree.mean_ns[x]) for x in tree.children[site]}
    assert below.pop("rest(site 1)", None) or below.pop("body(site 1)") == 5 * 11
    assert below == {"[preempted]": 80, "[blocked]": 80, "[fault]": 80, "[disk]": 80, "[off cpu]": 80}


def test_threads_of_which_it_is_not_known_are_counted(load: Load) -> None:
    trace = Writer()
    trace.event("thread", uid=1, pid=100, tid=101, name="a", ticks=0, off_cpu="rseq")
    trace.event("thread", uid=2, pid=100, tid=102, name="b", ticks=0, off_cpu="unknown")
    thread = trace.thread(1)
    thread.begin(5, 100)
    thread.end(5, 200)
    expected = "when threads were off the CPU is not known of 1 of 2: it counts as execution"
    assert expected in load(trace).notes


def test_what_was_lost_meanwhile_leaves_room_for_it(load: Load) -> None:
    trace = Writer()
    thread = trace.thread(1, ticks=0)
    thread.on_behalf(0, 100)
    thread.lost(150, 400, 3)
    thread.off_cpu(401, 200, PREEMPTED)
    thread.on_behalf(0, 500)
    off = [row[2:4] for row in Tuples(load(trace)).segments() if row[4] == "preempted"]
    assert off == [(201, 401)]
