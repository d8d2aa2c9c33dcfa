"""`vprof load` as a user calls it, with a driver that does as it is told: what it says first, its exit codes, one line
per error."""

import json
import os
import pty
import signal
import subprocess
import sys
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from jsonschema import Draft202012Validator
from latencies import BEGIN, BEGIN_REALTIME, MS, S, lateness, records, run_json, write
from patience import PATIENCE_SECONDS, wait_for

DRIVER = """#!{python}
import json, shutil, signal, sys, time
from pathlib import Path

here = Path(__file__).parent
with (here / "calls").open("a") as calls:
    print(*sys.argv[1:], file=calls)
verb, *rest = sys.argv[1:]
if verb == "list":
    print("noop         nothing\\nycsb         rows by key\\ntpcc         orders")
    sys.exit()
told = json.loads((here / "told.json").read_text())
plan = told.get("dry run" if "--dry-run" in rest else "floor" if rest[0] == "noop" else verb, {{}})
came = []
signal.signal(signal.SIGINT, lambda *_: came.append(1))
for line in plan.get("says", []):
    print(line, file=sys.stderr, flush=True)
if plan.get("waits"):
    (here / "waiting").touch()
    while not came:
        time.sleep(0.02)
for option in rest:
    if option.startswith("--latencies=") and "latencies" in plan:
        shutil.copy(plan["latencies"], option.partition("=")[2])
if "prints" in plan:
    report = plan["prints"]
    print(json.dumps({{**report, "interrupted": bool(came)}}) if isinstance(report, dict) else report)
sys.exit(plan.get("status", 0))
"""


