"""A workshop (instrumenter/workshop.py) that compiles for aarch64 and runs what it made by qemu."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from workshop import PLAIN, PLAIN_CXX, Completed, Workshop

QEMU = ("qemu-aarch64-static", "-L", "/usr/aarch64-linux-gnu")
CLANG_OPTION = "--target=aarch64-linux-gnu"
COMPILERS = {
    "clang": (f"{PLAIN} {CLANG_OPTION}", f"{PLAIN_CXX} {CLANG_OPTION}"),
    "gcc": ("aarch64-linux-gnu-gcc", "aarch64-linux-gnu-g++"),
}


class CrossWorkshop(Workshop):
    def __init__(self, path: Path, family: str) -> None:
        super().__init__(path, family)
        self.evaluates_like = "clang"  # gcc, too, does so here
        self.real, self.real_cxx = (command.split()[0] for command in COMPILERS[family])
        self.environment |= dict(zip(("VPROF_REAL_CC", "VPROF_REAL_CXX"), COMPILERS[family], strict=True))
        self.environment["VPROF_RUNTIME"] = "linked"  # what starts itself again would leave qemu

    def run(self, *command: str | Path, check: bool = True, env: Mapping[str, str] | None = None) -> Completed:
        program = str(command[0])
        if program in (PLAIN, PLAIN_CXX):
            command = (program, CLANG_OPTION, *command[1:])
        elif program.startswith("./"):
            command = (*QEMU, *command)
        return super().run(*command, check=check, env=env)
