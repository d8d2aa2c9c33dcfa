"""Kernels: the analyzer's loops over records. They run as the Python that they are, or compiled by Numba.

Loading Numba and the kept kernels takes half a second of CPU; as plain Python, the kernels of a trace of 10 kB take ten
milliseconds. So a process compiles nothing until a kernel gets many rows, or kernels have run as Python for a while;
from then on all of them are compiled. Both ways give the same numbers to the bit (tests/shared/both_ways.py). So a
product that is to wrap has an `np.int64` in it (Python's own numbers grow), and columns of less than 64 bits are
widened before arithmetic that overflows them (Numba does that, NumPy does not). A kernel's first argument is the table
whose rows it goes over, or begins with it.

A machine's first run compiles them, which takes a good part of a second per function and set of argument types. So
kernels get integers as int64 (columns.py), share few table layouts, use no Numba containers, and leave to NumPy what
NumPy does fast enough. Tables that go together are one NamedTuple.

Numba counts references to arrays, with a locked instruction each time that one gets a name or becomes a row: in a loop
over records most of the time. So such a loop is a function of its own, a `loop`, which counts none, and so makes no
array either; what has to grow its tables stands around it, as a `kernel` or a `maker`, and calls it again. What a loop
calls is a `helper`: it is always inlined, else each call would pass a NamedTuple's arrays one by one, seven words each.

Compiled kernels are kept on disk until a file of the package changes: what one names or inlines may lie in another
file.
"""

from __future__ import annotations

import functools
import os
import threading
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from vprof.tables.model import Float, Int64

F = TypeVar("F", bound=Callable[..., Any])
"""A kernel is called as the function that it was: mypy checks its annotations, which Numba does not read."""

Table = TypeVar("Table", Int64, Float)

_MAX_ROWS = 8192
_MAX_SECONDS = 0.25
"""What a process runs as Python: no kernel that gets more rows, and together not much longer (of CPU)."""
_IS_DISABLED = os.environ.get("NUMBA_DISABLE_JIT", "0") != "0"
"""As Numba reads it: for who debugs kernels, or measures what they cover."""


class Compiler:
    """Compiles every kernel there is or will be, once one is wanted compiled. Any thread may want it: it is on for all
    of them when all kernels are ready."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._waiting: deque[Callable[[], None]] | None = deque()
        self._seconds = 0.0

    def when_on(self, compile_one: Callable[[], None]) -> None:
        with self._lock:
            if self._waiting is None:
                compile_one()
            else:
                self._waiting.append(compile_one)

    def turn_on(self) -> None:
        with self._lock:
            while self._waiting:
                self._waiting.popleft()()
            self._waiting = None

    def is_wanted(self, rows: int) -> bool:
        """Whether a kernel that gets so many rows is to run compiled."""
        is_much = rows > _MAX_ROWS or self._seconds > _MAX_SECONDS
        if self._waiting is not None and is_much and not _IS_DISABLED:
            self.turn_on()
        return self._waiting is None

    def interpret(self, function: Callable[..., Any], args: tuple[Any, ...]) -> Any:
        begin = time.process_time()
        with np.errstate(all="ignore"):
            result = function(*args)
        self._seconds += time.process_time() - begin
        return _plain(result)


COMPILER = Compiler()


def kernel(function: F) -> F:
    """What Python calls. Compiled when it is first called and compiling is on, and kept on disk."""

    @functools.wraps(function)
    def call(*args: Any) -> Any:
        return _run(call, args)

    return _noted(call, function)


def maker(function: F) -> F:
    """For other kernels alone: Python cannot call it."""
    return _noted(function, function, no_cpython_wrapper=True, no_cfunc_wrapper=True)


def loop(function: F) -> F:
    """A maker that makes no array and returns none: it uses those that its caller holds, and counts no references."""
    return _noted(function, function, no_cpython_wrapper=True, no_cfunc_wrapper=True, _nrt=False)


def helper(function: F) -> F:
    """A part of loops, inlined into them; it counts no references either."""
    return _noted(function, function, no_cpython_wrapper=True, no_cfunc_wrapper=True, _nrt=False, forceinline=True)


def _run(kernel: Any, args: tuple[Any, ...]) -> Any:
    if COMPILER.is_wanted(_rows(args[0])):
        return kernel.compiled(*args)
    return COMPILER.interpret(kernel.__wrapped__, args)


def _rows(first: Any) -> int:
    """Of a kernel's first argument: a table, a NamedTuple that begins with one, or how many there are."""
    while isinstance(first, tuple):
        first = first[0]
    return len(first) if isinstance(first, np.ndarray) else int(first)


def _plain(result: Any) -> Any:
    """NumPy's scalars as Python's, which compiled kernels return."""
    if isinstance(result, np.generic):
        return result.item()
    return tuple(map(_plain, result)) if type(result) is tuple else result


def _noted(name: Callable[..., Any], function: F, **options: Any) -> F:
    """What other kernels call the function by, here and when they are compiled: Numba asks it for `_numba_type_`."""

    named: Any = name

    def compile_one() -> None:
        named.compiled = _compiled(function, options)
        named._numba_type_ = named.compiled._numba_type_

    COMPILER.when_on(compile_one)
    same: F = named
    return same


def _compiled(function: Callable[..., Any], options: dict[str, Any]) -> Any:
    """Numba would compile a function once more for every constant that some caller passes; here they are int64."""
    from numba import njit, types

    compiled: Any = njit(cache=True, error_model="numpy", **options)(function)
    specialize = compiled.get_call_template
    unliteral: Any = types.unliteral
    compiled.get_call_template = lambda args, kws: specialize(tuple(map(unliteral, args)), kws)
    # Numba's own stamp is of the function's file alone.
    compiled._cache._cache_file._source_stamp = _stamp()
    return compiled


@functools.cache
def _stamp() -> str:
    """Another one after a change of any file of the package."""
    import hashlib  # what only compiled kernels need is no part of the start of a small command

    package = Path(__file__).parents[1]
    files = [(file, file.stat()) for file in sorted(package.rglob("*.py"))]
    named = [(str(file.relative_to(package)), status.st_mtime_ns, status.st_size) for file, status in files]
    return hashlib.sha256(repr(named).encode()).hexdigest()


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
