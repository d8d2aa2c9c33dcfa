"""What the page of `vprof diff` shows, as plain data: its JSON report, latencies for a chart, the tree of both sides.

| key | holds |
|---|---|
| `title` | the names of the traces |
| `diff` | vprof-diff/1; its metrics and runs with `texts`, its factors with `before`, `after`, of the variance before |
| `perhaps_means` | how to read what was predicted |
| `most_factors` | how many of them are shown at first |
| `latency` | `overlaid` of latency.py |
| `tree` | the root of the nodes below, cut by trees.py, or null |
| `no_tree` | why it is null |
| `ran` | [{`what`, `before`: [text], `after`: [text], `differs`}] |
| `cpu_apart`, `client_apart` | whether waits for a CPU, the client's time are apart from the functions |
| `meanings` | of nodes that are no functions |
| `vprof` | its version |

A node has `node` (its name), `before`, `after` (shares of the variance of that side), `change` (a part of the variance
before), `mean_before_ns`, `mean_after_ns`, `share` (its width in the difference), `children`, and `off`: the sides in
which its probes were off.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from vprof import __version__
from vprof.compare.diff import NOT_ASKED, Diff, Side
from vprof.compare.diff_trees import TreeChange
from vprof.compare.judgement import Change
from vprof.compare.predicted import Judged
from vprof.report import recorded
from vprof.report.diff import MOST_FACTORS, PERHAPS_MEANS, diff_json, value_text
from vprof.report.page import latency, trees
from vprof.report.page.plain import all_plain
from vprof.tables.kinds import MEANINGS
from vprof.tables.model import NONE, Int64

_MAY_DIFFER = ("recorded at",)
"""What differs between any two runs."""


def diff_data(
    result: Diff, judged: Judged | None = None, cpu_apart: bool = True, client_apart: bool = True
) -> dict[str, Any]:
    """`judged`: what was predicted, if anything. `cpu_apart`, `client_apart`: as the traces were analyzed."""
    tree, no_tree = _tree(result)
    data: dict[str, Any] = {
        "title": f"{_names(result.before)} → {_names(result.after)}",
        "diff": _diff(result, judged),
        "perhaps_means": PERHAPS_MEANS,
        "most_factors": MOST_FACTORS,
        "latency": latency.overlaid(_all_ns(result.before), _all_ns(result.after)),
        "tree": tree,
        "no_tree": no_tree,
        "ran": _ran(result),
        "cpu_apart": cpu_apart,
        "client_apart": client_apart,
        "meanings": MEANINGS,
        "vprof": __version__,
    }
    plain: dict[str, Any] = all_plain(data)
    return plain


def _names(side: Side) -> str:
    names = [path.name for path in side.paths]
    return names[0] if len(names) == 1 else f"{names[0]} … {names[-1]}"


def _all_ns(side: Side) -> Int64:
    return np.concatenate(side.latencies_ns)


def _diff(result: Diff, judged: Judged | None) -> dict[str, Any]:
    report = diff_json(result, judged)
    changes = (result.decides, *result.others)
    for row, change in zip(report["metrics"], changes, strict=True):
        row["texts"] = [_text(change, value) for value in (change.before, change.after)]
    for run in (*report["before"], *report["after"]):
        run["texts"] = [_text(change, run["metrics"][change.metric.name]) for change in changes]
    for row, factor in zip(report["factors"], result.factors, strict=True):
        row |= {"before": factor.before, "after": factor.after}
    return report


def _text(change: Change, value: float | None) -> str:
    return value_text(change, value).replace(" us", " µs")


def _tree(result: Diff) -> tuple[dict[str, Any] | None, str]:
    """Cut to what a page can show, or why there is none."""
    if result.tree is None:
        return None, f"{NOT_ASKED} (--no-factors)"
    whole = result.tree
    for name, side in (("before", whole.before_ns2), ("after", whole.after_ns2)):
        if not side[0] > 0:
            return None, f"nothing varies {name} the change"
    return trees.pruned(_nested(whole), ("share", "before", "after")), ""


def _nested(whole: TreeChange) -> dict[str, Any]:
    """Built from the leaves up. Nodes that took no time on either side are left out, with all below them."""
    before, after = whole.before_ns2 / whole.before_ns2[0], whole.after_ns2 / whole.after_ns2[0]
    change = (whole.after_ns2 - whole.before_ns2) / whole.before_ns2[0]
    widest = np.maximum(np.abs(whole.before_ns2), np.abs(whole.after_ns2)) / whole.before_ns2[0]
    below, children = np.zeros(len(widest)), [list[dict[str, Any]]() for _ in widest]
    node: dict[str, Any] = {}
    for x in range(len(widest) - 1, -1, -1):  # children come after their parents
        if not (whole.mean_before_ns[x] or whole.mean_after_ns[x]):
            continue
        width = float(max(widest[x], below[x]))
        node = {
            "node": whole.name[x],
            "before": float(before[x]),
            "after": float(after[x]),
            "change": float(change[x]),
            "mean_before_ns": float(whole.mean_before_ns[x]),
            "mean_after_ns": float(whole.mean_after_ns[x]),
            "share": width,
            "off": _off(whole, x),
            "children": children[x][::-1],
        }
        if whole.parent[x] != NONE:
            below[whole.parent[x]] += width
            children[whole.parent[x]].append(node)
    return node


def _off(whole: TreeChange, x: int) -> list[str]:
    sides = (("before", whole.off_before), ("after", whole.off_after))
    return [side for side, off in sides if whole.name[x] in off]


def _ran(result: Diff) -> list[dict[str, Any]]:
    sides = [_said(side) for side in (result.before, result.after)]
    rows = []
    for what in dict.fromkeys([*sides[0], *sides[1]]):
        before, after = (side.get(what, []) for side in sides)
        differs = set(before) != set(after) and what not in _MAY_DIFFER
        rows.append({"what": what, "before": before, "after": after, "differs": differs})
    return rows


def _said(side: Side) -> dict[str, list[str]]:
    built_from = list(dict.fromkeys(one for run in side.built_from for one in run))
    said = recorded.said([one for run in side.recorded for one in run])
    return {**said, "built from": built_from} if built_from else said
