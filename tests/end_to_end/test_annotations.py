"""The files of annotations/ list exactly what the runtime interposes."""

import tomllib
from pathlib import Path

from elftools.elf.elffile import ELFFile

from vprof.metadata import read_program
from vprof.paths import annotation_file, native

MAPPINGS = {"mmap", "mmap64", "munmap", "mremap", "shmat", "shmdt", "sem_open", "sem_close"}
MAKERS = {"socket", "listen", "socketpair", "pipe", "pipe2", "eventfd", "signalfd"}
DESCRIPTORS = MAKERS | {"dup", "dup2", "dup3", "fclose", "fcntl64", "epoll_ctl", "prctl"}
OTHERS = {"pthread_barrier_init", "pthread_tryjoin_np", "_exit", "_Exit", "syscall"}
JUMPS = {"longjmp", "_longjmp", "siglongjmp", "__longjmp_chk"}
"""Interposed to know what objects are: no primitives themselves. `syscall` makes the futexes of futex.toml."""


def exported_functions(library: Path) -> set[str]:
    with library.open("rb") as file:
        table = ELFFile(file).get_section_by_name(".dynsym")
        return {
            s.name for s in table.iter_symbols() if s["st_shndx"] != "SHN_UNDEF" and s["st_info"]["type"] == "STT_FUNC"
        }


def listed(file: str, table: str) -> set[str]:
    entries = tomllib.loads(annotation_file(file).read_text(encoding="utf-8"))[table]
    functions = [function for entry in entries for function in entry["functions"]]
    return set(functions)


def test_the_listed_functions_are_the_interposed_ones() -> None:
    library = native("lib/vprof/libvprof.so")
    [unit] = read_program(library)
    external = {function.name for function in unit.functions if function.site is not None}
    aliases = {function.name for function in unit.functions if function.left == "alias"}
    assert external == listed("io", "external")
    exported = exported_functions(library)
    known = MAPPINGS | DESCRIPTORS | OTHERS | JUMPS
    assert exported > known | external | aliases
    others = exported - known - external - aliases
    checked = {name for name in others if name.endswith(("_chk", "_2"))}
    assert {name.strip("_").removesuffix("_chk").removesuffix("_2") for name in checked} <= external | aliases
    primitives = listed("pthread", "primitive") | (listed("io", "primitive") - external)
    assert primitives == {n for n in others - checked if not n.startswith(("vprof_", "__vprof_"))}
