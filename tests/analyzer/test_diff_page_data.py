"""What the page of `vprof diff` is made of: the figures of the JSON report, what ran, and what is missing."""

import json
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hand import hand_trace
from jsonschema import Draft202012Validator

from vprof.compare.diff import Diff, diff
from vprof.compare.diff_factors import contributions_of
from vprof.compare.diff_trees import tree_of
from vprof.compare.run_metrics import MeasuredRun, run_of
from vprof.report.diff import diff_json
from vprof.report.page import latency
from vprof.report.page.diff import diff_data
from vprof.tables.model import Recorded
from vprof.variance.analysis import analyze

MACHINE = Recorded(command="./serve 1", host="a", cpu="Xeon", cpus=2, kernel="Linux 6.1", begun_ns=10**18)


def run(name: str, latencies: list[int], *recorded: Recorded) -> MeasuredRun:
    """Calls of serve, 100 ns apart."""
    intervals = {f"i{i}": (1, 100 * i, 1, 100 * i + ns) for i, ns in enumerate(latencies)}
    lines = [(f"1 {sid} {b} {e} exec", f"1 serve {b} {e}") for sid, (_, b, _, e) in intervals.items()]
    analysis = analyze(hand_trace(intervals, *map("\n".join, zip(*lines, strict=True))))
    measured = run_of(Path(name), analysis.trace, contributions_of(analysis), tree_of(analysis))
    return replace(measured, recorded=list(recorded))


def compared(*recorded: list[Recorded]) -> Diff:
    before, after = recorded
    return diff([run("x/before.trace", [10, 20, 30], *before)], [run("after.trace", [10, 20, 60], *after)])


def ran(*recorded: list[Recorded]) -> dict[str, tuple[list[str], list[str], bool]]:
    rows: list[dict[str, Any]] = diff_data(compared(*recorded))["ran"]
    return {row["what"]: (row["before"], row["after"], row["differs"]) for row in rows}


def test_the_page_has_the_figures_of_the_json_report() -> None:
    result = compared([MACHINE], [])
    data, report = diff_data(result), diff_json(result)
    assert data["title"] == "before.trace → after.trace"
    assert {key: data["diff"][key] for key in ("sentence", "verdict", "remarks")} == {
        key: report[key] for key in ("sentence", "verdict", "remarks")
    }
    assert [row["ratio"] for row in data["diff"]["metrics"]] == [row["ratio"] for row in report["metrics"]]
    assert data["diff"]["metrics"][1]["texts"] == ["20.0 ns", "30.0 ns"]
    assert data["diff"]["before"][0]["texts"][1] == "20 ns"


def test_what_ran_differs_by_command_or_machine_and_not_by_time() -> None:
    later = replace(MACHINE, begun_ns=2 * 10**18)
    assert {what: differs for what, (*_, differs) in ran([MACHINE], [later]).items()} == {
        "recorded by": False, "machine": False, "recorded at": False,
    }  # fmt: skip
    assert ran([MACHINE], [replace(MACHINE, command="./serve 2")])["recorded by"] == (
        ["./serve 1"],
        ["./serve 2"],
        True,
    )
    assert ran([MACHINE], [replace(MACHINE, kernel="Linux 6.2")])["machine"][2]
    assert ran([MACHINE], [])["machine"] == (["a, 2 x Xeon, Linux 6.1"], [], True)
    assert ran([], []) == {}


@pytest.mark.parametrize(
    ("after", "differs"),
    [({"kernel": "Linux 6.2"}, True), ({"cpus": 4}, True), ({"cpu": "EPYC"}, True), ({"host": "b"}, False)],
)
def test_other_cpus_or_kernels_are_remarked(after: dict[str, Any], differs: bool) -> None:
    remarks = compared([MACHINE], [replace(MACHINE, **after)]).remarks
    assert any("CPUs or kernels of the two sides differ" in remark for remark in remarks) == differs
    assert compared([MACHINE], []).remarks == []


def test_the_json_says_what_ran() -> None:
    report = diff_json(compared([MACHINE], []))
    schema = json.loads((files("vprof.report") / "schemas" / "vprof-diff-1.json").read_text(encoding="utf-8"))
    Draft202012Validator(schema).validate(json.loads(json.dumps(report)))
    assert report["before"][0]["recorded"][0]["kernel"] == "Linux 6.1"
    assert report["after"][0]["recorded"] == []


def test_where_nothing_varies_there_are_no_graphs() -> None:
    same, other = run("a", [10, 10, 10]), run("b", [10, 20, 30])
    assert diff_data(diff([other], [same]))["no_tree"] == "nothing varies after the change"
    assert diff_data(diff([same], [other]))["no_tree"] == "nothing varies before the change"
    bare = [replace(side, contributions=None, tree=None) for side in (same, other)]
    assert diff_data(diff(bare[:1], bare[1:]))["no_tree"] == "not asked for (--no-factors)"


def test_both_histograms_have_the_same_edges() -> None:
    found = latency.overlaid(np.array([1, 5, 5, 9]), np.array([4, 400]))
    assert (found["edges_ns"][0], found["edges_ns"][-1]) == (1, 400)
    assert (sum(found["before"]), sum(found["after"])) == (4, 2)
    assert len(found["before"]) == len(found["after"]) == len(found["edges_ns"]) - 1
    assert latency.overlaid(np.array([7]), np.array([7, 7]))["after"] == [2]
