"""Asynchronous I/O: who waits for a request waits for the disk, by way of the thread that collects the results."""

from __future__ import annotations

import subprocess
from collections import Counter
from pathlib import Path

import pytest

from vprof.installed import native
from vprof.session.owned import Session
from vprof.session.plan import Plan
from vprof.trace.reading import load_binary
from vprof.variance.analysis import AnalysisOptions, analyze

SOURCE = Path(__file__).parent / "programs" / "async_io.c"
PAUSE_NS = 20e6
NOT_HERE = 77
WAYS = {
    "libaio": ["-laio"],
    "syscall": ["-DDIRECT", "-laio"],
    "static": ["-laio", "-static"],
    "io_uring": ["-DRING"],
    "liburing": ["-DLIBURING", "-luring"],
}


def has_liburing() -> bool:
    given = subprocess.run(["cc", "-E", "-x", "c", "-"], input="#include <liburing.h>", text=True, capture_output=True)
    return given.returncode == 0


def has_disk(folder: Path) -> bool:
    kind = subprocess.run(["stat", "-f", "-c", "%T", folder], text=True, capture_output=True, check=True).stdout
    return kind.strip() not in ("tmpfs", "ramfs")


def times(folder: Path, kind: str, way: str) -> dict[str, float]:
    """Mean ns of the requests' critical paths, by kind of piece; "all": of all of them."""
    if way == "liburing" and not has_liburing():
        pytest.skip("liburing is not installed")
    if not has_disk(folder):
        pytest.skip("temporary files are on no disk")
    program = folder / "prog"
    built = [native("bin/vprof-cc"), "-I", native("include"), "-O2", "-pthread", "-o", program, SOURCE, *WAYS[way]]
    subprocess.run(built, check=True)
    with Session.start(folder / "run.trace") as session:
        environment = session.environment()
        if way == "liburing":
            environment["LD_PRELOAD"] = str(native("lib/vprof/libvprof.so"))
        process = subprocess.Popen([program, folder / "data", kind], env=environment, stdout=subprocess.DEVNULL)
        session.attend(process, Plan.of([]))
        session.stop()
    if process.returncode == NOT_HERE:
        pytest.skip("the kernel refuses such a queue")
    assert process.returncode == 0
    paths = analyze(load_binary(folder / "run.trace"), AnalysisOptions(intervals=True)).per_interval
    found: Counter[str] = Counter()
    for detail in paths.values():
        for piece, _, begin, end in detail.critical_path:
            found[piece] += end - begin
            found["all"] += end - begin
    return {piece: ns / len(paths) for piece, ns in found.items()}


def with_a_cpu(found: dict[str, float]) -> float:
    """All but waits for a CPU, which a busy machine has many of."""
    return found["all"] - found.get("preempted", 0) - found.get("sched", 0)


def unknown(found: dict[str, float]) -> float:
    return found.get("blocked_unknown", 0) + found.get("unknown", 0)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", ["sync", "read", "own", "short"])
def test_a_request_for_a_file_is_time_of_the_disk(tmp_path: Path, kind: str, way: str) -> None:
    found = times(tmp_path, kind, way)
    assert unknown(found) < 0.02 * found["all"]
    assert found["disk"] > 0.5 * with_a_cpu(found)


@pytest.mark.parametrize("way", WAYS)
def test_until_it_is_submitted_its_submitter_is_waited_for(tmp_path: Path, way: str) -> None:
    found = times(tmp_path, "late", way)
    assert unknown(found) < 0.02 * found["all"]
    assert found["sleep"] == pytest.approx(PAUSE_NS, rel=0.2)
    assert 0 < found["disk"] < found["all"] - 0.9 * PAUSE_NS


@pytest.mark.parametrize("way", WAYS)
def test_a_request_for_a_pipe_is_a_wait_for_who_writes(tmp_path: Path, way: str) -> None:
    found = times(tmp_path, "poll", way)
    assert unknown(found) < 0.02 * found["all"]
    assert found.get("disk", 0) == 0
    assert found["sleep"] == pytest.approx(PAUSE_NS, rel=0.2)
