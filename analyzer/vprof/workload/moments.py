"""Mean and variance of numbers that come in parts: exact sums about each part's mean, joined as Chan et al. do."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import reduce

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True)
class Moments:
    """Of `count` numbers: their `mean`, the sum `squares` of their squared distances from it, the `maximum`.

    Parts joined in any order and grouping give what the whole gives, to the rounding of float64.
    """

    count: int = 0
    mean: float = 0.0
    squares: float = 0.0
    maximum: int = 0

    @classmethod
    def of(cls, values: npt.NDArray[np.int64]) -> Moments:
        """Of numbers of 0 or more."""
        if not len(values):
            return cls()
        mean = float(values.mean())
        return cls(len(values), mean, float(np.square(values - mean).sum()), int(values.max()))

    def __add__(self, other: Moments) -> Moments:
        count = self.count + other.count
        if not count:
            return self
        apart = other.mean - self.mean
        mean = self.mean + apart * other.count / count
        squares = self.squares + other.squares + apart * apart * self.count * other.count / count
        return Moments(count, mean, squares, max(self.maximum, other.maximum))

    @classmethod
    def joined(cls, parts: list[Moments]) -> Moments:
        return reduce(cls.__add__, parts, cls())

    @property
    def variance(self) -> float:
        """Divided by the number of them."""
        return self.squares / self.count if self.count else 0.0

    @property
    def cv(self) -> float | None:
        return math.sqrt(self.variance) / self.mean if self.mean else None

    @property
    def l2(self) -> float:
        """The root of the mean of the squares: the L2 norm of the numbers by the root of their count, so that runs of
        any length compare. It is at least the mean, and grows with the variance: l2 ** 2 = mean ** 2 + variance."""
        return math.hypot(self.mean, math.sqrt(self.variance))
