"""A wait that several held up, one after the other or at once: each is charged only while it held the lock."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from vprof.installed import native

PROGRAM = Path(__file__).parents[1] / "programs" / "holders" / "holders.cpp"


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Small functions have probes, too."""
    built = tmp_path_factory.mktemp("holders") / "holders"
    descriptor = built.with_suffix(".json")
    descriptor.write_text('{"probe": ["*"]}', encoding="utf-8")
    command = [native("bin/vprof-c++"), "-O1", "-g", "-pthread", PROGRAM, "-o", built]
    subprocess.run(command, check=True, env={**os.environ, "VPROF_DESCRIPTOR": str(descriptor)})
    return built


def vprof(*arguments: object) -> str:
    command = [sys.executable, "-c", "from vprof.cli import main; main()", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


def times(node: dict[str, Any], names: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], float]]:
    """Each node's path of names without places, and its own share of the mean latency."""
    children = node.get("children", [])
    yield names, node["mean_ns"] - sum(child["mean_ns"] for child in children)
    for child in children:
        yield from times(child, (*names, child["node"].split("@")[0]))


@pytest.mark.parametrize("lock", ["rwlock", "shared_mutex", "mutex", "semaphore"])
def test_a_holder_is_charged_while_it_held_the_lock(program: Path, tmp_path: Path, lock: str) -> None:
    trace = tmp_path / "run.trace"
    vprof("record", "--sites", "all", "-o", trace, "--", program, lock)
    report = json.loads(vprof("analyze", trace, "--root", "request", "--format", "json"))
    waited = {path: ns for path, ns in times(report["tree"]) if "take" in path and "[blocked]" in path}
    total = sum(waited.values())
    held = sum(ns for path, ns in waited.items() if "held" in path)
    rest = sum(ns for path, ns in waited.items() if "rest" in path)
    # What a wait does besides is waiting for a CPU. Charged to the last holder alone, rest() has 40 % of it with the
    # read-write lock, 3 % with the semaphore and 1 % with the mutex.
    assert held > 0.75 * total, waited
    assert rest < 0.005 * total, waited
