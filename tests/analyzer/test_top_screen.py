"""What `vprof top` shows of a view, and what its keys mean there: without a terminal or a session."""

from __future__ import annotations

import math
import re
from typing import Any

import pytest
from live_view import document, factor, node, view
from rich.text import Text

from vprof.top.drawing import draw, summary_line
from vprof.top.orders import OpenPath, Pause, Switch
from vprof.top.screen import Screen
from vprof.top.view import Sample, function_of, rows_of


def screen(**changed: Any) -> Screen:
    made = Screen()
    made.take(view(**changed))
    return made


def lines(text: Text) -> list[str]:
    return text.plain.split("\n")


def test_rows_are_factors_in_their_order_and_then_what_has_nothing_below() -> None:
    rows = rows_of(document())
    assert [(row.name, row.is_factor) for row in rows] == [
        ("flush", True),
        ("flush | serve", True),
        ("serve", True),
        ("[preempted]", False),
        ("body(serve)", False),
        ("tiny", False),
    ]
    flush, pair, serve = rows[:3]
    assert (flush.share, flush.tail, flush.mean) == pytest.approx((0.55, 0.4, 0.3))
    assert pair.share == 0.12 and math.isnan(pair.tail) and math.isnan(pair.mean)
    assert (serve.tail, serve.mean) == (0.5, 0.9), "a call of itself is counted in the outermost"


def test_a_share_that_is_not_defined_is_a_dash() -> None:
    tree = node("<interval>", None, 1.0, 1.0, node("f", None, 1.0, 1.0))
    shown = screen(document=document(tree=tree, factors=[], no_ranking="all 3 intervals took the same time"))
    shown.sort_by("mean")
    assert any(re.search(r" -  100\.0 %  100\.0 % >f", line) for line in lines(draw(shown, 80, 24)))


@pytest.mark.parametrize(
    ("name", "function"),
    [("f", "f"), ("body(f)", "f"), ("rest(f (g.c:1))", "f"), ("[blocked]", ""), ("body(<interval>)", "")],
)
def test_the_function_of_a_row(name: str, function: str) -> None:
    assert function_of(name) == function


def test_sorted_by_variance_tail_or_mean() -> None:
    shown = screen()
    assert shown.rows[0].name == "flush"
    assert "tiny" not in [row.name for row in shown.rows]
    shown.next_sort()
    assert (shown.sort, [row.name for row in shown.rows][:3]) == ("tail", ["serve", "[preempted]", "flush"])
    shown.next_sort()
    assert (shown.sort, [row.name for row in shown.rows][:2]) == ("mean", ["serve", "body(serve)"])
    shown.next_sort()
    assert shown.sort == "variance"


def test_the_selection_stays_with_its_row_whatever_place_it_gets() -> None:
    shown = screen()
    shown.move(2)
    assert shown.row and shown.row.name == "serve"
    shown.take(view(document=document(factors=[factor("serve", share=0.9), factor("flush", share=0.2)])))
    assert (shown.position, shown.row.name if shown.row else "") == (0, "serve")
    shown.take(view(document=document(factors=[], tree=node("<interval>", 1.0, 1.0, 1.0, node("x", 1, 1, 1)))))
    assert shown.row and shown.row.name == "x"
    shown.move(-5)
    shown.move(99)
    assert shown.position == len(shown.rows) - 1


def test_expand_collapse_and_drop() -> None:
    shown = screen()
    assert shown.expand() is None and shown.line == "flush: nothing below it is off and has a probe"
    assert shown.collapse() is None and shown.line == "flush: was not expanded here"
    assert shown.drop() == Switch(("flush",), False, "flush")
    shown.move(2)
    assert shown.expand() == Switch(("flush", "read"), True, "below serve")
    assert shown.collapse() == Switch(("flush", "read"), False, "below serve")
    assert shown.collapse() is None
    shown.move(1)
    assert shown.row and shown.row.name == "[preempted]"
    for key in (shown.expand, shown.collapse, shown.drop):
        assert key() is None and shown.line.startswith("[preempted] is no function")
    shown.take(view(on=[]))
    shown.move(-9)
    assert shown.drop() is None and shown.line == "flush: is off"


