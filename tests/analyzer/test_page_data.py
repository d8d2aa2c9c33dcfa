"""What the page of `vprof report` is made of: bounded, complete, and the figures of the analysis."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from hand import hand_trace

from vprof.commands.report import command
from vprof.errors import VprofError
from vprof.report.page import data as page
from vprof.report.page import latency, links, trees
from vprof.report.page.data import PageSource, page_data
from vprof.report.page.headline import headline
from vprof.variance.analysis import AnalysisOptions, analyze
from vprof.whatif import prediction

CASES = Path(__file__).parent.parent / "cases"
HANDOFF = CASES / "02_lock_handoff.json"


@pytest.mark.parametrize("values", [[5], [7, 7, 7], [0, 1, 10**9], list(range(1, 100_000))])
def test_every_interval_is_in_one_bar(values: list[int]) -> None:
    bars = latency.histogram(np.array(values))
    assert sum(bars["counts"]) == len(values)
    assert len(bars["edges_ns"]) == len(bars["counts"]) + 1 <= latency.MOST_BARS + 1
    assert bars["edges_ns"] == sorted(bars["edges_ns"])


def test_of_many_intervals_the_slowest_are_among_the_points() -> None:
    n = 3 * latency.MOST_POINTS
    intervals = {f"i{i}": (1, 10 * i, 1, 10 * i + 1 + (i * 7919) % n) for i in range(n)}
    trace = hand_trace(intervals, "")
    points = latency.points(trace)
    assert len(points["latency_ns"]) <= latency.MOST_POINTS < points["count"] == n
    latencies = trace.intervals.end - trace.intervals.begin
    slowest = set(np.sort(latencies)[-points["slowest"] :].tolist())
    assert slowest <= set(points["latency_ns"])
    assert points["start_s"] == sorted(points["start_s"])


def node(name: str, share: float, *children: dict[str, Any], **cov: float) -> dict[str, Any]:
    shares = dict.fromkeys(("share", "tail_share", "mean_share"), share)
    below = {"children": list(children), "cov": cov} if children else {}
    return {"node": name, "mean_ns": 1.0, "var_ns2": 1.0, **shares, **below}


def test_a_large_tree_keeps_its_heaviest_nodes_and_counts_the_others() -> None:
    light = [node(f"light{i}", 1e-5, node("deeper", 1e-5)) for i in range(10)]
    heavy = [node(f"heavy{i}", 0.01 - i * 1e-7) for i in range(trees.MOST_NODES)]
    cov = {f"a|{i}": float(i) for i in range(50)}
    cut = trees.pruned(node("root", 1.0, *heavy, *light, **cov))
    assert [child["node"] for child in cut["children"]] == [f"heavy{i}" for i in range(trees.MOST_NODES - 1)]
    assert cut["left_out"] == 21
    assert list(cut["cov"]) == [f"a|{i}" for i in range(49, 49 - trees.MOST_PAIRS, -1)]
    assert cut["left_out_pairs"] == 50 - trees.MOST_PAIRS


def test_the_page_has_the_figures_of_the_analysis() -> None:
    data = page_data(PageSource([HANDOFF]), AnalysisOptions(k=10, min_share=0.01))
    factors = data["analysis"]["factors"]
    assert data["headline"]["answer"].startswith(factors[0]["functions"][0])
    assert [one["functions"] for one in data["explained"]] == [one["functions"] for one in factors]
    assert data["paths"][0]["label"] == "slowest"
    assert data["paths"][0]["path"]["latency_ns"] == data["analysis"]["intervals"]["max_ns"]
    assert data["missing"] == {}


def test_the_page_has_what_changes_would_gain() -> None:
    data = page_data(PageSource([HANDOFF]), AnalysisOptions(k=10, min_share=0.01))
    found, factors = data["gains"], data["analysis"]["factors"]
    first = next(one for one in found["tried"] if factors[one["factor"]]["functions"] == ["UpdateRow"])
    assert first["changes"] == ["UpdateRow=constant"]
    assert first["ratios"]["variance"] == pytest.approx(0, abs=1e-9)
    assert found["now_ns"][0] == 92 and found["now_ns"][-1] == 152
    assert len(first["then_ns"]) == len(found["now_ns"]) == len(found["at"])
    assert all(one["why_not"] for one in found["tried"] if not one["ratios"])


def test_traces_that_are_too_large_are_not_replayed_for_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prediction, "MOST_WINDOWS", 0)
    data = page_data(PageSource([HANDOFF]), AnalysisOptions(k=10))
    assert data["gains"] is None and "vprof whatif --rank replays them" in data["missing"]["gains"]


def test_beside_an_answer_that_is_no_function_the_first_function_is_named() -> None:
    """The client's time varies most: what the program can do about it is in the second sentence."""
    trace = hand_trace(
        {"a": (1, 0, 1, 12), "b": (1, 100, 1, 112), "c": (1, 200, 1, 220)},
        """1 a 0 6 exec\n1 - 6 10 exec\n1 a 10 12 exec
        1 b 100 102 exec\n1 - 102 110 exec\n1 b 110 112 exec
        1 c 200 206 exec\n1 - 206 218 exec\n1 c 218 220 exec""",
        """1 serve 0 6\n1 serve 100 102\n1 serve 200 206""",
    )
    counted = AnalysisOptions(k=10, min_share=0.01, client_apart=False)
    answer = headline(analyze(trace, counted))["answer"]
    assert answer.startswith("[gap] (the client's time: nobody worked for the interval) makes latency vary")
    assert answer.endswith("Of functions, serve holds most: 25.0 %.")
    apart = headline(analyze(trace, replace(counted, client_apart=True)))["answer"]
    assert apart.startswith(
        "75.0 % of the variance is the client's time ([gap]), apart from the functions. Of functions, serve "
    )


