"""NumPy is imported without threads that wait for work."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

CODE = """
import os
from vprof.blas import import_numpy
import_numpy()
import numpy
print(len(os.listdir("/proc/self/task")), os.environ.get("OPENBLAS_NUM_THREADS"))
"""


@pytest.mark.parametrize(("given", "told"), [({}, "None"), ({"OPENBLAS_NUM_THREADS": "1"}, "1")])
def test_linear_algebra_has_no_threads_and_other_programs_are_not_told(given: dict[str, str], told: str) -> None:
    plain = {name: value for name, value in os.environ.items() if not name.endswith("_NUM_THREADS")}
    done = subprocess.run([sys.executable, "-c", CODE], env=plain | given, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["1", told]
