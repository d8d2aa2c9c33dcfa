"""Where one factor comes from: call sites, callers, what its time consists of, who made it wait, intervals to look at.

    Analysis + "f" or "a|b"  ->  Explanation

Every share is additive, a part of the factor's own contribution: Cov(part, f) / Var(f), for a pair Cov(part of a, b) /
Cov(a, b), summed over the factor's places in the tree. So the shares of one list add up to 100 %, those of the wakers
to what the waits hold. What a factor may be called: the name of a function (with its place where several have that
name), a node such as `[queue]` or `body(f)`, or two of them as `a|b`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import NamedTuple

import numpy as np

from vprof.errors import UsageError, VprofError
from vprof.path.path_tree import display_names
from vprof.program.callgraph import between
from vprof.tables.kinds import L_BLOCKED, MEANWHILE
from vprof.tables.model import NONE, Int64
from vprof.tables.naming import without_place
from vprof.variance.analysis import Analysis
from vprof.variance.factor_objects import FactorObjects, ObjectOfFactor
from vprof.variance.factors import Factor
from vprof.variance.single_times import Answer, Question
from vprof.variance.statistics import heaviest
from vprof.variance.variance_tree import VarianceTree

_CHAIN = 6
"""Callers of a chain that are kept, the nearest ones."""
_MOST_OBJECTS = 20


@dataclass(frozen=True)
class Portion:
    """`share` of the factor, and the mean time over all intervals."""

    name: str
    share: float
    mean_ns: float


@dataclass(frozen=True, kw_only=True)
class FactorFunction:
    """A function of the factor, or both of a pair.

    `sites`: where it is called ("" where the place is not known); `callers`: the functions around it, outermost first,
    joined by " > "; `inside`: its children, `[blocked]` and body among them; `wakers`: what the threads did that it
    waited for, by the innermost function (or `[sched]`, `[unknown]`, ...) and its caller. Largest share first.
    `objects`: what its waits were for, longest first. `merged`: functions without a site on the ways from its callers,
    sorted: calls by way of them are not told apart.
    """

    function: str
    mean_ns: float
    sd_ns: float
    occurs: int
    sites: list[Portion]
    callers: list[Portion]
    inside: list[Portion]
    wakers: list[Portion]
    objects: list[ObjectOfFactor]
    merged: list[str]


@dataclass(frozen=True)
class Exemplar:
    """An interval whose time in the factor is the median or the largest of those in which it occurs."""

    which: str
    interval: str
    latency_ns: int
    time_ns: int


@dataclass(frozen=True)
class Explanation:
    """`factor`: how it is ranked (None: no factor, as `[blocked]`); `rank` counts from 1. `share`: of the latency's
    variance. `half`: the fewest intervals that hold half of it (0: not to be said of a negative covariance)."""

    functions: list[str]
    contribution_ns2: float
    share: float
    rank: int | None
    factor: Factor | None
    half: int
    sides: list[FactorFunction]
    exemplars: list[Exemplar]


class _Place(NamedTuple):
    """A node of a side, and what its parts are weighed with: their covariance with `other`."""

    node: int
    other: int


def explain(analysis: Analysis, wanted: str) -> Explanation:
    """Raises UsageError, with near misses, when nothing of that name lies on a critical path; VprofError when it
    explains nothing or too much was lost."""
    [found] = explain_all(analysis, [wanted])
    if isinstance(found, VprofError):
        raise found
    return found


def explain_all(analysis: Analysis, wanted: Sequence[str]) -> list[Explanation | VprofError]:
    """Each of them, or why it cannot be explained; the traces are read once more for all together."""
    asked: list[_Explaining | VprofError] = []
    for one in wanted:
        try:
            asked.append(_Explaining(analysis, one))
        except VprofError as error:
            asked.append(error)
    known = [one for one in asked if isinstance(one, _Explaining)]
    watchers = [objects for one in known for objects in one.objects()]
    answers = iter(analysis.times.answer([one.question for one in known], watchers))
    return [one if isinstance(one, VprofError) else one.concluded(next(answers)) for one in asked]


_NOTHING = 1e-9


class _Known:
    """The names that nodes of the tree have as factors; a recursive instance has none, its outermost place counts."""

    def __init__(self, analysis: Analysis) -> None:
        self.tree = analysis.tree
        self.functions = display_names(analysis.trace)
        self.measured = analysis.trace.program.on
        paths = self.tree.paths
        self.nodes: dict[str, list[int]] = defaultdict(list)
        for x in range(1, len(paths.parent)):
            if not paths.inner[x] and not (paths.pseudo[x] in MEANWHILE and _inside_wait(self.tree, x)):
                self.nodes[self.name(x)].append(x)

    def name(self, x: int) -> str:
        paths = self.tree.paths
        return self.functions[paths.function[x]] if paths.function[x] != NONE else paths.name[x]

    def resolve(self, wanted: str) -> list[str]:
        """The one or two names that are meant."""
        if found := self._called(wanted):
            return [self._only(wanted, found)]
        bars = [i for i, char in enumerate(wanted) if char == "|"]
        for at in bars:
            left, right = wanted[:at], wanted[at + 1 :]
            if (a := self._called(left)) and (b := self._called(right)):
                return [self._only(left, a), self._only(right, b)]
        parts = wanted.split("|") if len(bars) == 1 else [wanted]
        raise UsageError(next(self._missing(part) for part in parts if not self._called(part)))

    def _called(self, wanted: str) -> list[str]:
        return [wanted] if wanted in self.nodes else [name for name in self.nodes if without_place(name) == wanted]

    def _only(self, wanted: str, found: list[str]) -> str:
        if len(found) > 1:
            raise UsageError(f"{len(found)} functions are called {wanted}: choose {' or '.join(sorted(found))}")
        return found[0]

    def _missing(self, wanted: str) -> str:
        same = [f for f, name in enumerate(self.functions) if wanted in (name, without_place(name))]
        if same and not self.measured[same].any():
            return f"{wanted} was not measured: its probe was off"
        if same:
            return f"{wanted} lies on no critical path of these intervals"
        near = get_close_matches(wanted, {*self.nodes, *map(without_place, self.nodes)}, 3)
        return f"no factor {wanted} in this trace" + (f": did you mean {' or '.join(near)}?" if near else "")

    def instances(self, names: Sequence[str]) -> list[tuple[int, int]]:
        """Pairs of nodes whose covariances make the factor: a node with itself, or two siblings in the order of
        names."""
        if len(names) == 1:
            return [(x, x) for x in self.nodes[names[0]]]
        parent = self.tree.paths.parent
        siblings: dict[int, list[int]] = defaultdict(list)
        for x in self.nodes[names[1]]:
            siblings[int(parent[x])].append(x)
        same = names[0] == names[1]
        found = [(a, b) for a in self.nodes[names[0]] for b in siblings[int(parent[a])] if not same or a < b]
        if not found:
            raise UsageError(f"{names[0]} and {names[1]} never have one caller: only siblings have a covariance")
        return found


def _inside_wait(tree: VarianceTree, x: int) -> bool:
    pseudo, parent = tree.paths.pseudo, tree.paths.parent
    while x > 0:
        x = int(parent[x])
        if pseudo[x] in MEANWHILE:
            return True
    return False


class _Explaining:
    """What is asked of the single times to explain a factor."""

    def __init__(self, analysis: Analysis, wanted: str) -> None:
        if analysis.no_ranking:
            raise VprofError(analysis.no_ranking)
        known = _Known(analysis)
        self._analysis, self._tree = analysis, analysis.tree
        self._names = known.resolve(wanted)
        instances = known.instances(self._names)
        times = len(self._names)
        total = times * sum(self._tree.summed.covariance(a, b) for a, b in instances)
        if abs(total) <= _NOTHING * self._tree.total_variance:
            raise VprofError(f"{wanted} explains nothing: its times do not vary, or do not vary together")
        self._contribution, self._total = total, total / times
        self.question = Question()
        first = [_Place(a, b) for a, b in instances]
        sides = [first] if times == 1 else [first, [_Place(b, a) for a, b in instances]]
        self._sides = [_Side(self._tree, places, self.question, _merged(analysis, places)) for places in sides]
        nodes = {place.node for places in sides for place in places}
        self._all = self.question.group(nodes, keep=True)
        if total > 0:
            self.question.products(instances)

    def objects(self) -> list[FactorObjects]:
        """What each side waited for: they are to see the parts go by."""
        return [side.objects for side in self._sides]

    def concluded(self, answer: Answer) -> Explanation:
        analysis, names = self._analysis, self._names
        rank = next((i for i, f in enumerate(analysis.ranking, 1) if f.functions == sorted(names)), None)
        return Explanation(
            functions=names,
            contribution_ns2=self._contribution,
            share=self._contribution / self._tree.total_variance,
            rank=rank,
            factor=analysis.ranking[rank - 1] if rank else None,
            half=len(heaviest(answer.products)) if self._contribution > 0 else 0,
            sides=[
                side.concluded(name, answer, self._total, analysis.trace.hosts)
                for name, side in zip(names, self._sides, strict=True)
            ],
            exemplars=_exemplars(analysis, answer.times(self._all)),
        )


class _Side:
    """The places of a function of the factor, and of each the named parts."""

    def __init__(self, tree: VarianceTree, places: list[_Place], question: Question, merged: list[str]) -> None:
        self._tree, self._merged = tree, merged
        self.objects = FactorObjects(_functions_of(tree, places))
        self._time = question.group({place.node for place in places}, keep=True)
        self._lists: list[list[tuple[str, int, int]]] = [[], [], [], []]
        for node, other in places:
            group = question.alone(other)
            for parts, found in zip(self._lists, _parts_of(tree, node), strict=True):
                parts += [(name, x, group) for name, x in found]
                for _, x in found:
                    question.pair(x, group)

    def concluded(self, function: str, answer: Answer, total: float, hosts: list[str]) -> FactorFunction:
        time = answer.times(self._time)
        sites, callers, inside, wakers = (self._parts(parts, answer, total) for parts in self._lists)
        occurs = int(np.count_nonzero(time))
        mean, sd = float(time.mean()), float(time.std())
        return FactorFunction(
            function=function,
            mean_ns=mean,
            sd_ns=sd,
            occurs=occurs,
            sites=sites,
            callers=callers,
            inside=inside,
            wakers=wakers,
            objects=self.objects.most(_MOST_OBJECTS, len(time), hosts),
            merged=self._merged,
        )

    def _parts(self, parts: list[tuple[str, int, int]], answer: Answer, total: float) -> list[Portion]:
        """Joined by name; a node counts once for the mean, however many others it pairs with."""
        share: dict[str, float] = defaultdict(float)
        nodes: dict[str, set[int]] = defaultdict(set)
        for name, x, group in parts:
            share[name] += answer.of_pair(x, group) / total
            nodes[name].add(x)
        found = [Portion(name, share[name], float(self._tree.mean_ns[list(nodes[name])].sum())) for name in share]
        return sorted(found, key=lambda part: (-part.share, part.name))


def _functions_of(tree: VarianceTree, places: list[_Place]) -> set[int] | None:
    """Whose calls the places are; None: they are waits themselves."""
    paths, nodes = tree.paths, [place.node for place in places]
    if all(paths.pseudo[node] == L_BLOCKED for node in nodes):
        return None
    return {int(paths.function[node]) for node in nodes} - {NONE}


def _parts_of(tree: VarianceTree, node: int) -> list[list[tuple[str, int]]]:
    """Named nodes: the place itself by its site and by its callers, what is inside, what was waited for."""
    return [
        [(_site(tree, node), node)],
        [(_callers(tree, node), node)],
        [(_plain(tree, c), c) for c in tree.children[node]],
        [(_innermost(tree, x), x) for x in _below(tree, node)],
    ]


def _below(tree: VarianceTree, node: int) -> list[int]:
    """The leaves below `node` that lie in a wait below it, or are one; of a wait all of its leaves."""
    pseudo = tree.paths.pseudo
    found = []
    work = [(node, bool(pseudo[node] in MEANWHILE))]
    while work:
        x, waits = work.pop()
        if not tree.children[x] and waits and x != node and pseudo[x] not in MEANWHILE:
            found.append(x)
        work += [(c, waits or bool(pseudo[c] in MEANWHILE)) for c in tree.children[x]]
    return found


def _innermost(tree: VarianceTree, x: int) -> str:
    """A leaf within a wait: the waker's innermost function (or `[sched]`, ...) and its caller on that thread."""
    paths = tree.paths
    if paths.is_body(x) and paths.pseudo[paths.parent[x]] not in MEANWHILE:
        x = int(paths.parent[x])
    above = int(paths.parent[x])
    return _plain(tree, x) if paths.function[above] == NONE else f"{_plain(tree, above)} > {_plain(tree, x)}"


