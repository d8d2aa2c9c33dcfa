"""A drill-down's view: waits for a CPU apart from the functions, tasks in queues too."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from hand import hand_trace, ranking, tree_text
from histories import random_history
from properties import LOT, lots, named

from vprof.drill.cpu_places import CpuPlace, heaviest_place
from vprof.drill.findings import confirm
from vprof.drill.host import Host
from vprof.drill.loop import Drill, DrillOptions
from vprof.path.cpu_view import split_queues
from vprof.path.critical_path import critical_paths
from vprof.path.pieces import Pieces
from vprof.path.queued import while_queued
from vprof.report import text
from vprof.report.drill import finding_json, print_findings
from vprof.report.json import analysis_json
from vprof.report.page.headline import headline
from vprof.tables.kinds import BLOCKED, OFF_CPU, P_QUEUE, P_SCHED, PREEMPTED
from vprof.tables.model import NONE, Trace
from vprof.trace.json_trace import trace_from_dict
from vprof.variance.analysis import Analysis, AnalysisOptions, analyze
from vprof.variance.cpu_share import cpu_share, cpu_share_of
from vprof.variance.statistics import NoBlocks

APART = AnalysisOptions(k=100, min_share=-1e9)
IN = AnalysisOptions(cpu_apart=False, client_apart=False)


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


def test_a_leaf_s_wait_for_nobody_known_is_the_leaf() -> None:
    """It sleeps for 5 or 25 ns."""
    trace = hand_trace(
        {"A": (1, 0, 1, 20), "B": (1, 100, 1, 140)},
        "1 A 0 5 exec\n1 A 5 10 blocked\n1 A 10 20 exec\n1 B 100 105 exec\n1 B 105 130 blocked\n1 B 130 140 exec",
        "1 nanosleep 0 20\n1 nanosleep 100 140",
        heights={"nanosleep": 0, "root": 1},
        root="root",
    )
    assert ranking(analyze(trace, APART)) == {"nanosleep": 100.0}
    # Of what calls others it is not known which of them waited.
    trace.program.height[:] = 1
    assert "[unknown]" in ranking(analyze(trace, APART))


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


def test_where_the_intervals_waited_for_a_cpu_is_said_with_the_thread() -> None:
    """B waits for nobody; A for thread 2, which has no CPU for 400 ns while it has the lock."""
    trace = hand_trace(
        {"A": (1, 0, 1, 440), "B": (1, 1000, 1, 1030)},
        "1 A 0 10 exec\n1 A 10 430 blocked\n1 A 430 440 exec\n1 B 1000 1030 exec\n"
        "2 - 0 20 exec\n2 - 20 420 preempted\n2 - 420 440 exec",
        "1 lock 5 435\n1 lock 1010 1020\n2 hold 0 440",
        wakeups=[[1, 2, 420]],
    )
    assert heaviest_place(analyze(trace, APART)) == CpuPlace(
        ["lock", "[blocked]", "hold", "[preempted]"], pytest.approx(400 / 410), "2"
    )


def test_of_the_intervals_own_waits_for_a_cpu_no_thread_is_said() -> None:
    assert heaviest_place(analyze(busy(300), APART)) == CpuPlace(["work", "[preempted]"], 1.0, "")
    assert heaviest_place(analyze(busy(0), APART)) is None


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


def test_a_task_waits_for_a_cpu_while_another_that_puts_one_in_does_and_has_the_lock() -> None:
    """A is put in at 10 by thread 1, which waits from 12 to 60 for thread 3: it has the queue's lock, and no CPU from
    20 to 50."""
    trace = hand_trace(
        {"A": (1, 5, 2, 120), "B": (3, 5, 3, 130)},
        """1 A 5 12 exec
        1 A 12 60 blocked
        1 A 60 62 exec
        2 - 0 1 exec
        2 - 1 70 blocked
        2 A 70 120 exec
        3 B 5 20 exec
        3 B 20 50 off_cpu
        3 B 50 130 exec""",
        "2 serve 70 120",
        wakeups=[[1, 3, 58], [2, 1, 61]],
        created=[[1, 10, 2, 70]],
    )
    p = split_queues(trace, critical_paths(trace)).pieces
    mine = (p.interval == trace.interval_ids.index("A")) & np.isin(p.kind, (P_QUEUE, P_SCHED))
    assert list(zip(p.kind[mine].tolist(), p.start[mine].tolist(), p.stop[mine].tolist(), strict=True)) == [
        (P_QUEUE, 10, 20),
        (P_SCHED, 20, 50),
        (P_QUEUE, 50, 58),
        (P_SCHED, 58, 60),
        (P_QUEUE, 60, 61),
        (P_SCHED, 61, 70),
    ]


def test_a_convoy_at_the_queue_s_lock_waits_for_a_cpu_while_its_head_does() -> None:
    """A's thread 1 waits until 60 for 3, which waits until 50 for 4: it has the lock, and no CPU from 20 to 40. What
    is without one after 50, or woke thread 2 before the task came, decides nothing."""
    trace = hand_trace(
        {"A": (1, 5, 2, 120), "B": (3, 5, 3, 130)},
        """1 A 5 12 exec
        1 A 12 60 blocked
        1 A 60 62 exec
        2 - 0 1 exec
        2 - 1 9 blocked
        2 - 9 10 exec
        2 - 10 62 blocked
        2 A 62 120 exec
        3 B 5 15 exec
        3 B 15 50 blocked
        3 B 50 130 exec
        4 - 0 20 exec
        4 - 20 40 off_cpu
        4 - 40 52 exec
        4 - 52 130 preempted
        5 - 0 9 exec
        5 - 9 130 off_cpu""",
        "2 serve 62 120",
        wakeups=[[1, 3, 60], [3, 4, 50], [2, 5, 9], [2, 1, 62]],
        created=[[1, 10, 2, 62]],
    )
    p = split_queues(trace, critical_paths(trace)).pieces
    mine = (p.interval == trace.interval_ids.index("A")) & np.isin(p.kind, (P_QUEUE, P_SCHED))
    assert list(zip(p.kind[mine].tolist(), p.start[mine].tolist(), p.stop[mine].tolist(), strict=True)) == [
        (P_QUEUE, 10, 20),
        (P_SCHED, 20, 40),
        (P_QUEUE, 40, 62),
    ]


def test_what_the_worker_did_meanwhile_is_known(queued: Trace) -> None:
    a = queued.interval_ids.index("A")
    [part] = analyze(queued).times.parts
    names = queued.program.functions
    found: Counter[str] = Counter()
    for interval, function, ns in while_queued(part).tolist():
        found[names[function]] += ns * (interval == a)
    assert found == {"serve": 10 + 10, "clean": (50 - 42) + (80 - 65)}


def has_no_cpu(trace: Trace, s: int, t: int) -> bool:
    """Whether the thread of segment s could run then: of a wait, after a wake-up, while nobody else is to blame."""
    seg, wakes = trace.segments, trace.wakeups
    if not seg.ts[s] <= t < seg.te[s]:
        return False
    mine = wakes.segment == s
    to_blame = mine & (wakes.since <= t) & (t < wakes.t)
    woken = bool(np.any(mine & (wakes.t <= t))) and not np.any(to_blame)
    return bool(seg.state[s] in (PREEMPTED, OFF_CPU) or (seg.state[s] == BLOCKED and woken))


def lacks_a_cpu(trace: Trace, p: Pieces, k: int) -> Iterator[int]:
    """The nanoseconds of a queue piece in which somebody who counts had no CPU: one by one, to compare with."""
    seg, wakes = trace.segments, trace.wakeups
    takers = set(trace.created.thread.tolist())
    for t in range(p.start[k], p.stop[k]):
        at = (seg.ts <= t) & (t < seg.te)
        decisive = {int(p.thread[k]), *seg.thread[at & (seg.interval == p.interval[k])].tolist()}
        for_whom = at[wakes.segment] & (wakes.since <= t) & (t < wakes.t)
        while more := set(wakes.waker[for_whom & np.isin(seg.thread[wakes.segment], list(decisive))]) - decisive:
            decisive |= more
        for s in np.flatnonzero(at):
            idle = int(seg.thread[s]) in takers and seg.interval[s] == NONE
            if (idle or int(seg.thread[s]) in decisive) and has_no_cpu(trace, int(s), t):
                yield t


@lots(300)
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


MANY = 40
"""Rounds of `busy` that are enough for shares to have intervals."""


def busy(preempted: int, kind: str = "preempted", always: int = 0, rounds: int = 1) -> Trace:
    """20 requests of 100 ns a round in `work`; the tenth lacks a CPU for so long, in every fifth `rare` takes 60 ns
    more than it takes in all."""
    intervals, segments, calls = {}, [], []
    for i in range(20 * rounds):
        t, extra, lacks = 100000 * i, always + 60 * (i % 5 == 0), preempted * (i % 20 == 9)
        end = t + 100 + extra + lacks
        intervals[str(i)] = (1, t, 1, end)
        segments.append(f"1 {i} {t} {t + 50} exec")
        if lacks:
            segments.append(f"1 {i} {t + 50} {t + 50 + lacks} {kind}")
        segments.append(f"1 {i} {t + 50 + lacks} {end} exec")
        calls.append(f"1 work {t} {end}")
        if extra:
            calls.append(f"1 rare {end - 40 - extra} {end - 40}")
    return hand_trace(intervals, "\n".join(segments), "\n".join(calls), heights={"rare": 0, "work": 1}, root="work")


def test_a_factor_that_is_mostly_waiting_for_a_cpu_says_so_first() -> None:
    analysis = analyze(busy(300), IN)
    latency = np.array([100 + 60 * (i % 5 == 0) + 300 * (i == 9) for i in range(20)])
    lacking = np.where(np.arange(20) == 9, 300, 0)
    waiting = float(((lacking - lacking.mean()) * (latency - latency.mean())).mean() / latency.var())
    assert 0.5 < waiting < 0.99
    part = analysis.leading_cpu
    assert part is not None
    assert part.by_kind == pytest.approx({"[preempted]": waiting})
    first = text.render(analysis).splitlines()[0]
    assert first.startswith(f"[preempted]: {100 * waiting:.0f} of its {100 * waiting:.0f} % of the variance")
    # Of the function that it interrupts, which holds all.
    whole = cpu_share_of(analysis.tree, next(f for f in analysis.ranking if f.name == "work"))
    assert (whole.share, whole.waiting) == pytest.approx((1.0, waiting))
    assert whole.is_most
    assert headline(analysis)["answer"].startswith("[preempted]: ")
    assert analysis_json(analysis)["cpu_wait"]["waiting"] == pytest.approx(waiting)


def test_the_leading_function_of_which_most_is_waiting_for_a_cpu_says_how_much() -> None:
    """Nothing below `work` is a factor of its own: it leads."""
    analysis = analyze(busy(300), AnalysisOptions(k=1, specificity_exp=1, cpu_apart=False))
    leading = next(f for f in analysis.ranking if f.name == "work")
    analysis = replace(analysis, factors=[replace(analysis.factors[0], factor=leading)])
    part = analysis.leading_cpu
    assert part is not None
    first = text.render(analysis, width=300).splitlines()[0]
    assert first.startswith(
        f"work: {100 * part.waiting:.0f} of its 100 % of the variance is waiting for a CPU ([preempted] "
    )


def test_how_much_of_the_variance_is_waiting_for_a_cpu_is_said_from_a_tenth_on() -> None:
    """Of either view, the same number; what holds more stands first."""
    for preempted, first in ((5, ""), (60, "rare"), (300, "cpu")):
        trace = busy(preempted)
        latency = np.array([100 + 60 * (i % 5 == 0) + preempted * (i == 9) for i in range(20)])
        lacking = np.where(np.arange(20) == 9, preempted, 0)
        share = float(((lacking - lacking.mean()) * (latency - latency.mean())).mean() / latency.var())
        assert (share >= 0.1) == (first != "")
        said = f"{100 * share:.1f} % of the variance is waiting for a CPU ([preempted] {100 * share:.0f} %)"
        for options, where in ((APART, "apart from the functions"), (IN, "counted in the functions that waited")):
            analysis = analyze(trace, options)
            found = analysis_json(analysis)["waiting_for_cpu"]
            assert found["share"] == pytest.approx(share)
            assert found["by_kind"] == pytest.approx({"[preempted]": share})
            if options is IN and first == "cpu":
                continue  # then it is the first factor, which says so
            sentence = f"{said}, {where}" if first else ""
            assert text.render(analysis, width=300).splitlines()[0].startswith(sentence or "20 intervals")
            answer = headline(analysis)["answer"]
            assert sentence in answer
            assert answer.startswith(sentence if first == "cpu" else "rare makes latency vary most")
    assert analyze(busy(300), APART).leading_cpu is None


def test_what_is_left_without_waits_for_a_cpu_is_what_the_least_share_is_of() -> None:
    """Nearly all of the variance is one wait for a CPU; of the rest `rare` is all."""
    analysis = analyze(busy(30000))
    assert analysis.explained < 0.001
    assert analysis.factors[0].factor.name == "rare"
    assert analysis.least_share == pytest.approx(0.05 * analysis.explained)
    # Where they are not apart they are part of what varies.
    assert [ranked.factor.name for ranked in analyze(busy(30000), IN).factors if ranked.factor.name == "rare"] == []


@pytest.mark.parametrize(("preempted", "confirmed"), [(300, True), (30000, False)])
def test_what_is_hardly_anything_beside_waits_for_a_cpu_is_shown_and_not_confirmed(
    preempted: int, confirmed: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    """After many of these also constant work varies."""

    def measure(plan: frozenset[str], seconds: float, enough: object = None, compared: bool = False) -> Analysis:
        return analyze(busy(preempted, rounds=MANY), AnalysisOptions(cpu_apart=True))

    drill = Drill(frozenset({"work"}), measure, DrillOptions(), host=lambda: CALM)
    list(drill.steps())
    fresh, findings = confirm(drill)
    first = findings[0]
    assert (first.factor.name, first.confirmed, first.is_small) == ("rare", confirmed, not confirmed)
    rows = [finding_json(finding, fresh.explained) for finding in findings]
    assert rows[0]["share_of_rest"] == pytest.approx(1.0)
    print_findings({"findings": rows, "cpu_wait": cpu_share(fresh.tree)})
    said = capsys.readouterr().out
    assert "100% of the rest" in said
    assert ("may be an after-effect" in said) == (not confirmed)


CALM = Host(mean_ns=200_000, spread=0.15)
LITTLE = 300
"""60 ns more in every fifth request are little if `rare` takes 300 ns in each, and 75 % of the execution."""
NEARLY_ALL = 3000


@pytest.mark.parametrize(
    ("preempted", "events", "always", "confirmed"),
    [
        (300, 0, 0, True),
        (300, 0, LITTLE, False),
        (0, 61, 0, True),
        (0, 61, LITTLE, False),
        (0, 0, LITTLE, True),
        (0, 0, NEARLY_ALL, False),
    ],
)
def test_what_varies_as_constant_work_does_beside_others_is_shown_and_not_confirmed(
    preempted: int, events: int, always: int, confirmed: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where waits for a CPU make up half of the variance, or a few intervals do, as where a host takes the CPU; and
    where a function has as much of the variance as of the execution."""

    def measure(plan: frozenset[str], seconds: float, enough: object = None, compared: bool = False) -> Analysis:
        analysis = analyze(busy(preempted, always=always, rounds=MANY), AnalysisOptions(cpu_apart=True))
        slow = 5 * np.arange(events)
        return replace(analysis, blocks=NoBlocks("61 hold half", slow)) if events else analysis

    drill = Drill(frozenset({"work"}), measure, DrillOptions(), host=lambda: CALM)
    list(drill.steps())
    fresh, findings = confirm(drill)
    first = findings[0]
    assert (first.factor.name, first.confirmed, first.is_steady) == ("rare", confirmed, not confirmed)
    assert (sum(cpu_share(fresh.tree).values()) > 0.5) == bool(preempted)
    print_findings({"findings": [finding_json(first, fresh.explained)], "cpu_wait": cpu_share(fresh.tree)})
    assert ("of its mean, as constant work does on a shared machine" in capsys.readouterr().out) == (not confirmed)


@pytest.mark.parametrize(
    ("host", "confirmed"),
    [(CALM, True), (Host(12, 1.3), True), (Host(12, 1.4), False), (Host(48, 0.6), True), (Host(48, 0.7), False)],
)
def test_what_varies_as_constant_work_was_measured_to_here_is_shown_and_not_confirmed(
    host: Host, confirmed: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    """`rare` takes 12 ns on average, and varies by twice that. A host that takes the CPU away at random moments lets
    work that is a quarter as long vary by twice as much of its mean."""

    def measure(plan: frozenset[str], seconds: float, enough: object = None, compared: bool = False) -> Analysis:
        return analyze(busy(300, rounds=MANY), AnalysisOptions(cpu_apart=True))

    drill = Drill(frozenset({"work"}), measure, DrillOptions(), host=lambda: host)
    list(drill.steps())
    fresh, findings = confirm(drill)
    first = findings[0]
    assert (first.factor.name, first.confirmed, first.is_steady) == ("rare", confirmed, not confirmed)
    assert first.spread == pytest.approx(2, abs=0.02)
    print_findings({"findings": [finding_json(first, fresh.explained)]})
    assert ("of its mean, as constant work does here (1" in capsys.readouterr().out) == (not confirmed)
