"""The critical paths as a table (pandas), whole or a part at a time.

    windows -> columns of pieces -> sorted by interval, as soon as no window can bring an earlier one  ->  tables

Memory of parts: the pieces of one window, and of intervals that began after one which is not over yet.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from vprof.path.parts import Part
from vprof.tables.columns import i32
from vprof.tables.kinds import PIECE_NAMES
from vprof.tables.model import NONE, Bool, Int8, Int32, Int64
from vprof.trace.usable import rows_of
from vprof.variance.analysis import Analysis


class _Columns(NamedTuple):
    """`position`: of the interval among the analyzed ones."""

    position: Int32
    kind: Int8
    thread: Int32
    start: Int64
    stop: Int64
    home: Bool

    def rows(self, rows: Int64 | slice) -> _Columns:
        columns: list[Any] = [column[rows] for column in self]
        return _Columns(*columns)


class PieceTable:
    """Of the analyzed intervals of some traces."""

    def __init__(self, analysis: Analysis) -> None:
        self._parts, self._trace = analysis.times.parts, analysis.trace
        self._rows = rows_of(analysis.trace)

    def whole(self) -> pd.DataFrame:
        return self._table(_joined(list(self._sorted())))

    def parts(self) -> Iterator[pd.DataFrame]:
        """The same rows in the same order, some at a time. Columns of names have the names that occur."""
        first = 0
        for columns in self._sorted():
            table = self._table(columns)
            table.index = pd.RangeIndex(first, first + len(table))
            first += len(table)
            yield table

    def to_parquet(self, file: Path) -> None:
        """A group of rows for each part. REQUIRES: pyarrow is installed."""
        import pyarrow as pa  # type: ignore[import-untyped]
        import pyarrow.parquet as pq  # type: ignore[import-untyped]

        writer = None
        for table in self.parts():
            rows = pa.table({name: _array(pa, column) for name, column in table.items()})
            writer = writer or pq.ParquetWriter(file, rows.schema)
            writer.write_table(rows)
        if writer:
            writer.close()

    def _sorted(self) -> Iterator[_Columns]:
        """By interval, not all at once; there is an interval."""
        waiting: list[_Columns] = []
        for part, before in zip(self._parts, self._earliest_after(), strict=True):
            found = _joined([*waiting, _pieces(part)])
            found = found.rows(np.argsort(found.position, kind="stable"))
            end = int(np.searchsorted(found.position, before))
            waiting = [found.rows(slice(end, None))]
            if end:
                yield found.rows(slice(end))

    def _earliest_after(self) -> list[int]:
        """Of each part the first interval of those that end in later ones; past all if there is no later part."""
        first = [int(positions.min()) for positions in self._parts.ending()]
        later = np.minimum.accumulate([*first, len(self._rows)][::-1])[::-1]
        return [int(one) for one in later[1:]]

    def _table(self, columns: _Columns) -> pd.DataFrame:
        trace = self._trace
        return pd.DataFrame(
            {
                "interval": names(i32(self._rows)[columns.position], trace.interval_ids),
                "kind": names(columns.kind, PIECE_NAMES),
                "thread": names(columns.thread, trace.threads),
                "start_ns": columns.start,
                "stop_ns": columns.stop,
                "duration_ns": columns.stop - columns.start,
                "home": columns.home,
            }
        )


def _array(pa: Any, column: Any) -> Any:
    """Of Arrow; of one type, however many names occur."""
    if column.dtype != "category":
        return pa.array(column)
    column = column.cat
    return pa.DictionaryArray.from_arrays(pa.array(column.codes.astype("int32")), pa.array(column.categories))


def _joined(parts: Sequence[_Columns]) -> _Columns:
    return parts[0] if len(parts) == 1 else _Columns(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def _pieces(part: Part) -> _Columns:
    p, opened = part.paths.pieces, part.opened
    position, thread = i32(opened.positions[p.interval]), i32(p.thread + opened.first_thread)
    return _Columns(position, p.kind, thread, p.start, p.stop, p.wait == NONE)


def names(numbers: Int8 | Int32, names: Sequence[str]) -> pd.Categorical[str]:
    """A column of names; only those that occur, each stored once."""
    used = np.unique(numbers)
    labels = [names[number] for number in used]
    distinct = list(dict.fromkeys(labels))
    place = {label: i for i, label in enumerate(distinct)}
    code = np.array([place[label] for label in labels], np.int32)
    return pd.Categorical.from_codes(code[np.searchsorted(used, numbers)], pd.Index(distinct, dtype=str))
