"""The JSON report, schema `vprof-analysis/1` (analyzer/SCHEMA.md, schemas/vprof-analysis-1.json).

The other reports show parts of it.
"""

from __future__ import annotations

import itertools
import json
import math
from dataclasses import asdict
from typing import Any

import numpy as np

from vprof.path.path_tree import display_names
from vprof.report.aborted import aborted_json
from vprof.report.origins import by_host_json, by_process_json
from vprof.variance.analysis import Analysis, RankedFactor
from vprof.variance.cpu_share import CpuShare, client_share, cpu_share
from vprof.variance.per_interval import IntervalDetail
from vprof.variance.statistics import TypeSplit
from vprof.variance.variance_tree import VarianceTree

SCHEMA = "vprof-analysis/1"


def render(analysis: Analysis) -> str:
    return json.dumps(analysis_json(analysis), indent=1) + "\n"


def analysis_json(analysis: Analysis, least_share: float = 0.0) -> dict[str, Any]:
    """The report as plain data. `least_share`: nodes of the tree with less, where nothing below has more, are counted
    instead of listed."""
    names = display_names(analysis.trace)
    grow = [
        {**asdict(e), "function": names[e.function], "children": [names[c] for c in e.children]}
        for e in analysis.expansions
    ]
    out: dict[str, Any] = {
        "schema": SCHEMA,
        "intervals": intervals_json(analysis),
        "built_from": analysis.trace.built_from,
        "recorded": [asdict(one) for one in analysis.trace.recorded],
        "tree": _tree(analysis.tree, least_share),
        "tail_quantile": analysis.tail_quantile,
        "factors": [_factor(f) for f in analysis.factors],
        "cpu_wait": _cpu_wait(analysis.leading_cpu),
        "waiting_for_cpu": _waiting_for_cpu(analysis),
        "client_time": _client_time(analysis),
        "n_eff": analysis.n_eff,
        "heaviest": [{"interval": sid, "latency_ns": ns} for sid, ns in analysis.heaviest],
        "no_ranking": analysis.no_ranking,
        "next": analysis.next,
        "naive_cost": analysis.naive_cost,
        "expansions": grow,
        "blocked_ns": analysis.blocked_ns,
        "where_it_waits": [asdict(wait) for wait in analysis.where_it_waits.waits],
        "waited_for": waited_for_json(analysis),
        "unknown": [asdict(u) for u in analysis.unknown],
        "wakers": [asdict(w) for w in analysis.wakers],
        "loss": {**analysis.trace.loss, "lost_share": analysis.lost.share},
        "distortion": asdict(analysis.distortion) if analysis.distortion else None,
        "probe_cost": asdict(analysis.probe_cost) if analysis.probe_cost else None,
        "strayed": analysis.trace.strayed,
        "warnings": analysis.warnings,
        "notes": analysis.trace.notes,
    }
    if analysis.types:
        out["by_type"] = _by_type(analysis, analysis.types, least_share)
    if analysis.by_host:
        out["by_host"] = by_host_json(analysis.by_host)
    if analysis.by_process:
        out["by_process"] = by_process_json(analysis.by_process)
    if analysis.options.intervals:
        out["per_interval"] = {sid: _detail(d) for sid, d in analysis.per_interval.items()}
    return out


def waited_for_json(analysis: Analysis) -> dict[str, Any]:
    """`waited_for` of the report."""
    found = analysis.waited_for
    return {"count": found.count, "objects": [{"title": one.title, **asdict(one)} for one in found.objects]}


def intervals_json(analysis: Analysis) -> dict[str, Any]:
    """`intervals` of the report."""
    return {
        "count": analysis.summary.count,
        "excluded": analysis.excluded,
        "aborted": aborted_json(analysis),
        **asdict(analysis.summary),
    }


def _cpu_wait(cpu: CpuShare | None) -> dict[str, Any] | None:
    if cpu is None:
        return None
    return {"functions": cpu.functions, "share": cpu.share, "waiting": cpu.waiting, "by_kind": cpu.by_kind}


def _waiting_for_cpu(analysis: Analysis) -> dict[str, Any]:
    shares = cpu_share(analysis.tree)
    counted = "apart" if analysis.options.cpu_apart else "in"
    return {"counted": counted, "share": sum(shares.values()), "by_kind": shares, "rest": analysis.explained}


