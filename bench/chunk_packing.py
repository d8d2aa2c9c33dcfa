"""Payloads of chunks, compressed as the collector does it (runtime/TRACE_FORMAT.md section 1.3)."""

from __future__ import annotations

import lz4.block
import numpy as np
import zstandard
from numpy.typing import NDArray

ZSTD_LEVEL = 1
ZSTD = 1
"""In the header of a chunk."""


def compress_zstd(content: bytes) -> bytes:
    return zstandard.ZstdCompressor(level=ZSTD_LEVEL).compress(content)


def compress_lz4(content: bytes) -> bytes:
    return bytes(lz4.block.compress(content, store_size=False))


def turned(words: NDArray[np.uint64]) -> bytes:
    """Records, rearranged."""
    rows = words.copy()
    rows[1:, 0] -= words[:-1, 0]
    return rows.view(np.uint8).reshape(-1, 16).T.tobytes()
