"""The releases of Debian that packages are made for and tried on, and pip's options for their Python."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Suite:
    debian: int
    python: str

    def for_pip(self) -> list[str]:
        """Makes pip take the wheels for that Python there, whatever Python runs pip."""
        names = [f"manylinux_2_{libc}_x86_64" for libc in range(36, 16, -1)]
        platforms = [word for name in (*names, "manylinux2014_x86_64") for word in ("--platform", name)]
        return ["--only-binary=:all:", "--python-version", self.python, *platforms]

    def depends(self) -> str:
        """Compiled packages of Python fit one minor version of it."""
        major, minor = self.python.split(".")
        return f"python3 (>= {self.python}), python3 (<< {major}.{int(minor) + 1})"


SUITES = {"bookworm": Suite(12, "3.11"), "trixie": Suite(13, "3.13")}
