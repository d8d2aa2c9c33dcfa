"""CMake, Meson and pkg-config find vprof where it is installed, and what they build is recorded and analyzed.

tests/packaging/project/ is a user's project; docs/build-systems.md says the same in words.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from vprof.installed import native

PREFIX = native("bin/vprof-cc").parent.parent
PROJECT = Path(__file__).parent / "project"
VPROF = [sys.executable, "-c", "from vprof.cli import main; main()"]
ENVIRONMENT = {
    **{name: value for name, value in os.environ.items() if name not in ("CC", "CXX", "CFLAGS", "CXXFLAGS")},
    "PATH": f"{PREFIX / 'bin'}:{os.environ['PATH']}",
    "PKG_CONFIG_PATH": str(PREFIX / "lib/pkgconfig"),
    "NUMBA_DISABLE_JIT": "1",  # the first analysis would compile for a minute
}


def run(*words: object, folder: Path, fails: bool = False) -> str:
    command = [str(word) for word in words]
    done = subprocess.run(command, cwd=folder, env=ENVIRONMENT, capture_output=True, text=True, check=False)
    assert (done.returncode != 0) == fails, done.stdout + done.stderr
    return done.stdout + done.stderr


def analyzed(folder: Path, program: str, *options: str) -> str:
    run(*VPROF, "record", "--sites", "all", "-o", "run.trace", "--", program, folder=folder)
    return run(*VPROF, "analyze", "run.trace", *options, folder=folder)


def libraries(program: Path) -> str:
    return run("readelf", "-d", program, folder=program.parent)


def configure(folder: Path, *options: str, generator: str = "Ninja") -> None:
    run("cmake", "-G", generator, "-S", PROJECT, "-B", folder, *options, folder=folder)


@pytest.fixture(scope="module")
def by_cmake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("cmake")
    configure(folder)
    run("cmake", "--build", folder, folder=folder)
    return folder


def test_cmake_instruments_the_targets_that_are_named(by_cmake: Path) -> None:
    text = analyzed(by_cmake, "./server", "--root", "handle_request")
    assert "40 intervals" in text
    assert "price" in text  # of a static library, in C++
    assert "libvprof" not in libraries(by_cmake / "client")


def test_cmake_links_the_c_api(by_cmake: Path) -> None:
    run("./annotated", folder=by_cmake)
    assert "30 intervals" in analyzed(by_cmake, "./annotated")


def test_cmake_keeps_the_projects_compiler_and_its_launcher(tmp_path: Path) -> None:
    counts = tmp_path / "counts"
    counts.write_text('#!/bin/sh\necho "$@" >>"$(dirname "$0")/log"\nexec "$@"\n')
    counts.chmod(0o755)
    options = ["-DCMAKE_C_COMPILER=gcc", "-DCMAKE_CXX_COMPILER=g++", f"-DCMAKE_C_COMPILER_LAUNCHER={counts}"]
    folder = tmp_path / "build"
    folder.mkdir()
    configure(folder, *options, generator="Unix Makefiles")
    run("make", "server", folder=folder)
    assert "handle_request" in run(*VPROF, "sites", "./server", folder=folder)
    # By the name that CMake found; vprof-cc gives gcc the rewritten text under another name.
    assert any(
        line.split()[0].endswith("/gcc") and " -c" in line for line in (tmp_path / "log").read_text().splitlines()
    )


def test_cmake_says_what_it_cannot_instrument(tmp_path: Path) -> None:
    text = "cmake_minimum_required(VERSION 3.21)\nproject(x C)\nfind_package(vprof 0.1 REQUIRED)\n"
    (tmp_path / "CMakeLists.txt").write_text(text + "vprof_instrument(serve)\n")
    words = ["cmake", "-G", "Ninja", "-S", tmp_path, "-B", tmp_path / "build"]
    assert "vprof_instrument: there is no target serve" in run(*words, folder=tmp_path, fails=True)


def test_meson_takes_the_native_file(tmp_path: Path) -> None:
    native_file = PREFIX / "share/meson/native/vprof.ini"
    run("meson", "setup", tmp_path, PROJECT, "--native-file", native_file, folder=tmp_path)
    run("ninja", "-C", tmp_path, folder=tmp_path)
    assert "40 intervals" in analyzed(tmp_path, "./server", "--root", "handle_request")
    run("./annotated", folder=tmp_path)


def test_pkg_config_links_the_c_api(tmp_path: Path) -> None:
    flags = run("pkg-config", "--cflags", "--libs", "vprof", folder=tmp_path).split()
    run("gcc", PROJECT / "annotated.c", "-o", "annotated", *flags, folder=tmp_path)
    run("./annotated", folder=tmp_path)
    assert "30 intervals" in analyzed(tmp_path, "./annotated")
