"""Damages traces and reads them: `make fuzz-reader` (SECONDS=600), or some by pytest (test_fuzz_reader.py).

    a recorded program with hostile names, or a random history -> damaged (damage.py) -> `vprof VERB`

What must come is a report, or one line that says why there is none: no traceback, no signal, at most a minute of CPU
and a gigabyte of memory, and nothing that steers a terminal. Each verb runs in a process of its own, forked when all is
loaded and compiled. The seed tells everything: `fuzz_reader.py --seed N`.
"""

from __future__ import annotations

import argparse
import gc
import os
import random
import re
import resource
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from damage import damaged
from history import History
from test_windows import disturbed, named

from vprof import cli
from vprof.errors import InvariantError
from vprof.installed import native
from vprof.variance.stream import analyze_traces

PROGRAM = Path(__file__).parents[1] / "cli/programs/hostile_names.c"
SECONDS, MEGABYTES, LINES = 60, 1024, 3
STEERING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
_TWICE = (
    ("analyze",),
    ("analyze", "--format", "json", "--intervals"),
    ("analyze", "--by-type", "--own"),
    ("analyze", "--path", "slowest"),
    ("analyze", "--explain", "work"),
    ("analyze", "--waits"),
    ("whatif", "--change", "work=0.5"),
    ("whatif", "--rank", "--format", "json", "--intervals"),
    ("report", "-o", "{}/report.html"),
    ("export", "--to", "perfetto", "-o", "{}/slices"),
    ("export", "--to", "folded", "-o", "/dev/stdout"),
    ("export", "--to", "csv", "-o", "{}/tables"),
    ("diff", "{}/sound.trace", "--"),
    ("diff", "--no-factors", "{}/sound.trace", "--"),
    ("diff", "-o", "{}/diff.html", "{}/sound.trace", "--"),
)
"""Verbs that take --root; the trace goes last."""
_ONCE = (
    ("sites",),
    ("sites", "--left"),
    ("callgraph",),
    ("callgraph", "-f", "serve"),
    ("analyze", "--format", "dot"),
    ("analyze", "--locks"),
    ("analyze", "--locks", "--format", "json"),
    ("whatif", "--locks", "vats,ldsf", "--traced", "fcfs", "--seeds", "2"),
)
VERBS = [*_ONCE, *_TWICE, *((verb[0], "--root", "serve", *verb[1:]) for verb in _TWICE)]


class FaultError(Exception):
    """What a verb did that it must not."""


