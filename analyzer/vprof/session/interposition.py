"""Whether waits are seen at all: calls of the C library reach libvprof only where it comes before libc in lookup order.

It does in a program that was linked by vprof-cc: that one finds libvprof itself, and puts it there. It does not where a
program without vprof loads an instrumented library later (a plugin, a JNI library, an extension of Python): then waits
have no edges. `vprof record --preload` mends that.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile
from elftools.elf.segments import InterpSegment

from vprof.errors import UsageError
from vprof.installed import native
from vprof.program.elf import read_sections
from vprof.trace.unseen_waits import MEND

_VARIABLE = "LD_PRELOAD"
_SEPARATORS = " :"
_LIBRARIES = ("libvprof.so", "libc.so")


def preloaded(environment: dict[str, str]) -> dict[str, str]:
    """The environment with libvprof in LD_PRELOAD, behind what is there: a sanitizer's library insists on being first.

    Raises UsageError when the dynamic linker could not read libvprof's path there.
    """
    library = str(native("lib/vprof/libvprof.so"))
    if any(separator in library for separator in _SEPARATORS):
        raise UsageError(f"{library} cannot be preloaded: LD_PRELOAD takes no path with a space or a colon")
    before = environment.get(_VARIABLE, "").strip(_SEPARATORS)
    return {**environment, _VARIABLE: f"{before}:{library}" if before else library}


def where_runtime_lies() -> dict[str, str]:
    """The environment by which programs find libvprof where they were not linked to look for it."""
    return {"VPROF_LIBRARY": str(native("lib/vprof/libvprof.so").parent.resolve())}


def comes_without(program: str) -> bool:
    """Whether a program, by its path or as PATH has it, was built by vprof-cc, and does not look for libvprof."""
    from vprof.program.runtime_link import waits_for_preload

    found = shutil.which(program)
    return found is not None and waits_for_preload(Path(found))


def look(program: Path) -> tuple[bool | None, str]:
    """Whether calls of a program that was not started yet will reach libvprof, None: only with --preload; and why.

    Raises UsageError if the file is no program of this machine.
    """
    from vprof.program.runtime_link import looks_itself

    try:
        with program.open("rb") as file:
            interpreter = [s.get_interp_name() for s in ELFFile(file).iter_segments() if isinstance(s, InterpSegment)]
        instrumented = bool(read_sections(program)[0])
    except OSError as error:
        raise UsageError(f"{program}: {error.strerror}") from None
    except ELFError:
        raise UsageError(f"{program} is no ELF program: name the one that runs it, such as its interpreter") from None
    if not interpreter:
        return (True, "static, built with vprof") if instrumented else (None, "static, built without vprof")
    # Lists what would be loaded, in lookup order, and starts nothing.
    listed = subprocess.run([interpreter[0], "--list", program.resolve()], capture_output=True, text=True).stdout
    names = [line.split()[0] for line in listed.splitlines() if line.strip()]
    ours, libc = (next((i for i, name in enumerate(names) if name.startswith(known)), None) for known in _LIBRARIES)
    if ours is None and looks_itself(program):
        return True, "looks for libvprof where it is recorded, and puts it before the C library: waits are seen"
    if ours is None and instrumented:
        return True, "starts without libvprof (VPROF_RUNTIME=preloaded): vprof puts it before the C library"
    if ours is None:
        return None, f"built without vprof: if it loads an instrumented library, {MEND}"
    if libc is not None and libc < ours:
        return None, f"libvprof comes behind the C library in lookup order, so waits have no edges: {MEND}"
    return True, "libvprof comes before the C library: waits are seen"