class Stage:
    """A prefix with the driver, and what it is told."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.native = folder / "lib/vprof"
        self.native.mkdir(parents=True)
        driver = self.native / "vprof-load-driver"
        driver.write_text(DRIVER.format(python=sys.executable))
        driver.chmod(0o755)
        rng = np.random.default_rng(1)
        at = np.sort(rng.integers(0, 10 * S, 5000))
        rows = records(at, rng.integers(MS, 3 * MS, 5000), rng.integers(0, 2, 5000), 0, 1)
        self.tell(rows)

    def tell(self, rows: Any = None, late: Any = None, verbs: dict[str, Any] | None = None, **run: Any) -> None:
        """`verbs`: what it does for each; `run`: of the JSON that it prints."""
        told = {"run": {"prints": run_json(types=("read", "update"), **run)}, "floor": {"prints": run_json(2.0)}}
        if rows is not None:
            late = lateness(np.arange(0, 10 * S, MS), 50_000, 2) if late is None else late
            self.rows = write(self.folder / "latencies", rows, late, types=("read", "update"))
            self.floor = write(self.folder / "floor", records(np.arange(0, 2 * S, MS), 70_000), lateness([0], [0]))
        told["run"]["latencies"], told["floor"]["latencies"] = str(self.rows), str(self.floor)
        for verb, plan in (verbs or {}).items():
            told[verb] = {**told.get(verb, {}), **plan}
        (self.native / "told.json").write_text(json.dumps(told))

    def command(self, *arguments: object) -> list[str]:
        return [sys.executable, "-c", "from vprof.cli import main; main()", "load", *map(str, arguments)]

    def run(self, *arguments: object, server: bool = True) -> "subprocess.CompletedProcess[str]":
        where = ["--on", "stub", "--socket", "/run/stub"] if server else []
        return subprocess.run(
            self.command(*arguments, *where),
            env={**os.environ, "VPROF_PREFIX": str(self.folder)},
            capture_output=True,
            text=True,
            timeout=PATIENCE_SECONDS,
            cwd=self.folder,
        )

    def report(self, *arguments: object) -> dict[str, Any]:
        done = self.run(*arguments, "--format", "json")
        found: dict[str, Any] = json.loads(done.stdout)
        schema = json.loads((files("vprof.report") / "schemas" / "vprof-load-1.json").read_text(encoding="utf-8"))
        Draft202012Validator(schema).validate(found)
        return found

    def calls(self) -> list[str]:
        return (self.native / "calls").read_text().splitlines()


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return Stage(tmp_path)


def unwrapped(done: "subprocess.CompletedProcess[str]") -> str:
    return " ".join(done.stdout.split())


def one_line(done: "subprocess.CompletedProcess[str]", status: int, said: str) -> None:
    assert done.returncode == status, done.stderr
    assert said in done.stderr
    assert done.stderr.startswith("vprof: ") and done.stderr.count("\n") == 1 and done.stdout == ""


def test_the_first_line_is_the_answer(stage: Stage) -> None:
    done = stage.run("ycsb")
    assert done.returncode == 0, done.stderr
    first = done.stdout.splitlines()[0]
    assert first.startswith("ycsb: 500.0 transactions a second, p99 2.9") and first.endswith("(closed loop, 4 clients)")
    for word in ("read", "update", "all", "L2", "Floor", "70 us"):
        assert word in done.stdout
    assert done.stderr == ""


def test_json_is_as_its_schema_says_and_its_figures_are_those_of_the_file(stage: Stage) -> None:
    found = stage.report("ycsb")
    assert found["all"]["count"] == 5000 and [row["type"] for row in found["types"]] == ["read", "update"]
    assert found["all"]["throughput_per_s"] == 500
    assert found["all"]["l2_ns"] ** 2 == pytest.approx(found["all"]["mean_ns"] ** 2 + found["all"]["variance_ns2"])
    assert found["floor"]["count"] == 2000 and found["floor"]["max_ns"] == 70_000
    assert found["lateness"]["p50_ns"] == pytest.approx(50_000, rel=0.001)
    assert found["reached"] is None and found["pauses"] == [] and found["check"] is None


def test_what_is_asked_for_reaches_the_driver(stage: Stage) -> None:
    options = "--rate 1234567 --arrivals even --isolation serializable --mix read=1,update=2 --theta 0.7 --writes 0.5"
    more = "--seed 3 --setup --check --warehouses 7 --clients 5 --seconds 4 --warmup 0 --user u --database d"
    done = stage.run("ycsb", *options.split(), *more.split())
    assert done.returncode == 0, done.stderr
    where = "--on=stub --socket=/run/stub --user=u --database=d"
    listed, dry_run, setup, floor, run, check = stage.calls()
    assert listed == "list"
    assert dry_run.replace("/dev/null", run.split("--latencies=")[1].split()[0]) == f"{run} --dry-run"
    assert setup == f"setup ycsb {where} --scale=7 --seed=3"
    assert floor.startswith(f"run noop {where} --latencies=")
    assert floor.endswith("--clients=5 --seconds=2.0 --warmup=0.2 --rate=500.0 --seed=3")
    assert run.endswith(
        "--clients=5 --seconds=4.0 --warmup=0.0 --rate=1234567.0 --arrivals=even --isolation=serializable "
        "--mix=read=1,update=2 --theta=0.7 --writes=0.5 --scale=7 --seed=3"
    )
    assert check == f"check ycsb {where} --scale=7"
    assert "The data is consistent after the run." in done.stdout


def test_without_a_floor(stage: Stage) -> None:
    found = stage.report("ycsb", "--floor", 0)
    assert found["floor"] is None and not any("noop" in call for call in stage.calls())


def test_a_rate_that_was_not_reached_is_said_first(stage: Stage) -> None:
    """Of 10 000, those of the last 2 s are unfinished."""
    at = np.arange(0, 10 * S, MS)
    late = at >= 8 * S
    stage.tell(records(at, np.where(late, 10 * S - at, MS), 0, np.where(late, 4, 0)), rate=1000.0, arrivals="even")
    found = stage.report("ycsb", "--rate", 1000)
    assert found["reached"] is False and found["behind_ns"] == 2 * S and found["all"]["unfinished"] == 2000
    assert found["sentence"].startswith(
        "ycsb did not reach the 1,000 transactions a second asked for: 800.0 transactions a second, "
        "2 s behind and 2,000 unfinished at the end; p99 1.9"
    )
    assert "high percentiles are lower bounds" in found["remarks"][0]


def test_a_rate_that_was_reached_but_for_what_clients_had_in_hand(stage: Stage) -> None:
    at = np.arange(0, 10 * S, 10 * MS)
    stage.tell(records(at, MS, 0, np.where(at > 9_965 * MS, 4, 0)), rate=100.0, arrivals="poisson")
    found = stage.report("ycsb", "--rate", 100)
    assert found["reached"] is True and "100/s asked for" in found["sentence"]


@pytest.mark.parametrize(("waited_ms", "reached"), [(0, True), (39, True), (41, False)])
def test_a_stall_at_the_end_is_no_rate_that_was_not_reached(stage: Stage, waited_ms: int, reached: bool) -> None:
    """Of the last 0.4 s none is answered: 4 % of all. Those before waited for so long."""
    at = np.arange(0, 10 * S, MS)
    late = at >= 9_600 * MS
    start = at + np.where(late, 0, waited_ms * MS)
    took = np.where(late, 10 * S - at, 50 * MS)
    stage.tell(records(at, took, 0, np.where(late, 4, 0), start=start), rate=1000.0, arrivals="even")
    found = stage.report("ycsb", "--rate", 1000)
    assert found["reached"] is reached and found["behind_ns"] == 400 * MS


def test_a_server_that_was_lost_leaves_what_was_measured(stage: Stage) -> None:
    said = {"run": {"status": 3, "says": ["vprof-load-driver: the run was cut short: the server is lost: gone"]}}
    stage.tell(verbs=said, end_ns=BEGIN + 4 * S, cut_short="the server is lost: gone")
    done = stage.run("ycsb", "--check", "--format", "json")
    found = json.loads(done.stdout)
    assert done.returncode == 1 and done.stderr == ""
    assert found["cut_short"] == "the server is lost: gone"
    assert found["sentence"].startswith("ycsb was cut short after 4.0 s (the server is lost: gone): ")
    assert "the data was not checked" in found["remarks"][0]


def test_data_that_is_broken_is_said_and_fails(stage: Stage) -> None:
    conditions = "ok condition 1\nFAILED condition 2: district 3 has 7 orders, not 8"
    stage.tell(verbs={"check": {"status": 4, "prints": conditions}})
    done = stage.run("ycsb", "--check")
    assert done.returncode == 1
    assert "not consistent after the run: condition 2: district 3 has 7 orders, not 8" in unwrapped(done)


def test_what_failed_is_in_no_latency_and_said(stage: Stage) -> None:
    stage.tell(records([0] * 4, [MS, MS, 9 * S, 9 * S], 0, [0, 0, 2, 3]), first_error='no "t"')
    found = stage.report("ycsb")
    assert found["all"]["max_ns"] == MS and found["all"]["gave_up"] == 1 and found["all"]["failed"] == 1
    assert '2 transactions gave up or failed (no "t"): they are in no latency' in found["remarks"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["ycsb"], "no server: give --on SERVER and --socket PATH"),
        ([], "no workload: give one of noop, ycsb, tpcc"),
        (["tpcd"], "there is no workload 'tpcd': give one of noop, ycsb, tpcc"),
    ],
)
def test_what_is_missing_is_one_line(stage: Stage, arguments: list[str], said: str) -> None:
    one_line(stage.run(*arguments, server=False), 2, said)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--rate", "10", "--think", "3"], "--think is for a closed loop"),
        (["--arrivals", "even"], "--arrivals is for an open loop"),
        (["--overlay", "nothing.csv"], "--overlay nothing.csv: there is no such file"),
        (["--isolation", "none"], "--isolation"),
        (["--clients", "0"], "--clients"),
        (["-o", "nowhere/x.html"], "nowhere"),
    ],
)
def test_options_that_do_not_fit_are_one_line(stage: Stage, arguments: list[str], said: str) -> None:
    one_line(stage.run("ycsb", *arguments), 2, said)


def test_options_that_the_driver_refuses_are_refused_before_setup_and_floor(stage: Stage) -> None:
    said = "vprof-load-driver: --mix get=1: names another type; the types of ycsb are read, update"
    stage.tell(verbs={"dry run": {"status": 2, "says": [said]}})
    one_line(stage.run("ycsb", "--mix", "get=1", "--setup"), 2, "the types of ycsb are read, update")
    assert [call.split()[0] for call in stage.calls()] == ["list", "run"] and stage.calls()[1].endswith("--dry-run")


@pytest.mark.parametrize(
    ("plan", "status", "said"),
    [
        ({"status": 1, "says": ["vprof-load-driver: no such socket"]}, 1, "vprof: no such socket\n"),
        ({"status": 2, "says": ["vprof-load-driver: --mix: no type 'x'"]}, 2, "vprof: --mix: no type 'x'\n"),
        ({"status": 1}, 1, "the driver failed (status 1)"),
        ({"prints": "ready"}, 1, "the driver printed no JSON"),
        ({"prints": {"schema": "vprof-load-run/2"}}, 1, "is not vprof-load-run/1"),
        ({"prints": {"schema": "vprof-load-run/1"}}, 1, "lacks the key `workload`"),
    ],
)
def test_a_driver_that_fails_is_one_line(stage: Stage, plan: dict[str, Any], status: int, said: str) -> None:
    stage.tell(verbs={"run": plan})
    one_line(stage.run("ycsb"), status, said)


def test_no_driver_is_one_line(stage: Stage) -> None:
    (stage.native / "vprof-load-driver").unlink()
    one_line(stage.run("ycsb"), 1, "make setup")


def test_nothing_measured_is_one_line_with_the_reason(stage: Stage) -> None:
    stage.tell(records([0], [MS], 0, 3), first_error="relation usertable does not exist")
    one_line(stage.run("ycsb"), 1, "no transaction was measured: relation usertable does not exist")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_a_run_with_what_was_measured(stage: Stage, number: signal.Signals) -> None:
    stage.tell(verbs={"run": {"waits": True}}, end_ns=BEGIN + 6 * S)
    command = stage.command("ycsb", "--on", "stub", "--socket", "/run/stub")
    env = {**os.environ, "VPROF_PREFIX": str(stage.folder)}
    process = subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    wait_for((stage.native / "waiting").exists, "the run")
    process.send_signal(number)
    out, errors = process.communicate(timeout=PATIENCE_SECONDS)
    assert (process.returncode, errors) == (0, "")
    assert "interrupted after 6.0 s" in out.splitlines()[0]


def test_a_signal_during_the_floor_ends_it_all(stage: Stage) -> None:
    stage.tell(verbs={"floor": {"waits": True}})
    command = stage.command("ycsb", "--on", "stub", "--socket", "/run/stub")
    env = {**os.environ, "VPROF_PREFIX": str(stage.folder)}
    process = subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    wait_for((stage.native / "waiting").exists, "the floor")
    process.send_signal(signal.SIGINT)
    out, errors = process.communicate(timeout=PATIENCE_SECONDS)
    assert (process.returncode, out, errors.strip()) == (130, "", "vprof: interrupted")
    assert len(stage.calls()) == 3, "the list, the check of the options, the floor"


def overlay(stage: Stage, text: str) -> Path:
    """Named as from the folder that the command runs in."""
    (stage.folder / "pauses.csv").write_text(text)
    return Path("pauses.csv")


def test_pauses_explain_the_tail(stage: Stage) -> None:
    """Of 10 000, ten wait for two pauses of 200 ms."""
    at = np.arange(0, 10 * S, MS)
    took = np.full(len(at), MS)
    took[3000:3005] = 200 * MS
    took[7000:7005] = 200 * MS
    stage.tell(records(at, took))
    spans = "".join(f"{BEGIN_REALTIME / S + b},{BEGIN_REALTIME / S + b + 0.2},gc\n" for b in (3, 7))
    done = stage.run("ycsb", "--overlay", overlay(stage, spans), "-o", "out.json")
    assert done.returncode == 0, done.stderr
    (found,) = json.loads((stage.folder / "out.json").read_text())["pauses"]
    assert (found["source"], found["label"], found["count"]) == ("pauses.csv", "gc", 2)
    assert found["held_up"] == found["tail"] == 10 and found["explained"] == 1 and found["p"] < 0.1
    assert found["without_max_ns"] == MS and found["slowest"]["held_up"]
    text = unwrapped(stage.run("ycsb", "--overlay", overlay(stage, spans)))
    assert "pauses.csv: gc: they cover 200 ms of the slowest transaction (200 ms)" in text


def test_a_wrong_file_of_pauses_does_not_lose_the_run(stage: Stage) -> None:
    done = stage.run("ycsb", "--overlay", overlay(stage, "1,later\n"))
    assert done.returncode == 1 and done.stdout.startswith("ycsb: 500.0 ")
    assert "pauses.csv:1: 'later' is neither seconds" in unwrapped(done)


def test_labels_do_not_steer_a_terminal(stage: Stage) -> None:
    spans = f"{BEGIN_REALTIME / S + 1},{BEGIN_REALTIME / S + 2},\x1b[31mred\u202e\n"
    done = stage.run("ycsb", "--overlay", overlay(stage, spans))
    assert "pauses.csv: \\x1b[31mred\\u202e" in unwrapped(done)
    assert not {"\x1b", "\u202e"} & {*done.stdout}


def test_the_page_needs_no_network_and_shows_names_as_text(stage: Stage) -> None:
    evil = "<script>alert(1)</script>\x1b[31m"
    stage.tell(server=evil)
    done = stage.run("ycsb", "-o", "page.html")
    assert done.returncode == 0 and done.stdout.startswith("ycsb: ")
    page = (stage.folder / "page.html").read_text()
    assert "vprof-load/1" in page and "http-equiv" in page and evil not in page and "alert(1)</script>" not in page
    assert "src=" not in page.split("<script")[0]


def test_the_file_of_latencies_is_kept(stage: Stage) -> None:
    assert stage.run("ycsb", "--latencies", "kept").returncode == 0
    assert (stage.folder / "kept").read_bytes() == stage.rows.read_bytes()


def test_a_list_of_workloads(stage: Stage) -> None:
    done = stage.run("--list", server=False)
    assert done.stdout.splitlines() == ["noop  nothing", "ycsb  rows by key", "tpcc  orders"]


def test_progress_on_a_terminal(stage: Stage) -> None:
    stage.tell(verbs={"run": {"says": ["-1 90 0 0 0.0", "1 480 2 3 0.0", "2 1200 0 0 250.5"]}})
    ours, theirs = pty.openpty()
    command = stage.command("ycsb", "--on", "stub", "--socket", "/run/stub")
    env = {**os.environ, "VPROF_PREFIX": str(stage.folder)}
    done = subprocess.run(command, env=env, stdout=subprocess.PIPE, stderr=theirs, timeout=PATIENCE_SECONDS)
    os.close(theirs)
    lines = os.read(ours, 10_000).decode().splitlines()
    os.close(ours)
    assert done.returncode == 0
    assert lines == [
        " warm-up  90 transactions/s",
        "    1 s  480 transactions/s  2 failed  3 retries",
        "    2 s  1,200 transactions/s  250 ms behind",
    ]
