"""Threads that intervals waited for while nothing of theirs was on."""

from dataclasses import replace

import numpy as np
import pytest
from hand import hand_trace

from vprof.report import text
from vprof.tables.model import Trace
from vprof.variance.analysis import Analysis, AnalysisOptions, analyze
from vprof.variance.hints import missing


def checkpointed(calls: str = "", graph: list[list[int]] | None = None) -> Trace:
    """A and B wait for thread 2, for 10 and 50 ns; it sleeps meanwhile for 5 and 40 of them, and works for the rest."""
    trace = hand_trace(
        {"A": (1, 0, 1, 30), "B": (1, 100, 1, 170)},
        """1 A 0 10 exec
        1 A 10 20 blocked
        1 A 20 30 exec
        1 B 100 110 exec
        1 B 110 160 blocked
        1 B 160 170 exec
        2 - 0 12 exec
        2 - 12 17 blocked
        2 - 17 112 exec
        2 - 112 152 blocked
        2 - 152 180 exec""",
        f"1 lock 5 25\n1 lock 105 165\n{calls}",
        wakeups=[[1, 2, 20], [1, 2, 160]],
    )
    return trace if graph is None else replace(trace, program=replace(trace.program, call_graph=graph))


def test_the_thread_is_named_with_its_share_of_the_variance() -> None:
    [waker] = analyze(checkpointed()).wakers
    # Latencies 30 and 70, in the thread 10 and 50 ns: all of the variance.
    assert (waker.thread, waker.total_ns) == ("2", 60)
    assert waker.share == pytest.approx(1.0)
    assert (waker.seen, waker.released_in, waker.released_after, waker.entry) == ([], "", "", "")


def test_what_it_spent_in_functions_that_were_on_is_not_counted() -> None:
    """`write` holds 8 of A's 10 ns and all of B's but 6."""
    [waker] = analyze(checkpointed("2 write 11 19\n2 write 100 154\n2 note 156 158")).wakers
    assert waker.total_ns == 2 + 4
    assert waker.share == pytest.approx((4 - 2) / (70 - 30))
    assert waker.seen == ["note", "write"]
    # Nothing was on at 20 and 160: these are the last that it had left.
    assert (waker.released_in, waker.released_after) == ("", "note")


def test_where_it_ended_the_waits_is_known_if_that_was_on() -> None:
    [waker] = analyze(checkpointed("2 write 105 154\n2 unlock 158 162")).wakers
    assert (waker.released_in, waker.released_after) == ("unlock", "")


def test_its_entry_is_the_only_uncalled_function_that_leads_to_all_it_ran() -> None:
    calls = "2 write 11 19\n2 note 156 158"
    names = checkpointed(calls).program.functions
    lock, write, note = (names.index(name) for name in ("lock", "write", "note"))
    # Two more functions, of which nothing was seen: one leads to both, the other to one of them.
    graph: list[list[int]] = [[] for _ in range(5)]
    graph[3], graph[4] = [write, note], [note, lock]
    trace = checkpointed(calls, graph)
    program = replace(
        trace.program, functions=[*names, "loop", "serve"], definitions=[""] * 5, complete=np.ones(5, np.bool_)
    )
    [waker] = analyze(replace(trace, program=program)).wakers
    assert waker.entry == "loop"
    graph[4].append(write)
    [waker] = analyze(replace(trace, program=replace(program, call_graph=graph))).wakers
    assert waker.entry == ""


def said(analysis: Analysis) -> str:
    return " ".join(text.render(analysis, width=400).split())


def test_a_report_says_whom_and_blames_no_descriptor() -> None:
    report = said(analyze(checkpointed("2 note 156 158")))
    # 10 ns of A's wait, 48 of B's.
    assert (
        "thread 2 was waited for outside functions that were on (95% of the variance): ended the waits after note"
        in (report)
    )
    assert "the descriptor lacks" not in report


def test_a_wait_of_the_interval_itself_that_nobody_ended_is_still_a_primitive_that_is_missing() -> None:
    trace = hand_trace(
        {"A": (1, 0, 1, 30), "B": (1, 100, 1, 170)},
        "1 A 0 10 exec\n1 A 10 20 blocked\n1 A 20 30 exec\n1 B 100 110 exec\n1 B 110 160 blocked\n1 B 160 170 exec",
        "1 lock 5 25\n1 lock 105 165",
    )
    analysis = analyze(trace)
    assert analysis.wakers == []
    [sentence] = missing(analysis)
    assert sentence.startswith("nobody is known to have ended waits in lock: I/O, a timeout, or a primitive")


def test_waits_for_a_cpu_are_nobody_s_work() -> None:
    trace = hand_trace(
        {"A": (1, 0, 1, 30), "B": (1, 100, 1, 170)},
        """1 A 0 10 exec\n1 A 10 20 blocked\n1 A 20 30 exec
        1 B 100 110 exec\n1 B 110 160 blocked\n1 B 160 170 exec
        2 - 0 112 exec\n2 - 112 152 preempted\n2 - 152 180 exec""",
        wakeups=[[1, 2, 20], [1, 2, 160]],
    )
    [waker] = analyze(trace, AnalysisOptions(cpu_apart=True)).wakers
    assert waker.total_ns == 10 + 10
    assert waker.share == pytest.approx(0.0)


def test_what_the_thread_itself_did_for_others_is_waited_for_like_another_thread() -> None:
    """An event loop of which only `serve` is on: a drill-down learns that this thread does more."""
    trace = hand_trace(
        {"A": (1, 0, 1, 40), "B": (1, 100, 1, 190)},
        """1 A 0 10 exec\n1 - 10 30 exec\n1 A 30 40 exec
        1 B 100 110 exec\n1 - 110 170 exec\n1 - 170 180 idle\n1 B 180 190 exec\n2 - 0 1 blocked""",
        "1 serve 0 10\n1 serve 30 40\n1 serve 100 110\n1 serve 180 190",
    )
    [waker] = analyze(trace).wakers
    assert waker.thread == "1"
    assert waker.total_ns == 20 + 60
    # Variances 20 and 40 more than the smaller latency: the client's time has the rest.
    assert waker.share == pytest.approx(0.8)
