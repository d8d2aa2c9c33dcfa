"""The reports of one small analysis, as a reader sees them.

Set VPROF_REGENERATE=1 to rewrite golden/; then read the difference before committing it.
"""

import io
import json
import os
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hand import hand_trace
from rich.console import Console

from vprof.errors import VprofError
from vprof.report import dot, text
from vprof.report.json import analysis_json
from vprof.report.names import without_scopes
from vprof.report.tables import print_table, to_text
from vprof.report.units import duration, percent
from vprof.tables.model import Trace
from vprof.trace.json_trace import load_json
from vprof.variance.analysis import Analysis, AnalysisOptions, analyze

HERE = Path(__file__).parent
CASES = HERE.parent / "cases"


def lock_handoff(**options: bool) -> Analysis:
    return analyze(load_json(CASES / "02_lock_handoff.json"), AnalysisOptions(**options))


def partly_measured() -> Trace:
    """`serve` calls `parse` (on) and `store` (off): there is something to switch on next."""
    times = [(10, 20), (10, 90), (12, 40), (11, 70)]
    intervals, segments, calls = {}, [], []
    now = 0
    for i, (parse, rest) in enumerate(times):
        end = now + parse + rest
        intervals[f"i{i}"] = (1, now, 1, end)
        segments.append(f"1 i{i} {now} {end} exec")
        calls += [f"1 serve {now} {end}", f"1 parse@serve:3 {now} {now + parse}"]
        now = end + 10
    heights = {"main": 3, "serve": 2, "parse": 0, "store": 1}
    trace = hand_trace(intervals, "\n".join(segments), "\n".join(calls), heights=heights, root="main")
    names = trace.program.functions
    off = np.array([name != "store" for name in names])
    complete = np.array([name != "serve" for name in names])
    callees = {"serve": ["parse", "store"]}
    graph = [[names.index(c) for c in callees.get(name, [])] for name in names]
    return replace(trace, program=replace(trace.program, calls=graph, on=off, complete=complete))


@pytest.mark.parametrize(
    ("name", "report"),
    [
        ("lock_handoff.txt", lambda: text.render(lock_handoff(by_type=True))),
        ("lock_handoff.dot", lambda: dot.render(lock_handoff())),
        ("lock_handoff.json", lambda: json.dumps(analysis_json(lock_handoff(by_type=True)), indent=1) + "\n"),
        ("partly_measured.txt", lambda: text.render(analyze(partly_measured()))),
        ("narrow.txt", lambda: text.render(lock_handoff(), width=64)),
    ],
)
def test_golden_reports(name: str, report) -> None:  # type: ignore[no-untyped-def]
    golden = HERE / "golden" / name
    if os.environ.get("VPROF_REGENERATE"):
        golden.parent.mkdir(exist_ok=True)
        golden.write_text(report(), encoding="utf-8")
    assert report() == golden.read_text(encoding="utf-8")


def test_rest_is_a_factor_that_proposes_the_children_which_are_off() -> None:
    report = analysis_json(analyze(partly_measured()))
    assert (report["factors"][0]["functions"], report["factors"][0]["explains"]) == (["serve"], ["rest(serve)"])
    assert report["next"] == ["store"]


def test_json_has_no_infinities() -> None:
    """No variance, no mean: undefined shares are null, and the file is JSON for every parser."""
    report = analysis_json(analyze(hand_trace({"A": (1, 5, 1, 5)}, "1 A 5 9 exec")))
    assert json.loads(json.dumps(report, allow_nan=False))["tree"]["share"] is None
    assert report["no_ranking"] == "one interval has no variance"


def nodes_of(tree: dict[str, Any]) -> list[dict[str, Any]]:
    return [tree, *(node for child in tree.get("children", []) for node in nodes_of(child))]


def test_small_parts_of_the_tree_are_counted_instead_of_listed() -> None:
    whole, part = (nodes_of(analysis_json(lock_handoff(), least)["tree"]) for least in (0.0, 0.3))
    assert not any("left_out" in node for node in whole)
    assert 1 < len(part) < len(whole)
    assert len(part) + sum(node.get("left_out", 0) for node in part) == len(whole)
    for node in part:
        shares = [one[key] or 0.0 for one in nodes_of(node) for key in ("share", "mean_share", "tail_share")]
        assert max(map(abs, shares)) >= 0.3


