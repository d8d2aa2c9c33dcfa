"""An instrumented library in a program without vprof: its waits are not seen, which is said, and --preload mends it.

The hosts are a plain C program, a stock Python and a JVM; what they load has the same planted cause (planted.c).
"""

import json
import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from vprof.errors import UsageError
from vprof.installed import native
from vprof.session.interposition import look, preloaded
from vprof.trace.unseen_waits import warning

PROGRAMS = Path(__file__).parents[1] / "programs" / "plugin"
CAUSE = ["plug", "take", "[blocked]", "bg", "hold"]
NOT_SEEN = "interposition was not in force in process "
REAL_CC = os.environ.get("VPROF_REAL_CC", "clang-19")
REQUESTS = 300


def vprof(folder: Path, *arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", "from vprof.cli import main; main()", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, cwd=folder)


def instrumented(folder: Path, output: str, *sources: str, include: Sequence[str] = (), runtime: str = "") -> Path:
    """A shared library built by vprof-cc. `runtime`: VPROF_RUNTIME, "" for the default."""
    command = [str(native("bin/vprof-cc")), "-O1", "-g", "-shared", "-fPIC", *(f"-I{path}" for path in include)]
    command += [*(str(PROGRAMS / name) for name in sources), "-o", str(folder / output)]
    subprocess.run(command, check=True, env=os.environ | {"VPROF_RUNTIME": runtime})
    return folder / output


def plain(folder: Path, source: str, *options: object) -> Path:
    """A program built without vprof."""
    program = folder / Path(source).stem
    command = [REAL_CC, "-O1", PROGRAMS / source, "-o", program, *options, f"-Wl,-rpath,{folder}"]
    subprocess.run([str(part) for part in command], check=True)
    return program


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With a host and a plugin."""
    made = tmp_path_factory.mktemp("plugin")
    plain(made, "host.c")
    instrumented(made, "libplanted.so", "planted.c")
    return made


def share_of(node: dict[str, Any], names: Sequence[str], before: tuple[str, ...] = ()) -> float:
    """Of the variance, at the nodes that are reached last by these names."""
    total = float(node["share"]) if before[-len(names) :] == tuple(names) else 0.0
    children = node.get("children", [])
    return total + sum(share_of(child, names, (*before, child["node"].split("@")[0])) for child in children)


def recorded(folder: Path, *command: object, preload: bool) -> tuple[str, dict[str, Any]]:
    """What `record` says, and the analysis of the calls of plug()."""
    options = ["--preload"] if preload else []
    done = vprof(folder, "record", *options, "--sites", "all", "-o", "run.trace", "--", *command)
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"{sum(range(REQUESTS))}\n", "the host does what it does without vprof"
    report = vprof(folder, "analyze", "run.trace", "--root", "plug", "--format", "json")
    assert report.returncode == 0, report.stderr
    return done.stderr, json.loads(report.stdout)


def check_both(folder: Path, *command: object, named: str) -> None:
    """Without --preload it is said that waits are not seen; with it the planted cause is found."""
    said, analysis = recorded(folder, *command, preload=False)
    assert f"vprof: {NOT_SEEN}" in said
    assert f"({named})" in said
    assert "`vprof record --preload`" in said
    assert analysis["warnings"][0].startswith(NOT_SEEN)
    assert share_of(analysis["tree"], CAUSE) == 0
    said, analysis = recorded(folder, *command, preload=True)
    assert NOT_SEEN not in said
    assert analysis["warnings"] == []
    # The rest is the wait for a CPU of a busy machine.
    assert share_of(analysis["tree"], CAUSE) > 0.5
    assert share_of(analysis["tree"], [*CAUSE[:3], "[unknown]"]) < 0.1


def test_a_plugin_of_a_plain_program(folder: Path) -> None:
    check_both(folder, "./host", "./libplanted.so", REQUESTS, named="host")


def test_every_report_begins_with_it(folder: Path) -> None:
    recorded(folder, "./host", "./libplanted.so", REQUESTS, preload=False)
    text = vprof(folder, "analyze", "run.trace", "--root", "plug").stdout
    assert text.startswith(f"warning: {NOT_SEEN}")
    assert "a primitive that the descriptor lacks" not in text
    vprof(folder, "report", "run.trace", "--root", "plug", "-o", "page.html")
    page = (folder / "page.html").read_text(encoding="utf-8")
    assert f'<p class="warning">{NOT_SEEN}' in page


def test_a_library_that_a_plain_program_is_linked_with(tmp_path: Path) -> None:
    """A library that needs libvprof brings it along behind the C library, which the program itself needs."""
    instrumented(tmp_path, "libplanted.so", "planted.c", runtime="linked")
    plain(tmp_path, "linked.c", tmp_path / "libplanted.so", "-L", native("lib/vprof"))
    assert "behind the C library" in look(tmp_path / "linked")[1]
    check_both(tmp_path, "./linked", REQUESTS, named="linked")


def test_a_library_that_looks_for_libvprof_puts_it_before_the_c_library(folder: Path) -> None:
    program = plain(folder, "linked.c", folder / "libplanted.so")
    assert look(program) == (True, "libvprof comes before the C library: waits are seen")
    said, analysis = recorded(folder, "./linked", REQUESTS, preload=False)
    assert NOT_SEEN not in said
    assert share_of(analysis["tree"], CAUSE) > 0.5


def test_a_plain_program_whose_libraries_begin_with_libvprof_needs_nothing(folder: Path, tmp_path: Path) -> None:
    shutil.copy(folder / "libplanted.so", tmp_path)
    library = native("lib/vprof/libvprof.so")
    plain(tmp_path, "host.c", "-Wl,--no-as-needed", library, f"-Wl,-rpath,{library.parent}")
    said, analysis = recorded(tmp_path, "./host", "./libplanted.so", REQUESTS, preload=False)
    assert NOT_SEEN not in said
    assert analysis["warnings"] == []
    assert share_of(analysis["tree"], CAUSE) > 0.5


def test_an_extension_of_a_stock_python(tmp_path: Path) -> None:
    python = os.path.realpath(sys.executable)
    include = sysconfig.get_path("include", vars={"installed_base": sys.base_prefix})
    instrumented(tmp_path, "extension.so", "extension.c", "planted.c", include=[include])
    (tmp_path / "main.py").write_text(
        "import extension, time\n"
        "total = 0\n"
        f"for k in range({REQUESTS}):\n"
        "    total += extension.plug(k)\n"
        "    time.sleep(0.0003)\n"
        "print(total)\n",
        encoding="utf-8",
    )
    check_both(tmp_path, python, "main.py", named=Path(python).name[:15])


def test_a_library_that_a_jvm_loads(tmp_path: Path) -> None:
    compiler = shutil.which("javac")
    assert compiler, "`make setup` installs a JDK"
    include = Path(compiler).resolve().parents[1] / "include"
    subprocess.run(["javac", "-d", tmp_path, PROGRAMS / "Main.java"], check=True)
    instrumented(tmp_path, "libplanted.so", "jni.c", "planted.c", include=[str(include), str(include / "linux")])
    check_both(tmp_path, "java", f"-Djava.library.path={tmp_path}", "-cp", tmp_path, "Main", REQUESTS, named="java")


def test_a_static_program_needs_nothing(tmp_path: Path) -> None:
    program = tmp_path / "linked"
    sources = [PROGRAMS / name for name in ("linked.c", "planted.c")]
    subprocess.run([native("bin/vprof-cc"), "-O1", "-static", *sources, "-o", program], check=True)
    assert look(program) == (True, "static, built with vprof")
    said, analysis = recorded(tmp_path, program, REQUESTS, preload=False)
    assert NOT_SEEN not in said
    assert share_of(analysis["tree"], CAUSE) > 0.5


def test_what_was_preloaded_stays_and_stays_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    library = str(native("lib/vprof/libvprof.so"))
    assert preloaded({"A": "b"}) == {"A": "b", "LD_PRELOAD": library}
    assert preloaded({"LD_PRELOAD": "libasan.so.8 libjemalloc.so:"})["LD_PRELOAD"] == (
        f"libasan.so.8 libjemalloc.so:{library}"
    )
    spaced = tmp_path / "a b" / "lib" / "vprof"
    spaced.mkdir(parents=True)
    (spaced / "libvprof.so").touch()
    monkeypatch.setenv("VPROF_PREFIX", str(tmp_path / "a b"))
    with pytest.raises(UsageError, match="LD_PRELOAD takes no path with a space or a colon"):
        preloaded({})


def test_several_processes_are_said_in_one_line() -> None:
    assert warning([]) == ""
    many = [(pid, "worker") for pid in range(5)]
    assert "in processes 0 (worker), 1 (worker), 2 (worker) and 2 more: waits have no edges" in warning(many)


def test_what_doctor_says_of_a_program_that_was_not_started(folder: Path) -> None:
    assert look(folder / "host")[0] is None
    assert "built without vprof" in look(folder / "host")[1]
    with pytest.raises(UsageError, match="is no ELF program"):
        look(PROGRAMS / "host.c")
