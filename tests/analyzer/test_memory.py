"""Memory that arrays give back is kept for the next ones, and no longer than that."""

import subprocess
import sys

PROGRAM = """
import resource
import numpy as np
from vprof.tables.memory import freed_memory_kept

def resident_mb():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize() >> 20

def faults_of_arrays():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(20):
        np.ones(5_000_000)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

faults_of_arrays()
begun = resident_mb()
with freed_memory_kept():
    faults_of_arrays()
    kept = faults_of_arrays()
    during = resident_mb() - begun
print(kept, during, resident_mb() - begun)
"""


def test_it_is_kept_meanwhile_and_given_back_then() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    faults, during, after = map(int, done.stdout.split())
    # An array has 40 MB: 10,000 pages, or 20 large ones.
    assert faults < 20
    assert during >= 35
    assert after < 10
