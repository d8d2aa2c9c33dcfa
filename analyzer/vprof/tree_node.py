"""A node of the variance tree as an object: its numbers, its place, what lies below it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase

from vprof.report import dot
from vprof.tables.model import Int64
from vprof.tables.naming import without_place
from vprof.variance.single_times import SingleTimes
from vprof.variance.variance_tree import VarianceTree


@dataclass(frozen=True)
class Node:
    """Node `x` of `tree`. Shares are fractions of the latency's variance, mean and tail, NaN where undefined."""

    tree: VarianceTree
    x: int
    single: SingleTimes

    @property
    def name(self) -> str:
        """As reports print it: `f@g.c:12`, `[blocked]`, `body(f)`."""
        return self.tree.paths.name[self.x]

    @property
    def mean_ns(self) -> float:
        return float(self.tree.mean_ns[self.x])

    @property
    def var_ns2(self) -> float:
        return float(self.tree.var_ns2[self.x])

    @property
    def share(self) -> float:
        """Additive: Cov(node, latency) / Var(latency)."""
        return float(self.tree.share[self.x])

    @property
    def mean_share(self) -> float:
        return float(self.tree.mean_share[self.x])

    @property
    def tail_share(self) -> float:
        return float(self.tree.tail_share[self.x])

    @property
    def times(self) -> Int64:
        """The node's ns in each interval, in the order of `Run.intervals`; 0 where it is absent. Reads the trace."""
        return self.single.of(self.x)

    @property
    def children(self) -> list[Node]:
        return [Node(self.tree, c, self.single) for c in self.tree.children[self.x]]

    @property
    def parent(self) -> Node | None:
        return Node(self.tree, int(self.tree.paths.parent[self.x]), self.single) if self.x else None

    @property
    def path(self) -> list[str]:
        """Names from the root down to this node."""
        names = []
        node: Node | None = self
        while node is not None:
            names.append(node.name)
            node = node.parent
        return names[::-1]

    def walk(self) -> Iterator[Node]:
        """This node and all below it, parents first."""
        work = [self.x]
        while work:
            x = work.pop()
            yield Node(self.tree, x, self.single)
            work += reversed(self.tree.children[x])

    def find(self, pattern: str) -> list[Node]:
        """This node and those below it that have this name or match the glob, wherever they are called from."""
        return [node for node in self.walk() if any(_matches(name, pattern) for name in node._called())]

    def _called(self) -> set[str]:
        """The name with and without the call site, and without the place that tells overloads apart."""
        function = self.name.rpartition("@")[0] if self.tree.paths.call_site[self.x] >= 0 else self.name
        return {self.name, function, without_place(function)}

    def to_dot(self) -> str:
        """The tree from here on as a Graphviz graph; light subtrees are folded."""
        return dot.render_tree(self.tree, self.x)


def _matches(name: str, pattern: str) -> bool:
    return name == pattern or fnmatchcase(name, pattern)
