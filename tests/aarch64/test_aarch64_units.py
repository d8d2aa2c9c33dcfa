"""The runtime's own tests, built for aarch64, by ctest, whose emulator is qemu: unit tests on CPUs with vectors of
three lengths, and system tests.

What is left out, tests/runtime/CMakeLists.txt names.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from workshop import PREFIX

CPUS = {"no SVE": "cortex-a72", "SVE of 128 bits": "max,sve256=off,sve512=off", "SVE of 2048 bits": "max,sve2048=on"}


def check(test: str, **env: str) -> None:
    command = ["ctest", "--test-dir", str(PREFIX.parent), "-R", f"^{test}$", "--output-on-failure"]
    done = subprocess.run(command, text=True, capture_output=True, env={**os.environ, **env})
    assert done.returncode == 0, done.stdout
    assert "100% tests passed, 0 tests failed out of 1" in done.stdout


@pytest.mark.parametrize("cpu", CPUS.values(), ids=CPUS.keys())
def test_unit_tests_pass(cpu: str) -> None:
    check("runtime_unit", QEMU_CPU=cpu)


@pytest.mark.parametrize("shard", range(1, 5))
def test_system_tests_pass(shard: int) -> None:
    check(f"runtime_system_{shard}")


def test_the_library_is_of_aarch64() -> None:
    library = Path(PREFIX / "lib/vprof/libvprof.so").read_bytes()
    aarch64 = 183
    assert int.from_bytes(library[18:20], "little") == aarch64
