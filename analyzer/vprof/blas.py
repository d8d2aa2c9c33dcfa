"""NumPy without the threads of its linear algebra: OpenBLAS has one for each CPU, and each waits busily for its work.

Verbs multiply nothing large. So the threads took a fifth of the analysis of a small trace on two CPUs, and take more on
a machine that has more; and a sum that they share need not be the one that a single thread comes to.
"""

from __future__ import annotations

import os

_THREADS = "OPENBLAS_NUM_THREADS"


def import_numpy() -> None:
    """REQUIRES: nothing has imported it yet, or nothing happens. Who set the number of threads keeps it, and programs
    that this process starts are not told."""
    if _THREADS in os.environ:
        return
    os.environ[_THREADS] = "1"
    try:
        import numpy  # noqa: F401
    finally:
        del os.environ[_THREADS]
