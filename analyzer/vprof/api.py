"""What `vprof.load` gives: a run as tables (pandas) and as a tree of nodes, for notebooks and scripts.

    run = vprof.load("run.trace")              # or several paths; root="handle_request"
    run.intervals.latency_ns.describe()
    run.factors.head()
    for node in run.tree.find("fsync*"):
        print(node.path, node.share)
    run.to_parquet("tables")

Tables are made when they are first asked for and kept. Times are ns, shares are fractions of Var(latency).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path

import numpy as np
import pandas as pd

from vprof.errors import VprofError
from vprof.jobs.cluster import open_jobs
from vprof.piece_table import PieceTable, names
from vprof.tables.model import Trace
from vprof.terminal import Printed
from vprof.trace.remote import matching, path_of
from vprof.trace.usable import rows_of
from vprof.tree_node import Node
from vprof.variance.analysis import Analysis, AnalysisOptions
from vprof.variance.explain import Explanation, explain
from vprof.variance.stream import analyze_traces


def load_run(
    paths: Sequence[str | os.PathLike[str]],
    root: str | None,
    options: AnalysisOptions | None,
    jobs: int | None = None,
    scheduler: str | None = None,
) -> Run:
    """See `vprof.load`."""
    if not paths:
        raise VprofError("vprof.load needs the path of a trace")
    files = [one for path in paths for one in matching(path_of(path))]
    with open_jobs(jobs, scheduler) as workers:
        return Run(analyze_traces(files, root, options, jobs=workers))


class Run:
    """Analyzed intervals of one or several traces. `analysis` holds everything that reports show."""

    def __init__(self, analysis: Analysis) -> None:
        self.analysis = analysis

    @property
    def _trace(self) -> Trace:
        return self.analysis.trace

    @cached_property
    def intervals(self) -> pd.DataFrame:
        """One row per analyzed interval, in order of begin. Index `interval`: its id, as `vprof analyze --path` takes
        it. Columns: type, begin_ns, end_ns, latency_ns, begin_thread, end_thread."""
        trace, iv = self._trace, self._trace.intervals
        rows = rows_of(trace)
        return pd.DataFrame(
            {
                "type": names(iv.type[rows], trace.types),
                "begin_ns": iv.begin[rows],
                "end_ns": iv.end[rows],
                "latency_ns": iv.end[rows] - iv.begin[rows],
                "begin_thread": names(iv.begin_thread[rows], trace.threads),
                "end_thread": names(iv.end_thread[rows], trace.threads),
            },
            index=pd.Index([trace.interval_ids[row] for row in rows], name="interval"),
        )

    @cached_property
    def pieces(self) -> pd.DataFrame:
        """The critical paths: the pieces of an interval join end to end from its begin to its end.

        Columns: interval, kind (exec, queue, sched, ...: analyzer/SCHEMA.md), thread, start_ns, stop_ns, duration_ns,
        home (False: another thread's time, while a thread of the interval waited for it).
        """
        return PieceTable(self.analysis).whole()

    def pieces_in_parts(self) -> Iterator[pd.DataFrame]:
        """`pieces`, some rows at a time, for runs whose critical paths do not fit in memory: nothing is kept."""
        return PieceTable(self.analysis).parts()

    @cached_property
    def factors(self) -> pd.DataFrame:
        """All factors that are not zero, best score first.

        Columns: factor ("f", or "a|b" for a covariance: what `--explain` takes), kind, share, contribution_ns2, height,
        specificity, score, instances (places in the tree), chosen (one of the k that `vprof analyze` prints), ci95_low,
        ci95_high, first (the part of the resamples in which it is ranked first); these are NaN where a factor is not
        chosen or has no interval.
        """
        chosen = {ranked.factor.name: ranked for ranked in self.analysis.factors}
        rows = []
        for f in self.analysis.ranking:
            ranked = chosen.get(f.name)
            low, high = ranked.ci95 if ranked and ranked.ci95 else (np.nan, np.nan)
            rows.append(
                {
                    "factor": "|".join(f.functions),
                    "kind": f.kind,
                    "share": f.share,
                    "contribution_ns2": f.contribution_ns2,
                    "height": f.height,
                    "specificity": f.specificity,
                    "score": float(f.score),
                    "instances": len(f.instances),
                    "chosen": ranked is not None,
                    "ci95_low": low,
                    "ci95_high": high,
                    "first": np.nan if ranked is None or ranked.first is None else ranked.first,
                }
            )
        return pd.DataFrame(rows, columns=_FACTOR_COLUMNS)

    @cached_property
    def tree(self) -> Node:
        """The root of the variance tree."""
        return Node(self.analysis.tree, 0, self.analysis.times)

    @cached_property
    def nodes(self) -> pd.DataFrame:
        """The tree as a table, parents first. Columns: name, parent (row, -1 for the root), depth, mean_ns, var_ns2,
        share, mean_share, tail_share."""
        tree = self.analysis.tree
        depth = np.zeros(len(tree.paths.parent), np.int32)
        for x, parent in enumerate(tree.paths.parent[1:], 1):
            depth[x] = depth[parent] + 1
        return pd.DataFrame(
            {
                "name": tree.paths.name,
                "parent": tree.paths.parent,
                "depth": depth,
                "mean_ns": tree.mean_ns,
                "var_ns2": tree.var_ns2,
                "share": tree.share,
                "mean_share": tree.mean_share,
                "tail_share": tree.tail_share,
            }
        )

    def explain(self, factor: str) -> Explanation:
        """Where a factor comes from; named as in `factors`, or by any node of the tree. Raises VprofError."""
        return explain(self.analysis, factor)

    def to_parquet(self, folder: str | os.PathLike[str]) -> list[Path]:
        """Writes intervals.parquet, pieces.parquet, factors.parquet and nodes.parquet; makes the folder.

        Raises VprofError if pyarrow is not installed.
        """
        try:
            import pyarrow  # type: ignore[import-untyped]  # noqa: F401
        except ImportError:
            raise VprofError("Parquet needs pyarrow: pip install 'vprof[parquet]'") from None
        return self._written(folder, "parquet", lambda table, file: table.to_parquet(file), PieceTable.to_parquet)

    def to_csv(self, folder: str | os.PathLike[str]) -> list[Path]:
        """Writes intervals.csv, pieces.csv, factors.csv and nodes.csv; makes the folder."""
        return self._written(folder, "csv", lambda table, file: _to_csv([table], file), _pieces_to_csv)

    def _written(
        self,
        folder: str | os.PathLike[str],
        ending: str,
        write: Callable[[pd.DataFrame, Path], None],
        write_pieces: Callable[[PieceTable, Path], None],
    ) -> list[Path]:
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        written = []
        for name in ("intervals", "pieces", "factors", "nodes"):
            written.append(folder / f"{name}.{ending}")
            if name == "pieces":
                write_pieces(PieceTable(self.analysis), written[-1])
            else:
                write(getattr(self, name), written[-1])
        return written


_FACTOR_COLUMNS = [
    "factor",
    "kind",
    "share",
    "contribution_ns2",
    "height",
    "specificity",
    "score",
    "instances",
    "chosen",
    "ci95_low",
    "ci95_high",
    "first",
]


def _to_csv(tables: Iterable[pd.DataFrame], file: Path) -> None:
    """One after the other."""
    with Printed(file.open("wb"), "utf-8", newline="") as out:
        for number, table in enumerate(tables):
            table.to_csv(out, header=number == 0)


def _pieces_to_csv(pieces: PieceTable, file: Path) -> None:
    _to_csv(pieces.parts(), file)
