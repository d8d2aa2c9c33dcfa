"""What a tree has apart from its functions, below its root: a reader looks for causes in the program, and who took the
CPU, or how long a client thought, is none.

    times at nodes -> [beside] -> times at nodes

A function that is preempted varies, and so do all that wait for it: on a busy machine every tree is full of functions
whose variance is nothing but that. In the same way a transaction varies with the time its client takes between two
statements. What is left of a function is what it would vary by with a CPU of its own and a client that asks at once.
The root's times stay the latencies, and the shares go on adding up.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from vprof.path.stacks import T_LABEL, Forest
from vprof.tables.kinds import CLIENT, CPU_WAITS
from vprof.tables.model import Int64


@dataclass(frozen=True)
class View:
    """`cpu_apart`: waits for a CPU are taken out, wherever they lie, tasks in queues included (cpu_view.py);
    `client_apart`: the client's own time. `own`: the tree is cut at its waits (own_view.py). `calls_together`: calls of
    a function at several places of its caller are one node."""

    own: bool = False
    cpu_apart: bool = False
    client_apart: bool = False
    calls_together: bool = False

    @property
    def labels(self) -> tuple[int, ...]:
        """Of the nodes that hang below the root, one of each kind, and are no factors."""
        return (CPU_WAITS if self.cpu_apart else ()) + (CLIENT if self.client_apart else ())


AS_RECORDED = View()


def beside(forest: Forest, view: View) -> Int64:
    """By node of the forest: where its own time counts. What is apart hangs below the root, which gets these nodes."""
    below_root = {kind: forest.below_root(kind) for kind in view.labels}
    label = forest.nodes[:, T_LABEL]
    into = np.arange(len(label))
    for kind, node in below_root.items():
        into[label == kind] = node
    return into


def apart_ns(forest: Forest, view: View, times: Int64, count: int) -> Int64:
    """How much of each of the intervals 0 .. count - 1 is apart. `times`: rows (interval, node, ns)."""
    mine = times[np.isin(forest.nodes[times[:, 1], T_LABEL], view.labels)]
    sums = np.zeros(count, np.int64)
    np.add.at(sums, mine[:, 0], mine[:, 2])
    return sums