def test_keys_before_the_first_refresh_only_say_why_not() -> None:
    shown = Screen()
    shown.move(1)
    for key in (shown.expand, shown.collapse, shown.drop):
        assert key() is None and shown.line == "there is no row yet"
    assert shown.open_path(-1) == OpenPath(0)
    assert (shown.pause(), shown.pause()) == (Pause(True), Pause(False))
    assert "recording" in draw(shown, 80, 24).plain


@pytest.mark.parametrize(("width", "height"), [(80, 24), (40, 10), (200, 60), (20, 5), (3, 1), (0, 0)])
def test_a_screen_of_any_size_is_filled_and_not_more(width: int, height: int) -> None:
    shown = screen()
    shown.line = "x" * 300
    drawn = lines(draw(shown, width, height))
    assert len(drawn) <= max(1, height)
    assert all(len(line) <= width for line in drawn)


def test_at_80_columns_all_is_there() -> None:
    shown = screen()
    drawn = draw(shown, 80, 24).plain
    for wanted in [
        "vprof top  server (pid 7)  last 10 s, 4000 intervals",
        "rate     400/s  ▁▂▃▄▅▆▇█  to 400/s",
        "p99       5 ms  ▁▂▃▄▅▆▇█  to 8 ms",
        "on 2 functions; lost 0 records; probes take 1.3 %; refresh 200 ms",
        "   55.0 %   40.0 %   30.0 % >flush",
        "   12.0 %        -        -  flush | serve",
        "   40.0 %     5 ms      17    1.5  mutex log",
        "on: serve, flush",
    ]:
        assert wanted in drawn, drawn
    assert "q quit" in lines(draw(shown, 80, 24))[-1]


def test_a_row_that_is_selected_far_below_is_shown() -> None:
    leaves = [node(f"f{k}", 0.01, 0.01, 0.01) for k in range(60)]
    shown = screen(document=document(factors=[], tree=node("<interval>", 1.0, 1.0, 1.0, *leaves)))
    shown.move(59)
    assert shown.row and f">{shown.row.name}" in draw(shown, 80, 24).plain


def test_no_name_steers_the_terminal() -> None:
    evil = "\x1b[31mred\x07\n\u202e"
    tree = node("<interval>", 1.0, 1.0, 1.0, node(evil, 0.5, 0.5, 0.5))
    objects = [{"title": evil, "share": 0.4, "total_ns": 5, "waits": 17, "queue_mean": 1.5}]
    told = document(
        tree=tree, factors=[factor(evil, share=0.5)], waited_for={"count": 1, "objects": objects}, warnings=[evil]
    )
    shown = screen(document=told, title=evil, on=[evil])
    for text in (draw(shown, 200, 24).plain, summary_line(shown.view)):
        assert not re.search("[\x00-\x09\x0b-\x1f\x7f\u202e]", text)
    assert len(lines(draw(shown, 200, 24))) == 24


def test_a_line_says_what_a_log_is_read_for() -> None:
    assert summary_line(view()) == (
        "400/s; p50 500 us; p99 5 ms; max 50 ms; flush 55.0 %, flush | serve 12.0 %, serve 10.0 %; waiting for a "
        "CPU 20.0 %; waits for mutex log 40.0 %; on 2; lost 0; probes 1.3 %"
    )
    nothing = view(window=Sample(2.0, 0, 0, 0, 0, 0), document=None, reason="no interval", title="no program runs")
    assert summary_line(nothing) == "no program runs: no interval ended in 2 s; on 2; lost 0"
    full = view(document=None, reason="cannot write /x: No space left on device")
    assert "max 50 ms; cannot write /x: No space left on device; on 2" in summary_line(full)
    few = view(document=document(factors=[factor("f", share=0.001)], no_ranking=""))
    assert "; no factor; " in summary_line(few)
