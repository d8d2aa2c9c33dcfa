"""What the shows of watch.py share: parts that are made once, and looking at processes each second."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeVar

_TICKS = os.sysconf("SC_CLK_TCK")
_START_SECONDS = 10
"""Of each part, in which the watch imports and compiles: left out of its CPU time."""
STOP_SECONDS = 600
"""What a watch may take to end: on a busy machine it may be compiling still."""
R = TypeVar("R")


@dataclass(frozen=True)
class Taken:
    """CPU as parts of one core, by process, from the tenth second on; the largest size of the folder; memory of the
    watch at its most."""

    cpu: dict[str, float]
    folder_mb: float
    watch_rss_mb: float


def parts(file: Path, kind: Callable[..., R], lengths: list[int], make: Callable[[int, int], R]) -> list[R]:
    """One for each length in seconds: those that the file has, and the others, which are made and added to it."""
    text = file.read_text(encoding="utf-8") if file.exists() else ""
    made = [kind(**json.loads(line)) for line in text.splitlines()]
    for number in range(len(made), len(lengths)):
        print(f"part {number + 1} of {len(lengths)}: {lengths[number]} s", file=sys.stderr)
        made.append(make(number, lengths[number]))
        with file.open("a", encoding="utf-8") as out:
            print(json.dumps(asdict(made[-1])), file=out)  # type: ignore[call-overload]
    return made[: len(lengths)]


def lengths(seconds: int, part: int) -> list[int]:
    """Of parts that are equally long, none longer than `part`."""
    count = -(-seconds // part)
    return [seconds // count + (number < seconds % count) for number in range(count)]


def vprof(*arguments: object) -> list[str]:
    return [sys.executable, "-c", "from vprof.cli import main; main()", *map(str, arguments)]


@contextmanager
def ended(command: list[str], **options: Any) -> Iterator[subprocess.Popen[bytes]]:
    """A process that has ended on the way out, by itself or by a SIGTERM."""
    process = subprocess.Popen(command, **options)
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(timeout=STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def wait_until(log: Path, event: str, watch: subprocess.Popen[bytes]) -> None:
    while f"vprof watch: {event}" not in log.read_text():
        if watch.poll() is not None:
            sys.exit(log.read_text())
        time.sleep(0.1)


def not_kept(log: Path) -> list[str]:
    """What a watch said, but for what it kept."""
    lines = log.read_text(encoding="utf-8").splitlines()
    return [line for line in lines if not line.startswith(("vprof watch: kept", "vprof watch: removed"))]


def observe(
    is_over: Callable[[], bool], cpu: Mapping[str, Callable[[], float]], watch: subprocess.Popen[bytes], folder: Path
) -> Taken:
    """Until it is over. `cpu`: seconds that each has taken so far; 0 once it has ended."""
    begun = time.monotonic()
    while time.monotonic() - begun < _START_SECONDS and not is_over():
        time.sleep(0.2)
    before, begin = {name: look() for name, look in cpu.items()}, time.monotonic()
    now, largest, rss = dict(before), 0, 0
    while not is_over():
        now = {name: look() or now[name] for name, look in cpu.items()}
        largest, rss = max(largest, size_of(folder)), max(rss, most_memory(watch.pid))
        time.sleep(1)
    seconds = time.monotonic() - begin
    spent = {name: (now[name] - before[name]) / seconds for name in cpu}
    return Taken(spent, largest / 2**20, rss / 1024)


def cpu_of(pid: int) -> float:
    """Seconds so far, with those of children that it waited for; 0 of one that has ended."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return sum(map(int, fields[11:15])) / _TICKS


def below(pid: int) -> Iterator[int]:
    """A process and all that descend from it."""
    yield pid
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return
    for child in children:
        yield from below(int(child))


def most_memory(pid: int) -> int:
    """In kB."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("VmHWM:")), 0)


def size_of(folder: Path) -> int:
    total = 0
    for path in folder.rglob("*"):
        try:
            total += path.stat().st_size
        except OSError:
            continue
    return total


def mean(rows: list[Any], seconds: list[float]) -> float:
    """Of the parts, by their lengths."""
    return float(sum(value * weight for value, weight in zip(rows, seconds, strict=True)) / sum(seconds))
