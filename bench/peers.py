"""Other tools in the benchmark of the runtime: the same function that does nothing, compiled for each of them.

A tool that is not installed is left out, with one line that names the Debian package.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from burst_times import BurstTimes

HERE = Path(__file__).resolve().parent


def run(command: list[str | Path], **options: object) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True, **options).stdout  # type: ignore[call-overload, no-any-return]


@dataclass
class Peer:
    """One tool. `flags` compile peers.c for it; `command` runs the program in a directory of its own."""

    name: str
    flags: list[str]
    libraries: list[str] = field(default_factory=list)
    times: BurstTimes = field(default_factory=BurstTimes)
    needs: str = ""  # program
    package: str = ""

    def build(self, directory: Path) -> str:
        """Empty, or why the tool is left out."""
        if self.needs and shutil.which(self.needs) is None:
            return f"{self.needs} is not installed (Debian: {self.package})"
        self.program = directory / self.name.replace(" ", "-").replace(",", "")
        loop = directory / "bursts.o"
        try:
            run(["clang-19", "-O2", "-c", HERE / "bursts.c", "-o", loop])
            source = [HERE / "peers.c", loop]
            run(["clang-19", "-O2", *self.flags, f"-I{HERE}", *source, "-o", self.program, *self.libraries])
        except subprocess.CalledProcessError as error:
            return f"does not build (Debian: {self.package}): {error.stderr.strip().splitlines()[0]}"
        return ""

    def measure(self, calls: int) -> None:
        with tempfile.TemporaryDirectory(dir="/dev/shm") as directory:
            self.times.add(self.output(Path(directory), str(calls)))

    def output(self, directory: Path, calls: str) -> str:
        return run([self.program, calls], cwd=directory)


class Uftrace(Peer):
    def output(self, directory: Path, calls: str) -> str:
        return run(["uftrace", "record", "--no-pager", "-d", directory / "data", self.program, calls])


class Lttng(Peer):
    """In a session of its own; a session daemon is started if none runs."""

    SESSION = "vprof-bench"

    def output(self, directory: Path, calls: str) -> str:
        with session_daemon():
            run(["lttng", "create", self.SESSION, f"--output={directory}"])
            try:
                run(["lttng", "enable-event", "--userspace", "vprof_bench:*", "--session", self.SESSION])
                run(["lttng", "start", self.SESSION])
                return run([self.program, calls])
            finally:
                run(["lttng", "destroy", self.SESSION])


@contextmanager
def session_daemon() -> Iterator[None]:
    def answers() -> bool:
        command = ["lttng", "--no-sessiond", "list"]
        return subprocess.run(command, capture_output=True).returncode == 0

    if answers():
        yield
        return
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    daemon = subprocess.Popen(["lttng-sessiond", "--no-kernel"], **quiet)  # type: ignore[call-overload]
    try:
        deadline = time.monotonic() + 30
        while not answers() and time.monotonic() < deadline:
            time.sleep(0.1)
        yield
    finally:
        daemon.terminate()
        daemon.wait()


def xray(mode: str) -> list[str]:
    return ["-fxray-instrument", "-fxray-instruction-threshold=1", f'-DPEER_XRAY="xray-{mode}"']


PEERS = [
    Peer("-finstrument-functions, empty", ["-finstrument-functions", "-DPEER_HOOKS"]),
    Uftrace("uftrace", ["-pg"], needs="uftrace", package="uftrace"),
    Lttng(
        "LTTng-UST, two tracepoints",
        ["-DPEER_LTTNG"],
        ["-llttng-ust", "-ldl"],
        needs="lttng-sessiond",
        package="lttng-tools, liblttng-ust-dev",
    ),
    Peer("XRay FDR", xray("fdr"), ["-lstdc++"], package="libclang-rt-19-dev"),
    Peer("XRay basic", xray("basic"), ["-lstdc++"], package="libclang-rt-19-dev"),
]


def prepare(directory: Path) -> list[Peer]:
    """Builds what is installed; says what is left out."""
    ready = []
    for peer in PEERS:
        reason = peer.build(directory)
        if reason:
            print(f"left out: {peer.name}: {reason}")
        else:
            ready.append(peer)
    return ready
