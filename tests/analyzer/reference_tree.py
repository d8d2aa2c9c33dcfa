"""A slow, independent reading of docs/algorithms.md sections 4 and 5, in exact fractions: what is to be made of paths.

Shares no code with vprof. A path is a list of (kind, tid, node, ns), node being the labels of the tree from the root
down, as reference.py and schedule_answer.py give them.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from fractions import Fraction
from itertools import combinations
from typing import Any

Node = tuple[str, ...]
MEANWHILE = ("[blocked]", "[busy]")
Path = list[tuple[str, str, Node, int]]


class Tree:
    """Times of all nodes in all intervals; `own`: cut at the waits."""

    def __init__(self, paths: dict[str, Path], own: bool = False) -> None:
        self.sids = list(paths)
        self.own: dict[str, Counter[Node]] = {sid: Counter() for sid in paths}
        for sid, path in paths.items():
            for _, _, node, ns in path:
                waits = [i for i, label in enumerate(node) if label in MEANWHILE]
                cut = waits[0] + 1 if own and waits else len(node)
                self.own[sid][node[:cut]] += ns
        self.times: dict[Node, list[int]] = {}
        has_child = {node[:n] for times in self.own.values() for node in times for n in range(len(node))}
        for i, sid in enumerate(self.sids):
            for node, ns in self.own[sid].items():
                leaf = (*node, body_name(node)) if node in has_child else node
                for n in range(len(leaf) + 1):
                    self.times.setdefault(leaf[:n], [0] * len(self.sids))[i] += ns

    def element(self, node: Node) -> str:
        """As below; "": also other work, or an aborted attempt, of which something was measured."""
        return "" if node[-1] in ("[busy]", "[aborted]") and self.children(node) else element(node)

    def owner(self, node: Node) -> str:
        """What the node above counts for, or if that is an aborted attempt the one around it."""
        above = node[:-1]
        while above and above[-1] == "[aborted]":
            above = above[:-1]
        return self.element(above) if above else ""

    def children(self, node: Node) -> list[Node]:
        return [x for x in self.times if len(x) == len(node) + 1 and x[: len(node)] == node]

    def cov(self, a: Node, b: Node) -> Fraction:
        return covariance(self.times[a], self.times[b])

    def share(self, node: Node) -> Fraction:
        return self.cov(node, ()) / self.cov((), ())

    def tail_share(self, node: Node, tail: list[int]) -> Fraction:
        """`tail`: positions of the intervals in it."""

        def excess(x: list[int]) -> Fraction:
            return Fraction(sum(x[i] for i in tail), len(tail)) - Fraction(sum(x), len(x))

        return excess(self.times[node]) / excess(self.times[()])

    def factors(self) -> dict[tuple[str, ...], Fraction]:
        """Contributions that are not 0 by function, or by the two of a pair, sorted."""
        found: defaultdict[tuple[str, ...], Fraction] = defaultdict(Fraction)
        for node in self.times:
            if node and self.element(node):
                found[(self.element(node),)] += self.cov(node, node)
        for parent in self.times:
            for a, b in combinations([c for c in self.children(parent) if self.element(c)], 2):
                first, second = sorted((self.element(a), self.element(b)))
                found[(first, second)] += 2 * self.cov(a, b)
        return {name: value for name, value in found.items() if value}

    def ranking(self, heights: dict[str, int], top: int, exponent: int) -> list[tuple[tuple[str, ...], Fraction]]:
        """Factors and scores, best first; none if the latency does not vary."""
        if not self.cov((), ()):
            return []

        def score(names: tuple[str, ...]) -> int:
            return max(0, top - max(heights.get(name, 0) for name in names)) ** exponent

        rows = [(-score(names) * value, -value, _shown(names), names) for names, value in self.factors().items()]
        ranked = [(names, -negative) for negative, _, _, names in sorted(rows)]
        return self._children_first(ranked)

    def explained_by(self, name: str) -> str:
        """The child that holds 95 % of a function's variance and of its share, "" if none does; of a body that holds as
        much of its function that function; of time that says what a function did, the one that has 95 % of it."""
        if name.startswith("body("):
            owner = name[5:-1]
            return owner if owner in self._places() and self._holds_most(name, owner) else ""
        if name in ("[unknown]", "[fault]", "[disk]", "[sleep]", "[memory]", "[idle]"):
            whole = self._held([node for node in self.times if node and self.element(node) == name])
            owners = {self.owner(node) for node in self.times if len(node) > 1 and self.element(node) == name}
            held = {
                o: self._held(self._below(name, o)) for o in owners if o and o[0] != "[" and not o.startswith("body(")
            }
            most = [
                (-parts[1], o)
                for o, parts in held.items()
                if min(whole) > 0 and all(p >= Fraction(19, 20) * w for p, w in zip(parts, whole, strict=True))
            ]
            return min(most)[1] if most else ""
        if name[0] == "[":
            return ""
        children = {self.element(node) for node in self.times if len(node) > 1 and self.owner(node) == name}
        candidates = [
            (-self._held(self._below(child, name))[1], child)
            for child in children
            if child and child[0] != "[" and not child.startswith("body(") and self._holds_most(child, name)
        ]
        return min(candidates)[1] if candidates else ""

    def _places(self) -> set[str]:
        return {self.element(node) for node in self.times if node}

    def _below(self, child: str, name: str) -> list[Node]:
        return [x for x in self.times if len(x) > 1 and self.owner(x) == name and self.element(x) == child]

    def _holds_most(self, child: str, name: str) -> bool:
        whole = self._held([node for node in self.times if node and self.element(node) == name])
        parts = self._held(self._below(child, name))
        return min(whole) > 0 and all(p >= Fraction(19, 20) * w for p, w in zip(parts, whole, strict=True))

    def _held(self, nodes: list[Node]) -> tuple[Fraction, Fraction]:
        """What they hold together, of variance and of covariance with the latency."""
        return sum((self.cov(x, x) for x in nodes), Fraction(0)), sum((self.cov(x, ()) for x in nodes), Fraction(0))

    def _children_first(self, ranked: list[tuple[tuple[str, ...], Fraction]]) -> list[tuple[tuple[str, ...], Fraction]]:
        """No function before the child that explains it; functions that explain each other stay as they are."""
        todo, result = list(ranked), []
        while todo:
            (name, *more), _ = todo[0]
            chain = [name]
            while not more and (child := self.explained_by(chain[-1])) and any(row[0] == (child,) for row in todo):
                if child in chain:
                    chain = [row[0][0] for row in todo if row[0][0] in chain and len(row[0]) == 1]
                    chain.reverse()
                    break
                chain.append(child)
            for function_name in reversed(chain):
                row = todo[0] if more else next(row for row in todo if row[0] == (function_name,))
                todo.remove(row)
                result.append(row)
        return result


def covariance(x: list[int], y: list[int]) -> Fraction:
    n = len(x)
    return Fraction(sum(a * b for a, b in zip(x, y, strict=True)), n) - Fraction(sum(x) * sum(y), n * n)


def function(label: str) -> str:
    """Without the call site."""
    return label if label.startswith(("[", "body(")) else label.partition("@")[0]


def body_name(node: Node) -> str:
    if not node:
        return "body(<interval>)"
    return "[waker]" if node[-1] == "[blocked]" else f"body({function(node[-1])})"


def element(node: Node) -> str:
    """What a node counts for; "": it is no factor (a wait, a waker outside functions, an inner recursive call)."""
    name = function(node[-1])
    return "" if name in ("[blocked]", "[waker]") or (name in map(function, node[:-1]) and name[0] != "[") else name


def _shown(names: tuple[str, ...]) -> str:
    return names[0] if len(names) == 1 else f"({','.join(names)})"


def path_times(path: Path) -> dict[str, int]:
    """By function of the thread at work, callers included, recursion once; else by pseudo-node."""
    times: Counter[str] = Counter()
    for _, _, node, ns in path:
        if node and node[-1].startswith("[") and node[-1] not in MEANWHILE:
            times[node[-1]] += ns
            continue
        waits = [i for i, label in enumerate(node) if label in MEANWHILE]
        for name in set(map(function, node[waits[-1] + 1 if waits else 0 :])):
            times[name] += ns
    return dict(times)


def own_times(calls: Iterable[list[Any]], sid: str) -> dict[str, int]:
    """Wall time of the calls entered for the interval that lie in no other such call of the same function."""
    mine = [call for call in calls if call[1] == sid]
    times: Counter[str] = Counter()
    for call in mine:
        around = (c for c in mine if c[0] == call[0] and c[2] == call[2] and c[6] < call[6])
        if not any(c[4] <= call[4] and call[5] <= c[5] for c in around):
            times[call[2]] += call[5] - call[4]
    return dict(times)