def test_a_factor_has_a_link_to_its_definition_and_the_lines_there(tmp_path: Path) -> None:
    source = tmp_path / "serve.c"
    source.write_text("\nvoid serve(void) {\n}\n")
    trace = hand_trace(
        {"a": (1, 0, 1, 12), "b": (1, 100, 1, 132)}, "1 a 0 12 exec\n1 b 100 132 exec", "1 serve 0 12\n1 serve 100 132"
    )
    program = replace(trace.program, definitions=[f"{source}:2"])
    analysis = analyze(replace(trace, program=program))
    [factor] = page._analysis(analysis, "https://git.example.org/{file}#L{line}")["factors"]
    assert factor["links"] == [f"https://git.example.org{source}#L2"]
    assert factor["source"][0]["lines"] == ["void serve(void) {", "}"]
    assert page._analysis(analysis, "")["factors"][0]["links"] == [""]


def test_every_function_and_call_site_has_a_link() -> None:
    """Not those of the C library, nor sites that are not in the file of their caller."""
    trace = hand_trace(
        {"a": (1, 0, 1, 12), "b": (1, 100, 1, 132)},
        "1 a 0 12 exec\n1 b 100 132 exec",
        """1 serve 0 12\n1 parse@serve.c:9 1 3\n1 parse@other.c:5 3 4\n1 read 5 6
        1 serve 100 132\n1 parse@serve.c:9 101 103""",
    )
    places = {"serve": "/src/serve.c:7", "parse": "/src/parse.c:3", "read": "the C library: read"}
    definitions = [places[name] for name in trace.program.functions]
    analysis = analyze(replace(trace, program=replace(trace.program, definitions=definitions)))
    template = "https://git.example.org/{file}#L{line}"
    assert links.of_functions(analysis, template, []) == {
        "serve": "https://git.example.org/src/serve.c#L7",
        "parse": "https://git.example.org/src/parse.c#L3",
    }
    assert links.of_sites(analysis, template) == {"serve.c:9": "https://git.example.org/src/serve.c#L9"}
    assert links.of_functions(analysis, "", []) == links.of_sites(analysis, "") == {}


def test_what_it_is_asked_for_wrongly_is_said(tmp_path: Path) -> None:
    with pytest.raises(VprofError, match="no such file; a drill-down keeps its history in"):
        CliRunner().invoke(command, [str(HANDOFF), "--drill", str(tmp_path / "none")], catch_exceptions=False)
    with pytest.raises(VprofError, match="cannot read"):
        CliRunner().invoke(command, [str(tmp_path / "none.trace")], catch_exceptions=False)
