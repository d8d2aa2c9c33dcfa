"""Which functions pass nearly all of their variance on to a function that they call: no cause lies in them.

    VarianceTree + elements of its nodes  ->  name -> the name that it passes its variance to
    ranked factors                        ->  the same, none before one that it passes its variance to; the last one
                                              of those for each

A height says how far above the leaves a function is *in the program*, and a call graph may be wrong about that (calls
through pointers that nobody saw, recursive groups). The tree knows better: what a measured child explains does not lie
in its parent (docs/algorithms.md section 5).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence

import numpy as np

from vprof.tables.columns import i64
from vprof.tables.kinds import L_ABORTED, L_BODY, L_UNKNOWN, MEANWHILE, OF_ONE_FUNCTION, PSEUDO
from vprof.tables.model import NONE, Bool, Float, Int64
from vprof.variance.variance_tree import VarianceTree

PASSED = 0.95
"""From this portion of a function's variance, and of its additive share, on a child explains it."""
_HEAVY = 0.01
"""Functions of this share are looked for at any depth."""
_ROUNDING = 1e-9


def passed_on(
    tree: VarianceTree, element: Int64, functions: int, names: Callable[[int], str], through_waits: bool = False
) -> dict[str, str]:
    """By function: the child that holds at least PASSED of its variance and of its share, over all of its places; of
    several the one with the largest share, then the first by name. By body that holds as much of its function: that
    function, whose own time it is. By pseudo-node of which one function has as much directly below it (it slept, it
    waited for a disk): that function. `through_waits`: what others did while a function waited is a child of it, and
    that it waited for nobody known is directly below it; and a function further below counts as a child, too.

    `element` of each node: below `functions` a function, NONE no factor; others have the names of pseudo-nodes and
    bodies. A function below itself is NONE.
    """
    holds = np.column_stack((tree.var_ns2, tree.share))
    is_function = (element != NONE) & (element < functions)
    parent = _above(tree, element, through_waits)
    places = np.flatnonzero(is_function)
    held = sums_by(holds[places], element[places], functions)
    is_body = tree.paths.pseudo == L_BODY
    has_owner = np.where(is_body, parent == tree.paths.parent, is_function)
    below = np.flatnonzero(has_owner & is_function[parent] & (element != element[parent]))
    below = below[(below != 0) & (element[below] != NONE)]
    most = int(element.max(initial=0)) + 1
    pair, rows = np.unique(element[parent[below]] * most + element[below], return_inverse=True)
    caller, child = np.divmod(pair, most)
    held_below = sums_by(holds[below], rows, len(pair))
    explained = held_mostly(held_below, held[caller])
    children: dict[str, list[tuple[float, str]]] = defaultdict(list)
    found: dict[str, str] = {}
    for k in np.flatnonzero(explained).tolist():
        if child[k] < functions:
            children[names(caller[k])].append((-float(f"{held_below[k, 1]:.9g}"), names(child[k])))
        else:
            found[names(child[k])] = names(caller[k])
    if through_waits:
        for caller_, share, g in _explained_far_below(holds, parent, element, held):
            children[names(caller_)].append((-float(f"{share:.9g}"), names(g)))
    found |= _of_one_function(tree, parent, element, functions, names)
    return found | {name: min(candidates)[1] for name, candidates in children.items()}


def _explained_far_below(holds: Float, parent: Int64, element: Int64, held: Float) -> list[tuple[int, float, int]]:
    """(function, share, function below it that holds PASSED of it over several ways from there): what it does for all
    of them. `held`: by function; those that hold next to nothing are left out."""
    functions = len(held)
    heavy = np.r_[(held > 0).all(axis=1) & (held[:, 1] >= _HEAVY), False]
    of = np.where((element >= 0) & (element < functions), element, functions)
    places = np.flatnonzero(heavy[of])
    above, pairs, rows = parent[places], [], []
    while places.size:
        counts = heavy[of[above]]
        pairs.append(of[above[counts]] * functions + of[places[counts]])
        rows.append(places[counts])
        places, above = places[above > 0], parent[above[above > 0]]
    pair, number = np.unique(np.concatenate([np.zeros(0, np.int64), *pairs]), return_inverse=True)
    held_below = sums_by(holds[np.concatenate([np.zeros(0, np.int64), *rows])], number, len(pair))
    caller, below = np.divmod(pair, functions or 1)
    explained = (held_below >= (PASSED - _ROUNDING) * held[caller]).all(axis=1) & (caller != below)
    return [(int(caller[k]), float(held_below[k, 1]), int(below[k])) for k in np.flatnonzero(explained)]


