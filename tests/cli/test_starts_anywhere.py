"""A program that vprof-cc links by default starts on a machine without libvprof, and looks for it where it is recorded.

It starts itself again with libvprof in LD_PRELOAD (runtime/src/vprof_start.c), which nobody is to notice. Where an
instrumented library of its own has brought libvprof, it need not.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from vprof.installed import native
from vprof.program.runtime_link import looks_itself, strong_references, waits_for_preload

OF_LIBC = ("libc.so.6", "libm.so.6")
LIBRARY = native("lib/vprof/libvprof.so")
# Says what it sees of itself, and what its children see; its own calls of vprof.h are there as well.
PROGRAM = """
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vprof/vprof.h>
int part(int n) __attribute__((weak));
__attribute__((noinline)) int work(int n) {
  int s = 0;
  while (n-- > 0) s += getenv("NOTHING") != 0;
  return s;
}
static const char *name(void) {
  static char text[64];
  FILE *file = fopen("/proc/self/comm", "r");
  if (!file || !fgets(text, sizeof text, file)) return "?";
  text[strcspn(text, "\\n")] = 0;
  return text;
}
int main(int argc, char **argv) {
  const char *preload = getenv("LD_PRELOAD");
  for (int i = 1; i <= 50; i++) {
    vprof_interval_begin(getpid() * 100 + i, vprof_text("t%d", i % 2));
    if (work(9) || part) part(9);
    vprof_interval_end(getpid() * 100 + i);
  }
  printf("%s %s %s", name(), argv[0], preload ? preload : "none");
  for (int i = 1; i < argc; i++) printf(" %s", argv[i]);
  printf("\\n");
  fflush(stdout);
  const char *child = getenv("CHILD");
  if (!child) return 3;
  unsetenv("CHILD");
  if (fork() == 0) execl(child, child, "again", NULL);
  wait(NULL);
  return 3;
}
"""
PART = """
#include <stdlib.h>
int part(int n) { for (int i = 0; i < 30; i++) n += getenv("NOTHING") != 0; return n; }
"""


def compile_in(folder: Path, *, library: bool = False, **environment: str) -> Path:
    """A program, perhaps with a library of its own."""
    (folder / "prog.c").write_text(PROGRAM)
    (folder / "part.c").write_text(PART)
    build = [["prog.c", "-L.", *(["-lpart"] if library else []), "-o", "prog"]]
    if library:
        build.insert(0, ["-shared", "-fPIC", "part.c", "-o", "libpart.so"])
    for words in build:
        command = [native("bin/vprof-cc"), "-I", native("include"), "-O1", *words, "-Wl,-rpath,$ORIGIN"]
        subprocess.run(command, cwd=folder, check=True, env=os.environ | environment)
    return folder / "prog"


@pytest.fixture(scope="module", params=[False, True], ids=["alone", "library"])
def each(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compile_in(tmp_path_factory.mktemp("each"), library=request.param)


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compile_in(tmp_path_factory.mktemp("anywhere"))


def run(*command: object, **environment: str) -> subprocess.CompletedProcess[str]:
    words = [str(word) for word in command]
    return subprocess.run(words, capture_output=True, text=True, check=False, env=os.environ | environment)


def recorded(folder: Path, *command: object, **environment: str) -> tuple[str, list[str]]:
    """What the program printed, and what the trace says: on a busy machine first what waits for a CPU."""
    vprof = [sys.executable, "-c", "from vprof.cli import main; main()"]
    trace = folder / "run.trace"
    done = run(*vprof, "record", "--sites", "work", "-o", trace, "--", *command, **environment)
    assert done.returncode == 3, done.stderr
    shown = run(*vprof, "analyze", trace)
    assert shown.returncode == 0, shown.stderr
    return done.stdout, shown.stdout.splitlines()


@pytest.fixture
def chroot(each: Path, tmp_path: Path) -> list[str]:
    """Runs a command in a root file system with the program, the C library, and nothing else."""
    for folder in ("lib64", "lib/x86_64-linux-gnu", "proc"):
        (tmp_path / folder).mkdir(parents=True)
    shutil.copy2("/lib64/ld-linux-x86-64.so.2", tmp_path / "lib64")
    for name in OF_LIBC:
        shutil.copy2(Path("/lib/x86_64-linux-gnu") / name, tmp_path / "lib/x86_64-linux-gnu")
    for name in ("prog", "libpart.so"):
        if (each.parent / name).exists():
            shutil.copy2(each.parent / name, tmp_path)
    return ["unshare", "-r", "-p", "-m", "-f", f"--mount-proc={tmp_path}/proc", "chroot", str(tmp_path)]


def test_without_libvprof_it_runs(chroot: list[str]) -> None:
    done = run(*chroot, "/prog", "a")
    assert (done.returncode, done.stdout, done.stderr) == (3, "prog /prog none a\n", "")


def test_nor_does_a_session_stop_it_there(chroot: list[str]) -> None:
    """What the environment names is not there, either."""
    done = run(*chroot, "/prog", VPROF_SESSION="/tmp/vprof-gone", VPROF_LIBRARY=str(LIBRARY.parent))
    assert (done.returncode, done.stdout, done.stderr) == (3, "prog /prog none\n", "")


def test_it_is_recorded_where_libvprof_is(each: Path, tmp_path: Path) -> None:
    assert looks_itself(each) and not waits_for_preload(each)
    assert strong_references(each) == []
    printed, shown = recorded(tmp_path, each, "a", "b c")
    assert printed == f"prog {each} none a b c\n"
    assert "50 intervals" in shown


def test_its_environment_is_what_it_was(each: Path, tmp_path: Path) -> None:
    math = "/lib/x86_64-linux-gnu/libm.so.6"
    printed, _ = recorded(tmp_path, each, LD_PRELOAD=math)
    assert printed == f"prog {each} {math}\n"


def test_a_child_that_runs_a_program_is_recorded_too(each: Path, tmp_path: Path) -> None:
    renamed = tmp_path / "renamed"
    renamed.symlink_to(each)
    printed, shown = recorded(tmp_path, each, CHILD=str(renamed))
    assert printed == f"prog {each} none\nrenamed {renamed} none again\n"
    assert "100 intervals" in shown


def test_a_child_without_vprof_stays_without(program: Path, tmp_path: Path) -> None:
    plain = tmp_path / "plain.sh"
    plain.write_text("#!/bin/sh\ngrep -c libvprof /proc/$$/maps\n")
    plain.chmod(0o755)
    printed, _ = recorded(tmp_path, program, CHILD=str(plain))
    assert printed.splitlines()[1] == "0"


def with_no_way(file: Path) -> None:
    """Its search path leads nowhere, as on another machine."""
    text, place = file.read_bytes(), str(LIBRARY.parent).encode()
    assert place in text
    file.write_bytes(text.replace(place, place[:-1] + b"X"))


def test_it_is_found_where_the_program_was_not_linked_to_look(each: Path, tmp_path: Path) -> None:
    moved = shutil.copytree(each.parent, tmp_path / "moved")
    for file in (moved / "prog", moved / "libpart.so"):
        if file.exists():
            with_no_way(file)
    printed, shown = recorded(tmp_path, moved / "prog")
    assert printed.startswith("prog ") and "50 intervals" in shown


def test_one_started_by_a_script_and_as_one(program: Path, tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_text(f"#!/bin/sh\n{program} a\nexec {program} b\n")
    script.chmod(0o755)
    printed, shown = recorded(tmp_path, script)
    assert [line.split()[-1] for line in printed.splitlines()] == ["a", "b"]
    assert "100 intervals" in shown
    script.write_text(f"#!{program} x\n")
    printed, shown = recorded(tmp_path, script, "y")
    assert printed.split() == ["prog", str(program), "none", "x", str(script), "y"]
    assert "50 intervals" in shown


def test_what_cannot_be_loaded_leaves_it_dormant(program: Path, tmp_path: Path) -> None:
    """The dynamic linker says why, and the program does not try again and again."""
    (tmp_path / "libvprof.so").write_text("no library")
    done = run(program, VPROF_SESSION=str(tmp_path), VPROF_LIBRARY=str(tmp_path))
    assert (done.returncode, done.stdout) == (3, f"prog {program} none\n")
    assert "cannot be preloaded" in done.stderr


def test_a_library_of_a_program_without_vprof_starts_there_too(tmp_path: Path) -> None:
    """It asks for libvprof only if there is one."""
    compile_in(tmp_path, library=True)
    (tmp_path / "main.c").write_text("int part(int); int main(void) { return part(3); }\n")
    words = ["main.c", "-L.", "-lpart", "-Wl,-rpath,$ORIGIN", "-o", "main"]
    subprocess.run([os.environ.get("VPROF_REAL_CC", "clang-19"), *words], cwd=tmp_path, check=True)
    listed = subprocess.run(["ldd", tmp_path / "main"], capture_output=True, text=True, check=True).stdout
    assert f"libvprof.so => {LIBRARY}" in listed
    with_no_way(tmp_path / "libpart.so")
    done = run(tmp_path / "main")
    assert (done.returncode, done.stderr) == (3, "")


def test_a_plugin_brings_libvprof_if_there_is_one(tmp_path: Path) -> None:
    compile_in(tmp_path, library=True)
    load = (
        "import ctypes, sys; ctypes.CDLL(sys.argv[1]).part(3); print('/libvprof.so' in open('/proc/self/maps').read())"
    )
    for expected in ("True\n", "False\n"):
        done = run("/usr/bin/python3", "-c", load, tmp_path / "libpart.so")
        assert (done.stdout, done.stderr) == (expected, "")
        if expected == "True\n":
            with_no_way(tmp_path / "libpart.so")


@pytest.mark.parametrize("runtime, waits", [("linked", False), ("preloaded", True)])
def test_other_ways_are_there(tmp_path: Path, runtime: str, waits: bool) -> None:
    program = compile_in(tmp_path, VPROF_RUNTIME=runtime)
    assert not looks_itself(program)
    assert waits_for_preload(program) is waits


def test_a_sanitized_program_needs_libvprof(tmp_path: Path) -> None:
    """Its own library insists on being first, before what LD_PRELOAD brings."""
    (tmp_path / "p.c").write_text("int main(void) { return 3; }\n")
    subprocess.run([native("bin/vprof-cc"), "-fsanitize=address", "p.c", "-o", "p"], cwd=tmp_path, check=True)
    assert not looks_itself(tmp_path / "p") and not waits_for_preload(tmp_path / "p")
    assert run(tmp_path / "p").returncode == 3
