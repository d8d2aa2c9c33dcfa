"""Looking at a run with pandas: a script of cells (`# %%`), as Jupyter, VS Code and Spyder run them one by one.

vprof record --target minidb -o run.trace -- --pathology wal
python docs/notebook.py run.trace
"""

# %% Load. Several traces of one program and plan are one run: vprof.load("a.trace", "b.trace").
import sys
from pathlib import Path

import numpy as np

import vprof

run = vprof.load(sys.argv[1] if len(sys.argv) > 1 else "run.trace")

# %% Latencies: one row per interval.
print(run.intervals.latency_ns.describe(percentiles=[0.5, 0.95, 0.99]))
print(run.intervals.groupby("type", observed=True).latency_ns.agg(["count", "mean", "std"]))

# %% What makes them vary.
print(run.factors[["factor", "share", "height", "score"]].head(10))

# %% The tree: every node has its shares, its path, and its time in each interval.
for node in run.tree.walk():
    if node.share > 0.1 and len(node.path) <= 8:
        print(f"{node.share:6.1%} of variance {node.mean_share:6.1%} of time  {' > '.join(node.path)}")

# %% One function: where it takes most of its time, and how that goes with the latency.
name = run.factors.factor[run.factors.kind == "variance"].iloc[0]
for node in sorted(run.tree.find(name), key=lambda node: -node.mean_ns)[:3]:
    print(f"{np.corrcoef(node.times, run.intervals.latency_ns)[0, 1]:6.3f}  {' > '.join(node.path[-3:])}")

# %% Where the slowest interval's time went: pieces join end to end, those with home = False are other threads' work.
slowest = run.intervals.latency_ns.idxmax()
print(run.pieces[run.pieces.interval == slowest].groupby(["kind", "thread"], observed=True).duration_ns.sum())

# %% What is behind one factor: callers, what it does, what it waits for, intervals to look at.
for side in run.explain(name).sides:
    for part in (*side.callers[:2], *side.inside[:2], *side.wakers[:2]):
        print(f"{side.function}: {part.share:6.1%}  {part.name}")

print(run.explain(name).exemplars)

# %% A picture of the tree, and all tables for other tools.
out = Path(sys.argv[2] if len(sys.argv) > 2 else "tables")
print([file.name for file in run.to_parquet(out)])
(out / "tree.dot").write_text(run.tree.to_dot())