def _above(tree: VarianceTree, element: Int64, through_waits: bool) -> Int64:
    """By node: the one above; of what an aborted attempt did, the one around it. `through_waits`: behind a wait the one
    that waited, without recursive instances."""
    paths = tree.paths
    found = i64(paths.parent)
    is_passed = paths.pseudo == L_ABORTED
    if through_waits:
        is_passed |= np.isin(paths.pseudo, MEANWHILE) | (paths.inner & (element == NONE))
    for x in range(1, len(found)):  # parents come first
        if is_passed[found[x]]:
            found[x] = found[found[x]]
    found[0] = 0
    return found


def _of_one_function(
    tree: VarianceTree, parent: Int64, element: Int64, functions: int, names: Callable[[int], str]
) -> dict[str, str]:
    """By pseudo-node of OF_ONE_FUNCTION: the function that has PASSED of it directly below it, or in a wait."""
    holds = np.column_stack((tree.var_ns2, tree.share))
    found = {}
    for pseudo in OF_ONE_FUNCTION:
        nodes = np.flatnonzero((tree.paths.pseudo == pseudo) & (element != NONE))
        owner = element[parent[nodes]]
        mine = (owner != NONE) & (owner < functions)
        if not mine.any():
            continue
        total = holds[nodes].sum(axis=0)
        by_function = sums_by(holds[nodes[mine]], owner[mine], functions)
        most = (total > 0).all() & (by_function >= (PASSED - _ROUNDING) * total).all(axis=1)
        candidates = [(-float(f"{by_function[f, 1]:.9g}"), names(f)) for f in np.flatnonzero(most).tolist()]
        if candidates:
            found[names(int(element[nodes[0]]))] = min(candidates)[1]
    return found


def of_others(tree: VarianceTree) -> set[str]:
    """Pseudo-nodes of OF_ONE_FUNCTION that are mostly how others spent their time, who were waited for: that is not
    said of the function that waited. A wait that nobody ended is its own."""
    in_wait = np.isin(tree.paths.pseudo[tree.paths.parent], MEANWHILE)
    found = set()
    for pseudo in OF_ONE_FUNCTION:
        nodes = np.flatnonzero(tree.paths.pseudo == pseudo)
        if pseudo != L_UNKNOWN and tree.share[nodes[in_wait[nodes]]].sum() > 0.5 * tree.share[nodes].sum():
            found.add(PSEUDO[pseudo])
    return found


def sums_by(values: Float, of: Int64, n: int) -> Float:
    """Sums of both columns, by the number in `of`."""
    return np.column_stack([np.bincount(of, column, n) for column in values.T])


def held_mostly(part: Float, whole: Float) -> Bool:
    """By row (variance, share): `part` holds at least PASSED of both."""
    return np.asarray((whole > 0).all(axis=1) & (part >= (PASSED - _ROUNDING) * whole).all(axis=1))


def children_first(functions: Sequence[str], passes: dict[str, str]) -> list[int]:
    """An order of ranked factors: theirs, but none before the function that it passes its variance to.

    `functions`: of each factor its function, "" for a pair. Functions that pass it on in a circle keep their order.
    """
    position = {name: i for i, name in enumerate(functions) if name}
    done: set[str] = set()
    order: list[int] = []
    for i, name in enumerate(functions):
        if not name:
            order.append(i)
            continue
        chain: list[str] = []
        while name in position and name not in done:
            done.add(name)
            chain.append(name)
            name = passes.get(name, "")
        order += sorted(position[f] for f in chain) if name in chain else [position[f] for f in reversed(chain)]
    return order


def deepest(functions: Sequence[str], passes: dict[str, str]) -> list[int]:
    """By factor: the one at the end of the functions that pass its variance on, itself if it passes it to none of them
    or in a circle. `functions`: as above."""
    position = {name: i for i, name in enumerate(functions) if name}
    found = []
    for i, name in enumerate(functions):
        chain = [name]
        while (name := passes.get(chain[-1], "")) in position and name not in chain:
            chain.append(name)
        found.append(i if name in chain or not chain[0] else position[chain[-1]])
    return found
