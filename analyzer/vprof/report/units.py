"""Numbers as people read them: three significant digits and a unit."""

from __future__ import annotations

import math

_EXACT = 10**15
"""Counts up to here are printed in full."""
_UNITS = ((1e9, "s"), (1e6, "ms"), (1e3, "us"))


def duration(ns: float) -> str:
    """1234 -> "1.23 us"."""
    for scale, unit in _UNITS:
        if abs(ns) >= scale * 0.9995:
            return f"{_three(ns / scale)} {unit}"
    return f"{_three(ns)} ns"


def square(ns2: float) -> str:
    """1234567 -> "1.23 us2": with the digits that its root would have."""
    number, unit = duration(ns2**0.5).split()
    digits = len(number.partition(".")[2])
    scale = next((scale for scale, name in _UNITS if name == unit), 1.0)
    return f"{ns2 / scale**2:.{digits}f} {unit}2"


def percent(share: float | None) -> str:
    """0.123 -> "12.3 %"; "-" where undefined."""
    return "-" if share is None or math.isnan(share) else f"{share * 100:.1f} %"


def big(count: int) -> str:
    """12 -> "12"; counts of call paths can have hundreds of digits."""
    if count < _EXACT:
        return str(count)
    from decimal import Decimal

    return f"about {Decimal(count):.2e}"


def _three(value: float) -> str:
    digits = 0 if abs(value) >= 99.95 or value == round(value, 2) == round(value) else 1 if abs(value) >= 9.995 else 2
    return f"{value:.{digits}f}"
