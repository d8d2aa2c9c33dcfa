"""`vprof tune` from end to end: minidb, whose runs are traced, and a server with known delays in an open loop."""

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from patience import PATIENCE_SECONDS, wait_for

from vprof.installed import native

VPROF = [sys.executable, "-c", "from vprof.cli import main; main()"]
TOY = """
name = "toy"
roots = []
[source]
kind = "tree"
path = "."
[build]
steps = []
programs = []
[server]
start = "{stub} --socket {{server}} --delay lognormal:2ms:0.2 --stall 200ms/500ms"
ready = "test -S {{server}}/.s.PGSQL.5432"
[load]
command = "true"
[workloads]
on = "postgres"
socket = "{{server}}"
[[knob]]
name = "stall"
kind = "choice"
values = ["1ms/500ms", "199ms/500ms", "never"]
server_option = "--stall {{value}}"
line = "stall = {{value}}"
restart = true
trades = "nothing"
governs = ["[queue]"]
"""


def tuned(*words: object, folder: Path) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(command(*words), cwd=folder, capture_output=True, text=True, timeout=PATIENCE_SECONDS)


def command(*words: object) -> list[str]:
    return [*VPROF, "tune", *map(str, words)]


def report(done: "subprocess.CompletedProcess[str]") -> dict[str, Any]:
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    schema = json.loads((files("vprof.report") / "schemas" / "vprof-tune-1.json").read_text(encoding="utf-8"))
    Draft202012Validator(schema).validate(found)
    return found


def processes_of(folder: Path) -> list[int]:
    """Those that run a program of ours, or work there: servers, loads, programs."""
    found = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if os.fsencode(folder) in entry.read_bytes():
                found.append(int(entry.parent.name))
        except OSError:
            continue
    return found


