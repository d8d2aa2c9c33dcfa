"""The variance tree as a Graphviz graph, and as SVG by Graphviz's `dot` program.

A box shows its additive share, mean and standard deviation; its colour says whether it is work, waiting, or work of
threads that were waited for, and deepens with the share; the line to it widens with it. Functions that call each other
and nothing else of weight share a box, and light subtrees are folded, so that the picture of a large program can be
read.
"""

from __future__ import annotations

import math
import subprocess
from pathlib import Path

from vprof.errors import VprofError
from vprof.report.pruning import Pruned, prune, same_time
from vprof.report.roles import OTHERS, ROOT, WAIT, WORK, roles
from vprof.report.units import duration, percent
from vprof.variance.analysis import Analysis
from vprof.variance.variance_tree import VarianceTree

MOST_NODES = 50
"""A picture with many more cannot be read."""

_COLOURS = {ROOT: "dfe4ea", WORK: "8dbbe2", WAIT: "f3a949", OTHERS: "b3a3e0"}
"""Colours of a full share, as on the page of `vprof report`."""
_LEAST_COLOUR = 0.25
_WIDEST_LINE = 8.0
_CHAIN_CHARACTERS = 110
_LONGEST_NAME = 60


def render(analysis: Analysis) -> str:
    return render_tree(analysis.tree, most=analysis.options.top or MOST_NODES)


def render_tree(tree: VarianceTree, start: int = 0, most: int = MOST_NODES) -> str:
    """The subtree of node `start`, about `most` nodes of it."""
    lines = [
        "digraph variance {",
        "  nodesep=0.15; ranksep=0.3;",
        '  node [shape=box, style="filled,rounded", color="#8a94a0", fontname="sans-serif", fontsize=10, height=0.3];',
        '  edge [arrowhead=none, color="#8a94a0"];',
    ]
    pruned = prune(tree, most, start)
    kind = roles(tree)
    work = [start]
    while work:
        chain = same_time(tree, pruned, work.pop(), _CHAIN_CHARACTERS, 1)
        first, last = chain[0], chain[-1]
        shown = pruned.children[last]
        fill = _mixed(_COLOURS[kind[last]], _share(tree, last))
        lines.append(f'  n{first} [label={quote(_label(tree, pruned, chain))}, fillcolor="#{fill}"];')
        for child in sorted(shown, key=lambda c: -_share(tree, c)):
            width = max(0.5, _WIDEST_LINE * _share(tree, child))
            lines.append(f"  n{first} -> n{child} [penwidth={width:.1f}];")
        work += reversed(shown)
    return "\n".join([*lines, "}", ""])


def write_svg(analysis: Analysis, path: Path) -> None:
    """Raises VprofError when Graphviz is missing or fails, or the file cannot be written."""
    try:
        path.write_text(render_svg(analysis), encoding="utf-8")
    except OSError as e:
        raise VprofError(f"cannot write {path}: {e.strerror}") from e


def render_svg(analysis: Analysis) -> str:
    """Raises VprofError when Graphviz is not there or fails."""
    try:
        done = subprocess.run(["dot", "-Tsvg"], input=render(analysis), capture_output=True, text=True, check=False)
    except OSError as e:
        raise VprofError(
            "SVG needs Graphviz's `dot`, which is not installed: apt install graphviz, or --format dot"
        ) from e
    if done.returncode:
        raise VprofError(f"dot failed: {(done.stderr.strip().splitlines() or ['no message'])[0]}")
    return done.stdout


def quote(text: str) -> str:
    """A DOT string that shows exactly `text` (C++ names hold quotes, backslashes and angle brackets)."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def _label(tree: VarianceTree, pruned: Pruned, chain: list[int]) -> str:
    last = chain[-1]
    folded = sum(len(tree.children[x]) - len(pruned.children[x]) for x in chain)
    lines = [
        *(_short(tree.paths.name[x]) for x in chain),
        f"{percent(tree.share[last])} of variance",
        f"mean {duration(tree.mean_ns[last])}, sd {duration(tree.var_ns2[last] ** 0.5)}",
        *([f"+ {folded} below {percent(pruned.threshold)}"] if folded else []),
    ]
    return "\n".join(lines)


def _short(name: str) -> str:
    return name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME - 21]}…{name[-20:]}"


def _share(tree: VarianceTree, x: int) -> float:
    """Between 0 and 1, 0 where it is not defined."""
    share = float(tree.share[x])
    return 0.0 if math.isnan(share) else min(1.0, max(0.0, share))


def _mixed(colour: str, share: float) -> str:
    """The colour on white, stronger with the share."""
    part = _LEAST_COLOUR + (1 - _LEAST_COLOUR) * share
    channels = (int(colour[i : i + 2], 16) for i in (0, 2, 4))
    return "".join(f"{round(255 - part * (255 - channel)):02x}" for channel in channels)
