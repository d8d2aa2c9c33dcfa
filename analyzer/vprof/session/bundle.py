"""What recording needs on another machine: a program, libvprof, the collector and a plan, in one folder.

    PROGRAM --copied, without its entry for libvprof--> FOLDER/NAME       starts anywhere, dormant
    libvprof, libgcc_s ------------------------------> FOLDER/lib/
    vprof-collector ---------------------------------> FOLDER/record     `record --run plan -- ./NAME`
    sites, by number relative to their module -------> FOLDER/plan       runtime/collector/runner.h

Nothing of it needs Python, a shell, or more than the C library.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile
from elftools.elf.segments import InterpSegment

from vprof.errors import UsageError, VprofError
from vprof.installed import native
from vprof.program.elf import read_program, read_sections
from vprof.program.runtime_link import RUNTIME, forget_runtime, strong_references, switches_address
from vprof.session.control import ranges
from vprof.session.plan import Plan, SiteIndex

_UNWINDER = "libgcc_s.so.1"
"""libvprof needs it beside the C library; programs of C may not have it."""
_HELP = """\
A program built with vprof, and what recording it needs. By itself it runs as if built without:

    ./{name}

Recorded, in this folder or from any other:

    ./record --run plan --output run.trace -- ./{name}

`run.trace` is analyzed where vprof is installed, with a copy of {name} in its folder: vprof analyze run.trace
"""


@dataclass(frozen=True)
class Bundle:
    """`kept`: what the program itself calls of libvprof, so that it does not start without it; [] = it does."""

    folder: Path
    sites: int
    kept: list[str]


def make(program: Path, folder: Path, plan: Plan) -> Bundle:
    """Fills a folder that is not there yet. Raises VprofError for a program that is static or not of vprof-cc, and for
    a plan with what matches nothing."""
    read_program(program)
    libraries = _loaded(program)
    lines, sites = _plan_lines([program, *libraries.values()], plan)
    if folder.exists():
        raise UsageError(f"{folder} exists: remove it, or give another -o")
    (folder / "lib").mkdir(parents=True)
    copy = folder / program.name
    shutil.copy2(program, copy)
    kept = strong_references(copy)
    if not kept:
        forget_runtime(copy)
    shutil.copy2(native(f"lib/vprof/{RUNTIME}"), folder / "lib" / RUNTIME)
    shutil.copy2(_unwinder(program), folder / "lib" / _UNWINDER)
    shutil.copy2(native("lib/vprof/vprof-collector"), folder / "record")
    (folder / "plan").write_text("\n".join(["vprof-run/1", f"preload lib/{RUNTIME}", *lines, ""]), encoding="utf-8")
    (folder / "README").write_text(_HELP.format(name=program.name), encoding="utf-8")
    return Bundle(folder, sites, kept)


def _interpreter(program: Path) -> str:
    try:
        with program.open("rb") as file:
            found = [s.get_interp_name() for s in ELFFile(file).iter_segments() if isinstance(s, InterpSegment)]
    except (OSError, ELFError):
        found = []
    if not found:
        raise UsageError(f"{program} is static: it holds all that it needs; copy it, and record it with vprof there")
    return str(found[0])


def _loaded(program: Path, file: Path | None = None) -> dict[str, Path]:
    """The libraries that a program starts with, or that another file needs, by name; nothing is started."""
    command = [_interpreter(program), "--list", str((file or program).resolve())]
    listed = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    rows = (line.split() for line in listed.splitlines())
    return {row[0]: Path(row[2]) for row in rows if len(row) > 2 and row[1] == "=>" and row[2].startswith("/")}


def _unwinder(program: Path) -> Path:
    """libgcc_s, of the machine's own libraries."""
    found = _loaded(program, native(f"lib/vprof/{RUNTIME}")).get(_UNWINDER)
    if found is None:
        raise VprofError(f"{_UNWINDER} is missing, which {RUNTIME} needs: install libgcc-s1")
    return found


def _plan_lines(files: list[Path], plan: Plan) -> tuple[list[str], int]:
    """A line for each module with sites of the plan, and how many sites of programs these are."""
    index, lines, sites = SiteIndex(), list[str](), 0
    for number, file in enumerate(_instrumented(files)):
        index.add({"index": number, "path": file, "base": 0, "section_addr": switches_address(file)})
        numbers = index.numbers(plan, number)
        if numbers:
            lines.append(f"sites {file.name} {switches_address(file)} {ranges(numbers)}")
            sites += len(numbers) if file.name != RUNTIME else 0
    unmatched = index.unmatched(plan)
    if unmatched:
        raise UsageError(unmatched[0])
    return lines, sites


def _instrumented(files: list[Path]) -> Iterator[Path]:
    """Those with metadata, and libvprof, whose sites are functions of the C library."""
    yield from (file for file in files if file.name != RUNTIME and read_sections(file)[0])
    yield native(f"lib/vprof/{RUNTIME}")
