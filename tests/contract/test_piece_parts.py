"""The table of critical paths, part by part: the same rows in the same order as the whole, also in files."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pandas as pd
from history import History
from properties import seeds
from test_windows import in_small_chunks

from vprof.api import Run
from vprof.variance.stream import analyze_traces

WORDS = dict.fromkeys(("interval", "kind", "thread"), str)


@seeds(4)
def test_parts_are_the_whole(seed: int, tmp_path: Path) -> None:
    rng = random.Random(seed)
    paths = [
        in_small_chunks(History(seed + i, 3, 200).writer, seed).save(tmp_path / f"{i}.trace")
        for i in range(rng.randint(1, 2))
    ]
    run = Run(analyze_traces(paths, window_records=rng.randint(5, 60)))
    parts = list(run.pieces_in_parts())
    assert len(parts) > 1
    assert sum(map(len, parts)) == len(run.pieces)
    assert max(map(len, parts)) < len(run.pieces)
    joined = pd.concat([part.astype(WORDS) for part in parts])
    whole = run.pieces.astype(WORDS)
    pd.testing.assert_frame_equal(joined, whole, check_index_type=False)
    by_interval = whole.groupby("interval", sort=False)
    assert list(by_interval.groups) == [name for name in run.intervals.index if name in by_interval.groups]
    assert np.array_equal(by_interval.duration_ns.sum(), run.intervals.latency_ns[list(by_interval.groups)])
    run.to_csv(tmp_path / "tables")
    run.to_parquet(tmp_path / "tables")
    for table in (
        pd.read_csv(tmp_path / "tables/pieces.csv", index_col=0),
        pd.read_parquet(tmp_path / "tables/pieces.parquet"),
    ):
        found = table.astype(WORDS)
        pd.testing.assert_frame_equal(found, whole, check_index_type=False)
