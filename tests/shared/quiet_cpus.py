"""Tests that only say something on a machine with time for them: `@pytest.mark.quiet_cpus`, at most MOST of them.

What they measure (how much a planted cause makes latencies vary) drowns where other programs take the CPUs. So it is
measured what is to be had: before the test by spinning on all CPUs at once, and, if it fails, by what others took
meanwhile. Such a test is then skipped, and the reason says how much there was. tests/README.md lists them.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import time
from pathlib import Path

MOST = 10
LEAST_SHARE = 0.9
"""Of all CPUs: a test with less is not held against its program."""
_LOOP = """
import time
begin, cpu = time.monotonic(), time.process_time()
while time.monotonic() - begin < 0.5:
    pass
print((time.process_time() - cpu) / (time.monotonic() - begin))
"""


def why_not() -> str:
    """What is lacking now; "" if the CPUs are quiet."""
    loops = [
        subprocess.Popen([sys.executable, "-c", _LOOP], stdout=subprocess.PIPE, text=True)
        for _ in os.sched_getaffinity(0)
    ]
    share = min(float(loop.communicate()[0]) for loop in loops)
    return "" if share >= LEAST_SHARE else f"other programs take the CPUs: a loop had {share:.0%} of one"


class Watch:
    """What others took of all CPUs since it was made."""

    def __init__(self) -> None:
        self._begin = _others(), time.monotonic()

    def why_not(self) -> str:
        others, now = _others() - self._begin[0], time.monotonic() - self._begin[1]
        share = 1 - others / (os.cpu_count() or 1) / max(now, 0.1)
        return "" if share >= LEAST_SHARE else f"other programs took the CPUs meanwhile: they left {share:.0%} of them"


def _others() -> float:
    """Seconds of CPU of all processes but this one and those that it has waited for; what a hypervisor took counts."""
    user, nice, system, _, _, irq, softirq, steal = map(int, Path("/proc/stat").read_text().split()[1:9])
    all_ = (user + nice + system + irq + softirq + steal) / os.sysconf("SC_CLK_TCK")
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return all_ - sum(one.ru_utime + one.ru_stime for one in used)
