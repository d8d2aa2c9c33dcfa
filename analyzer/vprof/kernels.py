"""Compiled kernels: what every per-record loop of the analyzer is compiled with.

A machine's first run compiles them, which takes a good part of a second per function and set of argument types. So
kernels get integers as int64 (columns.py), share few table layouts, use no Numba containers, and leave to NumPy what
NumPy does fast enough.

Numba counts references to arrays, with a locked instruction each time that one gets a name or becomes a row: in a loop
over records most of the time. So such a loop stands in a `helper`, which counts none, and so makes none either; what
has to grow its tables stands around it, as a `kernel` or a `maker`, and calls it again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import njit, types


def kernel(function: Callable[..., Any]) -> Any:
    """Compiled when it is first called, and kept on disk."""
    return _compiled(function)


def maker(function: Callable[..., Any]) -> Any:
    """Compiled for other kernels alone: Python cannot call it."""
    return _compiled(function, no_cpython_wrapper=True, no_cfunc_wrapper=True)


def helper(function: Callable[..., Any]) -> Any:
    """A maker that makes no array and returns none: it uses those that its caller holds, and counts no references."""
    return _compiled(function, no_cpython_wrapper=True, no_cfunc_wrapper=True, _nrt=False)


def _compiled(function: Callable[..., Any], **options: Any) -> Any:
    """Numba would compile a function once more for every constant that some caller passes; here they are int64."""
    compiled: Any = njit(cache=True, error_model="numpy", **options)(function)
    specialize = compiled.get_call_template
    unliteral: Any = types.unliteral
    compiled.get_call_template = lambda args, kws: specialize(tuple(map(unliteral, args)), kws)
    return compiled


@maker
def roomy(table, n, more):  # type: ignore[no-untyped-def]
    """The table of rows, or a larger copy of its first n, with at least `more` rows after them; new ones are zero."""
    if n + more <= len(table):
        return table
    larger = np.zeros((2 * len(table) + more, table.shape[1]), np.int64)
    for i in range(n):
        for j in range(table.shape[1]):
            larger[i, j] = table[i, j]
    return larger
