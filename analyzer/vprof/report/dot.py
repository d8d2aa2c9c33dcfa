"""The variance tree as a Graphviz graph, and as SVG by Graphviz's `dot` program.

A node shows its additive share, mean and standard deviation; red deepens with the share. Light subtrees are folded into
one dashed node, so that the picture of a large program can be read.
"""

from __future__ import annotations

import math
import subprocess
from pathlib import Path

from vprof.analysis import Analysis
from vprof.errors import VprofError
from vprof.report.pruning import prune
from vprof.report.units import duration, percent
from vprof.variance_tree import VarianceTree

MOST_NODES = 50
"""A picture with many more cannot be read."""


def render(analysis: Analysis) -> str:
    return render_tree(analysis.tree, most=analysis.options.top or MOST_NODES)


def render_tree(tree: VarianceTree, start: int = 0, most: int = MOST_NODES) -> str:
    """The subtree of node `start`, about `most` nodes of it."""
    lines = [
        "digraph variance {",
        "  rankdir=LR;",
        '  node [shape=box, style=filled, fontname="sans-serif", fontsize=10];',
        "  edge [arrowsize=0.6];",
    ]
    pruned = prune(tree, most, start)
    work = [start]
    while work:
        x = work.pop()
        shown = pruned.children[x]
        folded = len(tree.children[x]) - len(shown)
        lines.append(f"  n{x} [label={quote(_label(tree, x))}, fillcolor={quote(_color(tree, x))}];")
        lines += [f"  n{x} -> n{c};" for c in shown]
        if folded:
            lines.append(f'  f{x} [label="{folded} below {percent(pruned.threshold)}", style=dashed];')
            lines.append(f"  n{x} -> f{x};")
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


def _label(tree: VarianceTree, x: int) -> str:
    spread = f"mean {duration(tree.mean_ns[x])}, sd {duration(tree.var_ns2[x] ** 0.5)}"
    return f"{tree.paths.name[x]}\n{percent(tree.share[x])} of variance\n{spread}"


def _color(tree: VarianceTree, x: int) -> str:
    share = min(1.0, max(0.0, float(tree.share[x]))) if not math.isnan(tree.share[x]) else 0.0
    other = round(255 - 155 * share)
    return f"#ff{other:02x}{other:02x}"
