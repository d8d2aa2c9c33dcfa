"""Where single intervals lost their time, in words: the sentence about the slowest one, and one for each path."""

from __future__ import annotations

from vprof.path.path_tree import display_names
from vprof.report.page.plain import short_name
from vprof.report.units import duration, percent
from vprof.tables.kinds import L_BODY, MEANINGS, MEANWHILE, NODE_LANES, WAKER
from vprof.tables.model import NONE
from vprof.variance.analysis import Analysis
from vprof.variance.excess import Excess

_MANY_TIMES = 9.95


def sentence(analysis: Analysis, slowest: Excess) -> str:
    """Of the slowest interval; "" if it is no slower than the others."""
    if not slowest.is_slower:
        return ""
    took = duration(slowest.latency_ns).replace(" us", " µs")
    return f"The slowest interval ({slowest.interval}) took {took}, {where(analysis, slowest)}"


def where(analysis: Analysis, one: Excess) -> str:
    """How many times the mean an interval took, and where most of the excess lies."""
    times = f"{one.of_mean:.{0 if one.of_mean >= _MANY_TIMES else 1}f} times the mean"
    what = "the excess" if one.is_slower else "its time"
    if one.node == 0:
        return f"{times}: no function holds half of {what}."
    share = f"{percent(one.share)} of {what}" if one.share <= 1 else f"more than all of {what}"
    return f"{times}: {share} lies in {place(analysis, one.node)}."


def place(analysis: Analysis, node: int) -> str:
    """A node of the tree, as a part of a sentence: "refresh_quota, asleep"; "flush, which commit waited for"."""
    paths = analysis.tree.paths
    function = _around(analysis, node)
    if paths.pseudo[node] in MEANWHILE:
        return _with(function or "code outside probed functions", NODE_LANES[paths.name[node]])
    waiter = _who_waited(analysis, node)
    if function:
        return _with(_did(analysis, node, function), f"which {waiter} waited for" if waiter else "")
    if paths.name[node] == WAKER or paths.pseudo[node] == L_BODY:
        return _with("code outside probed functions", f"which {waiter} waited for" if waiter else "")
    name = paths.name[node]
    return _with(f"{name} ({MEANINGS[name]})", f"while {waiter} waited" if waiter else "")


def _did(analysis: Analysis, node: int, function: str) -> str:
    """What a function did at a node that is it, or below it."""
    paths = analysis.tree.paths
    if paths.pseudo[node] == L_BODY and paths.name[node].startswith("body("):
        return f"{function} itself"
    return _with(function, NODE_LANES.get(paths.name[node], ""))


def _around(analysis: Analysis, node: int) -> str:
    """The program's function that the node is or lies in, and the C library's one that it called there; "" if a wait or
    nothing is around it."""
    paths, program, names = analysis.tree.paths, analysis.trace.program, display_names(analysis.trace)
    called = ""
    at = int(paths.parent[node]) if paths.pseudo[node] in MEANWHILE else node
    while at > 0 and paths.pseudo[at] not in MEANWHILE:
        f = int(paths.function[at])
        if f != NONE and not program.is_of_the_c_library(f):
            name = short_name(names[f])
            return f"{name} (in {called})" if called else name
        called = called or (short_name(names[f]) if f != NONE else "")
        at = int(paths.parent[at])
    return called


def _who_waited(analysis: Analysis, node: int) -> str:
    """The function in which a thread waited for what this node did; "" if nobody did."""
    paths = analysis.tree.paths
    at = node
    while at > 0 and paths.pseudo[at] not in MEANWHILE:
        at = int(paths.parent[at])
    return _around(analysis, at) if at > 0 else ""


def _with(what: str, more: str) -> str:
    return f"{what}, {more}" if more else what
