"""One small trace per rule of docs/algorithms.md section 3 that tests/cases does not show."""

import hand
from hand import EVERYTHING, IN, hand_trace, tree_text

from vprof.path.stacks import MAX_DEPTH
from vprof.tables.model import Trace
from vprof.variance.analysis import analyze

ONE = {"A": (1, 0, 1, 100)}
WAIT = "1 A 0 10 exec\n1 A 10 60 blocked\n1 A 60 100 exec\n2 - 0 99 exec"


def times(trace: Trace) -> list[str]:
    return tree_text(analyze(trace, IN))


def test_direct_recursion_nests_in_the_tree_and_counts_once_in_times() -> None:
    trace = hand_trace(ONE, "1 A 0 100 exec", "1 f 0 100\n1 f@f:1 20 80\n1 g@f:2 30 50")
    analysis = analyze(trace, EVERYTHING)
    assert tree_text(analysis) == [
        "<interval> 100",
        "  f 100",
        "    f@f:1 60",
        "      g@f:2 20",
        "      body(f) 40",
        "    body(f) 40",
    ]
    assert analysis.per_interval["A"].path_times == {"f": 100, "g": 20}


def test_recursion_is_one_factor_at_its_outermost_place() -> None:
    """f takes 10 and 30; within it f takes 5 and 15: Var(f) is that of the outer call, 100."""
    trace = hand_trace(
        {"A": (1, 0, 1, 10), "B": (1, 20, 1, 50)},
        "1 A 0 10 exec\n1 B 20 50 exec",
        "1 f 0 10\n1 f@f:1 0 5\n1 f 20 50\n1 f@f:1 20 35",
        heights={"f": 0, "main": 1},
        root="main",
    )
    assert hand.ranking(analyze(trace, IN)) == {"f": 100.0, "body(f)": 25.0}


def test_recursion_across_a_wait_is_one_factor_too() -> None:
    """f waits for another thread that is in f as well: the waker's f is below ours."""
    trace = hand_trace(
        {"A": (1, 0, 1, 40), "B": (1, 100, 1, 120)},
        "1 A 0 10 exec\n1 A 10 30 blocked\n1 A 30 40 exec\n1 B 100 120 exec\n2 - 0 99 exec",
        "1 f 0 40\n1 f 100 120\n2 f 0 99",
        wakeups=[[1, 2, 30]],
        heights={"f": 0, "main": 1},
        root="main",
    )
    analysis = analyze(trace, EVERYTHING)
    assert tree_text(analysis)[1:4] == ["  f 30", "    [blocked] 10", "      f 10"]
    assert hand.ranking(analysis) == {"f": 100.0}
    assert analysis.per_interval["A"].path_times == {"f": 40}


def test_a_wait_hangs_below_the_frame_that_waits() -> None:
    trace = hand_trace(ONE, WAIT, "1 txn 0 100\n1 lock 8 60\n2 hold 0 99\n2 io 20 50", wakeups=[[1, 2, 55]])
    assert times(trace) == [
        "<interval> 100",
        "  txn 100",
        "    lock 52",
        "      [blocked] 50",
        "        [sched] 5",
        "        hold 45",
        "          io 30",
        "          body(hold) 15",
        "      body(lock) 2",
        "    body(txn) 48",
    ]


def test_an_unmeasured_waker_is_part_of_the_tree_but_no_factor() -> None:
    """Thread 2 has no instrumented frame; how long we wait for it varies, and that is lock's variance."""
    segments = "1 A 0 20 blocked\n1 B 100 160 blocked\n2 - 0 199 exec"
    trace = hand_trace(
        {"A": (1, 0, 1, 20), "B": (1, 100, 1, 160)},
        segments,
        "1 lock 0 20\n1 lock 100 160",
        wakeups=[[1, 2, 18], [1, 2, 150]],
        heights={"lock": 0, "main": 1},
        root="main",
    )
    analysis = analyze(trace, IN)
    lines = ["<interval> 40", "  lock 40", "    [blocked] 40", "      [sched] 6", "      [waker] 34"]
    assert tree_text(analysis) == lines
    assert hand.ranking(analysis) == {"lock": 400.0, "[sched]": 16.0}


