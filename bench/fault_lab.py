"""Where faults are made: programs built once, recordings under the real collector, and their accounts (faults.py).

Lab -> Recording: session, collector, program -> the trace as the reader sees it -> account -> Outcome
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from vprof.errors import VprofError
from vprof.installed import native
from vprof.session.owned import Session
from vprof.trace.chunks import TraceFile, read_chunks
from vprof.trace.loss import contradictions
from vprof.trace.records import ABANDONED, COUNT, INVOCATION

ROOT = Path(__file__).resolve().parents[1]
PROGRAMS = ROOT / "tests/runtime/programs"
WAIT_S = 120


@dataclass
class Outcome:
    """Of all trials of a fault."""

    trials: int = 0
    lost: int = 0
    affected: list[str] = field(default_factory=list)
    note: str = ""

    def expect(self, holds: bool, otherwise: str) -> None:
        if not holds:
            self.affected.append(otherwise)


class Lab:
    """A folder with the programs, and one subfolder per recording."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.collectors: list[subprocess.Popen[str]] = []
        for name in ("faults", "processes", "lives", "worker"):
            self.build(name, f"{name}.c")
        self.build("libplugin.so", "plugin.c", "-shared", "-fPIC")

    def build(self, name: str, source: str, *flags: str) -> Path:
        """As vprof-cc links: begin object first."""
        lib, program = native("lib/vprof/vprof_begin.o").parent, self.folder / name
        runtime = [lib / "libvprof.a"] if "-static" in flags else [f"-L{lib}", "-lvprof", f"-Wl,-rpath,{lib}"]
        files = [lib / "vprof_begin.o", PROGRAMS / source, *runtime]
        include = f"-I{ROOT / 'runtime/include'}"
        subprocess.run(
            ["clang-19", "-O2", "-D_GNU_SOURCE", "-pthread", include, *flags, *files, "-o", program], check=True
        )
        return program

    def recording(self, *options: str) -> Recording:
        recording = Recording(self.next_folder(), options)
        self.collectors.append(recording.collector)
        return recording

    def next_folder(self) -> Path:
        return self.folder / str(len(self.collectors))

    def close(self) -> None:
        """Ends what a broken trial has left."""
        for collector in self.collectors:
            collector.kill()
            collector.wait()


# For programs whose calls alone are counted: nothing of time off the CPU is among what is dropped.
CALLS_ALONE = {"GLIBC_TUNABLES": "glibc.pthread.rseq=0"}


class Recording:
    """One session and its trace."""

    def __init__(self, folder: Path, options: tuple[str, ...]) -> None:
        folder.mkdir(mode=0o711)
        self.trace = folder / "run.trace"
        self.directory = folder / "session"
        self.collector = start_collector(self.directory, self.trace, *options)
        assert self.collector.stdout
        if self.collector.stdout.readline() != "ready\n":
            raise SystemExit(f"the collector did not start: {self.collector.communicate()[1]}")
        self.session = Session(self.directory, self.collector)
        self.modules = 0
        self.probes_on = False

    def start(self, *command: object, **environment: str) -> subprocess.Popen[str]:
        return start(*command, VPROF_SESSION=str(self.directory), **environment)

    def follow(self) -> None:
        """All probes of the program's own modules on, before it goes on."""
        modules = self.session.request("modules")["modules"]
        for module in modules[self.modules :]:
            if module["state"] == "mapped" and not module["path"].endswith("/libvprof.so"):
                self.probes_on = True
                self.session.request(f"on {module['base'] + 64}-{module['base'] + module['count'] - 1}")
            self.session.request(f"ack {module['index']}")
        self.modules = len(modules)

    def run(self, *command: object, **environment: str) -> tuple[str, int]:
        """The program with all probes on, to its end: output and exit code."""
        process = self.start(*command, **environment)
        while process.poll() is None:
            self.follow()
            time.sleep(0.002)
        return process.communicate()[0], process.returncode

    def run_overwriting(self, *command: object) -> tuple[str, int]:
        """The same of a program that overwrites the session's memory: some of its modules cannot be switched. At most
        WAIT_S: then it is killed."""
        process = self.start(*command)
        deadline = time.monotonic() + WAIT_S
        while process.poll() is None:
            with suppress(VprofError):
                self.follow()
            time.sleep(0.002)
            if time.monotonic() > deadline:
                os.killpg(process.pid, signal.SIGKILL)
        return process.communicate()[0], process.returncode

    def finish(self) -> TraceFile:
        self.session.stop()
        return self.read()

    def read(self) -> TraceFile:
        self.session.close()
        return read_chunks(self.trace)


def start_collector(session: Path, trace: Path, *options: str) -> subprocess.Popen[str]:
    command = [native("lib/vprof/vprof-collector"), "--session", session, "--output", trace, "--hold", *options]
    return subprocess.Popen(list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def start(*command: object, **environment: str) -> subprocess.Popen[str]:
    """In a process group of its own, so that it can signal its children."""
    return subprocess.Popen(
        list(map(str, command)),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={key: value for key, value in os.environ.items() if key != "VPROF_SESSION"} | environment,
        start_new_session=True,
    )


def calls_in(trace: TraceFile) -> int:
    kinds = [chunk.words[:, 0] >> np.uint64(60) for chunk in trace.chunks]
    return sum(int(np.isin(kind, (INVOCATION, ABANDONED)).sum()) for kind in kinds)


def dropped_in(trace: TraceFile) -> int:
    told = [chunk.words[chunk.words[:, 0] >> np.uint64(60) == COUNT, 1].sum() for chunk in trace.chunks]
    return int(sum(told)) + sum(int(event["count"]) for event in trace.of("loss"))


def told_lost(trace: TraceFile) -> Counter[int]:
    """How many records each thread tells of as lost."""
    told: Counter[int] = Counter()
    for chunk in trace.chunks:
        told[chunk.uid] += int(chunk.words[chunk.words[:, 0] >> np.uint64(60) == COUNT, 1].sum())
    return told


def said(output: str) -> int:
    """What the program itself counted."""
    return int(output.split()[-1])


def account(outcome: Outcome, trace: TraceFile, made: int, unslotted_calls: int = 0) -> None:
    """Adds one trial in which `made` calls were over, `unslotted_calls` of them on threads without a slot."""
    outcome.trials += 1
    found = calls_in(trace) + dropped_in(trace)
    outcome.lost += max(0, made - unslotted_calls - found)
    outcome.expect(trace.stopped == "", trace.stopped)
    for contradiction in contradictions(trace, told_lost(trace)):
        outcome.expect(False, contradiction)
    if dropped_in(trace) == 0:
        outcome.expect(found <= made - unslotted_calls, f"{found} calls of {made} in the trace")
