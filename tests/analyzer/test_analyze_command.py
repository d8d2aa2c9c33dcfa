"""`vprof analyze` as a user calls it: output, exit codes, one line per error."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CASES = ROOT / "tests" / "cases"


def vprof(*arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "PYTHONPATH": str(ROOT / "analyzer"), **environment}
    command = [sys.executable, "-c", "from vprof.cli import main; main()", "analyze", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, env=env, check=False)


def test_json_report_of_a_worked_case() -> None:
    done = vprof(CASES / "06_two_call_sites.json", "--format", "json", "-k", 2, "--intervals")
    report = json.loads(done.stdout)
    assert (done.returncode, report["schema"], report["intervals"]["count"]) == (0, "vprof-analysis/1", 4)
    assert [f["functions"] for f in report["factors"]] == [["f"], ["f", "f"]]
    assert report["factors"][0]["sites"] == ["p:4", "p:6"]
    assert report["per_interval"]["t0"]["critical_path"] == [["exec", 1, 0, 48]]


def test_options_change_the_ranking() -> None:
    def factors(*options: object) -> list[str]:
        report = json.loads(vprof(CASES / "01_writelog.json", "--format", "json", *options).stdout)
        return [f["functions"][0] for f in report["factors"]]

    assert factors() == ["CopyData", "Execute", "WriteLog"]
    assert factors("--specificity-exp", 1) == ["Execute", "CopyData", "WriteLog"]
    assert factors("--min-share", 0.5) == ["Execute", "txn"]


def test_one_factor_is_explained_as_text_and_as_json() -> None:
    done = vprof(CASES / "02_lock_handoff.json", "--explain", "lock_wait", COLUMNS="60")
    assert (done.returncode, done.stderr) == (0, "")
    assert "txnB > UpdateRow  100.0 %" in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 60
    report = json.loads(vprof(CASES / "06_two_call_sites.json", "--explain", "f|f", "--format", "json").stdout)
    assert (report["schema"], report["kind"], report["rank"]) == ("vprof-explain/1", "covariance", 2)


def test_views_of_the_tree() -> None:
    """`--own` cuts it at the waits, `--top` shows less of it, `--tail` looks beyond another quantile."""
    own = vprof(CASES / "02_lock_handoff.json", "--own").stdout
    assert "UpdateRow" not in own and "lock_wait" in own
    few = vprof(CASES / "01_writelog.json", "--top", 2, "--tail", 0.9).stdout
    assert few[few.index("Variance tree") :].splitlines()[2:5] == [
        next(line for line in few.splitlines() if line.startswith("<interval>")),
        next(line for line in few.splitlines() if line.startswith("  txn")),
        next(line for line in few.splitlines() if line.startswith("not shown")),
    ]


def test_a_root_and_several_traces() -> None:
    done = vprof(CASES / "02_lock_handoff.json", CASES / "02_lock_handoff.json", "--root", "txnB")
    assert done.stdout.startswith("6 intervals\n")


@pytest.mark.parametrize("fmt", ["text", "json", "dot", "svg"])
def test_every_format_can_go_to_a_file(tmp_path: Path, fmt: str) -> None:
    out = tmp_path / "report"
    done = vprof(CASES / "01_writelog.json", "--format", fmt, "-o", out)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert "CopyData" in out.read_text()


def test_text_is_plain_without_a_terminal_and_fits_a_narrow_one() -> None:
    done = vprof(CASES / "02_lock_handoff.json", COLUMNS="60", NO_COLOR="1")
    assert "\x1b" not in done.stdout
    table = [line for line in done.stdout.splitlines() if "%" in line and "sums" not in line]
    assert max(map(len, table)) <= 60


@pytest.mark.parametrize(
    ("content", "options", "message", "code"),
    [
        (None, [], "cannot read", 1),
        ("", [], "", 1),
        ("{}", [], 'the key "intervals" is missing', 1),
        ('{"intervals": [], "segments": [], "functions": []}', [], "no interval began in this trace", 1),
        ('{"intervals": [], "segments": [], "functions": []}', ["--root", "f"], "no function f in this trace", 2),
        ("{}", ["--intervals"], "--intervals needs --format json", 2),
        ("{}", ["--explain", "f", "--path", "slowest"], "--path and --explain are different reports: ask for one", 2),
        ("{}", ["--explain", "f", "--format", "svg"], "--explain needs --format text or json", 2),
        ("{}", ["--tail", "1"], "1.0 is not in the range 0.5<=x<1", 2),
        ("{}", ["-k", "none"], "'none' is not a valid integer", 2),
    ],
)
def test_errors_are_one_line_with_an_exit_code(
    tmp_path: Path, content: str | None, options: list[str], message: str, code: int
) -> None:
    trace = tmp_path / "t.json"
    if content is not None:
        trace.write_text(content)
    done = vprof(trace, *options)
    assert (done.returncode, done.stdout) == (code, "")
    assert message in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_a_report_that_cannot_be_written_is_one_line() -> None:
    done = vprof(CASES / "01_writelog.json", "-o", "/nonexistent/report.txt")
    assert done.returncode == 2
    assert done.stderr.strip() == "vprof: cannot write /nonexistent/report.txt: No such file or directory"
