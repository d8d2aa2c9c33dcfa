"""Kernels give the same to the bit, compiled and as Python; and what decides which (vprof/tables/kernels.py)."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path

import histories
import numpy as np
import pytest
from worked_cases import TRACES

from vprof.tables.kernels import Compiler, kernel
from vprof.tables.model import Int32, Int64
from vprof.trace.json_trace import trace_from_dict
from vprof.trace.loading import load_trace
from vprof.variance.analysis import AnalysisOptions, analyze

OPTIONS = AnalysisOptions(intervals=True, by_type=True)


@kernel
def _grown(numbers: Int64) -> int:
    """Python's numbers do not wrap."""
    n = 0
    for _ in range(len(numbers)):
        n = n * 1000 + 7
    return n


@kernel
def _narrow(numbers: Int32) -> Int64:
    """NumPy's 32-bit scalars wrap, Numba's become 64-bit ones."""
    sums = np.zeros(1, np.int64)
    for i in range(len(numbers)):
        sums[0] += numbers[i] + numbers[i]
    return sums


@pytest.mark.parametrize("case", TRACES, ids=lambda case: case.stem)
def test_worked_cases_are_the_same(case: Path, both_ways: Counter[str]) -> None:
    analyze(load_trace(case), OPTIONS)
    assert both_ways["vprof.path.places._place"] and both_ways["vprof.variance.moments._accumulate"]


def test_random_histories_are_the_same(both_ways: Counter[str]) -> None:
    for seed in range(20):
        analyze(trace_from_dict(histories.random_history(seed)), OPTIONS)
    assert len(both_ways) > 10


def test_a_difference_is_seen(both_ways: Counter[str]) -> None:
    with pytest.raises(AssertionError, match="_grown returns"):
        _grown(np.zeros(10, np.int64))
    with pytest.raises(AssertionError, match="_narrow returns"):
        _narrow(np.full(2, 1 << 30, np.int32))
    assert _grown(np.zeros(5, np.int64)) == 7007007007007


def test_a_few_rows_compile_nothing() -> None:
    compiler, compiled = Compiler(), list[str]()
    compiler.when_on(lambda: compiled.append("early"))
    assert not compiler.is_wanted(100)
    assert compiler.interpret(sum, ([1, 2],)) == 3
    assert not compiled
    assert compiler.is_wanted(100_000)
    compiler.when_on(lambda: compiled.append("late"))
    assert compiled == ["early", "late"]
    assert compiler.is_wanted(1)


def test_whoever_switches_numba_off_gets_python(monkeypatch: pytest.MonkeyPatch) -> None:
    """As Numba's own functions do."""
    count = "import numpy as np; from vprof.tables.model import Int64; from vprof.tables.kernels import kernel\n"
    count += "def rows(table: Int64) -> int:\n    return len(table)\nprint(kernel(rows)(np.zeros(100_000, np.int64)))"
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")
    done = subprocess.run([sys.executable, "-c", count], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("100000\n", "")


def test_a_thread_that_comes_while_kernels_are_made_ready_waits_for_all() -> None:
    compiler, compiled, begun = Compiler(), list[str](), threading.Event()

    def slowly() -> None:
        begun.set()
        time.sleep(0.2)
        compiled.append("slowly")

    compiler.when_on(slowly)
    compiler.when_on(lambda: compiled.append("last"))
    first = threading.Thread(target=compiler.turn_on)
    first.start()
    assert begun.wait(10)
    assert not compiler.is_wanted(1), "runs as Python meanwhile"
    assert compiler.is_wanted(100_000)
    assert compiled == ["slowly", "last"]
    first.join()


def test_what_takes_long_as_python_is_compiled_the_next_time() -> None:
    def busy(_: int) -> None:
        end = time.process_time() + 0.3
        while time.process_time() < end:
            pass

    compiler = Compiler()
    compiler.interpret(busy, (1,))
    assert compiler.is_wanted(1)