@dataclass
class Fuzz:
    """Works in a folder, which has `sound.trace` and `damaged.trace`."""

    folder: Path

    @cached_property
    def recorded(self) -> bytes:
        """Of the program with hostile names, by the real runtime."""
        program, trace = self.folder / "program", self.folder / "sound.trace"
        subprocess.run([native("bin/vprof-cc"), "-O1", "-pthread", PROGRAM, "-o", program], check=True)
        record = (
            "from vprof.cli import main; main()",
            "record",
            "--sites",
            "all",
            "--locks",
            "-o",
            trace,
            "--",
            program,
            "60",
        )
        subprocess.run([sys.executable, "-c", *record], check=True, capture_output=True)
        return trace.read_bytes()

    def prepare(self) -> None:
        """Loads and compiles all that the verbs need."""
        path = self.folder / "damaged.trace"
        path.write_bytes(self.recorded)
        for verb in VERBS:
            self.run(verb, forked=False)
        gc.collect()
        gc.freeze()

    def damage(self, seed: int) -> str:
        """Writes the damaged trace; returns what kind of damage it has."""
        kind, content = damaged(self.recorded if seed % 3 else self._history(seed), seed)
        (self.folder / "damaged.trace").write_bytes(content)
        return kind

    def _history(self, seed: int) -> bytes:
        chance = random.Random(seed)
        history = History(seed, chance.randint(1, 4), chance.randint(40, 200))
        return disturbed(named(history.writer, seed), seed).save(self.folder / "history.trace").read_bytes()

    def outcome(self, seed: int, verbs: int = 3) -> list[str]:
        """Of some verbs on what the seed damaged: "done" or "refused". Raises FaultError."""
        self.damage(seed)
        return [self.run(verb) for verb in random.Random(seed).sample(VERBS, verbs)]

    def windowed(self, seed: int) -> str:
        """The same of an analysis in small windows."""
        self.damage(seed)
        return self._forked(lambda: self._windows(1 + seed % 60), f"seed {seed} in windows")

    def _windows(self, records: int) -> None:
        from vprof.errors import VprofError

        try:
            analyze_traces([self.folder / "damaged.trace"], window_records=records)
        except InvariantError:
            raise
        except VprofError as error:
            print(error, file=sys.stderr)
            sys.exit(1)

    def run(self, verb: tuple[str, ...], forked: bool = True) -> str:
        arguments = [part.format(self.folder) for part in verb] + [str(self.folder / "damaged.trace")]
        return self._forked(lambda: _main(arguments), " ".join(arguments)) if forked else self._here(arguments)

    def _here(self, arguments: list[str]) -> str:
        kept = os.dup(1), os.dup(2), sys.stdout, sys.stderr
        _redirect(self.folder)
        try:
            _main(arguments)
        except SystemExit as end:
            assert end.code in (0, 1, 2, None), end.code
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os.dup2(kept[0], 1)
            os.dup2(kept[1], 2)
            sys.stdout, sys.stderr = kept[2:]
        return "done"

    def _forked(self, work, what: str) -> str:  # type: ignore[no-untyped-def]
        child = os.fork()
        if not child:
            _child(work, self.folder)
        _, status, used = os.wait4(child, 0)
        code = os.waitstatus_to_exitcode(status)
        out, err = ((self.folder / name).read_text(errors="surrogateescape") for name in ("out", "err"))
        fault = _fault(code, out, err, used.ru_maxrss >> 10)
        if fault:
            raise FaultError(f"{what}: {fault}")
        return "done" if code == 0 else "refused"


def _main(arguments: list[str]) -> None:
    sys.argv = ["vprof", *arguments]
    cli.main()


def _redirect(folder: Path) -> None:
    for stream, name in ((1, "out"), (2, "err")):
        file = os.open(folder / name, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600)
        os.dup2(file, stream)
        os.close(file)
    sys.stdout = open(1, "w", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", closefd=False)  # noqa: SIM115


def _child(work, folder: Path) -> None:  # type: ignore[no-untyped-def]
    """Never returns."""
    code = 99
    try:
        resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS + 1))
        _redirect(folder)
        work()
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 0
    except BaseException:
        traceback.print_exc()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def _fault(code: int, out: str, err: str, megabytes: int) -> str:
    said = err.strip().splitlines()
    if "Traceback" in err or code == 99:
        return said[-1] if said else "exit code 99"
    if code < 0:
        return f"ended by signal {-code}"
    if code not in (0, 1, 2):
        return f"exit code {code}"
    if "please report" in err:
        return f"a contradiction of its own: {said[-1]}"
    if len(said) > LINES:
        return f"{len(said)} lines of errors: {said[0]}"
    if megabytes > MEGABYTES:
        return f"{megabytes} MB"
    steering = STEERING.search(out + err)
    return f"prints {steering[0]!r}" if steering else ""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--count", type=int, help="so many seeds, however long it takes")
    parser.add_argument("--seed", type=int, help="this one alone, with its traceback, by all verbs")
    parser.add_argument("--first", type=int, default=1)
    options = parser.parse_args()
    counts: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        fuzz = Fuzz(Path(folder))
        fuzz.prepare()
        if options.seed is not None:
            print(fuzz.outcome(options.seed, len(VERBS)))
            return
        begin, seed = time.monotonic(), options.first
        while seed - options.first < options.count if options.count else time.monotonic() - begin < options.seconds:
            try:
                counts.update([*fuzz.outcome(seed), fuzz.windowed(seed)])
            except FaultError as error:
                counts["faults"] += 1
                print(f"seed {seed}: {error}", flush=True)
            seed += 1
    most = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss >> 10
    print(f"{seed - options.first} damages, {dict(counts)}, at most {most} MB, {time.monotonic() - begin:.0f} s")
    sys.exit(bool(counts["faults"]))


if __name__ == "__main__":
    main()
