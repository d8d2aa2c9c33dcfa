"""minidb's parts in programs of tests, which drive them step by step: tests/programs/minidb/."""

from __future__ import annotations

import subprocess
from pathlib import Path

from patience import PATIENCE_SECONDS

SOURCE = Path(__file__).parents[2] / "targets" / "minidb" / "src"
PROGRAMS = Path(__file__).parents[1] / "programs" / "minidb"


def linked(folder: Path, name: str) -> Path:
    """tests/programs/minidb/NAME.c with all of minidb but its main()."""
    parts = [file for file in sorted(SOURCE.glob("*.c")) if file.name != "main.c"]
    program = folder / name
    flags = ["-std=gnu11", "-O2", "-g", "-Wall", "-Wextra", "-Werror", "-pthread", "-I", SOURCE, "-o", program]
    subprocess.run(["clang-19", *flags, PROGRAMS / f"{name}.c", *parts, "-lm"], check=True)
    return program


def answers(program: Path, *arguments: object, steps: str) -> list[str]:
    """What it prints, line by line, for the steps on its standard input. REQUIRES: it succeeds."""
    done = subprocess.run(
        [program, *map(str, arguments)],
        input=steps,
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.splitlines()
