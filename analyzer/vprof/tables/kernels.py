"""Compiled kernels: what every per-record loop of the analyzer is compiled with.

A machine's first run compiles them, which takes a good part of a second per function and set of argument types. So
kernels get integers as int64 (columns.py), share few table layouts, use no Numba containers, and leave to NumPy what
NumPy does fast enough. Tables that go together are one NamedTuple.

Numba counts references to arrays, with a locked instruction each time that one gets a name or becomes a row: in a loop
over records most of the time. So such a loop is a function of its own, a `loop`, which counts none, and so makes no
array either; what has to grow its tables stands around it, as a `kernel` or a `maker`, and calls it again. What a loop
calls is a `helper`: it is always inlined, else each call would pass a NamedTuple's arrays one by one, seven words each.

Kernels are kept on disk until a file of the package changes: what one names or inlines may lie in another file.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numba import njit, types

from vprof.tables.model import Float, Int64

F = TypeVar("F", bound=Callable[..., Any])
"""A compiled function is called as the one that it was: mypy checks its annotations, which Numba does not read."""

Table = TypeVar("Table", Int64, Float)


def _stamp() -> str:
    """Another one after a change of any file of the package."""
    package = Path(__file__).parents[1]
    files = [(file, file.stat()) for file in sorted(package.rglob("*.py"))]
    named = [(str(file.relative_to(package)), status.st_mtime_ns, status.st_size) for file, status in files]
    return hashlib.sha256(repr(named).encode()).hexdigest()


_STAMP = _stamp()


def kernel(function: F) -> F:
    """Compiled when it is first called, and kept on disk."""
    return _compiled(function)


def maker(function: F) -> F:
    """Compiled for other kernels alone: Python cannot call it."""
    return _compiled(function, no_cpython_wrapper=True, no_cfunc_wrapper=True)


def loop(function: F) -> F:
    """A maker that makes no array and returns none: it uses those that its caller holds, and counts no references."""
    return _compiled(function, no_cpython_wrapper=True, no_cfunc_wrapper=True, _nrt=False)


def helper(function: F) -> F:
    """A part of loops, inlined into them; it counts no references either."""
    return _compiled(function, no_cpython_wrapper=True, no_cfunc_wrapper=True, _nrt=False, forceinline=True)


def _compiled(function: F, **options: Any) -> F:
    """Numba would compile a function once more for every constant that some caller passes; here they are int64."""
    compiled: Any = njit(cache=True, error_model="numpy", **options)(function)
    specialize = compiled.get_call_template
    unliteral: Any = types.unliteral
    compiled.get_call_template = lambda args, kws: specialize(tuple(map(unliteral, args)), kws)
    # Numba's own stamp is of the function's file alone.
    compiled._cache._cache_file._source_stamp = _STAMP
    same: F = compiled
    return same


@maker
def roomy(table: Table, n: int, more: int) -> Table:
    """The table, or a larger copy of its first n rows, with at least `more` rows after them; new ones are zero.

    Numba drops the branch for tables of another dimension; a copy by slices takes it five times as long to compile.
    """
    if n + more <= len(table):
        return table
    larger = np.zeros((2 * len(table) + more, *table.shape[1:]), table.dtype)
    for i in range(n):
        if table.ndim == 1:
            larger[i] = table[i]
        else:
            for j in range(table.shape[1]):
                larger[i, j] = table[i, j]
    return larger


def with_room(table: Table, n: int) -> Table:
    """As `roomy`, outside of kernels: the table if it has n rows, else a larger copy."""
    if n <= len(table):
        return table
    larger = np.zeros((n + n // 2, *table.shape[1:]), table.dtype)
    larger[: len(table)] = table
    return larger
