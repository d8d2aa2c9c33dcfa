"""The text of a block with its units in another order.

A unit takes along what stands between the unit before it and itself (comments, empty lines), and what follows it on its
last line.
"""

from __future__ import annotations

from collections.abc import Sequence

from vprof.transaction.program import Statement
from vprof.transaction.units import Unit


def reordered(text: bytes, block: Statement, units: Sequence[Unit], order: Sequence[int]) -> bytes:
    """`order`: of places in `units`, which are all of the block."""
    spans = chunks(text, block, units)
    begin, end = spans[0][0], spans[-1][1]
    return text[:begin] + b"".join(text[slice(*spans[place])] for place in order) + text[end:]


def chunks(text: bytes, block: Statement, units: Sequence[Unit]) -> list[tuple[int, int]]:
    """The bytes of each unit, with all that it takes along."""
    begin = _line_end(text, block.begin + 1, units[0].statements[0].begin)
    found = []
    for at, unit in enumerate(units):
        limit = units[at + 1].statements[0].begin if at + 1 < len(units) else block.end - 1
        end = _line_end(text, unit.statements[-1].end, limit)
        found.append((begin, end))
        begin = end
    return found


def _line_end(text: bytes, at: int, limit: int) -> int:
    """Behind the end of the line, or `at` if something else begins before it."""
    found = text.find(b"\n", at, limit)
    return at if found < 0 else found + 1
