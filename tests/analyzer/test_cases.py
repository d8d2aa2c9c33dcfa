"""The worked cases of tests/cases, exactly: paths, times, tree, ranking."""

import json
from typing import Any

import pytest
from hand import EVERYTHING
from worked_cases import TRACES

from vprof.report.json import analysis_json
from vprof.trace.json_trace import load_json
from vprof.variance.analysis import Analysis, analyze

CASES = [case for case in TRACES if "expected" in json.loads(case.read_text())]


@pytest.fixture(params=CASES, ids=lambda p: p.stem)
def case(request: pytest.FixtureRequest) -> tuple[dict[str, Any], Analysis]:
    expected = json.loads(request.param.read_text())["expected"]
    return expected, analyze(load_json(request.param), EVERYTHING)


def test_intervals(case: tuple[dict[str, Any], Analysis]) -> None:
    expected, analysis = case
    per_interval = analysis_json(analysis)["per_interval"]
    for what in ("critical_path", "path_times", "own_times"):
        assert {sid: d[what] for sid, d in per_interval.items()} == expected[what]
    assert {sid: d["latency_ns"] for sid, d in per_interval.items()} == expected["latency"]


def test_variance_tree(case: tuple[dict[str, Any], Analysis]) -> None:
    expected, analysis = case
    if "variance_tree" in expected:
        assert papers_form(analysis_json(analysis)["tree"]) == expected["variance_tree"]
        assert analysis.tree.total_variance == expected["total_variance"]


def test_ranking(case: tuple[dict[str, Any], Analysis]) -> None:
    expected, analysis = case
    found = [
        {
            "factor": f.name,
            "contri": f.contribution_ns2,
            "pct": round(100 * f.share, 6),
            "height": f.height,
            "specificity": f.specificity,
            "score": f.score,
            "instances": len(f.instances),
        }
        for f in analysis.ranking
    ]
    assert found == expected.get("ranking", [])


def papers_form(node: dict[str, Any]) -> dict[str, Any]:
    """The tree of a report with the names and keys of the cases."""
    out = {"node": node["node"], "mean": node["mean_ns"], "var": node["var_ns2"]}
    if "children" in node:
        out |= {"children": [papers_form(c) for c in node["children"]], "cov": node["cov"]}
    return out
