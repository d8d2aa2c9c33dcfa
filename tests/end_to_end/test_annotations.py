"""annotations/pthread.toml lists exactly what the runtime interposes."""

import tomllib
from pathlib import Path

from elftools.elf.elffile import ELFFile

from vprof.paths import annotation_file, native

MAPPINGS = {"mmap", "mmap64", "munmap", "mremap", "shmat", "shmdt"}
"""Interposed to know shared memory: no primitives."""


def exported_functions(library: Path) -> set[str]:
    with library.open("rb") as file:
        table = ELFFile(file).get_section_by_name(".dynsym")
        return {
            s.name for s in table.iter_symbols() if s["st_shndx"] != "SHN_UNDEF" and s["st_info"]["type"] == "STT_FUNC"
        }


def test_the_listed_primitives_are_the_interposed_ones() -> None:
    primitives = tomllib.loads(annotation_file("pthread").read_text(encoding="utf-8"))["primitive"]
    listed = [function for primitive in primitives for function in primitive["functions"]]
    exported = exported_functions(native("lib/vprof/libvprof.so"))
    assert exported > MAPPINGS
    assert sorted(listed) == sorted(name for name in exported - MAPPINGS if not name.startswith(("vprof_", "__vprof_")))
