"""Figures of a watch as OpenMetrics: what a scrape says is what was told, whatever names programs have."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from prometheus_client import CollectorRegistry
from prometheus_client.openmetrics.exposition import generate_latest
from prometheus_client.openmetrics.parser import text_string_to_metric_families
from prometheus_client.samples import Sample

from vprof.metrics import names
from vprof.metrics.bounded import OTHERS, Latest
from vprof.metrics.figures import FACTORS, Figures
from vprof.metrics.histogram import BOUNDS_NS, Histogram

ROOT = Path(__file__).parents[2]


def scraped(figures: Figures) -> list[Sample]:
    registry = CollectorRegistry()
    registry.register(figures)
    text = generate_latest(registry).decode()
    return [sample for family in text_string_to_metric_families(text) for sample in family.samples]


def values(figures: Figures, name: str) -> dict[tuple[str, ...], float]:
    """By labels, in the order of their names."""
    found = [sample for sample in scraped(figures) if sample.name == name]
    labelled = {tuple(value for _, value in sorted(sample.labels.items())): sample.value for sample in found}
    assert len(labelled) == len(found)
    return labelled


def document(types: dict[str, list[tuple[list[str], float]]], waits: dict[str, int], count: int = 200) -> Any:
    """The part of an analysis that metrics are made of."""
    rows = [{"type": type_, "factors": [_factor(*one) for one in found]} for type_, found in types.items()]
    return {
        "by_type": {"types": rows},
        "factors": [],
        "waited_for": {"objects": [{"title": title, "total_ns": ns} for title, ns in waits.items()]},
        "intervals": {"count": count},
    }


def _factor(functions: list[str], share: float) -> dict[str, Any]:
    return {"kind": "variance", "functions": functions, "share": share}


def fed() -> Figures:
    figures = Figures()
    figures.piece({"pay": np.array([50_000, 300_000, 70 * 10**9])}, {"pay": 10**9}, 1000.5)
    for event, fields in (
        ("kept", {}),
        ("not-kept", {"intervals": 3}),
        ("lost", {"records": 7}),
        ("switched-off", {}),
        ("joined", {"program": "x"}),
    ):
        figures.event(event, fields)
    figures.analyzed(document({"pay": [(["a", "b"], 0.5)]}, {"mutex m": 2 * 10**9}), 5.0, 1005.0, 1.25)
    return figures


def test_a_scrape_says_what_was_told() -> None:
    figures = fed()
    simple = {name: values(figures, name) for metric in names.ALL for name in metric.samples if not metric.labels}
    assert simple == {
        "vprof_intervals_kept_total": {(): 1},
        "vprof_intervals_not_kept_total": {(): 3},
        "vprof_records_lost_total": {(): 7},
        "vprof_functions_switched_off": {(): 1},
        "vprof_last_piece_timestamp_seconds": {(): 1000.5},
        "vprof_analyzed_seconds_total": {(): 5},
        "vprof_analyzed_intervals_total": {(): 200},
        "vprof_analyzed_timestamp_seconds": {(): 1005},
    }
    buckets = values(figures, "vprof_interval_seconds_bucket")
    assert buckets["0.0001", "pay"] == 1 and buckets["0.0005", "pay"] == buckets["60.0", "pay"] == 2
    assert buckets["+Inf", "pay"] == values(figures, "vprof_interval_seconds_count")[("pay",)] == 3
    assert values(figures, "vprof_interval_seconds_sum")[("pay",)] == 70.00035
    assert values(figures, "vprof_interval_limit_seconds") == {("pay",): 1}
    assert values(figures, "vprof_intervals_slow_total") == {("pay",): 1}
    assert values(figures, "vprof_factor_variance_share") == {("a|b", "pay"): 0.5}
    assert values(figures, "vprof_wait_seconds_total") == {("mutex m",): 2}
    assert values(figures, "vprof_analyses_total") == {("done",): 1, ("failed",): 0}
    assert values(figures, "vprof_cpu_seconds_total")[("analyses",)] == 1.25


def test_all_that_is_named_is_exported_by_the_conventions() -> None:
    found = {sample.name: sample for sample in scraped(fed())}
    assert found.keys() == {name for metric in names.ALL for name in metric.samples}
    for metric in names.ALL:
        assert re.fullmatch(r"vprof_[a-z_]*[a-z]", metric.name) and not metric.name.endswith(("_total", "_count"))
        assert not re.search(r"_(ms|us|ns|millis|percent)\b", metric.name)
        assert metric.text.endswith(".")
        for name in metric.samples:
            assert found[name].labels.keys() - {"le"} == set(metric.labels)


def test_a_new_analysis_replaces_shares_and_adds_to_waits() -> None:
    figures = fed()
    figures.analyzed(document({"sell": [(["c"], 0.7)]}, {"mutex m": 10**9, "queue q": 10**9}), 5.0, 1010.0, 0.75)
    figures.analyzed(None, 5.0, 1015.0, 0.5)
    assert values(figures, "vprof_factor_variance_share") == {("c", "sell"): 0.7}
    assert values(figures, "vprof_wait_seconds_total") == {("mutex m",): 3, ("queue q",): 1}
    assert values(figures, "vprof_analyses_total") == {("done",): 2, ("failed",): 1}
    assert values(figures, "vprof_cpu_seconds_total")[("analyses",)] == 2.5
    assert values(figures, "vprof_analyzed_timestamp_seconds") == {(): 1010}


def test_before_anything_is_known_no_time_is_1970() -> None:
    times = {name for sample in scraped(Figures()) if "timestamp" in (name := sample.name)}
    assert times == set()


def test_a_single_type_has_the_factors_of_all_and_calls_of_a_root_its_name() -> None:
    figures = Figures("serve")
    figures.piece({"": np.array([10**6])}, {"": None}, 1.0)
    one = document({"(none)": []}, {})
    del one["by_type"]["types"][0]["factors"]
    one["factors"] = [_factor([f"f{k}"], 0.9 - k / 10) for k in range(FACTORS + 2)]
    figures.analyzed(one, 1.0, 1.0, 0.0)
    assert values(figures, "vprof_interval_seconds_count") == {("serve",): 1}
    expected = {(f"f{k}", "serve"): 0.9 - k / 10 for k in range(FACTORS)}
    assert values(figures, "vprof_factor_variance_share") == pytest.approx(expected)
    assert values(figures, "vprof_interval_limit_seconds") == {}


def test_labels_stay_few_whatever_a_program_does() -> None:
    figures = Figures()
    for k in range(300):
        figures.piece({f"type {k}": np.array([10**6, 2 * 10**6])}, {f"type {k}": 1}, 1.0)
        types = {f"type {j}": [([f"f{j}_{i}"], 0.5) for i in range(30)] for j in range(k, k + 30)}
        waits = {f"mutex {j}": 10**9 for j in range(k, k + 100)}
        figures.analyzed(document(types, waits), 1.0, 1.0, 0.0)
    counts = values(figures, "vprof_interval_seconds_count")
    assert len(counts) == 21 and sum(counts.values()) == 600 and counts[(OTHERS,)] == 2 * 280
    assert sum(values(figures, "vprof_intervals_slow_total").values()) == 600
    assert len(values(figures, "vprof_factor_variance_share")) <= 10 * FACTORS
    assert len(values(figures, "vprof_wait_seconds_total")) == 51
    assert len(scraped(figures)) < 1000


def test_a_counter_never_falls_but_to_zero() -> None:
    """What is not among the largest for long is forgotten; when it comes back it begins anew, like a process."""
    waits = Latest(2)
    seen: list[tuple[dict[str, float], float]] = []
    for amounts in ([("a", 5.0), ("b", 3.0), ("c", 1.0)], [("c", 2.0)], [("a", 4.0)], [("d", 1.0)]):
        waits.add(amounts, 2)
        seen.append((dict(waits.sums), waits.others))
    assert seen == [({"a": 5, "b": 3}, 1), ({"b": 3, "c": 2}, 1), ({"c": 2, "a": 4}, 1), ({"a": 4, "d": 1}, 1)]


HOSTILE = ['quo"te', "back\\slash", "line\nbreak", "\x1b[31mred", "half \ud800", "long " * 200, "ünï‮code", "a,b}", ""]


def test_names_cannot_break_a_scrape() -> None:
    figures = Figures()
    for name in HOSTILE:
        figures.piece({name: np.array([10**6])}, {name: 1}, 1.0)
    alike = ["x" * 500 + "1", "x" * 500 + "2"]
    waits = dict.fromkeys([*HOSTILE[:-1], *alike], 10**9)
    figures.analyzed(document({HOSTILE[0]: [([name], 0.5) for name in (*alike, "f")]}, waits), 1.0, 1.0, 0.0)
    types = [type_ for (type_,) in values(figures, "vprof_interval_seconds_count")]
    assert len(types) == len(HOSTILE) and "(none)" in types and 'quo"te' in types and "back\\slash" in types
    assert all(re.fullmatch(r"[^\x00-\x1f\ud800-\udfff\u202e]{1,200}", type_) for type_ in types)
    assert [factor[-1] for factor, _ in values(figures, "vprof_factor_variance_share")] == ["…", "f"]
    assert sum(values(figures, "vprof_wait_seconds_total").values()) == len(waits)


def test_buckets_count_as_one_by_one() -> None:
    chance = np.random.default_rng(1)
    latencies = np.r_[(10 ** chance.uniform(3, 12, 2000)).astype(np.int64), np.array(BOUNDS_NS), 0, -5]
    histogram = Histogram()
    for part in np.array_split(latencies, 7):
        histogram.add(part)
    buckets = histogram.buckets()
    assert [count for _, count in buckets] == [
        *(sum(latency <= bound for latency in latencies.tolist()) for bound in BOUNDS_NS),
        len(latencies),
    ]
    assert [float(bound) for bound, _ in buckets] == [*(bound / 1e9 for bound in BOUNDS_NS), np.inf]
    assert histogram.sum_seconds == pytest.approx(np.maximum(latencies, 0).sum() / 1e9)


def expressions(dashboard: dict[str, Any]) -> list[str]:
    return [target["expr"] for panel in dashboard["panels"] for target in panel.get("targets", [])]


def test_the_dashboard_asks_for_what_is_exported() -> None:
    dashboard = json.loads((ROOT / "docs" / "metrics" / "grafana.json").read_text(encoding="utf-8"))
    known = {name: {*metric.labels, "le", "instance", "job"} for metric in names.ALL for name in metric.samples}
    asked = expressions(dashboard)
    asked += [one["query"]["query"] for one in dashboard["templating"]["list"] if one["type"] == "query"]
    used: set[str] = set()
    for expression in asked:
        mine = re.findall(r"\bvprof_\w+", expression)
        assert mine and set(mine) <= known.keys(), expression
        labels = {label for name in mine for label in known[name]}
        matched = re.findall(r"(\w+)\s*(?:=~|!~|!=|=)\s*\"", expression)
        grouped = [label for group in re.findall(r"\bby \(([\w, ]+)\)", expression) for label in group.split(", ")]
        assert {*matched, *grouped} <= labels, expression
        assert expression.count("(") == expression.count(")") and expression.count("{") == expression.count("}")
        used |= set(mine)
    unused = {metric.name for metric in names.ALL if not used & set(metric.samples)}
    assert not unused, "exported, and shown nowhere"
    assert len({panel["id"] for panel in dashboard["panels"]}) == len(dashboard["panels"])
    for panel in dashboard["panels"]:
        place = panel["gridPos"]
        assert place["x"] + place["w"] <= 24 and panel["title"]


def test_the_manual_lists_what_is_exported() -> None:
    manual = (ROOT / "docs" / "metrics.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| `(vprof_\w+)((?:\{[\w,]+\})?)` \|", manual, re.MULTILINE))
    listed = {metric.name if metric.kind == "histogram" else metric.samples[0]: metric.labels for metric in names.ALL}
    assert {name: tuple(filter(None, labels.strip("{}").split(","))) for name, labels in rows.items()} == listed
