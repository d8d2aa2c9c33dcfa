"""Runs of the driver, and what its file says: read by the words of workloads/README.md, not by the analyzer."""

from __future__ import annotations

import json
import struct
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from patience import PATIENCE_SECONDS, wait_for

COMMITTED, ROLLED_BACK, GAVE_UP, FAILED, UNFINISHED = range(5)
RECORD = np.dtype(
    [("intended", "<i8"), ("start", "<i8"), ("end", "<i8"), ("type", "<u4"), ("outcome", "<u2"), ("tries", "<u2")]
)


@dataclass
class Latencies:
    names: list[str]
    begin_ns: int
    records: NDArray[Any]

    def of(self, name: str) -> NDArray[Any]:
        return self.records[self.records["type"] == self.names.index(name)]

    def transactions(self) -> NDArray[Any]:
        return self.records[self.records["type"] != self.names.index("[lateness]")]


def read_latencies(path: Path) -> Latencies:
    data = path.read_bytes()
    magic, version, size, types, name_bytes, begin_ns = struct.unpack_from("<8sIIIIq", data)
    assert (magic, version, size, name_bytes % 8) == (b"VPROFLAT", 1, RECORD.itemsize, 0)
    names = data[32 : 32 + name_bytes].split(b"\0")[:types]
    records = np.frombuffer(data, RECORD, (len(data) - 32 - name_bytes) // size, 32 + name_bytes)
    return Latencies([name.decode() for name in names], begin_ns, records)


def latencies_ms(records: NDArray[Any]) -> NDArray[np.float64]:
    return (records["end"] - records["intended"]) / 1e6


@dataclass
class Ended:
    """A run of the driver that has ended."""

    code: int
    result: dict[str, Any]
    errors: str
    latencies: Latencies | None


class Driver:
    def __init__(self, program: Path, folder: Path) -> None:
        self.program = program
        self.file = folder / "latencies"

    def call(self, *arguments: object) -> subprocess.CompletedProcess[str]:
        command = [str(self.program), *map(str, arguments)]
        return subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_SECONDS)

    def start(self, workload: str, where: Sequence[object], *options: object) -> subprocess.Popen[str]:
        command = [self.program, "run", workload, *where, "--latencies", self.file, *options]
        return subprocess.Popen(list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def wait(self, started: subprocess.Popen[str]) -> Ended:
        out, errors = started.communicate(timeout=PATIENCE_SECONDS)
        latencies = read_latencies(self.file) if self.file.is_file() else None
        return Ended(started.returncode, json.loads(out) if out else {}, errors, latencies)

    def run(self, workload: str, where: Sequence[object], *options: object) -> Ended:
        return self.wait(self.start(workload, where, *options))


@dataclass
class Stub:
    """A server with known delays, while it runs."""

    process: subprocess.Popen[str]
    folder: Path

    @property
    def where(self) -> list[object]:
        return ["--on", "postgres", "--socket", self.folder]

    def rows(self) -> int:
        """Answered so far, as far as they are written."""
        return (self.folder / "truth").read_text().count("\n") - 1

    def truth(self) -> NDArray[np.int64]:
        """Ends it. Of each row: received, due, sent; in the order of the first."""
        self.end()
        rows: NDArray[np.int64] = np.loadtxt(self.folder / "truth", dtype=np.int64, skiprows=1, ndmin=2)
        return rows[np.argsort(rows[:, 0], kind="stable")]

    def end(self) -> None:
        self.process.terminate()
        self.process.wait(PATIENCE_SECONDS)


def true_latencies_ms(ended: Ended, truth: NDArray[np.int64]) -> NDArray[np.float64]:
    """By a stub's rows, for evenly spaced starts. Of what counts: intended within the run, the warm-up over."""
    result = ended.result
    first_ns = result["begin_ns"] - result["warmup_s"] * 1_000_000_000
    intended = first_ns + (np.arange(len(truth)) * (1e9 / result["rate"])).astype(np.int64)
    counts = (intended >= result["begin_ns"]) & (intended < result["end_ns"])
    return (truth[:, 2] - intended)[counts] / 1e6


@contextmanager
def stub(program: Path, folder: Path, *options: object) -> Iterator[Stub]:
    command = [program, "--socket", folder, "--truth", folder / "truth", *options]
    with subprocess.Popen(list(map(str, command)), stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout and process.stdout.readline() == "ready\n"
            yield Stub(process, folder)
        finally:
            process.kill()


def wait_for_size(path: Path, size: int) -> None:
    wait_for(lambda: path.is_file() and path.stat().st_size >= size, f"{path.name} grows")