def test_an_unexplained_wait_is_unknown_below_blocked() -> None:
    trace = hand_trace(ONE, WAIT, "1 lock 8 60")
    assert times(trace)[1:5] == ["  lock 52", "    [blocked] 50", "      [unknown] 50", "    body(lock) 2"]


def test_a_queue_hangs_below_frames_open_across_it_only() -> None:
    """`worker` spans the queue time, `handle` starts after it."""
    segments = "2 A 0 20 exec\n1 B 0 30 exec\n1 A 50 100 exec"
    calls = "1 worker 0 200\n1 handle@worker:9 50 100\n2 recv 0 20"
    trace = hand_trace({"A": (2, 0, 1, 100)}, segments, calls, created=[[2, 20, 1, 50]])
    lines = ["<interval> 100", "  recv 20", "  worker 80", "    [queue] 30", "    handle@worker:9 50"]
    assert times(trace) == lines


def test_a_gap_without_a_spanning_frame_hangs_at_the_root() -> None:
    trace = hand_trace(ONE, "1 A 0 30 exec\n1 B 30 60 exec\n1 A 60 100 exec", "1 f 0 30\n1 g 60 100")
    assert times(trace) == ["<interval> 100", "  [gap] 30", "  f 30", "  g 40"]


def test_other_work_hangs_below_busy_without_the_frames_that_span_it() -> None:
    """`loop` spans the wait for thread 1, which serves B meanwhile and waits for thread 2 in it; then nobody works."""
    segments = """1 A 0 30 exec\n1 B 30 40 exec\n1 B 40 50 blocked\n1 B 50 55 exec\n1 - 55 60 idle\n1 A 60 100 exec
    2 - 0 100 exec"""
    calls = "1 loop 0 100\n1 serve@loop:9 0 30\n1 serve@loop:9 32 55\n1 serve@loop:9 60 100\n2 flush 0 100"
    trace = hand_trace(ONE, segments, calls, wakeups=[[1, 2, 50]])
    busy = ["    [busy] 25", "      serve@loop:9 23", "        [blocked] 10", "          flush 10"]
    rest = ["        body(serve) 13", "      body([busy]) 2"]
    assert sorted(times(trace)) == sorted(
        ["<interval> 100", "  loop 100", "    [gap] 5", "    serve@loop:9 70", *busy, *rest]
    )


def test_a_creator_outside_the_interval_hangs_where_the_queue_does() -> None:
    trace = hand_trace(ONE, "1 A 0 20 exec\n2 B 0 70 exec\n1 A 80 100 exec", "2 busy 0 70", created=[[2, 60, 1, 80]])
    assert times(trace) == [
        "<interval> 100",
        "  [blocked] 40",
        "    busy 40",
        "  [queue] 20",
        "  body(<interval>) 40",
    ]


def test_the_same_function_from_two_sites_is_two_nodes() -> None:
    trace = hand_trace(ONE, "1 A 0 100 exec", "1 p 0 100\n1 f@p:1 0 40\n1 f@p:2 40 100")
    assert times(trace)[2:] == ["    f@p:1 40", "    f@p:2 60"]


def test_equal_times_nest_by_call_site() -> None:
    """Listed callee first; the site says that g lies in f."""
    trace = hand_trace(ONE, "1 A 0 100 exec", "1 g@f:1 0 100\n1 f 0 100")
    assert times(trace)[1:] == ["  f 100", "    g@f:1 100"]


def test_runaway_recursion_folds_at_the_depth_limit() -> None:
    calls = "\n".join(f"1 f@f:1 {k} {2000 - k}" for k in range(900))
    analysis = analyze(hand_trace({"A": (1, 0, 1, 2000)}, "1 A 0 2000 exec", calls))
    assert max(len(line) - len(line.lstrip()) for line in tree_text(analysis)) <= 2 * (MAX_DEPTH + 1)
    assert analysis.warnings == ["the tree is folded at 200 levels: deeper calls and waits count for the level there"]