def _plain(tree: VarianceTree, x: int) -> str:
    """The name without the call site."""
    name = tree.paths.name[x]
    return name.rpartition("@")[0] if tree.paths.call_site[x] != NONE and "@" in name else name


def _site(tree: VarianceTree, x: int) -> str:
    name = tree.paths.name[x]
    return name.rpartition("@")[2] if tree.paths.call_site[x] != NONE and "@" in name else ""


def _callers(tree: VarianceTree, x: int) -> str:
    """The chain above, outermost first, "..." for what is too far away; "" right below the root."""
    chain: list[str] = []
    while (x := int(tree.paths.parent[x])) > 0:
        chain.append(_plain(tree, x))
    shown = chain[:_CHAIN]
    return " > ".join((["..."] if len(chain) > _CHAIN else []) + shown[::-1])


def _merged(analysis: Analysis, places: list[_Place]) -> list[str]:
    program, paths = analysis.trace.program, analysis.tree.paths
    calls = program.calls if program.call_graph is None else program.call_graph
    siteless = {f for f in range(len(program.functions)) if not program.can_switch(f)}
    edges = {(int(paths.function[paths.parent[place.node]]), int(paths.function[place.node])) for place in places}
    found = (between(calls, siteless, caller, f) for caller, f in edges if NONE not in (caller, f))
    return sorted({program.functions[f] for functions in found for f in functions})


def _exemplars(analysis: Analysis, time: Int64) -> list[Exemplar]:
    iv, latency = analysis.trace.intervals, analysis.tree.latency_ns
    rows = np.flatnonzero(~iv.ignore)
    occurs = np.flatnonzero(time)
    order = occurs[np.argsort(time[occurs], kind="stable")]
    chosen = {"median": order[(len(order) - 1) // 2], "slowest": order[-1]}
    return [
        Exemplar(which, analysis.trace.interval_ids[rows[i]], int(latency[i]), int(time[i]))
        for which, i in chosen.items()
    ]
