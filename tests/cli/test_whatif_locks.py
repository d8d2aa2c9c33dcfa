"""`vprof whatif --locks`: its reports, and what it says where there is nothing to replay."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from vprof.cli import root
from vprof.errors import VprofError

TRACE = Path(__file__).parents[1] / "cases/02_lock_handoff.json"
SMALL = ("--generate", "zipf", "--transactions", 400, "--records", 50, "--clients", 20, "--seeds", 3)


def run(*words: object) -> Result:
    return CliRunner().invoke(root, ["whatif", *map(str, words)])


def report(*words: object) -> dict[str, Any]:
    done = run(*words, "--format", "json")
    assert done.exit_code == 0, done.output or done.exception
    found: dict[str, Any] = json.loads(done.output)
    return found


def refusal(*words: object) -> str:
    done = run(*words)
    assert isinstance(done.exception, VprofError), done.output or done.exception
    assert "\n" not in str(done.exception)
    return str(done.exception)


def script(folder: Path, content: Any) -> Path:
    path = folder / "s.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def menu(**more: Any) -> dict[str, Any]:
    """The worked case (cases/30): when a lock comes free at 12, four are of these ages; each takes it for 3. They come
    to it in the order P, Q, R, S."""
    rows = [("first", 0, 0, 12), ("P", 10, 0, 3), ("Q", 1, 10, 3), ("R", 5, 6, 3), ("S", 12, 0, 3)]
    transactions = [
        {"id": txn, "born": born, "steps": [["work", before], ["lock", "a", "X"], ["work", takes]]}
        for txn, born, before, takes in rows
    ]
    return {"transactions": transactions, **more}


def test_the_first_line_says_the_answer() -> None:
    done = run("--locks", "fcfs,vats,ldsf", *SMALL)
    assert done.exit_code == 0, done.exception
    lines = done.output.splitlines()
    assert lines[0].startswith("Beside fcfs, ")
    assert lines[1] == "zipf: 50 records, 5 statements, theta 0.8, 60 % writes; 20 clients, a closed loop"
    assert lines[2] == "400 transactions, 2000 locks a run, 3 runs of each policy"
    assert "strict two-phase locking" in lines[3]
    assert all(len(line) <= 100 for line in lines[4:])
    for policy in ("fcfs", "vats", "ldsf"):
        assert any(line.startswith(f"{policy} ") for line in lines)


def test_figures_and_their_intervals() -> None:
    found = report("--locks", "fifo,vats", *SMALL)
    assert found["base"] == "fifo" and [one["policy"] for one in found["policies"]] == ["fifo", "vats"]
    for one in found["policies"]:
        mean = one["figures"]["mean"]
        assert mean["ci95"][0] < mean["value"] < mean["ci95"][1]
        assert one["figures"]["restarts"]["value"] >= one["figures"]["deadlocks"]["value"]
    own = found["policies"][0]["ratios"]["variance"]
    assert own == {"value": 1.0, "ci95": None}
    assert found["waits"] > 0


def test_one_policy_is_compared_with_fcfs_and_without_a_name_the_usual_ones_are() -> None:
    assert [one["policy"] for one in report("--locks", "mlf", *SMALL)["policies"]] == ["fcfs", "mlf"]
    assert [one["policy"] for one in report(*SMALL, "--locks")["policies"]] == ["fcfs", "vats", "ldsf", "bldsf"]


def test_the_worked_menu_as_a_script(tmp_path: Path) -> None:
    """FCFS takes them in the order in which they came, VATS the eldest first."""
    found = report("--locks", "fcfs,vats,vats-theory", "--script", script(tmp_path, menu()))
    figures = {one["policy"]: one["figures"] for one in found["policies"]}
    # With the first one's 12: (12, 5, 17, 16, 12) and (12, 14, 13, 11, 12).
    assert figures["fcfs"]["mean"]["value"] == figures["vats"]["mean"]["value"] == pytest.approx(12.4)
    assert figures["fcfs"]["variance"]["value"] == pytest.approx((144 + 25 + 289 + 256 + 144) / 5 - 12.4**2)
    assert figures["vats"]["variance"]["value"] == pytest.approx((144 + 196 + 169 + 121 + 144) / 5 - 12.4**2)
    assert figures["vats"] == figures["vats-theory"]
    assert "all runs of a policy gave the same" in found["remarks"][0]


def test_a_script_takes_another_load_and_more_servers(tmp_path: Path) -> None:
    path = script(tmp_path, menu(clients=2))
    assert report("--locks", "fcfs", "--script", path)["clients"] == 2
    opened = report("--locks", "fcfs", "--script", path, "--rate", 1e9)
    assert opened["rate"] == 1e9 and opened["clients"] is None
    assert report("--locks", "fcfs", "--script", path, "--servers", "a=5")["waits"] == 0


def test_where_nothing_is_contended_it_says_so() -> None:
    done = run("--locks", *SMALL[:-4], "--clients", 1, "--seeds", 2)
    assert done.output.startswith("Beside fcfs, no gain of vats, ldsf, bldsf is found in variance, p99 or mean")
    assert "no transaction waited for a lock with fcfs" in done.output


def test_a_rate_that_is_not_kept_up_with() -> None:
    done = run("--locks", "fcfs", *SMALL[:-4], "--rate", 1e6, "--seeds", 2)
    assert "fcfs does not keep up with the rate" in done.output


def test_what_was_measured_is_met_or_it_refuses(tmp_path: Path) -> None:
    honest = {"policy": "fcfs", "mean_ns": 12.4, "variance_ns2": 17.84}
    found = report("--locks", "vats", "--script", script(tmp_path, menu(traced=honest)))
    assert found["base"] == "fcfs" and found["calibration"]["mean_ratio"] == pytest.approx(1)
    path = script(tmp_path, menu(traced={**honest, "mean_ns": 20}))
    assert "has a mean 38.0 % smaller than measured" in refusal("--locks", "vats", "--script", path)


def test_a_report_goes_to_a_file(tmp_path: Path) -> None:
    for words in ([], ["--format", "json"]):
        assert run("--locks", "fcfs", *SMALL, *words, "-o", tmp_path / "out").output == ""
        assert (tmp_path / "out").read_text()


ONE = {"id": 1, "born": 0, "steps": [["work", 1]]}


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("no JSON", "no script, since it is no JSON (Expecting value: line 1 column 1 (char 0))"),
        ("[" * 100_000, "it is nested too deeply"),
        ([], 'it lacks "transactions"'),
        ({"transactions": []}, "it has no transactions"),
        ({"transactions": {}}, "`transactions` is not a list"),
        ({"transactions": [{"id": 1}]}, "lacks the key `steps`"),
        (
            {"transactions": [{**ONE, "steps": [["wait", 1]]}]},
            'is neither ["work", NS] nor ["lock", OBJECT, "S" or "X"]',
        ),
        ({"transactions": [{**ONE, "steps": [["work", -1]]}]}, '[0]: `steps`[0] is neither ["work", NS]'),
        ({"transactions": [{**ONE, "steps": [["work", True]]}]}, 'is neither ["work", NS]'),
        ({"transactions": [{**ONE, "steps": [["work", 1e400]]}]}, 'is neither ["work", NS]'),
        ({"transactions": [{**ONE, "steps": [["lock", "a", "IX"]]}]}, 'is neither ["work", NS]'),
        ({"transactions": [{**ONE, "steps": ["lock"]}]}, 'is neither ["work", NS]'),
        ({"transactions": [ONE, ONE]}, "two transactions have the id 1"),
        ({"transactions": [{"id": "x", "steps": []}]}, '"x" has no `born`: give each when it begins, or --clients'),
        ({"transactions": [ONE], "clients": 1, "rate": 2}, "clients and rate are different loads"),
        ({"transactions": [ONE], "clients": 0}, "`clients` is not a whole number from 1"),
        (
            {"transactions": [ONE], "traced": {"policy": "lifo", "mean_ns": 1, "variance_ns2": 1}},
            "no policy 'lifo': there are fcfs, fifo, rs, vats, vats-theory, ldsf, bldsf, hldsf, mlf, mblf, ddf",
        ),
    ],
    ids=range(17),
)
def test_what_is_no_script(tmp_path: Path, content: Any, said: str) -> None:
    path = script(tmp_path, content)
    message = refusal("--locks", "fcfs", "--script", path)
    assert message.startswith(f"{path}: ") and said in message


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--locks", "lifo", *SMALL], "no policy 'lifo': there are fcfs, fifo, rs, vats, vats-theory, ldsf, bldsf"),
        (["--locks", "fcfs,", *SMALL], "no policy ''"),
        (["--locks", "fcfs"], "no transactions to replay: give a trace, --script FILE, or --generate zipf"),
        (["--generate", "zipf"], "--generate is for --locks: give the policies, too"),
        ([TRACE, "--clients", 3], "--clients is for --locks"),
        (["--locks", "fcfs", *SMALL, "--rate", 3], "--clients and --rate are different loads: give one"),
        (["--locks", "fcfs", *SMALL, "--servers", "a"], "--servers a: write OBJECT=N"),
        (["--locks", "fcfs", *SMALL, "--statements", 60], "60 statements lock different records"),
        (["--locks", "fcfs", *SMALL, "--script", TRACE], "--script and --generate are different transactions"),
        (["--locks", "fcfs", "--script", TRACE, "--theta", 1], "--theta is for --generate"),
        ([TRACE, "--locks", "fcfs", "--theta", 1], "--theta is for --generate"),
        ([TRACE, "--locks", "fcfs", "--script", TRACE], "a trace and --script are different transactions: give one"),
        ([TRACE, TRACE, "--locks", "fcfs"], "--locks replays one trace: give one"),
        ([TRACE, "--locks", "fcfs", "--root", "f"], "--root is not for --locks"),
        (["--locks", "fcfs", *SMALL, "--traced", "vats"], "--traced is for a trace"),
        (
            ["--locks", "fcfs", *SMALL, "--open"],
            "--open is for a trace with its own load",
        ),
        ([TRACE, "--locks", "fcfs", "--rate", 9, "--open"], "--open is for a trace with its own load"),
        ([TRACE, "--locks", "fcfs", "--rate", 9, "--closed"], "--closed is for a trace with its own load"),
        ([], "nothing to replay: give a trace, or --locks with --script or --generate"),
    ],
)
def test_options_that_do_not_go_together(words: list[object], said: str) -> None:
    assert said in refusal(*words)


def test_a_trace_without_lock_events(tmp_path: Path) -> None:
    message = refusal(TRACE, "--locks")
    assert message.startswith(f"{TRACE}: JSON traces have no lock events: record the program with vprof record --locks")
    (tmp_path / "x").write_text("no trace")
    assert "lock events" not in refusal(tmp_path / "x", "--locks")
