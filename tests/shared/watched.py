"""What tests of `vprof watch` share: the program that stalls, its truth, a collector as a service, the watch."""

from __future__ import annotations

import json
import os
import secrets
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from patience import PATIENCE_SECONDS

from vprof.installed import native
from vprof.watch.keep import Folder

SOURCE = Path(__file__).parents[1] / "programs" / "watched" / "watched.c"
LIMIT_MS = 20


def built(folder: Path) -> Path:
    """The program (programs/watched), instrumented."""
    binary = folder / "watched"
    environment = {key: value for key, value in os.environ.items() if key != "VPROF_DESCRIPTOR"}
    command = [native("bin/vprof-cc"), "-O1", "-pthread", "-o", binary, SOURCE]
    subprocess.run(command, check=True, env=environment)
    return binary


def vprof(*arguments: object) -> list[str]:
    return [sys.executable, "-c", "from vprof.cli import main; main()", "watch", *map(str, arguments)]


def run(*arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(vprof(*arguments), capture_output=True, text=True, timeout=PATIENCE_SECONDS)


def listed(folder: Path) -> list[dict[str, Any]]:
    done = run("--list", folder, "--format", "json")
    assert done.returncode == 0, done.stderr
    kept: list[dict[str, Any]] = json.loads(done.stdout)["kept"]
    return kept


@dataclass
class Truth:
    """What the program says of itself: by id, how long its stalls took, and what else was slow, in ns."""

    stalls: dict[int, int] = field(default_factory=dict)
    slow: dict[int, int] = field(default_factory=dict)

    @classmethod
    def of(cls, printed: str) -> Truth:
        truth = cls()
        for line in printed.splitlines():
            kind, id_, ns = line.split()
            (truth.stalls if kind == "stall" else truth.slow)[int(id_)] = int(ns)
        return truth

    def check(self, kept: list[dict[str, Any]]) -> None:
        """Every stall was kept, and nothing that the program itself did not find slow. The program's clock is read
        outside of the interval: so much more it says, and more where it lost its CPU in between."""
        found = {int(one["interval"].partition("#")[0]): one["latency_ns"] for one in kept}
        assert self.stalls.keys() <= found.keys()
        assert found.keys() <= self.stalls.keys() | self.slow.keys()
        for id_, ns in found.items():
            assert LIMIT_MS * 10**6 < ns <= (self.stalls | self.slow)[id_] + 1000


def kept_ids(folder: Path) -> set[int]:
    """Of the intervals that are kept by now."""
    found = Folder(folder).kept.values()
    return {int(one.interval.partition("#")[0]) for one in found}


@contextmanager
def collector(directory: Path) -> Iterator[subprocess.Popen[str]]:
    command = [native("lib/vprof/vprof-collector"), "--session", directory, "--output", "-", "--slots", "32"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout and process.stdout.readline() == "ready\n"
        yield process
    finally:
        process.terminate()
        process.wait()
        process.stdout.close()


@contextmanager
def watching(folder: Path, *arguments: object) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(vprof(folder, *arguments), stderr=subprocess.PIPE, text=True)
    try:
        assert process.stderr
        line = process.stderr.readline()
        assert line.startswith("vprof watch: begun "), line
        yield process
    finally:
        process.kill()
        process.wait()
        if process.stderr:
            process.stderr.close()


@contextmanager
def session_directory() -> Iterator[Path]:
    """A collector makes it, and takes it away if it ends in order."""
    path = Path("/dev/shm") / f"vprof-watched-{secrets.token_hex(6)}"
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


def serve(program: Path, session: Path, *arguments: object) -> Truth:
    environment = {**os.environ, "VPROF_SESSION": str(session)}
    done = subprocess.run(
        [program, *map(str, arguments)], env=environment, capture_output=True, text=True, timeout=PATIENCE_SECONDS
    )
    assert done.returncode == 0, done.stderr
    return Truth.of(done.stdout)


def read_until(watch: subprocess.Popen[str], wanted: str) -> str:
    """The first line of its log that has this."""
    assert watch.stderr
    for line in iter(watch.stderr.readline, ""):
        if wanted in line:
            return line
    raise AssertionError(f"ended without a line of {wanted}")
