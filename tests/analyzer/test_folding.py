"""Waits for somebody who waits for somebody ..., as the report for the terminal shows them."""

import pytest
from hand import hand_trace

from vprof.report.names import told_apart
from vprof.report.text import render
from vprof.variance.analysis import Analysis, AnalysisOptions, analyze

STEP = 20


def convoy(threads: int, waits_in: str = "lock", aside: int = 0) -> Analysis:
    """Intervals of thread 1, which waits in `lock` for thread 2, as that does for thread 3 ...; the last one works for
    60, 100 or 300. Before thread 2 waits, it is in `aside` for so long. `waits_in`: the function of the second one."""
    intervals, segments, calls, wakeups = {}, [], [], []
    now = 0
    for i, work in enumerate((60, 100, 300)):
        busy = aside * i
        end = now + STEP * (2 * threads) + work + busy
        intervals[f"i{i}"] = (1, now, 1, end)
        for k in range(1, threads + 1):
            sid = f"i{i}" if k == 1 else "-"
            calls.append(f"{k} serve {now} {end}")
            if k == threads:
                segments.append(f"{k} {sid} {now} {end} exec")
                calls.append(f"{k} work {now + 1} {end - STEP * threads}")
                continue
            waits, woken = now + 5 + (busy if k == 2 else 0), end - STEP * k
            segments += [f"{k} {sid} {now} {waits} exec", f"{k} {sid} {waits} {woken} blocked"]
            segments.append(f"{k} {sid} {woken} {end} exec")
            calls.append(f"{k} {waits_in if k == 2 else 'lock'} {waits} {woken + 2}")
            wakeups.append([k, k + 1, woken])
            if busy and k == 2:
                calls.append(f"2 aside {now + 5} {waits - 1}")
        now = end + 10
    heights = {"serve": 9, "lock": 1, "work": 0, "aside": 0, waits_in: 1}
    trace = hand_trace(intervals, "\n".join(segments), "\n".join(calls), wakeups, heights=heights, root="serve")
    return analyze(trace, AnalysisOptions(k=5))


def tree(analysis: Analysis) -> list[str]:
    text = render(analysis).partition("Variance tree")[2].partition("Factors")[0]
    return [line.split("   ")[0] if not line.startswith(" ") else line.rstrip() for line in text.splitlines()]


def test_waits_of_one_function_in_each_other_are_a_chain_and_who_works_is_below_it() -> None:
    lines = "\n".join(tree(convoy(5)))
    assert "[blocked], chain of 4" in lines
    assert lines.count("[blocked]") == 1
    assert "work" in lines.partition("chain of 4")[2]
    assert "waits for others who wait, 4 deep (a chain: the same wait, again and again)" in lines
    assert "--own looks into no wait; --path slowest shows what one interval waited for" in lines


@pytest.mark.parametrize("analysis", [convoy(3), convoy(4, waits_in="flush")], ids=["two", "of two functions"])
def test_other_waits_stay_as_they_are(analysis: Analysis) -> None:
    lines = "\n".join(tree(analysis))
    assert "chain of" not in lines
    assert lines.count("[blocked]") >= 2


def test_what_branches_off_within_a_chain_stays_visible() -> None:
    assert "aside" in "\n".join(tree(convoy(5, aside=40)))


def test_names_that_would_look_alike_begin_where_they_differ() -> None:
    long = "std::vector<{}, std::allocator<int>>::push_back_with_a_long_name"
    texts = ["  " + long.format(kind) for kind in ("First", "Second")]
    shown = told_apart([*texts, "  other"], 30)
    assert shown[2] == "  other"
    assert shown[0][:30] != shown[1][:30]
    assert all(text.startswith("  …") for text in shown[:2])
    assert told_apart(["a::b", "a::b"], 2) == ["…::b", "…::b"]


def test_a_row_has_room_for_a_name_however_deep_it_is() -> None:
    """Each function calls the next one, and each takes a time of its own."""
    depth = 60
    intervals, segments, calls, now = {}, [], [], 0
    for i in range(3):
        end = now + 1000 * (i + 1)
        intervals[f"i{i}"] = (1, now, 1, end)
        segments.append(f"1 i{i} {now} {end} exec")
        calls += [f"1 level{k} {now + 9 * (i + 1) * k // 2} {end - 9 * (i + 1) * k // 2}" for k in range(depth)]
        now = end + 10
    heights = {f"level{k}": depth - k for k in range(depth)}
    trace = hand_trace(intervals, "\n".join(segments), "\n".join(calls), heights=heights, root="level0")
    rows = tree(analyze(trace, AnalysisOptions(k=5, top=1000)))
    named = [row.split()[0] for row in rows if "level" in row]
    assert len(named) > 10
    assert all(name.startswith(("level", "body(level")) for name in named)
