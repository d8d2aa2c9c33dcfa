"""What the page of `vprof load` shows, as plain data: its JSON report, and latencies and pauses for two charts.

| key | holds |
|---|---|
| `title` | the workload and the server |
| `load` | vprof-load/1; its rows with `texts`, its pauses with `name`, `said` and those `texts` |
| `bands` | `bands` of over_time.py: percentiles of each slice of the run |
| `points` | the slowest transactions in order of time: `start_s`, `latency_ns`, `type` (an index into `types`) |
| `spans` | of each source of pauses: `name`, `spans` [[from, to] in s], the longest; `left_out`: how many others |
| `curves` | [{`name`, `kind` (all, type, floor, lateness), `points` [[1 / (1 - quantile), ns]]}] |
| `ran` | [[what, text]]: how it was run |
| `vprof` | its version |
"""

from __future__ import annotations

from typing import Any

import numpy as np

from vprof import __version__
from vprof.report.load import load_json, pause_name, slowest_text
from vprof.report.page.plain import all_plain
from vprof.report.units import duration, percent
from vprof.workload.latency_file import OUTCOMES
from vprof.workload.pauses import Pauses
from vprof.workload.quantiles import Quantiles
from vprof.workload.result import Result
from vprof.workload.tally import latency_ns

MOST_POINTS, FEWEST_POINTS = 1000, 50
"""The slowest tenth, if that is between them."""
MOST_SPANS = 500
"""Of each source of pauses."""
_TIMES = ("mean_ns", "l2_ns", "p50_ns", "p95_ns", "p99_ns", "p999_ns", "max_ns")


def load_data(result: Result) -> dict[str, Any]:
    report = load_json(result)
    for row in (report["all"], *report["types"]):
        row["texts"] = {key: _time(row[key]) for key in _TIMES}
    for row, one in zip(report["pauses"], result.explained, strict=True):
        times = ("total_ns", "longest_ns", "without_p99_ns", "without_p999_ns", "without_max_ns")
        row["texts"] = {key: _time(row[key]) for key in times} | {"held_up": percent(one.share)}
        row["name"], row["said"] = pause_name(one), slowest_text(one)
    data: dict[str, Any] = {
        "title": f"{report['workload']} on {report['server'] or report['on']}",
        "load": report,
        "outcomes": list(OUTCOMES),
        "bands": result.seen.over_time.bands(),
        "seconds": result.seconds,
        "points": _points(result),
        "spans": [_spans(result, one.pauses, pause_name(one)) for one in result.explained],
        "curves": _curves(result),
        "ran": _ran(report),
        "vprof": __version__,
    }
    plain: dict[str, Any] = all_plain(data)
    return plain


def _points(result: Result) -> dict[str, Any]:
    seen = result.seen
    rows = seen.slowest[: min(MOST_POINTS, max(FEWEST_POINTS, seen.all.moments.count // 10))]
    rows = rows[np.argsort(rows["intended"], kind="stable")]
    return {
        "start_s": ((rows["intended"] - result.run["begin_ns"]) / 1e9).round(6).tolist(),
        "latency_ns": latency_ns(rows).tolist(),
        "type": rows["type"].tolist(),
        "types": list(seen.by_type),
        "count": seen.all.moments.count,
    }


def _spans(result: Result, pauses: Pauses, name: str) -> dict[str, Any]:
    longest = np.sort(np.argsort(pauses.start_ns - pauses.end_ns, kind="stable")[:MOST_SPANS])
    spans = np.stack([pauses.start_ns[longest], pauses.end_ns[longest]], axis=1) - result.run["begin_ns"]
    left_out = len(pauses.start_ns) - len(longest)
    return {"name": name, "spans": (spans / 1e9).round(6).tolist(), "left_out": left_out}


def _curves(result: Result) -> list[dict[str, Any]]:
    seen = result.seen
    found = [_curve("all", "all", seen.all.quantiles)]
    types = {name: one for name, one in seen.by_type.items() if one.moments.count}
    if len(types) > 1:
        found += [_curve(name, "type", one.quantiles) for name, one in types.items()]
    if result.floor:
        found.append(_curve("floor: transactions that do nothing", "floor", result.floor.all.quantiles))
    found.append(_curve("lateness of a thread that wakes each ms", "lateness", seen.lateness.quantiles))
    return [curve for curve in found if curve["points"]]


def _curve(name: str, kind: str, quantiles: Quantiles) -> dict[str, Any]:
    """Up to where one transaction is left: there the curve ends at the maximum."""
    most = float(max(2, quantiles.count))
    points = [[min(most, 1 / (1 - q)) if q < 1 else most, max(1, ns)] for q, ns in quantiles.curve()]
    return {"name": name, "kind": kind, "points": points}


def _ran(report: dict[str, Any]) -> list[list[str]]:
    driver = report["driver"]
    rate = "none: a closed loop" if report["rate"] is None else f"{report['rate']:,g}/s, {report['arrivals']}"
    rows = {
        "workload": report["workload"],
        "server": report["server"] or report["on"],
        "scale": report["scale"],
        "clients": report["clients"],
        "rate asked for": rate,
        "think time": f"{report['think_ms']:g} ms" if report["think_ms"] else None,
        "isolation": report["isolation"],
        "measured": f"{report['seconds']:.1f} s, after {report['warmup_s']:g} s of warm-up",
        "seed": report["seed"],
        "driver": f"{driver['cpu_ns'] / 1e9:.2f} s of CPU time, {driver['peak_rss_kb'] / 1024:,.0f} MB",
        "data checked": None if report["check"] is None else "consistent" if report["check"]["passed"] else "broken",
    }
    return [[what, str(text)] for what, text in rows.items() if text is not None]


def _time(ns: float | None) -> str:
    return "-" if ns is None else duration(ns).replace(" us", " µs")
