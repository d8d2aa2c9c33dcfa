"""The files of annotations/ list exactly what the runtime interposes."""

import tomllib
from pathlib import Path

from elftools.elf.elffile import ELFFile

from vprof.installed import annotation_file, native
from vprof.program.elf import read_program

MAPPINGS = {"mmap", "mmap64", "munmap", "mremap", "shmat", "shmdt", "sem_open", "sem_close", "mlockall"}
MEMORY = {"mprotect", "madvise"}
MAKERS = {"socket", "listen", "socketpair", "pipe", "pipe2", "eventfd", "signalfd"}
ENDERS = {"fclose", "pclose", "freopen", "freopen64", "close_range", "closefrom", "mq_close"}
DESCRIPTORS = MAKERS | ENDERS | {"dup", "dup2", "dup3", "fcntl64", "epoll_ctl", "prctl"}
OTHERS = {"pthread_barrier_init", "pthread_tryjoin_np", "_exit", "_Exit", "syscall", "vfork"}
JUMPS = {"longjmp", "_longjmp", "siglongjmp", "__longjmp_chk"}
SWITCHES = {"makecontext", "setcontext", "swapcontext", "make_fcontext", "jump_fcontext", "ontop_fcontext"}
RINGS = {"io_uring_submit", "io_uring_submit_and_wait", "io_uring_wait_cqes", "io_uring_wait_cqe_timeout"} | {
    "__io_uring_get_cqe"
}
UNWINDING = {"__register_frame", "__register_frame_info", "__register_frame_table"}
TRIES = {"pthread_mutex_trylock", "pthread_rwlock_tryrdlock", "pthread_rwlock_trywrlock", "pthread_spin_trylock"}
"""Interposed to know what objects are, which flow runs, and who has a lock: no primitives themselves, for none waits;
of MEMORY, to know what their sleep is for.
`syscall` makes the futexes of futex.toml, and asynchronous I/O, as RINGS do."""


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
    aliases = {function.name for function in unit.functions if function.no_site == "alias"}
    assert external == listed("io", "external")
    exported = exported_functions(library)
    known = (
        MAPPINGS
        | MEMORY
        | DESCRIPTORS
        | OTHERS
        | JUMPS
        | SWITCHES
        | UNWINDING
        | RINGS
        | TRIES
        | {"mtx_trylock", "sem_trywait"}
    )
    assert exported > known | external | aliases
    others = exported - known - external - aliases
    checked = {name for name in others if name.endswith(("_chk", "_2"))}
    assert {name.strip("_").removesuffix("_chk").removesuffix("_2") for name in checked} <= external | aliases
    primitives = listed("pthread", "primitive") | (listed("io", "primitive") - external)
    assert primitives == {n for n in others - checked if not n.startswith(("vprof_", "__vprof_"))}
