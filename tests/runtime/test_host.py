"""The host is never broken: what programs print is the same without vprof, with it and dormant, and recorded.

Each program of programs/host/ does on purpose what could show a difference, linked dynamically and statically.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from vprof.installed import native

PROGRAMS = Path(__file__).parent / "programs" / "host"
FLAGS = ["-std=gnu11", "-D_GNU_SOURCE", "-O1", "-pthread"]
SECONDS = 120


@dataclass(frozen=True)
class Built:
    """The programs of one way to link, without and with vprof."""

    folder: Path
    link: tuple[str, ...]

    def path(self, name: str, kind: str, compiler: str) -> Path:
        path = self.folder / f"{name}.{kind}"
        if not path.exists():
            subprocess.run([compiler, *FLAGS, *self.link, PROGRAMS / f"{name}.c", "-o", path], check=True)
        return path

    def plain(self, name: str) -> Path:
        return self.path(name, "plain", "clang-19")

    def instrumented(self, name: str) -> Path:
        return self.path(name, "vprof", str(native("bin/vprof-cc")))


@pytest.fixture(scope="module", params=[(), ("-static",)], ids=["dynamic", "static"])
def built(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Built:
    return Built(tmp_path_factory.mktemp("host"), request.param)


@dataclass(frozen=True)
class Ended:
    status: int
    output: str


def _start(*command: object) -> subprocess.Popen[str]:
    # A group of its own: one that hangs is killed with its children.
    words = [str(word) for word in command]
    return subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)


def _end(process: subprocess.Popen[str]) -> Ended:
    try:
        output, _ = process.communicate(timeout=SECONDS)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        output, _ = process.communicate()
        output += "(hangs)\n"
    return Ended(process.returncode if process.returncode >= 0 else 128 - process.returncode, output)


def record(trace: Path, *command: object, sites: str = "main", options: tuple[str, ...] = ()) -> list[object]:
    vprof = [sys.executable, "-c", "from vprof.cli import main; main()"]
    return [*vprof, "record", "--sites", sites, *options, "-o", trace, "--", *command]


def check_same(
    built: Built, tmp_path: Path, name: str, *arguments: str, sites: str = "main", under: tuple[str, ...] = ()
) -> Ended:
    """Runs all three ways at a time, for they mostly sleep; returns what they all did. `under`: a command before."""
    trace = tmp_path / "run.trace"
    runs = [
        _start(*under, built.plain(name), *arguments),
        _start(*under, built.instrumented(name), *arguments),
        _start(*record(trace, *under, built.instrumented(name), *arguments, sites=sites)),
    ]
    plain, dormant, recorded = [_end(run) for run in runs]
    assert plain.output
    assert dormant == plain
    assert recorded == plain
    assert trace.stat().st_size > 0
    return plain


BELIEFS = ["socket", "tcp", "pipe", "nonblocking", "event", "file", "listening", "signals", "locked"]


@pytest.mark.parametrize("belief", BELIEFS)
def test_calls_do_not_depend_on_what_is_remembered_of_a_descriptor(built: Built, tmp_path: Path, belief: str) -> None:
    ended = check_same(built, tmp_path, "stale_descriptors", belief)
    assert ended.status == 0
    assert len(ended.output.splitlines()) == 17 * 18  # kinds and calls


@pytest.mark.parametrize("group", ["cancel", "jumps", "times", "arguments", "untouched", "locks"])
def test_calls_keep_their_rules(built: Built, tmp_path: Path, group: str) -> None:
    assert check_same(built, tmp_path, "call_rules", group).status == 0


def test_asynchronous_io_keeps_its_rules(built: Built, tmp_path: Path) -> None:
    assert check_same(built, tmp_path, "async_rules").status == 0


@pytest.mark.parametrize(
    "how", ["vfork", "close_range", "closefrom", "syscall", "freopen", "pclose", "dup2", "shared", "again"]
)
def test_a_number_that_becomes_another_descriptor_is_read_as_what_it_is(built: Built, tmp_path: Path, how: str) -> None:
    assert check_same(built, tmp_path, "reused_numbers", how).status == 0


@pytest.mark.parametrize("limit", ["8388608", "1048576", "unlimited"])
def test_mlockall_locks_the_program_and_not_the_session(built: Built, tmp_path: Path, limit: str) -> None:
    """8 MiB, the default of users without CAP_IPC_LOCK, hold a program and no session."""
    is_root = os.geteuid() == 0
    if limit == "unlimited" and not is_root:
        pytest.skip("needs root, for CAP_IPC_LOCK")
    without_right = ("setpriv", "--bounding-set=-ipc_lock", "--inh-caps=-ipc_lock") if is_root else ()
    under = () if limit == "unlimited" else ("prlimit", f"--memlock={limit}", *without_right)
    ended = check_same(built, tmp_path, "locked_memory", under=under)
    assert ("mlockall both: 0" in ended.output) == (limit != "1048576")
    assert "much" not in ended.output


@pytest.mark.parametrize("threads", [30, 1800])
def test_a_limited_address_space_still_holds_the_program(built: Built, tmp_path: Path, threads: int) -> None:
    """1,800 threads take 250 of the 300 MB."""
    ended = check_same(built, tmp_path, "many_threads", str(threads), under=("prlimit", "--as=300000000"))
    assert ended.status == 0


def test_where_no_session_fits_the_program_runs_and_one_line_says_so(built: Built, tmp_path: Path) -> None:
    program = ("prlimit", "--as=60000000", built.instrumented("many_threads"), "5")
    done = subprocess.run(
        [*map(str, record(tmp_path / "t", *program))], capture_output=True, text=True, timeout=SECONDS
    )
    assert done.stdout == _end(_start(built.plain("many_threads"), "5")).output
    assert done.stderr.splitlines() == [
        "vprof: 1 process stays unrecorded: the limit of address space (RLIMIT_AS) leaves too little room; raise it, "
        "or record with a smaller --ring-size",
        "vprof: no records: no program has room for a session",
    ]


def test_a_smaller_session_fits(built: Built, tmp_path: Path) -> None:
    program = ("prlimit", "--as=150000000", built.instrumented("many_threads"), "5")
    small = ("--slots", "8", "--ring-size", "64K")
    done = subprocess.run(
        [*map(str, record(tmp_path / "t", *program, options=small))], capture_output=True, text=True, timeout=SECONDS
    )
    assert done.stdout == _end(_start(built.plain("many_threads"), "5")).output
    assert ", 0 dropped" in done.stderr


@pytest.mark.parametrize("allowed", ["own", "clocks"])
@pytest.mark.parametrize("occasion", ["jump", "threads", "fork", "switched", "descriptors", "end"])
def test_a_filter_that_kills_lets_the_program_live(built: Built, tmp_path: Path, occasion: str, allowed: str) -> None:
    """It allows the program's own system calls only, or also those that README.md names."""
    ended = check_same(built, tmp_path, "restricted", occasion, allowed, sites="all")
    assert ended == Ended(0, "done\n")


@pytest.mark.parametrize("what", ["strict", "clock"])
def test_a_program_that_forbids_itself_the_clock_lives(built: Built, tmp_path: Path, what: str) -> None:
    assert check_same(built, tmp_path, "restricted", "-", what, sites="all") == Ended(0, f"{what}\n")
