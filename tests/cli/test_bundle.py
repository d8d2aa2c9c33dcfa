"""`vprof bundle`: what it makes starts, and is recorded, where there is nothing but the C library."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from patience import PATIENCE_SECONDS

from vprof.installed import native
from vprof.program.runtime_link import strong_references, waits_for_preload

PROGRAM = """
#include <stdio.h>
#include <stdlib.h>
int work(int n) { int s = 0; for (int i = 0; i < n; i++) { s += i ^ n; if (s & 1) s ^= getenv("X") != 0; } return s; }
int handle(int n) { int s = 0; for (int i = 0; i < n; i++) s += work(i); return s; }
int main(int argc, char **argv) { for (int i = 0; i < 50; i++) handle(9); puts("ran"); return argc > 1 ? 5 : 0; }
"""
ENDLESS = """
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static volatile int stop;
static void on(int number) { stop = number; }
int tick(int n) { int s = 0; while (n--) s += getenv("X") != 0; usleep(1000); return s; }
int main(void) {
  signal(SIGTERM, on);
  tick(30);
  puts("ran");
  fflush(stdout);
  while (!stop) tick(30);
  return 7;
}
"""
OF_LIBC = ("libc.so.6", "libm.so.6")


def compile_with(folder: Path, text: str, **environment: str) -> Path:
    (folder / "prog.c").write_text(text)
    command = [native("bin/vprof-cc"), "-I", native("include"), "-O1", "prog.c", "-o", "prog"]
    subprocess.run(command, cwd=folder, check=True, env=os.environ | environment)
    return folder / "prog"


def vprof(*words: object, folder: Path) -> subprocess.CompletedProcess[str]:
    command = [str(native("bin/vprof")), *map(str, words)]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compile_with(tmp_path_factory.mktemp("linked"), PROGRAM)


@pytest.fixture(scope="module")
def bare(program: Path) -> Path:
    """A root file system with the C library, a bundle, and nothing else."""
    root = program.parent / "root"
    for folder in ("lib64", "lib/x86_64-linux-gnu", "proc", "data"):
        (root / folder).mkdir(parents=True)
    shutil.copy2("/lib64/ld-linux-x86-64.so.2", root / "lib64")
    for name in OF_LIBC:
        shutil.copy2(Path("/lib/x86_64-linux-gnu") / name, root / "lib/x86_64-linux-gnu")
    done = vprof("bundle", program, "--sites", "handle,work", "-o", root / "bundle", folder=program.parent)
    assert done.returncode == 0, done.stderr
    assert "prog with 2 sites on" in done.stdout
    return root


@pytest.fixture
def chroot(bare: Path) -> Iterator[list[str]]:
    """Runs a command in there, in namespaces of its own, as no privileged user is needed for."""
    yield ["unshare", "-r", "-p", "-m", "-f", f"--mount-proc={bare}/proc", "chroot", str(bare)]


def test_without_libvprof_a_bundled_program_runs(chroot: list[str], bare: Path) -> None:
    done = subprocess.run([*chroot, "/bundle/prog"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "ran\n", "")


def test_it_is_recorded_there(chroot: list[str], bare: Path) -> None:
    command = [
        *chroot,
        "/bundle/record",
        "--run",
        "/bundle/plan",
        "--output",
        "/data/run.trace",
        "--",
        "/bundle/prog",
        "x",
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 5, done.stderr  # the program's own
    assert done.stdout == "ran\n"
    [line] = done.stderr.splitlines()
    assert "/data/run.trace" in line and " 0 dropped" in line
    # On a third machine: nothing but the trace is there.
    trace = bare / "data/run.trace"
    moved = trace.rename(bare.parent / "moved.trace")
    shown = vprof("analyze", moved, "--root", "handle", "--format", "text", folder=bare.parent)
    assert shown.returncode == 0, shown.stderr
    assert "50 intervals" in shown.stdout
    assert "work" in shown.stdout
    assert not list((bare / "data").iterdir())  # the session is gone


def test_it_compresses_its_trace_there(chroot: list[str], bare: Path) -> None:
    """Without a library more."""
    recorded = [
        *chroot,
        "/bundle/record",
        "--run",
        "/bundle/plan",
        "--compress",
        "zstd",
        "--output",
        "/data/small.trace",
    ]
    done = subprocess.run([*recorded, "--", "/bundle/prog"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    moved = (bare / "data/small.trace").rename(bare.parent / "small.trace")
    assert moved.read_bytes()[8] == 6
    shown = vprof("analyze", moved, "--root", "handle", folder=bare.parent)
    assert "50 intervals" in shown.stdout, shown.stderr


def test_a_program_that_needs_libvprof_does_not_start_without(chroot: list[str], bare: Path, tmp_path: Path) -> None:
    shutil.copy2(compile_with(tmp_path, PROGRAM, VPROF_RUNTIME="linked"), bare / "linked")
    done = subprocess.run([*chroot, "/linked"], capture_output=True, text=True, check=False)
    assert done.returncode == 127 and "libvprof.so" in done.stderr


def test_another_build_than_the_plan_is_said(program: Path, bare: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(bare / "bundle", tmp_path / "bundle")
    plan = (folder / "plan").read_text().splitlines()
    line = next(line for line in plan if line.startswith("sites prog"))
    words = line.split()
    words[2] = str(int(words[2]) + 4096)
    (folder / "plan").write_text("\n".join([*plan[:2], " ".join(words), ""]))
    done = subprocess.run(
        ["./record", "--run", "plan", "--", "./prog"], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0
    assert "another build than the plan's" in done.stderr


@pytest.mark.parametrize(
    "words, reason",
    [
        (["./missing"], "cannot run ./missing: No such file or directory"),
        (["/bin/true"], "no records: no program built by vprof-cc joined"),
    ],
)
def test_what_cannot_be_recorded_is_said(bare: Path, tmp_path: Path, words: list[str], reason: str) -> None:
    command = [bare / "bundle/record", "--run", bare / "bundle/plan", "--output", tmp_path / "t", "--", *words]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert reason in done.stderr


@contextmanager
def recorded(folder: Path) -> Iterator[subprocess.Popen[str]]:
    """The bundle `b` of a program that has begun. Also where we were started by nohup, whose children ignore SIGHUP."""
    process = subprocess.Popen(
        ["b/record", "--run", "b/plan", "--", "b/prog"],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_DFL),
    )
    try:
        assert process.stdout and process.stdout.readline() == "ran\n"
        yield process
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_what_ends_the_recording_ends_the_program_first(tmp_path: Path, number: signal.Signals) -> None:
    program = compile_with(tmp_path, ENDLESS)
    assert vprof("bundle", program, "-o", "b", folder=tmp_path).returncode == 0
    with recorded(tmp_path) as process:
        process.send_signal(number)
        _, told = process.communicate(timeout=PATIENCE_SECONDS)
    assert (process.returncode, told.count("records")) == (7, 1)


def test_an_interrupt_from_the_terminal_is_the_programs(tmp_path: Path) -> None:
    program = compile_with(tmp_path, ENDLESS)
    assert vprof("bundle", program, "-o", "b", folder=tmp_path).returncode == 0
    with recorded(tmp_path) as process:
        os.killpg(process.pid, signal.SIGINT)
        _, told = process.communicate(timeout=PATIENCE_SECONDS)
    assert (process.returncode, told.count("records")) == (130, 1)


def test_a_small_shared_memory_is_left_to_the_program(bare: Path) -> None:
    """64 MB, as in containers: the session goes elsewhere, here to another file system, where the trace is."""
    script = (
        f"mount -t tmpfs -o size=64m none {bare}/data && mkdir {bare}/dev {bare}/dev/shm -p && "
        f"mount -t tmpfs -o size=64m none {bare}/dev/shm && chroot {bare} /bundle/record --run /bundle/plan "
        f"--output /data/run.trace -- /bundle/prog && stat -c %s {bare}/data/run.trace"
    )
    command = ["unshare", "-r", "-p", "-m", "-f", f"--mount-proc={bare}/proc", "sh", "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout.splitlines()[-1]) > 1000


def test_a_program_linked_to_start_anywhere(tmp_path: Path) -> None:
    """VPROF_RUNTIME=preloaded: it asks for no libvprof, and `vprof record` brings it."""
    program = compile_with(tmp_path, PROGRAM, VPROF_RUNTIME="preloaded")
    assert waits_for_preload(program)
    assert subprocess.run([program], env={}, check=True, capture_output=True, text=True).stdout == "ran\n"
    done = vprof("record", "--sites", "all", "-o", "run.trace", "--", "./prog", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    shown = vprof("analyze", "run.trace", "--root", "handle", folder=tmp_path)
    assert "50 intervals" in shown.stdout, shown.stderr


def test_so_is_the_server_of_a_target(tmp_path: Path) -> None:
    build = tmp_path / ".vprof/toy/build"
    build.mkdir(parents=True)
    compile_with(build, ENDLESS, VPROF_RUNTIME="preloaded")
    (tmp_path / "toy").mkdir()
    (tmp_path / "toy/target.toml").write_text(
        'name = "toy"\nroots = ["tick"]\n[source]\nkind = "tree"\npath = "."\n[build]\nsteps = []\nprograms = '
        '["prog"]\n[server]\nstart = "{build}/prog"\nready = "true"\n[load]\ncommand = "sleep 1"\n'
    )
    done = vprof("record", "--target", "./toy", "--sites", "tick", "-o", "run.trace", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    shown = vprof("analyze", "run.trace", "--root", "tick", folder=tmp_path)
    assert " intervals" in shown.stdout, shown.stderr


def test_libraries_linked_so_are_recorded_too(tmp_path: Path) -> None:
    """Their constructors may run before libvprof's, which they do not name among what they need."""
    (tmp_path / "part.c").write_text(PROGRAM.split("int handle")[0])
    (tmp_path / "main.c").write_text("int work(int n);\nint main(void) { return work(900) == 1; }\n")
    for words in (["-shared", "-fPIC", "part.c", "-o", "libpart.so"], ["main.c", "-L.", "-lpart", "-o", "main"]):
        command = [native("bin/vprof-cc"), "-O1", *words, f"-Wl,-rpath,{tmp_path}"]
        subprocess.run(command, cwd=tmp_path, check=True, env=os.environ | {"VPROF_RUNTIME": "preloaded"})
    done = vprof("record", "--sites", "work", "-o", "run.trace", "--", "./main", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    shown = vprof("analyze", "run.trace", "--root", "work", folder=tmp_path)
    assert "1 intervals" in shown.stdout or "1 interval" in shown.stdout + shown.stderr


def test_a_program_that_calls_vprof_itself_keeps_its_need_if_linked(tmp_path: Path) -> None:
    text = (
        '#include <vprof/vprof.h>\nint main(void) { vprof_interval_begin(1, "x"); vprof_interval_end(1); return 0; }\n'
    )
    program = compile_with(tmp_path, text, VPROF_RUNTIME="linked")
    assert strong_references(program) == ["vprof_interval_begin", "vprof_interval_end"]
    done = vprof("bundle", program, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "starts with libvprof only" in done.stderr
    done = vprof("bundle", program, folder=tmp_path)
    assert done.returncode == 2 and "prog-vprof exists" in done.stderr


def test_a_tar_holds_one_folder(program: Path, tmp_path: Path) -> None:
    assert vprof("bundle", program, "-o", "p.tar.gz", folder=tmp_path).returncode == 0
    with tarfile.open(tmp_path / "p.tar.gz") as tar:
        assert {name.split("/")[0] for name in tar.getnames()} == {"p"}
    assert vprof("bundle", "/bin/true", folder=tmp_path).stderr.startswith("vprof: /bin/true: no vprof metadata")
