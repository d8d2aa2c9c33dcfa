"""The installed wrapper (VPROF_PREFIX, default .venv) at work in a directory, and what is in the objects it makes."""

from __future__ import annotations

import itertools
import json
import os
import re
import struct
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from elftools.elf.elffile import ELFFile

from vprof.program.elf import read_sections

HERE = Path(__file__).parent
PREFIX = Path(os.environ.get("VPROF_PREFIX", HERE.parents[1] / ".venv"))
PLAIN, PLAIN_CXX = "clang-19", "clang++-19"
ALL_SITES = HERE.parent / "all_sites.json"
"""The descriptor of what is compiled, unless a test has its own: functions of tests are small."""
COMPILERS = {"clang": (PLAIN, PLAIN_CXX), "gcc": ("gcc", "g++")}
EVERY_WARNING = {
    "clang": ["-Weverything", "-Wno-c++98-compat", "-Wno-unsafe-buffer-usage"],
    "gcc": [
        "-Wall",
        "-Wextra",
        "-Wshadow",
        "-Wconversion",
        "-Wcast-qual",
        "-Wundef",
        "-Wredundant-decls",
        "-Wstack-protector",
    ],
}
# For tests and modules that hold with either as the real compiler.
EVERY_COMPILER = pytest.mark.parametrize("family", COMPILERS, indirect=True)
IN_BODIES = pytest.mark.usefixtures("in_bodies")
Completed = subprocess.CompletedProcess[str]


class Workshop:
    """A directory to write sources to, and the compilers to run in it."""

    def __init__(self, path: Path, family: str) -> None:
        self.path = path
        self.family = family
        self.evaluates_like = family  # of golden files: whose order operands are evaluated in
        self.real, self.real_cxx = COMPILERS[family]
        self.environment = {
            "VPROF_REAL_CC": self.real,
            "VPROF_REAL_CXX": self.real_cxx,
            "VPROF_DESCRIPTOR": str(ALL_SITES),
        }
        self.every_warning = EVERY_WARNING[family]

    def write(self, **texts: str) -> None:
        """`write(a_c="...")` writes a.c."""
        for name, text in texts.items():
            (self.path / name.replace("_", ".")).write_text(text)

    def run(self, *command: str | Path, check: bool = True, env: Mapping[str, str] | None = None) -> Completed:
        done = subprocess.run(
            [str(word) for word in command],
            cwd=self.path,
            text=True,
            capture_output=True,
            env={**os.environ, **self.environment, **(env or {})},
        )
        assert not check or done.returncode == 0, f"{command}: {done.returncode}\n{done.stdout}{done.stderr}"
        return done

    def cc(self, *arguments: str | Path, check: bool = True, **env: str) -> Completed:
        """vprof-cc."""
        return self.run(PREFIX / "bin/vprof-cc", *arguments, check=check, env=env)

    def cxx(self, *arguments: str | Path, check: bool = True, **env: str) -> Completed:
        """vprof-c++."""
        return self.run(PREFIX / "bin/vprof-c++", *arguments, check=check, env=env)

    def unknown_compiler(self) -> str:
        """A real compiler that the wrapper does not know: units are compiled unchanged."""
        script = self.path / "unknown"
        script.write_text(
            f'#!/bin/sh\ncase "$*" in *-dM*) echo \'#define __INTEL_COMPILER 1\';; *) exec {self.real} "$@";; esac\n'
        )
        script.chmod(0o755)
        return str(script)

    def plain(self, *arguments: str | Path, check: bool = True) -> Completed:
        """The real compiler."""
        return self.run(self.real, "-idirafter", PREFIX / "include", *arguments, check=check)

    def plain_cxx(self, *arguments: str | Path, check: bool = True) -> Completed:
        """The real C++ compiler."""
        return self.run(self.real_cxx, "-idirafter", PREFIX / "include", *arguments, check=check)

    def units(self, binary: str) -> list[dict[str, Any]]:
        """Payloads of the metadata chunks, each with `address` and `count` of its switch bytes."""
        return read_units(self.path / binary)

    def unit(self, binary: str) -> dict[str, Any]:
        [unit] = self.units(binary)
        return unit

    def function(self, binary: str, name: str) -> dict[str, Any]:
        [found] = [f for u in self.units(binary) for f in u["functions"] if f["name"] == name]
        return found

    def calls(self, *objects: str, options: Sequence[str] = (), program: str = "traced") -> str:
        """Links the objects with the fake runtime and runs: what it printed, site numbers replaced by names."""
        self.run(PLAIN, "-c", HERE / "fake_runtime.c", "-o", "fake_runtime.o")
        self.cxx(*options, *objects, "fake_runtime.o", "-pthread", "-o", program)
        names = self.site_names(program)
        printed = self.run(f"./{program}").stderr
        printed = re.sub(r"site (\d+)", lambda match: names[int(match[1])], printed)
        return re.sub(r"\d{9,}", "ADDRESS", printed)

    def site_names(self, program: str) -> dict[int, str]:
        """Names by site number, for a base of 0 (runtime/TRACE_FORMAT.md section 3)."""
        with (self.path / program).open("rb") as file:
            start = ELFFile(file).get_section_by_name("vprof_switch")["sh_addr"]
        return {
            unit["address"] - start + function["site"]: function["name"]
            for unit in self.units(program)
            for function in unit["functions"]
            if function["site"] is not None
        }


def read_units(path: Path) -> list[dict[str, Any]]:
    """The payloads, each with the functions and symbols that it may share with others."""
    data, texts = read_sections(path)
    units = []
    position = data.find(b"VPUM")
    while position >= 0:
        version, address, count, length = struct.unpack_from("<IQII", data, position + 4)
        start, end = position + 24, position + 24 + length
        described: dict[str, Any] = {}
        if version == 2:
            functions, symbols = struct.unpack_from("<II", data, start)
            places = struct.unpack_from(f"<{functions + symbols}I", data, start + 8)
            described = _described([texts[place : texts.index(0, place)] for place in places], functions)
            start += 8 + 4 * len(places)
        units.append({**described, **json.loads(data[start:end]), "address": address, "count": count})
        position = data.find(b"VPUM", end)
    return units


def _described(texts: list[bytes], functions: int) -> dict[str, Any]:
    """What texts of functions and then of symbols say, lists and `left` also where they are left out."""
    found = [json.loads(text) for text in texts]
    symbols = [{"noreturn": False, **symbol} for symbol in found[functions:]]
    sites = itertools.count()
    absent: dict[str, Any] = {"left": None, "noreturn": False, "calls": [], "indirect": []}
    described = [{**absent, **f, "site": None if "left" in f else next(sites)} for f in found[:functions]]
    return {"functions": described, "symbols": symbols, "taken": [], "matched": []}
