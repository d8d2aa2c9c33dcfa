"""What one refresh found, as plain data: samples, the document of the analysis, what is on. And its rows.

document of `vprof analyze` -> Row: a factor, or a place of the tree with nothing below it, and its three shares
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from vprof.tables.naming import of_function

_AT_PLACE = re.compile(r"@[^@]*:\d+$")


@dataclass(frozen=True)
class Sample:
    """Of some seconds: how many intervals ended, their latencies in ns (0: none ended), records that were lost."""

    seconds: float
    count: int
    p50: int
    p99: int
    max: int
    lost: int

    @property
    def rate(self) -> float:
        return self.count / self.seconds if self.seconds > 0 else 0.0


@dataclass(frozen=True)
class Row:
    """`functions`: the name, or the two of a pair. `share` of the variance, of the time of the slowest intervals
    (`tail`), of the mean; NaN: not defined. `is_factor`: ranked, the best first; else its share is additive."""

    functions: tuple[str, ...]
    share: float
    tail: float
    mean: float
    is_factor: bool

    @property
    def name(self) -> str:
        return " | ".join(self.functions)


@dataclass(frozen=True)
class View:
    """`samples`: the newest last; `window`: all of the window. `on`: functions. `below`: as of `Found`. `took`: seconds
    that the refresh took. `lost`: records since the beginning. `reason`: why there is no document."""

    title: str = ""
    samples: Sequence[Sample] = ()
    window: Sample = field(default_factory=lambda: Sample(0.0, 0, 0, 0, 0, 0))
    document: dict[str, Any] | None = None
    reason: str = "recording"
    on: Sequence[str] = ()
    below: dict[str, list[str]] = field(default_factory=dict)
    lost: int = 0
    took: float = 0.0

    @property
    def cost(self) -> float | None:
        """The part of the intervals' time that probes take, None: not known."""
        told = (self.document or {}).get("probe_cost")
        return None if told is None else float(told["share"])


def rows_of(document: dict[str, Any]) -> list[Row]:
    """The factors in their order, then what else the tree has without anything below, by its share."""
    places = list(_places(document["tree"]))
    rows = []
    for factor in document["factors"]:
        functions = tuple(factor["functions"])
        mine = [node for name, node, above in places if name in functions and name not in above]
        alone = factor["kind"] == "variance"
        tail, mean = (_sum(mine, key) if alone else math.nan for key in ("tail_share", "mean_share"))
        rows.append(Row(functions, float(factor["share"]), tail, mean, True))
    known = {row.functions for row in rows}
    leaves: dict[str, list[dict[str, Any]]] = {}
    for name, node, _ in places:
        if "children" not in node and (name,) not in known:
            leaves.setdefault(name, []).append(node)
    rest = [
        Row((name,), _sum(nodes, "share"), _sum(nodes, "tail_share"), _sum(nodes, "mean_share"), False)
        for name, nodes in leaves.items()
    ]
    return rows + sorted(rest, key=lambda row: (-_or(row.share, 0.0), row.name))


def function_of(name: str) -> str:
    """Of a row's name; "" of a kind of time, such as [blocked]."""
    function = of_function(name)
    return "" if function.startswith(("[", "<")) else function


def _places(tree: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any], frozenset[str]]]:
    """Every node but the root: what it is called in the ranking, and what those above it are called."""
    work: list[tuple[dict[str, Any], frozenset[str]]] = [(kid, frozenset()) for kid in tree.get("children", [])]
    while work:
        node, over = work.pop()
        name = _plain(str(node["node"]))
        yield name, node, over
        work += [(kid, over | {name}) for kid in node.get("children", [])]


def _plain(node: str) -> str:
    """Without the place of a call: `f@g.c:12` is f."""
    return _AT_PLACE.sub("", node)


def _sum(nodes: Sequence[dict[str, Any]], key: str) -> float:
    return sum(math.nan if node[key] is None else float(node[key]) for node in nodes)


def _or(value: float, otherwise: float) -> float:
    return otherwise if math.isnan(value) else value
