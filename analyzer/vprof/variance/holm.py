"""Several tests at once: p values that keep their level over all of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def holm(p: Sequence[float]) -> list[float]:
    """Adjusted p values, in the order given: below alpha in at most alpha of all families without a difference."""
    order = np.argsort(p, kind="stable")
    adjusted = np.empty(len(p))
    worst = 0.0
    for i, at in enumerate(order):
        worst = max(worst, min(1.0, (len(p) - i) * p[at]))
        adjusted[at] = worst
    return [float(x) for x in adjusted]
