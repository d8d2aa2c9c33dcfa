"""A short way to write hand-sized traces and to read results back as text."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from vprof.tables.model import Trace
from vprof.trace.json_trace import trace_from_dict
from vprof.variance.analysis import Analysis, AnalysisOptions, analyze

IN = AnalysisOptions(cpu_apart=False, client_apart=False)
"""The papers' tree: waits for a CPU count where they lie."""
EVERYTHING = replace(IN, k=1000, min_share=-1e9, intervals=True)


def hand_trace(
    intervals: dict[str, tuple[int, int, int, int]],
    segments: str,
    calls: str = "",
    wakeups: list[Any] | None = None,
    created: list[Any] | None = None,
    heights: dict[str, int] | None = None,
    root: str | None = None,
) -> Trace:
    """`intervals`: id -> (begin tid, begin, end tid, end). `segments`, one per line: tid label|- ts te state.

    `calls`, one per line, callers first: tid name[@site] fs fe.
    """
    data: dict[str, Any] = {
        "intervals": [
            {"sid": sid, "begin": {"tid": bt, "t": b}, "end": {"tid": et, "t": e}}
            for sid, (bt, b, et, e) in intervals.items()
        ],
        "segments": [_segment(line.split()) for line in segments.splitlines() if line.strip()],
        "functions": [_call(line.split()) for line in calls.splitlines() if line.strip()],
        "wakeups": wakeups or [],
        "created": created or [],
    }
    if heights is not None:
        data |= {"heights": heights, "root": root}
    return trace_from_dict(data)


def _segment(words: list[str]) -> list[Any]:
    tid, label, ts, te, state = words
    return [int(tid), None if label == "-" else label, int(ts), int(te), state]


def _call(words: list[str]) -> list[Any]:
    tid, name, fs, fe = words
    function, _, site = name.partition("@")
    return [int(tid), None, function, site, int(fs), int(fe)]


def path(trace: Trace, sid: str = "A") -> list[tuple[str, int, int, int]]:
    detail = analyze(trace, EVERYTHING).per_interval[sid]
    return [(kind, int(tid), a, b) for kind, tid, a, b in detail.critical_path]


def tree_text(analysis: Analysis) -> list[str]:
    """One line per node: indented name and mean."""
    tree = analysis.tree
    lines = []
    work = [(0, 0)]
    while work:
        x, depth = work.pop()
        lines.append(f"{'  ' * depth}{tree.paths.name[x]} {tree.mean_ns[x]:g}")
        work += [(c, depth + 1) for c in reversed(tree.children[x])]
    return lines


def ranking(analysis: Analysis) -> dict[str, float]:
    """Contributions by factor, best score first."""
    return {f.name: f.contribution_ns2 for f in analysis.ranking}
