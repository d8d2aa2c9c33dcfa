"""What a probe costs, and those of other tools: CPU nanoseconds per enter+exit pair of a function that does nothing.

    make bench-runtime
    python bench/runtime.py --lib build/lib/vprof --rounds 15

The probes are those of vprof-cc. Variants are interleaved round by round, so a noisy machine touches all of them alike;
medians and quartiles over the rounds are printed. The loop runs in bursts that fit into a ring; `lost` says whether the
collector kept up (a dropped record costs more).
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

from peers import Peer, prepare

HERE = Path(__file__).resolve().parent


@dataclass
class Variant:
    name: str
    mode: str
    threads: int
    session: bool
    on: bool
    ns: list[float] = field(default_factory=list)
    lost: list[float] = field(default_factory=list)


VARIANTS = [
    Variant("floor: two rdtsc", "floor", 1, session=False, on=False),
    Variant("probe, no session", "probe", 1, session=False, on=False),
    Variant("probe off, session attached", "probe", 1, session=True, on=False),
    Variant("same, with a numbered call", "caller", 1, session=True, on=False),
    Variant("probe on, collector attached", "probe", 1, session=True, on=True),
    Variant("same, with a numbered call", "caller", 1, session=True, on=True),
    Variant("probe on, collector, 2 threads", "probe", 2, session=True, on=True),
]


def build(lib: Path, program: Path, sources: list[str]) -> None:
    command = ["clang-19", "-O2", lib / "vprof_begin.o", *(HERE / source for source in sources)]
    prelude = HERE.parent / "runtime/abi"
    command += ["-o", program, f"-L{lib}", "-lvprof", f"-Wl,-rpath,{lib}", f"-I{prelude}", f"-I{HERE}"]
    subprocess.run(command, check=True)


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
            variant.ns.append(statistics.mean(float(line) for line in process.stdout))
        if session:
            variant.lost.append(session.stop())


def table(peers: list[Peer]) -> str:
    floor = statistics.median(VARIANTS[0].ns)
    lines = [f"{'ns of CPU per enter+exit':<32} {'median':>7} {'quartiles':>15} {'x floor':>8} {'lost':>6}"]
    for variant in VARIANTS:
        low, median, high = statistics.quantiles(variant.ns, n=4)
        lost = f"{statistics.median(variant.lost):.0%}" if variant.on else "-"
        lines.append(f"{variant.name:<32} {median:7.1f} {low:7.1f}-{high:<7.1f} {median / floor:8.2f} {lost:>6}")
    for peer in peers:
        low, median, high = statistics.quantiles(peer.ns, n=4)
        lines.append(f"{peer.name:<32} {median:7.1f} {low:7.1f}-{high:<7.1f} {median / floor:8.2f} {'-':>6}")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])  # type: ignore[union-attr]
    parser.add_argument("--lib", type=Path, default=Path(sys.prefix) / "lib" / "vprof", help="where libvprof.so lies")
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--calls", type=int, default=400_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        program = Path(directory) / "runtime"
        build(options.lib.resolve(), program, ["runtime.c", "bursts.c"])
        peers = prepare(Path(directory))
        for _ in range(options.rounds):
            for variant in VARIANTS:
                measure(variant, program, options.lib.resolve(), options.calls)
            for peer in peers:
                peer.measure(options.calls)
    print(table(peers))


if __name__ == "__main__":
    main()
