"""What is left out of a plan: what distorts too much, records more than can be kept, or matters nowhere.

plan + its Analysis  ->  functions to take out of it, the roots never
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from vprof.drill.flood import FloodError
from vprof.path.path_tree import display_names
from vprof.tables.model import NONE
from vprof.variance.analysis import REFUSE_LOST, Analysis
from vprof.variance.probe_cost import load_of
from vprof.variance.variance_tree import VarianceTree

ROOM = 0.8
"""A plan that costs or records more than it may is cut to this part of that, for what calls may vary."""

MOST_RECORDS = 10_000_000
"""Of a part of a measurement, which ends then: to read them takes half a minute, on however many CPUs."""

FEWEST_INTERVALS = 200
"""That a part of a measurement should have."""

LIGHT = 0.2
"""A function is switched off again when all its shares are below this part of the smallest share of interest."""


def too_much(plan: frozenset[str], roots: frozenset[str], analysis: Analysis, most: float) -> list[str]:
    """Of a plan whose probes take more than `most` of the intervals' time: those that matter least."""
    load = load_by_name(analysis)
    if sum(load.values()) <= most:
        return []
    weight = _weights(analysis)
    order = sorted(plan - roots, key=lambda name: (-weight.get(name, 0.0), name))
    return sorted(_beyond(order, load, ROOM * most - sum(load.get(root, 0.0) for root in roots)))


def too_many(plan: frozenset[str], roots: frozenset[str], analysis: Analysis) -> list[str]:
    """Of a plan of whose records so many were lost that nothing can be said: those that are called most often, until
    the others have no more calls than were kept."""
    written, dropped = (analysis.trace.loss.get(key, 0) for key in ("written", "dropped"))
    if analysis.lost.share <= REFUSE_LOST or analysis.options.force or not dropped:
        return []
    calls = _calls(analysis)
    return _most_called(plan, roots, calls, ROOM * (1 - dropped / written) * sum(calls.values()))


def too_often(plan: frozenset[str], roots: frozenset[str], analysis: Analysis) -> list[str]:
    """Of a plan with so many calls in an interval that a part of a measurement ends before it has enough of these:
    those that are called most often."""
    kept = 1 - analysis.trace.loss.get("dropped", 0) / max(1, analysis.trace.loss.get("written", 0))
    most = MOST_RECORDS / FEWEST_INTERVALS * analysis.summary.count * kept
    calls = _calls(analysis)
    return _most_called(plan, roots, calls, ROOM * most) if sum(calls.values()) > most > 0 else []


def of_flood(plan: frozenset[str], roots: frozenset[str], flood: FloodError) -> list[str]:
    """Of a plan with which every interval lost records: those that are called most often, at least one, until the
    others have no more calls than were kept."""
    return _most_called(plan, roots, flood.calls, ROOM * flood.kept * sum(flood.calls.values()))


def _calls(analysis: Analysis) -> dict[str, int]:
    counts = analysis.calls.within + analysis.calls.others
    return dict(zip(display_names(analysis.trace), counts.tolist(), strict=True))


def _most_called(plan: frozenset[str], roots: frozenset[str], calls: dict[str, int], room: float) -> list[str]:
    """Of a plan without its roots, so that the others have no more calls."""
    order = sorted(plan - roots, key=lambda name: (calls.get(name, 0), name))
    return sorted(_beyond(order, calls, room - sum(calls.get(root, 0) for root in roots)))


def light(plan: frozenset[str], roots: frozenset[str], analysis: Analysis) -> list[str]:
    """Functions of a plan, roots apart, that are heavy nowhere in the tree, and above nothing heavy."""
    if analysis.no_ranking:
        return []
    tree, names = analysis.tree, display_names(analysis.trace)
    limit = LIGHT * analysis.least_share
    heavy = {names[tree.paths.function[x]] for x in _connected(tree, limit) if tree.paths.function[x] != NONE}
    return sorted(plan - heavy - roots)


def load_by_name(analysis: Analysis) -> dict[str, float]:
    """What the probe of each function that was called takes of the intervals' time; {} if its cost is not known."""
    names = display_names(analysis.trace)
    return {names[function]: part for function, part in load_of(analysis.trace, analysis.calls).items()}


def _beyond(order: list[str], costs: dict[str, float] | dict[str, int], room: float) -> Iterator[str]:
    """Those for which there is no room left, the first ones first."""
    for name in order:
        cost = costs.get(name, 0)
        if cost > max(0.0, room):
            yield name
        else:
            room -= cost


def _weights(analysis: Analysis) -> dict[str, float]:
    """By function: its largest share in the tree, to either side of 0."""
    names, weights = display_names(analysis.trace), dict[str, float]()
    shares = np.nan_to_num(np.abs(analysis.tree.share))
    for function, share in zip(analysis.tree.paths.function.tolist(), shares.tolist(), strict=True):
        if function != NONE:
            weights[names[function]] = max(share, weights.get(names[function], 0.0))
    return weights


def _connected(tree: VarianceTree, limit: float) -> set[int]:
    """Nodes with at least `limit` as their share, and all their ancestors."""
    found: set[int] = set()
    for x in np.flatnonzero(np.abs(tree.share) >= limit):
        while x != NONE and x not in found:
            found.add(int(x))
            x = tree.paths.parent[x]
    return found
