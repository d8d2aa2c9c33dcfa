"""What left_out.txt says of qemu is so, shown by a program without vprof; and this machine's kernel does it.

Once a test fails here, qemu has learned it: take the gap's tests out of the list.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from cross import CLANG_OPTION, QEMU
from workshop import PLAIN

HERE = Path(__file__).parent
EXPLAINED = {"time", "memory"}
KERNEL_STARTS_QEMU = Path("/proc/sys/fs/binfmt_misc/qemu-aarch64")


def gaps() -> list[str]:
    lines = (HERE / "left_out.txt").read_text().splitlines()
    pairs = (line.split() for line in lines if line and not line.startswith("#"))
    return sorted({gap for _, gap in pairs} - EXPLAINED)


def printed(folder: Path, gap: str, options: tuple[str, ...], emulator: tuple[str, ...]) -> str:
    program = folder / "gaps"
    subprocess.run([PLAIN, *options, HERE / "programs/gaps.c", "-o", program, "-pthread"], check=True)
    return subprocess.run([*emulator, program, gap], check=True, capture_output=True, text=True, timeout=60).stdout


@pytest.mark.parametrize("gap", gaps())
def test_only_the_emulator_has_this_gap(gap: str, tmp_path: Path) -> None:
    is_filled = gap == "exec" and KERNEL_STARTS_QEMU.exists()  # a kernel that starts qemu for programs of aarch64
    assert printed(tmp_path, gap, (), ()) == "there\n"
    assert printed(tmp_path, gap, (CLANG_OPTION,), QEMU) == ("there\n" if is_filled else "missing\n")
