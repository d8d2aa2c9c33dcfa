"""How much of the variance, and of one factor's, is waiting for a CPU, and how much is the client's time: all are
additive shares of the variance of latency."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from vprof.tables.kinds import CLIENT, CPU_WAITS, PSEUDO
from vprof.tables.model import NONE
from vprof.variance.factors import Factor
from vprof.variance.variance_tree import VarianceTree

_MOST = 0.5


def cpu_share(tree: VarianceTree) -> dict[str, float]:
    """By kind of wait for a CPU: its share of the variance, wherever in the tree it lies."""
    nodes = np.flatnonzero(np.isin(tree.paths.pseudo, CPU_WAITS))
    shares: dict[str, float] = {}
    for x in nodes.tolist():
        shares[tree.paths.name[x]] = shares.get(tree.paths.name[x], 0.0) + float(np.nan_to_num(tree.share[x]))
    return shares


def client_share(tree: VarianceTree) -> float:
    """The share of the client's time, wherever in the tree it lies."""
    return float(np.nan_to_num(tree.share[np.isin(tree.paths.pseudo, CLIENT)]).sum())


@dataclass(frozen=True)
class CpuShare:
    """How much of a factor is waiting for a CPU: additive shares of the variance of latency, `share` of all that the
    factor's nodes hold, `by_kind` of the waits at and below them."""

    functions: list[str]
    share: float
    by_kind: dict[str, float]

    @property
    def waiting(self) -> float:
        return sum(self.by_kind.values())

    @property
    def is_most(self) -> bool:
        """The factor is what it is because there was no CPU, and not for what its functions do."""
        return self.share > 0 and self.waiting >= _MOST * self.share


def cpu_share_of(tree: VarianceTree, factor: Factor) -> CpuShare:
    """In the usual tree, where waits for a CPU lie below the functions that they interrupt."""
    members = {x for pair in factor.instances for x in pair}
    paths = tree.paths
    inside = np.zeros(len(paths.parent), np.bool_)
    for x, parent in enumerate(paths.parent.tolist()):  # parents come first
        inside[x] = x in members or (parent != NONE and inside[parent])
    by_kind: dict[str, float] = {}
    for x in np.flatnonzero(inside & np.isin(paths.pseudo, CPU_WAITS)).tolist():
        kind = PSEUDO[paths.pseudo[x]]
        by_kind[kind] = by_kind.get(kind, 0.0) + float(np.nan_to_num(tree.share[x]))
    share = float(np.nan_to_num(tree.share[sorted(members)]).sum())
    return CpuShare(factor.functions, share, by_kind)
