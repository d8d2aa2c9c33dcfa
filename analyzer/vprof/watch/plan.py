"""Which probes a watch has on: a small plan, less what costs too much.

file of a drill-down -> its findings, and the functions on the way to them -> Plan
calls in a piece, the cost of a probe -> the functions that go off, the most called first
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import numpy as np

from vprof.drill.file import DrillFile
from vprof.errors import UsageError, VprofError
from vprof.session.plan import Plan
from vprof.trace.records import ABANDONED, INVOCATION, SITE_BITS
from vprof.watch.pieces import Piece

_OF_A_FUNCTION = re.compile(r"(?:body|rest)\((.*)\)")


def plan_of_drill(path: Path) -> Plan:
    """Its roots, its confirmed findings (all, if none is) and the ways to them. `path`: its file, or its work folder.
    Raises VprofError when it is not done, UsageError when it found nothing."""
    drill = _load(path)
    if not drill.outcome:
        raise VprofError(f"{path}: this drill-down is not done: go on by `vprof drill --resume`")
    findings = drill.outcome.get("findings", [])
    confirmed = [finding for finding in findings if finding.get("confirmed")] or findings
    if not confirmed:
        raise UsageError(f"{path}: this drill-down found nothing to watch: give --sites")
    first = drill.steps[0].plan if drill.steps else frozenset()
    names = {name for finding in confirmed for name in _names(finding)}
    return Plan.of({*drill.settings.roots, *first, *names})


def root_of_drill(path: Path) -> str | None:
    """The function whose calls are its intervals, None: a target's annotated ones."""
    settings = _load(path).settings
    return settings.roots[0] if settings.roots and not settings.name else None


def _load(path: Path) -> DrillFile:
    """Raises UsageError when there is none."""
    found = next((file for file in (path / "drill/session.json", path / "session.json", path) if file.is_file()), None)
    if found is None:
        raise UsageError(f"{path}: no file of a drill-down: give its drill/session.json")
    return DrillFile.load(found)


def _names(finding: Mapping[str, object]) -> Iterator[str]:
    """Functions of a finding, those that pass its variance on, and those on its path."""
    for key in ("functions", "explains", "path"):
        told = finding.get(key)
        for name in told if isinstance(told, list) else []:
            plain = _function(str(name))
            if plain:
                yield plain


def _function(node: str) -> str:
    """Of a node of a tree, "" if it is none: `f@g.c:12`, `body(f)`, `[blocked]`."""
    if found := _OF_A_FUNCTION.fullmatch(node):
        node = found[1]
    name = node.rpartition("@")[0] or node
    return "" if name.startswith("[") else name


def calls_of(piece: Piece) -> dict[int, int]:
    """How often each site was called, by its number."""
    counts = np.zeros(1 << SITE_BITS, np.int64)
    for chunk in piece.file.chunks:
        words = chunk.words.view(np.int64)
        kind = (words[:, 0] >> 60) & 15
        sites = (words[(kind == INVOCATION) | (kind == ABANDONED), 1] >> 32) & ((1 << SITE_BITS) - 1)
        numbers, of_number = np.unique(sites, return_counts=True)
        counts[numbers] += of_number
    return {int(number): int(counts[number]) for number in np.flatnonzero(counts)}


def too_dear(costs: Mapping[str, float], most: float, never: Iterable[str] = ()) -> list[str]:
    """Functions to switch off so that what is left costs no more than `most`, the dearest first. `costs`: by function,
    as parts of the intervals' time. `never`: those that stay on."""
    kept, off = dict(costs), []
    while sum(kept.values()) > most:
        dearest = max((name for name in kept if name not in never), key=lambda name: kept[name], default=None)
        if dearest is None:
            break
        off.append(dearest)
        del kept[dearest]
    return off
