"""Names of many intervals, as the two numbers that each consists of: the text is made when somebody asks for it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import overload

import numpy as np
from numpy.typing import NDArray

from vprof.tables.model import Int64


@dataclass(frozen=True, eq=False)
class IntervalIds(Sequence[str]):
    """The `number` that a program gave, and "#2", "#3" ... from its second `use` on; "#0" for that of an interval that
    began outside the trace."""

    number: NDArray[np.uint64]
    use: Int64

    def __len__(self) -> int:
        return len(self.number)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    def __iter__(self) -> Iterator[str]:
        return map(_text, self.number.tolist(), self.use.tolist())

    @overload
    def __getitem__(self, which: int) -> str: ...
    @overload
    def __getitem__(self, which: slice) -> IntervalIds: ...
    def __getitem__(self, which: int | slice) -> str | IntervalIds:
        if isinstance(which, slice):
            return IntervalIds(self.number[which], self.use[which])
        return _text(int(self.number[which]), int(self.use[which]))


def _text(number: int, use: int) -> str:
    return f"{number}" if use == 1 else f"{number}#{use}"
