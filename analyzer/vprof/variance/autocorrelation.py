"""How many intervals one after the other say about as much as one: the autocorrelation time of their latencies.

Source: Sokal's estimate, with a window of five times itself (docs/algorithms.md section 8).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from vprof.tables.model import Float

_FIRST_LAGS, _MORE = 1 << 10, 8
_PIECE = 1 << 15
"""Values of a Fourier transform, unless lags are many: it fits in the cache."""


def autocorrelation_time(x: Float) -> tuple[float, float]:
    """Integrated, in intervals, at least 1, and its standard error; `x` has mean 0."""
    return pooled_time([x])


def pooled_time(parts: Sequence[Float]) -> tuple[float, float]:
    """Of several series that are taken to have the same, each with mean 0: their autocovariances added up. Memory: up
    to _MORE times as many values as there are lags in the window."""
    n, longest = sum(map(len, parts)), max(map(len, parts))
    lags = min(_FIRST_LAGS, longest)
    while True:
        rho = np.sum([autocovariances(x, lags) for x in parts], axis=0)
        if rho[0] <= 0:
            return 1.0, 0.0
        tau = 2 * np.cumsum(rho / rho[0]) - 1
        closed = np.flatnonzero(np.arange(lags) >= 5 * tau)
        if len(closed) or lags == longest:
            break
        lags = min(_MORE * lags, longest)
    window = int(closed[0]) if len(closed) else longest - 1
    time = max(1.0, float(tau[window]))
    return time, float(time * np.sqrt(2 * (2 * window + 1) / n))


def autocovariances(x: Float, lags: int) -> Float:
    """The sums of x[t] x[t + k], by k: by Fourier transforms of pieces, each with what follows it."""
    size = max(_PIECE, 1 << (4 * lags).bit_length())
    size = min(size, 1 << (len(x) + lags).bit_length())  # other lengths than powers of 2 may take ten times as long
    piece = size - lags + 1
    found = np.zeros(lags)
    for at in range(0, len(x), piece):
        here, ahead = (np.fft.rfft(x[at : at + length], size) for length in (piece, size))
        found += np.fft.irfft(np.conj(here) * ahead, size)[:lags]
    return found