def _client_time(analysis: Analysis) -> dict[str, Any]:
    return {"counted": "apart" if analysis.options.client_apart else "in", "share": client_share(analysis.tree)}


def _by_type(analysis: Analysis, split: TypeSplit, least_share: float) -> dict[str, Any]:
    """A single type has the tree and the factors of all: they are not repeated."""
    rows = [asdict(row) for row in split.rows]
    for row, typed, of_type in zip(rows, analysis.type_trees, analysis.type_factors, strict=False):
        row |= {"tail_quantile": typed.tail_quantile, "tree": _tree(typed.tree, least_share)}
        row["factors"] = [{"kind": f.kind, "functions": f.functions, "share": f.share} for f in of_type]
    return {"within_ns2": split.within_ns2, "between_ns2": split.between_ns2, "types": rows}


def _tree(tree: VarianceTree, least_share: float) -> dict[str, Any]:
    """Built from the leaves up, so that depth is no limit; parents come before children in the columns."""
    largest, count = _below(tree)
    nodes: list[dict[str, Any]] = []
    for x, name in enumerate(tree.paths.name):
        nodes.append(
            {
                "node": name,
                "mean_ns": float(tree.mean_ns[x]),
                "var_ns2": float(tree.var_ns2[x]),
                "share": _number(tree.share[x]),
                "mean_share": _number(tree.mean_share[x]),
                "tail_share": _number(tree.tail_share[x]),
            }
        )
    for x, kids in enumerate(tree.children):
        present = [i for i, c in enumerate(kids) if tree.mean_ns[c] and largest[c] >= least_share]
        left_out = [c for c in kids if tree.mean_ns[c] and largest[c] < least_share]
        if present:
            nodes[x]["children"] = [nodes[kids[i]] for i in present]
            nodes[x]["cov"] = _covariances(tree, x, present)
        if left_out:
            nodes[x]["left_out"] = sum(count[c] for c in left_out)
    return nodes[0]


def _below(tree: VarianceTree) -> tuple[list[float], list[int]]:
    """By node: the largest of the shares of it and those below, without their signs; how many these are."""
    shares = np.array([tree.share, tree.mean_share, tree.tail_share])
    largest, count = np.abs(np.nan_to_num(shares)).max(axis=0).tolist(), [1] * len(tree.children)
    for x in range(len(tree.children) - 1, -1, -1):
        for child in tree.children[x]:
            largest[x] = max(largest[x], largest[child])
            count[x] += count[child]
    return largest, count


def _covariances(tree: VarianceTree, x: int, present: list[int]) -> dict[str, float]:
    """Of the children at these positions."""
    kids, cov = tree.children[x], tree.cov.get(x)
    if cov is None:
        return {}
    name = tree.paths.name
    pairs = itertools.combinations(present, 2)
    return {f"{name[kids[i]]}|{name[kids[j]]}": float(cov[i, j]) for i, j in pairs}


def _factor(ranked: RankedFactor) -> dict[str, Any]:
    f = ranked.factor
    return {
        "kind": f.kind,
        "functions": f.functions,
        "sites": f.sites,
        "instances": len(f.instances),
        "contribution_ns2": f.contribution_ns2,
        "share": f.share,
        "ci95": list(ranked.ci95) if ranked.ci95 else None,
        "ci95_reason": ranked.ci95_reason,
        "first": ranked.first,
        "probes": ranked.probes,
        "height": f.height,
        "specificity": f.specificity,
        "score": f.score,
        "explains": ranked.explains,
    }


def _detail(d: IntervalDetail) -> dict[str, Any]:
    path = [[kind, _tid(thread), start, stop] for kind, thread, start, stop in d.critical_path]
    return {
        "latency_ns": d.latency_ns,
        "critical_path": path,
        "path_times": d.path_times,
        "own_times": d.own_times,
    }


def _tid(name: str) -> int | str:
    """Threads are named by number in the papers' tuples, and come back as they were."""
    return int(name) if name.lstrip("-").isdecimal() else name


def _number(value: float) -> float | None:
    return None if math.isnan(value) else float(value)
