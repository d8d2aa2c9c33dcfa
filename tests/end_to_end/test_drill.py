"""minidb end to end: one build, then a drill-down to each planted cause, and one where there is none."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from patience import PATIENCE_SECONDS

from vprof.drill.host import STEADY, measured
from vprof.installed import target_file
from vprof.program.elf import read_program
from vprof.target import descriptor as descriptors

MINIDB = target_file("minidb")
CASES = descriptors.load(MINIDB).free["demo"]


def vprof(cwd: Path, *arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", "from vprof.cli import main; main()", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_SECONDS, cwd=cwd)


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("minidb")
    done = vprof(folder, "instrument", "--target", "minidb", "--format", "json")
    assert done.returncode == 0, done.stderr
    summary = json.loads(done.stdout)
    assert summary["unchanged"] == 0
    assert summary["sites"] > 80
    assert summary["matched"] == 13
    return folder


def drilled(work: Path, *options: object) -> dict[str, Any]:
    command = ["drill", "--auto", "--target", "minidb", "--step-seconds", 1.5, "--format", "json"]
    done = vprof(work, *command, "--", *options)
    assert done.returncode == 0, done.stderr
    drill: dict[str, Any] = json.loads(done.stdout)
    return drill


@pytest.mark.quiet_cpus  # else nearly all of the variance may be waiting for a CPU
@pytest.mark.parametrize("case", CASES, ids=[case["pathology"] for case in CASES])
def test_the_planted_function_is_the_first_finding(work: Path, case: dict[str, Any]) -> None:
    drill = drilled(work, "--pathology", case["pathology"], "--seed", case["seed"])
    first = drill["findings"][0]
    assert (first["functions"], first["confirmed"]) == (case["finding"], True)
    assert first["kind"] == ("variance" if len(case["finding"]) == 1 else "covariance")
    assert first["is_inherent"] == case.get("inherent", False)
    # It got there by expanding, and without switching everything on.
    assert drill["steps"][0]["on"] == ["serve_txn"]
    assert len(drill["steps"]) >= 2 or first["functions"] == ["[queue]"]
    assert len(drill["steps"][-1]["on"]) < 60
    # Its confirmation says what the probes do.
    distortion = drill["confirmation"]["distortion"]
    assert distortion["rounds"] >= 3
    assert [effect["metric"] for effect in distortion["effects"]] == ["mean", "variance", "p99"]
    decoys = {"parse_request", "post_commit_cleanup", "checkpoint_write"}
    assert not decoys & {name for finding in drill["findings"] for name in finding["functions"]}


def confirmed(drill: dict[str, Any]) -> list[list[str]]:
    return [finding["functions"] for finding in drill["findings"] if finding["confirmed"]]


def test_where_nothing_is_planted_nothing_is_confirmed(work: Path) -> None:
    found = confirmed(drilled(work, "--seed", 3))
    if found and (varies := measured().spread) >= STEADY:
        pytest.skip(f"constant work varies by {varies:.2f} of its mean: the host takes the CPUs away unseen")
    assert found == []


# Tasks lie in the queue while workers that were woken for them have no CPU.
def test_nor_is_it_where_other_programs_have_the_cpus(work: Path) -> None:
    others = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in os.sched_getaffinity(0)]
    try:
        drill = drilled(work, "--seed", 3)
    finally:
        for other in others:
            other.kill()
            other.wait()
    assert confirmed(drill) == []
    assert sum(drill["cpu_wait"].values()) > 0.5


def test_rebuilding_finds_the_same_way_with_the_probes_of_each_plan_alone(work: Path) -> None:
    def sited(build: str) -> set[str]:
        units = read_program(work / ".vprof" / "minidb" / build / "minidb")
        return {function.name for unit in units for function in unit.functions if function.site is not None}

    before = sited("build")
    options = ["--auto", "--rebuild", "--target", "minidb", "--step-seconds", 0.5, "--max-steps", 2, "--format", "json"]
    done = vprof(work, "drill", *options, "--", "--pathology", "wal")
    assert done.returncode == 0, done.stderr
    first, second = json.loads(done.stdout)["steps"]
    assert first["on"] == ["serve_txn"]
    # It knows what a function without a probe calls.
    assert set(first["expanded"]["serve_txn"]) >= {"parse_request", "txn_execute"}
    # On a busy machine also what threads run that were waited for.
    assert set(second["on"]) == {"serve_txn"}.union(*first["expanded"].values())
    # The last build is that of the confirmation. The build that a drill-down without --rebuild uses is as it was.
    assert sited("rebuild/build") == set(second["on"]) - set(second["dropped"])
    assert sited("build") == before


def test_intervals_cross_threads_and_carry_their_types(work: Path) -> None:
    trace = work / "types.trace"
    done = vprof(work, "record", "--target", "minidb", "--seconds", 2, "-o", trace)
    assert done.returncode == 0, done.stderr
    analysis = json.loads(vprof(work, "analyze", trace, "--intervals", "--format", "json").stdout)
    assert analysis["intervals"]["count"] > 100
    kinds = {piece[0] for row in analysis["per_interval"].values() for piece in row["critical_path"]}
    assert {"exec", "queue"} <= kinds
    threads = [{piece[1] for piece in row["critical_path"]} for row in analysis["per_interval"].values()]
    assert sum(len(t) > 1 for t in threads) > len(threads) / 2
    text = vprof(work, "analyze", trace, "--by-type").stdout
    assert all(name in text for name in ("transfer", "deposit", "statement"))


def test_the_probes_own_effect_is_measured(work: Path) -> None:
    trace = work / "turns.trace"
    done = vprof(
        work, "record", "--target", "minidb", "--seconds", 6, "--sites", "all", "--measure-distortion", "-o", trace
    )
    assert done.returncode == 0, done.stderr
    analysis = json.loads(vprof(work, "analyze", trace, "--format", "json").stdout)
    distortion = analysis["distortion"]
    assert distortion["rounds"] >= 3, distortion
    assert min(distortion["on"], distortion["off"]) > 50
    for effect in distortion["effects"]:
        assert effect["ci95"][0] < effect["change"] < effect["ci95"][1]
    # Only what was recorded with the probes on is analyzed.
    assert analysis["intervals"]["excluded"]["another plan was on"] > 50


def test_a_descriptor_entry_that_matches_nothing_is_one_line(tmp_path: Path) -> None:
    target = tmp_path / "minidb"
    shutil.copytree(MINIDB.parent, target)
    descriptor = target / "target.toml"
    descriptor.write_text(descriptor.read_text().replace('function = "queue_push"', 'function = "queue_pusher"'))
    done = vprof(tmp_path, "instrument", "--target", target)
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1, done.stderr
    assert "no function 'queue_pusher' is defined; near misses: queue_push" in done.stderr


def test_a_wrong_expression_fails_the_build_with_its_entry(tmp_path: Path) -> None:
    target = tmp_path / "minidb"
    shutil.copytree(MINIDB.parent, target)
    descriptor = target / "target.toml"
    descriptor.write_text(descriptor.read_text().replace('task = "txn"', 'task = "job"'))
    done = vprof(tmp_path, "instrument", "--target", target)
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1, done.stderr
    assert "queue/0" in done.stderr
    assert "job" in done.stderr


def test_drilling_without_a_build_says_what_to_run(tmp_path: Path) -> None:
    done = vprof(tmp_path, "drill", "--auto", "--target", "minidb")
    assert done.returncode == 1
    assert "run `vprof instrument --target minidb`" in done.stderr


def test_a_program_that_ends_too_early_is_said(work: Path) -> None:
    done = vprof(work, "drill", "--auto", "--target", "minidb", "--", "--pathology", "nothing")
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1, done.stderr
    assert "the program ended (status 2)" in done.stderr


def test_a_build_by_another_vprof_is_made_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def built() -> int:
        assert vprof(tmp_path, "instrument", "--target", "minidb").returncode == 0
        return (tmp_path / ".vprof/minidb/build/minidb").stat().st_mtime_ns

    first = built()
    assert built() == first
    other = tmp_path / "other"
    shutil.copytree(Path(sys.prefix) / "lib/vprof", other / "lib/vprof")
    shutil.copytree(Path(sys.prefix) / "bin", other / "bin", symlinks=True)
    with (other / "lib/vprof/__vprof_prelude.h").open("a", encoding="utf-8") as prelude:
        prelude.write("/* another */\n")
    monkeypatch.setenv("VPROF_PREFIX", str(other))
    assert built() != first


def test_a_changed_descriptor_is_built_in(tmp_path: Path) -> None:
    target = tmp_path / "minidb"
    shutil.copytree(MINIDB.parent, target)
    descriptor = target / "target.toml"
    assert vprof(tmp_path, "instrument", "--target", target).returncode == 0
    descriptor.write_text(
        descriptor.read_text() + '\n[[queue]]\nrole = "enqueue"\nfunction = "engine_submit"\ntask = "txn"\n'
    )
    done = vprof(tmp_path, "instrument", "--target", target)
    assert done.returncode == 0, done.stderr
    assert "matched   14 descriptor entries" in done.stdout
