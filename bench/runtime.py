"""What a probe costs, and those of other tools: CPU nanoseconds per enter+exit pair of a function that does nothing.

    make bench-runtime
    python bench/runtime.py --lib PREFIX/lib/vprof --rounds 15

The probes are those of vprof-cc. Variants are interleaved round by round, so a noisy machine touches all of them alike;
medians and quartiles over the rounds are printed, of the bursts that had the core to themselves (burst_times.py), which
are `alone` of all. `all` is the median of all bursts. The loop runs in bursts that fit into a ring; `lost` says whether
the collector kept up (a dropped record costs more).
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from burst_times import SLOWER, BurstTimes
from peers import Peer, prepare

HERE = Path(__file__).resolve().parent


@dataclass
class Variant:
    name: str
    mode: str
    threads: int
    session: bool
    on: bool
    light: bool = False
    times: BurstTimes = field(default_factory=BurstTimes)
    lost: list[float] = field(default_factory=list)


VARIANTS = [
    Variant("floor: two rdtsc", "floor", 1, session=False, on=False),
    Variant("no probe", "plain", 1, session=False, on=False),
    Variant("probe, no session", "probe", 1, session=False, on=False),
    Variant("probe off, session attached", "probe", 1, session=True, on=False),
    Variant("same, with a numbered call", "caller", 1, session=True, on=False),
    Variant("light: off, session attached", "probe", 1, session=True, on=False, light=True),
    Variant("probe on, collector attached", "probe", 1, session=True, on=True),
    Variant("same, with a numbered call", "caller", 1, session=True, on=True),
    Variant("light: on, collector attached", "probe", 1, session=True, on=True, light=True),
    Variant("probe on, collector, 2 threads", "probe", 2, session=True, on=True),
]


def build(lib: Path, program: Path, sources: list[str]) -> None:
    command = ["clang-19", "-O2", lib / "vprof_begin.o", *(HERE / source for source in sources)]
    prelude = HERE.parent / "runtime/abi"
    command += ["-o", program, f"-L{lib}", "-lvprof", f"-Wl,-rpath,{lib}", f"-I{prelude}", f"-I{HERE}"]
    subprocess.run(command, check=True)


def build_light(lib: Path, program: Path) -> None:
    """With the probed function as users get it with VPROF_PROBES=light."""
    objects = [program.with_name(f"{name}.o") for name in ("runtime", "bursts", "runtime_light")]
    vprof_cc = lib.parent.parent / "bin/vprof-cc"
    environment = {**os.environ, "VPROF_PROBES": "light", "VPROF_REAL_CC": "clang-19"}
    for compiler, target in zip(("clang-19", "clang-19", vprof_cc), objects, strict=True):
        command = [compiler, "-O2", "-c", (HERE / target.name).with_suffix(".c"), "-o", target]
        subprocess.run(command, check=True, env=environment)
    subprocess.run([vprof_cc, *objects, "-o", program], check=True, env=environment)


class Session:
    """A collector with a session directory of its own; one per measurement."""

    def __init__(self, lib: Path, directory: Path, output: Path | None = None, options: Sequence[str] = ()) -> None:
        self.path = directory / "session"
        trace = (output or directory) / "run.trace"
        command = [lib / "vprof-collector", "--session", self.path, "--output", trace, *options]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        if self.process.stdout.readline() != "ready\n":
            raise SystemExit("the collector did not start")
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(str(self.path / "control"))
        self.stream = self.socket.makefile("rw")

    def ask(self, request: str) -> dict[str, object]:
        self.stream.write(request + "\n")
        self.stream.flush()
        reply: dict[str, object] = json.loads(self.stream.readline())
        return reply

    def all_on(self) -> None:
        module = self.ask("modules")["modules"][-1]  # type: ignore[index]
        self.ask(f"on {module['base'] + 64}-{module['base'] + module['count'] - 1}")

    def cpu_ns(self) -> int:
        """Of the collector, so far."""
        return int(Path(f"/proc/{self.process.pid}/schedstat").read_text().split()[0])

    def stop(self) -> float:
        """Ends the session; returns the share of records lost."""
        totals = self.ask("stop")
        self.process.wait()
        self.stream.close()
        self.socket.close()
        stored, lost = int(str(totals["records"])), int(str(totals["dropped"]))
        return lost / max(1, stored + lost)


def measure(variant: Variant, program: Path, lib: Path, calls: int) -> None:
    with tempfile.TemporaryDirectory(dir="/dev/shm") as directory:
        session = Session(lib, Path(directory)) if variant.session else None
        environment = {k: v for k, v in os.environ.items() if k != "VPROF_SESSION"}
        if session:
            environment["VPROF_SESSION"] = str(session.path)
        command = [str(program), variant.mode, str(variant.threads), str(calls)]
        with subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        ) as process:
            assert process.stdin and process.stdout
            process.stdout.readline()
            if session and variant.on:
                session.all_on()
            process.stdin.write("\n")
            process.stdin.close()
            variant.times.add(process.stdout.read())
        if session:
            variant.lost.append(session.stop())


def table(peers: list[Peer]) -> str:
    all_times = [(v.name, v.times, f"{statistics.median(v.lost):.0%}" if v.on else "-") for v in VARIANTS]
    all_times += [(peer.name, peer.times, "-") for peer in peers]
    most = SLOWER * min(times.fastest_additions() for _, times, _ in all_times)
    floor = statistics.median(VARIANTS[0].times.medians(most))
    header = f"{'ns of CPU per enter+exit':<32} {'median':>7} {'quartiles':>15} {'x floor':>8} {'alone':>6} {'all':>7}"
    lines = [f"{header} {'lost':>6}"]
    for name, times, lost in all_times:
        low, median, high = statistics.quantiles(times.medians(most), n=4)
        figures = f"{median:7.1f} {low:7.1f}-{high:<7.1f} {median / floor:8.2f} {times.share(most):>6.0%}"
        lines.append(f"{name:<32} {figures} {statistics.median(times.medians()):7.1f} {lost:>6}")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])  # type: ignore[union-attr]
    parser.add_argument("--lib", type=Path, default=Path(sys.prefix) / "lib" / "vprof", help="an installed lib/vprof")
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--calls", type=int, default=400_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        lib, program = options.lib.resolve(), Path(directory) / "runtime"
        build(lib, program, ["runtime.c", "runtime_bodies.c", "bursts.c"])
        light = program.with_name("light")
        build_light(lib, light)
        peers = prepare(Path(directory))
        for _ in range(options.rounds):
            for variant in VARIANTS:
                measure(variant, light if variant.light else program, lib, options.calls)
            for peer in peers:
                peer.measure(options.calls)
    print(table(peers))


if __name__ == "__main__":
    main()