@pytest.fixture(scope="module")
def minidb(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which it is built."""
    folder = tmp_path_factory.mktemp("minidb")
    subprocess.run([*VPROF, "instrument", "--target", "minidb"], cwd=folder, check=True, capture_output=True)
    return folder


@pytest.fixture
def toy() -> Iterator[Path]:
    """A folder with a short name: the path of a socket has 107 bytes."""
    with TemporaryDirectory(prefix="toy-") as name:
        folder = Path(name)
        (folder / "toy").mkdir()
        (folder / "toy/target.toml").write_text(TOY.format(stub=native("lib/vprof/vprof-load-stub")))
        yield folder


OF_TOY = ("--target", "./toy", "--load", "noop", "--rate", 100, "--seconds", 1, "--warmup", 0, "--format", "json")


def test_settings_of_minidb_are_traced_judged_and_one_that_it_refuses_is_marked(minidb: Path) -> None:
    knobs = ("--knob", "amount=30", "--knob", "workers=9999")
    words = ("--target", "minidb", *knobs, "--seconds", 1, "--runs", 3, "--format", "json", "--", "--pathology", "wal")
    found = report(tuned(*words, folder=minidb))
    baseline, amount, refused = found["settings"]
    assert (baseline["runs"], amount["runs"], refused["runs"]) == (3, 3, 0)
    assert refused["verdict"] == "failed"
    assert refused["why"].startswith("minidb: --workers 9999: must be a whole number from 1 to 1000")
    assert amount["changes"][0]["ratio"] > 0 and amount["changes"][0]["p_holm"] is not None
    kept = json.loads((minidb / ".vprof/minidb/tune/session.json").read_text())["runs"]
    for run in kept:  # on a busy machine its share is less than what is shown
        assert run["failed"] or ["variance", ["wal_compress_block"]] in [factor[:2] for factor in run["factors"]]
    assert amount["no_factors"] == "" and amount["trades"] and not found["load"]["open"]
    assert found["runs"][0]["setting"] == "baseline"
    assert sorted(run["round"] for run in found["runs"]) == [0, 0, 0, 1, 1, 2, 2]
    assert processes_of(minidb) == []


@pytest.mark.quiet_cpus
def test_an_open_loop_finds_the_setting_that_stalls_less(toy: Path) -> None:
    found = report(tuned(*OF_TOY, "--knob", "stall=1ms/500ms,199ms/500ms,never", "--runs", 6, folder=toy))
    rows = {row["setting"]: row for row in found["settings"]}
    assert rows["stall=1ms/500ms"]["verdict"] == "better"
    assert rows["stall=1ms/500ms"]["changes"][0]["ratio"] < 0.1
    assert rows["stall=199ms/500ms"]["verdict"] in ("no-difference", "given-up")
    assert [one["lines"] for one in found["recommended"]] == [["stall = 1ms/500ms"]]
    assert found["load"]["open"] and found["load"]["rate"] == 100
    for run in found["runs"]:
        assert run["failed"] or run["metrics"]["throughput"] == pytest.approx(100, rel=0.3)


def test_a_server_that_does_not_start_with_a_value_is_marked_with_its_last_line(toy: Path) -> None:
    found = report(tuned(*OF_TOY, "--knob", "stall=never,1ms/500ms", "--runs", 3, folder=toy))
    refused = next(row for row in found["settings"] if row["setting"] == "stall=never")
    assert refused["verdict"] == "failed"
    assert "--stall never: must look like 200ms/10s" in refused["why"] and "\n" not in refused["why"]
    assert len(found["runs"]) == 1 + 2 * 3


def test_killed_in_a_run_it_leaves_nothing_behind_and_goes_on_where_it_was(toy: Path) -> None:
    words = (*OF_TOY, "--knob", "stall=1ms/500ms", "--runs", 3, "--session", "sweep.json")
    kept = toy / "sweep.json"

    def runs() -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = json.loads(kept.read_text())["runs"] if kept.exists() else []
        return found

    with subprocess.Popen(command(*words), cwd=toy, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as sweep:
        wait_for(lambda: sweep.poll() is not None or (len(runs()) >= 2 and bool(processes_of(toy))))
        assert sweep.poll() is None
        sweep.send_signal(signal.SIGKILL)
    wait_for(lambda: not processes_of(toy))
    before = runs()
    done = tuned(*words, folder=toy)
    found = report(done)
    assert f"goes on after {len(before)} runs" in done.stderr
    assert runs()[: len(before)] == before
    assert sorted((run["round"], run["setting"]) for run in found["runs"]) == sorted(
        (round_, name) for round_ in range(3) for name in ("baseline", "stall=1ms/500ms")
    )
    other = tuned(*words, "--metric", "p99", folder=toy)
    assert other.returncode == 2 and "is of another sweep (metric differs): give another --session" in other.stderr


def test_the_findings_of_a_drill_down_choose_the_knobs_and_the_load(minidb: Path) -> None:
    findings = [
        {"functions": ["wal_compress_block"], "share": 0.6, "confirmed": True},
        {"functions": ["parse_request"], "share": 0.1, "confirmed": True},
    ]
    settings = {"name": "minidb", "program": ["--pathology", "wal"]}
    text = json.dumps({"schema": "vprof-drill/1", "settings": settings, "findings": findings})
    (minidb / "drill.json").write_text(text)
    words = ("--knob", "amount=50", "--seconds", 1, "--runs", 3, "-o", "page.html")
    done = tuned("--auto", "drill.json", *words, folder=minidb)
    assert done.returncode == 0, done.stderr
    assert "wal_compress_block (60.0 % of the variance): amount" in done.stderr
    assert "parse_request (10.0 % of the variance): no knob governs it" in done.stderr
    page = (minidb / "page.html").read_text()
    assert "no knob governs it" in page and "amount=50" in page
    shutil.rmtree(minidb / ".vprof/minidb/tune")


def test_without_a_file_a_drill_down_comes_first_and_is_made_once(minidb: Path) -> None:
    sweep = ("--auto", "--target", "minidb", "--seconds", 1, "--runs", 3, "--budget", "15s", "--session", "auto.json")
    words = (*sweep, "--knob", "amount=50", "--format", "json", "--", "--pathology", "wal")
    done = tuned(*words, folder=minidb)
    found = report(done)
    assert "a drill-down first, under the load of the sweep" in done.stderr
    kept = json.loads((minidb / "auto.drill.json").read_text())
    assert kept["settings"]["program"] == ["--pathology", "wal"] and kept["settings"]["budget"] == 5
    assert "findings" in kept and found["findings"]["unconfirmed"] == [
        " with ".join(row["functions"]) for row in kept["findings"] if not row["confirmed"]
    ]
    assert "amount=50" in {row["setting"] for row in found["settings"]}
    again = tuned(*words, folder=minidb)  # all is there: nothing is drilled or run again
    assert report(again)["runs"] == found["runs"] and "a drill-down first" not in again.stderr
