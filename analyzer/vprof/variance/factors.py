"""The variance tree's factors and their ranking.

    VarianceTree + heights  ->  factors by score = specificity x contribution

Source: docs/algorithms.md section 5 (thesis Algorithm 1; section 10 says what is corrected). A factor is a function's
variance, summed over its places in the tree, or twice the covariance of two siblings, summed over the places of the
pair. A function below itself counts at its outermost place; `[blocked]`, the unmeasured part of its wakers, a `[busy]`
or `[aborted]` of which something was measured, and pairs with these belong to the tree only.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

import numpy as np

from vprof.path.path_tree import display_names
from vprof.path.view import AS_RECORDED, View
from vprof.tables.columns import groups
from vprof.tables.kinds import L_ABORTED, L_BLOCKED, L_BODY, L_BUSY, L_IDLE, L_UNKNOWN, OF_ONE_FUNCTION, PSEUDO
from vprof.tables.model import NONE, Bool, Float, Int64, Trace
from vprof.variance.chains import children_first, deepest, held_mostly, passed_on, sums_by
from vprof.variance.variance_tree import VarianceTree

NEGLIGIBLE = 1e-9
"""Contributions below this fraction of Var(L) are rounding, not factors."""


@dataclass(frozen=True, kw_only=True)
class Factor:
    """`functions`: one name, or the two of a pair, sorted; pseudo-nodes by their own name. `expandable`: the functions
    (numbers) whose children would explain it further; none for pseudo-nodes and bodies. `instances`: (node, node)
    pairs of the tree whose covariance it sums, a node with itself for a variance. `passes_to`: what explains it
    (chains.py): a function below it, also one that it waited for, or of a body its function; "" if nothing does."""

    kind: str
    functions: list[str]
    sites: list[str]
    expandable: list[int]
    instances: list[tuple[int, int]]
    contribution_ns2: float
    share: float
    height: int
    specificity: int
    score: float
    passes_to: str = ""

    @property
    def name(self) -> str:
        return self.function or f"({','.join(self.functions)})"

    @property
    def function(self) -> str:
        """The one whose variance it is, "" for a covariance."""
        return self.functions[0] if self.kind == "variance" else ""


def rank(trace: Trace, tree: VarianceTree, specificity_exp: int = 2, view: View = AS_RECORDED) -> list[Factor]:
    """All factors that are not zero, best score first; ties by contribution, then name; but no function before a child
    that explains it (chains.py). Empty if Var(L) = 0.

    `view`: what the tree has apart is no factor. Where waits for a CPU are apart, a leaf is one factor: neither what it
    did besides waiting nor its waits for nobody known (a sleep, a read) are others.
    """
    if tree.total_variance <= 0:
        return []
    elements = _Elements(trace, tree, view)
    found = [*_variances(tree, elements), *_covariances(tree, elements)]
    factors = [
        _factor(trace, tree, elements, a, b, instances, value, specificity_exp)
        for a, b, instances, value in found
        if abs(value) > NEGLIGIBLE * tree.total_variance
    ]
    factors.sort(key=lambda f: (-rounded(f.score), -rounded(f.contribution_ns2), f.name))
    passes = passed_on(tree, elements.of, elements.n, elements.name)
    ordered = [factors[i] for i in children_first([f.function for f in factors], passes)]
    through_waits = passed_on(tree, elements.of, elements.n, elements.name, through_waits=True)
    return [replace(f, passes_to=through_waits.get(f.function, "")) for f in ordered]


def rounded(value: float) -> float:
    """To what sums of floating-point numbers can tell apart: what is equal by the mathematics is a tie."""
    return float(f"{value:.9g}")


def select(factors: list[Factor], k: int = 3, min_share: float = 0.05) -> list[Factor]:
    """The k best of those that hold at least `min_share` of Var(L)."""
    return [f for f in factors if f.share >= min_share][:k]


def causes(
    factors: list[Factor], k: int = 3, min_share: float = 0.05, others: Collection[str] = ()
) -> list[tuple[Factor, list[str]]]:
    """The same, of factors that pass their variance on only the last one; each with the names of those that pass it on
    to it, best first, without `others`. That a thread was idle is no cause: it is said of the function that waited."""
    large = select(factors, len(factors), min_share)
    last = deepest([f.function for f in large], {f.function: f.passes_to for f in large})
    idle = [PSEUDO[L_IDLE]]
    explains: dict[int, list[str]] = {i: [] for i in range(len(large)) if last[i] == i and large[i].functions != idle}
    for i, cause in enumerate(last):
        if cause != i and cause in explains and large[i].name not in others:
            explains[cause].append(large[i].name)
    return [(large[i], names) for i, names in explains.items()][:k]


class _Elements:
    """What a tree node counts as: a function, a pseudo-node, or the body of one of them; NONE if it is no factor."""

    def __init__(self, trace: Trace, tree: VarianceTree, view: View) -> None:
        paths, self.program = tree.paths, trace.program
        self.function_names = display_names(trace)
        self.n = len(self.function_names)
        of = np.where(paths.pseudo == NONE, paths.function, self.n + paths.pseudo).astype(np.int64)
        body = paths.pseudo == L_BODY
        owner = of[paths.parent[body]]
        owner[paths.parent[body] == 0] = self._root
        of[body] = self._bodies + owner
        blocked = paths.pseudo == L_BLOCKED
        has_child = np.bincount(np.maximum(paths.parent, 0), minlength=len(of)) > 0
        # What the thread did counts, and the rest of it.
        measured = np.isin(paths.pseudo, (L_BUSY, L_ABORTED)) & has_child
        of[paths.inner | blocked | measured | (body & blocked[paths.parent])] = NONE
        of[np.isin(paths.pseudo, view.labels)] = NONE
        if view.cpu_apart:
            of[self._parts_of_leaves(tree)] = NONE
        of[0] = NONE
        self.of: Int64 = of
        self.own_work = self._own_work(tree, has_child)
        self.rest = {int(of[x]) for x in np.flatnonzero(body) if paths.name[x].startswith("rest(")}

    def _own_work(self, tree: VarianceTree, has_child: Bool) -> set[int]:
        """Functions of which nothing below can be the cause, whatever they may call: their bodies, and the places where
        none of their children was called although all were on, have PASSED of them. None where heights were given:
        nobody knows then what else they may call."""
        if self.program.call_graph is None:
            return set()
        holds, parent = np.column_stack((tree.var_ns2, tree.share)), tree.paths.parent
        complete = np.r_[self.program.complete, False]
        is_function = (self.of >= 0) & (self.of < self.n)
        places = np.flatnonzero(is_function)
        alone = np.flatnonzero(is_function & ~has_child & complete[np.where(is_function, self.of, self.n)])
        bodies = np.flatnonzero((tree.paths.pseudo == L_BODY) & is_function[parent])
        bodies = bodies[complete[self.of[parent[bodies]]]]
        of = self.of[np.r_[alone, parent[bodies]]]
        own = sums_by(holds[np.r_[alone, bodies]], of, self.n)
        return set(np.flatnonzero(held_mostly(own, sums_by(holds[places], self.of[places], self.n))).tolist())

    def _parts_of_leaves(self, tree: VarianceTree) -> Bool:
        paths, parent = tree.paths, tree.paths.parent
        leaf = np.r_[self.program.height, NONE][paths.function] == 0
        waits_in_leaf = leaf[parent] & (paths.pseudo == L_BLOCKED)
        own = leaf[parent] & np.isin(paths.pseudo, (L_BODY, *OF_ONE_FUNCTION))
        found: Bool = own | (waits_in_leaf[parent] & (paths.pseudo == L_UNKNOWN))
        return found

    @property
    def _root(self) -> int:
        return self.n + len(PSEUDO)

    @property
    def _bodies(self) -> int:
        return self._root + 1

    def name(self, e: int) -> str:
        if e < self.n:
            return self.function_names[e]
        if e < self._root:
            return PSEUDO[e - self.n]
        if e == self._root:
            return "<interval>"
        kind = "rest" if e in self.rest else "body"
        return f"{kind}({self.name(e - self._bodies)})"

    def height(self, e: int) -> int:
        if e < self.n:
            return 0 if e in self.own_work else int(self.program.height[e])
        if e not in self.rest:
            return 0
        owner = e - self._bodies
        return int(self.program.height[owner]) if owner < self.n else self.program.root_height

    def function(self, e: int) -> int:
        """The function whose children would explain e, NONE if none would."""
        if e in self.rest:
            e -= self._bodies
        return e if e < self.n else NONE


_Found = tuple[int, int, list[tuple[int, int]], float]


def _variances(tree: VarianceTree, elements: _Elements) -> list[_Found]:
    nodes = np.flatnonzero(elements.of != NONE)
    return [
        (int(elements.of[xs[0]]), int(elements.of[xs[0]]), [(x, x) for x in xs.tolist()], float(tree.var_ns2[xs].sum()))
        for xs in _alike(nodes, elements.of[nodes])
    ]


def _covariances(tree: VarianceTree, elements: _Elements) -> list[_Found]:
    left, right, cov = _sibling_pairs(tree)
    a, b = elements.of[left], elements.of[right]
    smallest = NEGLIGIBLE * tree.total_variance * 1e-3
    counts = np.flatnonzero((np.abs(cov) > smallest) & (a != NONE) & (b != NONE))
    low, high = np.minimum(a, b), np.maximum(a, b)
    return [
        (
            int(low[rows[0]]),
            int(high[rows[0]]),
            list(zip(left[rows].tolist(), right[rows].tolist(), strict=True)),
            sum((2 * cov[rows]).tolist()),
        )
        for rows in _alike(counts, low[counts] * (int(high.max(initial=0)) + 1) + high[counts])
    ]


def _alike(rows: Int64, key: Int64) -> list[Int64]:
    """The rows with each of the keys, in their order."""
    order = np.argsort(key, kind="stable")
    return [rows[order[group]] for group in groups(key[order])]


def _sibling_pairs(tree: VarianceTree) -> tuple[Int64, Int64, Float]:
    """Nodes a and b, a before b among their parent's children, and their covariance; by parent."""
    nothing = np.zeros(0, np.int64)
    parts = [(nothing, nothing, nothing, np.zeros(0))]
    parents = np.array(list(tree.cov), np.int64)
    for alike in _alike(parents, np.array([len(cov) for cov in tree.cov.values()], np.int64)):
        kids, cov = (np.array([of[x] for x in alike.tolist()]) for of in (tree.children, tree.cov))
        i, j = np.triu_indices(kids.shape[1], 1)
        parts.append((np.repeat(alike, len(i)), kids[:, i].ravel(), kids[:, j].ravel(), cov[:, i, j].ravel()))
    parent, a, b, value = (np.concatenate(column) for column in zip(*parts, strict=True))
    order = np.argsort(parent, kind="stable")
    return a[order], b[order], value[order]


def _factor(
    trace: Trace,
    tree: VarianceTree,
    elements: _Elements,
    a: int,
    b: int,
    instances: list[tuple[int, int]],
    value: float,
    exponent: int,
) -> Factor:
    single = instances[0][0] == instances[0][1]
    members = [a] if single else [a, b]
    height = max(elements.height(e) for e in members)
    specificity = max(0, trace.program.root_height - height) ** exponent
    nodes = sorted({x for pair in instances for x in pair})
    sites = sorted({trace.call_sites[s] for s in tree.paths.call_site[nodes] if s != NONE and trace.call_sites[s]})
    return Factor(
        kind="variance" if single else "covariance",
        functions=sorted(elements.name(e) for e in members),
        sites=sites,
        expandable=sorted({f for f in map(elements.function, members) if f != NONE}),
        instances=instances,
        contribution_ns2=value,
        share=value / tree.total_variance,
        height=height,
        specificity=specificity,
        score=specificity * value,
    )
