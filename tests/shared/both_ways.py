"""Kernels run compiled and as Python, each on its own copy of the arguments, and have to agree to the bit.

arguments -> compiled  ->  result, arguments as they are now  -+
    copy  -> as Python ->  result, copy as it is now          -+->  the same types, shapes and bytes
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest

from vprof.tables import kernels


def run_both_ways(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """From now on, until the patch is undone. Returns what counts each kernel's calls."""
    calls: Counter[str] = Counter()

    def run(kernel: Any, args: tuple[Any, ...]) -> Any:
        function = kernel.__wrapped__
        name = f"{function.__module__}.{function.__name__}"
        calls[name] += 1
        copied = copied_with(args, {})
        compiled = kernel.compiled(*args)
        interpreted = kernels.COMPILER.interpret(function, copied)
        assert same(compiled, interpreted), f"{name} returns {compiled}, as Python {interpreted}"
        assert same(args, copied), f"{name} leaves other arguments than as Python"
        return compiled

    kernels.COMPILER.turn_on()
    monkeypatch.setattr(kernels, "_run", run)
    return calls


def copied_with(value: Any, bases: dict[int, np.ndarray[Any, Any]]) -> Any:
    """Arrays that share memory do so in the copy. `bases`: copies of what arrays are views of, by its id."""
    if isinstance(value, tuple):
        parts = [copied_with(part, bases) for part in value]
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    if not isinstance(value, np.ndarray) or not value.size:
        return value
    base = value
    while isinstance(base.base, np.ndarray):
        base = base.base
    copied = bases.setdefault(id(base), base.copy(order="K"))
    offset = value.ctypes.data - base.ctypes.data
    return np.ndarray(value.shape, value.dtype, copied.data, offset, value.strides)


def same(a: Any, b: Any) -> bool:
    """Also of one type; not-a-numbers with the same bits are the same."""
    if type(a) is not type(b):
        return False
    if isinstance(a, np.ndarray):
        return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
    if isinstance(a, tuple):
        return len(a) == len(b) and all(map(same, a, b))
    return bool(a == b)
