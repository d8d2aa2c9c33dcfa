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
    if node.share > 0.1:
        print(f"{node.share:6.1%} of variance {node.mean_share:6.1%} of time  {' > '.join(node.path)}")

# %% One function: how its time goes with the latency, wherever it is called from.
name = run.factors.factor[run.factors.kind == "variance"].iloc[0]
times = sum(node.times for node in run.tree.find(name))
print(name, np.corrcoef(times, run.intervals.latency_ns)[0, 1])

# %% Where the slowest interval's time went: pieces join end to end, those with home = False are other threads' work.
slowest = run.intervals.latency_ns.idxmax()
print(run.pieces[run.pieces.interval == slowest].groupby(["kind", "thread"], observed=True).duration_ns.sum())

# %% What is behind one factor: call sites, wakers, intervals to look at.
for side in run.explain(name).sides:
    print(side.function, [(part.name, round(part.share, 3)) for part in side.wakers[:3]])

# %% A picture of the tree, and all tables for other tools.
out = Path(sys.argv[2] if len(sys.argv) > 2 else "tables")
print([file.name for file in run.to_parquet(out)])
(out / "tree.dot").write_text(run.tree.to_dot())
