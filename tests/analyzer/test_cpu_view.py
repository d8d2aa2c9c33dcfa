"""A drill-down's view: waits for a CPU apart from the functions, tasks in queues too."""

from collections import Counter
from collections.abc import Iterator

import numpy as np
import pytest
from hand import hand_trace, ranking, tree_text
from histories import random_history
from seeds import LOT, named

from vprof.analysis import AnalysisOptions, analyze
from vprof.cpu_view import cpu_share, split_queues
from vprof.critical_path import P_QUEUE, P_SCHED, Pieces, critical_paths
from vprof.json_trace import trace_from_dict
from vprof.model import BLOCKED, NONE, OFF_CPU, PREEMPTED, Trace
from vprof.queued import while_queued

APART = AnalysisOptions(k=100, min_share=-1e9, cpu_apart=True)


def test_a_function_that_only_lacks_a_cpu_does_not_vary() -> None:
    """A and B both work 10 ns in f and 10 or 30 ns in g; A is preempted in f for 50 ns."""
    trace = hand_trace(
        {"A": (1, 0, 1, 70), "B": (1, 100, 1, 140)},
        "1 A 0 5 exec\n1 A 5 55 preempted\n1 A 55 70 exec\n1 B 100 140 exec",
        "1 f 0 60\n1 g 60 70\n1 f 100 110\n1 g 110 140",
    )
    analysis = analyze(trace, APART)
    assert tree_text(analysis) == ["<interval> 55", "  [preempted] 25", "  f 10", "  g 20"]
    assert ranking(analysis) == {"g": 100.0}
    # Var(L) is 15^2; Cov([preempted], L) = 25 * 15.
    assert cpu_share(analysis.tree) == pytest.approx({"[preempted]": 25 / 15})


def test_a_leaf_that_also_waits_is_one_factor() -> None:
    """f is blocked for 5 ns of its 20 or 40; that and its own time are no two causes."""
    trace = hand_trace(
        {"A": (1, 0, 1, 20), "B": (1, 100, 1, 140)},
        "1 A 0 5 exec\n1 A 5 10 blocked\n1 A 10 20 exec\n1 B 100 105 exec\n1 B 105 110 blocked\n1 B 110 140 exec",
        "1 f 0 20\n1 f 100 140",
        heights={"f": 0, "root": 1},
        root="root",
    )
    assert ranking(analyze(trace, APART)) == {"f": 100.0}


def test_a_waker_that_lacked_a_cpu_makes_nobody_s_function_vary() -> None:
    """A waits for thread 2, which works 10 ns and is off the CPU for 40; awake at 60, A runs at 70."""
    trace = hand_trace(
        {"A": (1, 0, 1, 80)},
        "1 A 0 10 exec\n1 A 10 70 blocked\n1 A 70 80 exec\n2 - 0 20 exec\n2 - 20 60 preempted\n2 - 60 80 exec",
        "1 lock 5 75\n2 hold 0 80",
        wakeups=[[1, 2, 60]],
    )
    assert tree_text(analyze(trace, APART)) == [
        "<interval> 80",
        "  [preempted] 40",
        "  [sched] 10",
        "  lock 20",
        "    [blocked] 10",
        "      hold 10",
        "    body(lock) 10",
        "  body(<interval>) 10",
    ]


@pytest.fixture
def queued() -> Trace:
    """A's task lies in the queue from 10 to 100. Thread 2, which takes it, works for B until 40, and has no CPU from 20
    to 30. Thread 3, another worker, is woken at 50 and runs at 65 to find nothing."""
    return hand_trace(
        {"B": (4, 0, 2, 40), "A": (1, 5, 2, 120)},
        """1 A 5 11 exec
        2 - 0 1 exec
        2 B 1 20 exec
        2 B 20 30 preempted
        2 B 30 40 exec
        2 - 40 100 exec
        2 A 100 120 exec
        3 - 0 65 blocked
        3 - 65 70 exec
        4 B 0 1 exec""",
        "2 serve 1 40\n2 clean 42 80\n2 serve 100 120",
        wakeups=[[3, 1, 50]],
        created=[[4, 1, 2, 1], [4, 1, 3, 70], [1, 10, 2, 100]],
    )


def test_a_task_waits_for_a_cpu_while_its_worker_or_an_idle_one_does(queued: Trace) -> None:
    p = split_queues(queued, critical_paths(queued)).pieces
    mine = p.interval == queued.interval_ids.index("A")
    parts = zip(p.kind[mine].tolist(), p.start[mine].tolist(), p.stop[mine].tolist(), strict=True)
    assert [part for part in parts if part[0] in (P_QUEUE, P_SCHED)] == [
        (P_QUEUE, 10, 20),
        (P_SCHED, 20, 30),
        (P_QUEUE, 30, 50),
        (P_SCHED, 50, 65),
        (P_QUEUE, 65, 100),
    ]


def test_what_the_worker_did_meanwhile_is_known(queued: Trace) -> None:
    a = queued.interval_ids.index("A")
    [part] = analyze(queued).times.parts
    names = queued.program.functions
    found: Counter[str] = Counter()
    for interval, function, ns in while_queued(part).tolist():
        found[names[function]] += ns * (interval == a)
    assert found == {"serve": 10 + 10, "clean": (50 - 42) + (80 - 65)}


def lacks_a_cpu(trace: Trace, p: Pieces, k: int) -> Iterator[int]:
    """The nanoseconds of a queue piece in which somebody who counts had no CPU: one by one, to compare with."""
    seg, wakes = trace.segments, trace.wakeups
    takers = set(trace.created.thread.tolist())
    start, stop = int(p.start[k]), int(p.stop[k])
    woke = {
        int(waker)
        for segment, t, waker in zip(wakes.segment, wakes.t, wakes.waker, strict=True)
        if seg.thread[segment] == p.thread[k] and start <= t <= stop
    }
    for s in range(len(seg.ts)):
        last = wakes.t[wakes.segment == s].max(initial=int(seg.ts[s])) if s in wakes.segment else seg.te[s]
        since = {BLOCKED: int(last), PREEMPTED: int(seg.ts[s]), OFF_CPU: int(seg.ts[s])}.get(int(seg.state[s]))
        idle = int(seg.thread[s]) in takers and seg.interval[s] == NONE
        whose = idle or seg.thread[s] in {int(p.thread[k]), *woke} or seg.interval[s] == p.interval[k]
        if since is not None and whose:
            yield from range(max(since, start), min(int(seg.te[s]), stop))


@pytest.mark.parametrize("first", range(0, 300, LOT))
def test_random_histories_are_split_as_they_are_nanosecond_by_nanosecond(first: int) -> None:
    split = 0
    for seed in range(first, first + LOT):
        with named(seed):
            trace = trace_from_dict(random_history(seed))
            paths = critical_paths(trace)
            before, after = paths.pieces, split_queues(trace, paths).pieces
            for k in np.flatnonzero(before.kind == P_QUEUE):
                expected = set(lacks_a_cpu(trace, before, int(k)))
                inside = (after.interval == before.interval[k]) & (after.wait == NONE)
                inside &= (after.start >= before.start[k]) & (after.stop <= before.stop[k])
                waits = np.flatnonzero(inside & (after.kind == P_SCHED))
                found = {t for j in waits for t in range(after.start[j], after.stop[j])}
                assert found == expected
                assert (after.stop - after.start)[inside].sum() == before.stop[k] - before.start[k]
                split += bool(found)
            # The tree asserts that it adds up.
            analyze(trace, APART)
    assert split > LOT / 10
