"""Drill-downs into a server that waits for threads which its requests never call: each ends at the planted function."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from vprof.installed import native

PROGRAM = Path(__file__).parents[1] / "programs" / "truth"
DECOYS = {"render", "parse_header", "decoy_lock", "decoy_noise"}
SCALE = 12
"""The planted naps are longer than what a thread waits for a CPU."""


@pytest.fixture(scope="module")
def truth(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built with a probe in every function: the planted ones are small."""
    folder = tmp_path_factory.mktemp("truth")
    shutil.copytree(PROGRAM, folder, dirs_exist_ok=True)
    descriptor = folder / "descriptor.json"
    descriptor.write_text(json.dumps({"probe": ["*"]}))
    environment = {**os.environ, "VPROF_DESCRIPTOR": str(descriptor)}
    subprocess.run(["make", "-C", folder, f"CXX={native('bin/vprof-c++')}"], check=True, env=environment)
    return folder / "truth"


def drilled(truth: Path, folder: Path, mode: str, *options: object) -> dict[str, Any]:
    command = ["drill", "--auto", "--step-seconds", 1.5, "--max-steps", 6, "--dir", folder, "--format", "json"]
    command += ["--root", "handle_request", *options, "--", truth, mode, 600, SCALE]
    vprof = [sys.executable, "-c", "from vprof.cli import main; main()", *map(str, command)]
    done = subprocess.run(vprof, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    report: dict[str, Any] = json.loads(done.stdout)
    return report


def names(finding: dict[str, Any]) -> set[str]:
    """The functions of a finding, and those on its path."""
    return {name.partition("@")[0] for name in (*finding["functions"], *finding["path"])}


@pytest.mark.parametrize(
    ("mode", "planted", "waits_in"),
    [
        ("checkpoint", "checkpoint_write", "take_lock"),
        ("convoy", "compact", "take_a"),
        ("pool", "look_up", "hop"),
        ("readers", "reader_scan", "take_write"),
    ],
)
def test_the_wait_leads_to_the_function_of_another_thread(
    truth: Path, tmp_path: Path, mode: str, planted: str, waits_in: str
) -> None:
    report = drilled(truth, tmp_path, mode)
    # Nothing of the other thread was on: what it may run was switched on, for the wait's sake.
    assert "[waker]" in report["steps"][0]["expanded"]
    assert planted in report["steps"][-1]["on"]
    best = [finding for finding in report["findings"] if planted in names(finding)]
    assert best, report["findings"]
    path = [name.partition("@")[0] for name in best[0]["path"]]
    assert path.index(waits_in) < path.index("[blocked]") < path.index(planted)
    found = {name for finding in report["findings"] for name in finding["functions"]}
    assert not found & DECOYS
    assert not [f for f in report["findings"] if f["confirmed"] and set(f["functions"]) <= {"[unknown]", "[waker]"}]


def test_another_root_stays_on_from_the_start(truth: Path, tmp_path: Path) -> None:
    report = drilled(truth, tmp_path, "checkpoint", "--root", "checkpoint_write", "--max-steps", 2)
    assert report["steps"][0]["on"] == ["checkpoint_write", "handle_request"]
    assert all("checkpoint_write" in step["on"] for step in report["steps"])


def test_a_lock_inside_the_c_library_is_said_to_be_missing(truth: Path, tmp_path: Path) -> None:
    report = drilled(truth, tmp_path, "allocator", "--max-steps", 3, "--step-seconds", 4)
    [finding] = [finding for finding in report["findings"] if "[unknown]" in finding["explains"]]
    assert finding["functions"] == ["allocate_nodes"]
    assert any(
        "in allocate_nodes: malloc may wait for a lock inside the C library" in line for line in finding["missing"]
    )