def test_labels_with_quotes_and_backslashes_survive_graphviz() -> None:
    name = 'operator""_x<"\\n">'
    trace = hand_trace(
        {"A": (1, 0, 1, 9), "B": (1, 10, 1, 15)}, "1 A 0 9 exec\n1 B 10 15 exec", "1 NAME 0 9\n1 NAME 10 15"
    )
    trace.program.functions[0] = name
    source = dot.render(analyze(trace))
    plain = subprocess.run(["dot", "-Tplain"], input=source, capture_output=True, text=True, check=True).stdout
    assert 'operator\\"\\"_x<\\"' in plain
    assert dot.render_svg(analyze(trace)).count("<text") >= 3


def test_svg_without_graphviz_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(VprofError, match="SVG needs Graphviz's `dot`, which is not installed"):
        dot.render_svg(lock_handoff())


def test_numbers_have_three_digits_and_a_unit() -> None:
    values = [0, 7, 12.34, 999.6, 1234, 99_960, 12_345_678, 3.6e12, -1500]
    expected = ["0 ns", "7 ns", "12.3 ns", "1.00 us", "1.23 us", "100 us", "12.3 ms", "3600 s", "-1.50 us"]
    assert [duration(v) for v in values] == expected
    assert (percent(0.1234), percent(float("nan")), percent(None)) == ("12.3 %", "-", "-")


@pytest.mark.parametrize(
    ("name", "width", "shown"),
    [
        ("leveldb::DBImpl::Write", 22, "leveldb::DBImpl::Write"),
        ("leveldb::DBImpl::Write", 21, "…::DBImpl::Write"),
        ("leveldb::DBImpl::Write", 9, "…::Write"),
        ("leveldb::DBImpl::Write", 3, "…::Write"),
        (
            "    rest(leveldb::(anonymous namespace)::PosixWritableFile::Append)",
            42,
            "    rest(…::PosixWritableFile::Append)",
        ),
        ("1. std::vector<ns::Row>::push_back", 20, "1. …::push_back"),
        ("a::Table::get@b::Server::serve:7", 24, "…::get@…::serve:7"),
        ("a::Table::get with b::Server::serve (covariance)", 40, "…::get with …::serve (covariance)"),
        ("ns::Row::operator<<", 14, "…::operator<<"),
        ("ns::outer()::lambda@12", 18, "…::outer()::lambda@12"),
        ("heap_update", 5, "heap_update"),
    ],
)
def test_names_lose_their_scopes_first(name: str, width: int, shown: str) -> None:
    assert without_scopes(name, width) == shown


def test_a_narrow_tree_keeps_what_a_method_is_called() -> None:
    name = "leveldb::(anonymous namespace)::PosixWritableFile::Append"
    trace = hand_trace(
        {"A": (1, 0, 1, 9), "B": (1, 10, 1, 15)}, "1 A 0 9 exec\n1 B 10 15 exec", "1 NAME 0 9\n1 NAME 10 15"
    )
    trace.program.functions[0] = name
    report = text.render(analyze(trace), width=80)
    assert [line.split("  ")[1] for line in report.splitlines() if "Append " in line][:1] == [
        "…::PosixWritableFile::Append"
    ]


def test_numbers_of_a_table_are_whole_however_narrow_it_is() -> None:
    rows = [("a function with a long name", "12.3 us", "100 %"), ("f", "-", "")]
    for width in (200, 60, 12):
        header, long, short = to_text(lambda console: print_table(console, ("time", "share"), rows), width).splitlines()
        assert header.split() == ["time", "share"]
        assert long.endswith(" 12.3 us  100 %")
        assert len(header) == len(long) == len(short)
        assert ("a function with a long name" in long) == (width > 40) == ("…" not in long)


def test_a_table_shows_a_name_as_it_is() -> None:
    [_, shown] = to_text(lambda console: print_table(console, ("n",), [(":smile: [bold]", "[disk]")])).splitlines()
    assert shown == ":smile: [bold]  [disk]"


def test_on_a_terminal_waiting_and_the_work_of_others_have_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    def shown(**environment: str) -> dict[str, str]:
        for name, value in {"TERM": "xterm", **environment}.items():
            monkeypatch.setenv(name, value)
        out = io.StringIO()
        text._show(lock_handoff(cpu_apart=False), Console(file=out, force_terminal=True, width=100))
        lines = out.getvalue().splitlines()
        return {name: next(line for line in lines if name in line) for name in ("lock_wait", "[blocked]", "UpdateRow")}

    yellow, magenta = "\x1b[33m", "\x1b[35m"
    monkeypatch.delenv("NO_COLOR", raising=False)
    coloured = shown()
    assert yellow in coloured["[blocked]"]
    assert magenta in coloured["UpdateRow"]
    assert not any(colour in line for colour in (yellow, magenta) for line in shown(NO_COLOR="1").values())
