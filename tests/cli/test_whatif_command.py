"""`vprof whatif`: its reports, and what it says where there is nothing to predict."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from vprof.cli import root
from vprof.errors import UsageError, VprofError

CASES = Path(__file__).parents[1] / "cases"
REPLAY, HANDOFF, QUEUE = (CASES / f"{name}.json" for name in ("32_replay", "02_lock_handoff", "03_queue_handoff"))


def run(*words: object) -> Result:
    return CliRunner().invoke(root, ["whatif", *map(str, words)])


def report(*words: object) -> dict[str, Any]:
    done = run(*words, "--format", "json")
    assert done.exit_code == 0, done.output or done.exception
    found: dict[str, Any] = json.loads(done.output)
    return found


def refusal(*words: object) -> tuple[str, int]:
    done = run(*words)
    assert isinstance(done.exception, VprofError), done.output
    assert "\n" not in str(done.exception)
    return str(done.exception), done.exception.exit_code


def altered(folder: Path, case: Path, **keys: Any) -> Path:
    path = folder / "trace.json"
    path.write_text(json.dumps({**json.loads(case.read_text()), **keys}))
    return path


def test_text_says_what_comes_out_and_on_what_it_rests() -> None:
    done = run(REPLAY, "--change", "f=0.5")
    assert done.exit_code == 0
    lines = done.output.splitlines()
    assert lines[0] == "Halving `f` would cut the variance to 0.02 of what it is and p99 from 37 to 21 ns."
    said = " ".join(done.output.split())
    assert "2 intervals replayed; model: hand-overs keep their order" in said
    assert "waits for a CPU stay as recorded (0.0 % of the variance now)" in said
    assert next(line for line in lines if line.startswith("p99 ")).split()[1:6] == ["37", "ns", "21", "ns", "0.568"]
    assert "Factors afterwards" in done.output


def test_how_far_real_changes_came_from_predictions_is_said() -> None:
    text = " ".join(run(REPLAY, "--change", "f=0.5").output.split())
    error = report(REPLAY, "--change", "f=0.5")["model_error"]
    below = [f"{error[name][0]:.2f} ({name})" for name in ("mean", "variance", "p99")]
    assert f"80 % of real changes came to ratios at most {below[0]}, {below[1]} and {below[2]} lower" in text


def test_a_trace_that_does_not_say_its_cpus_is_replayed() -> None:
    found = report(REPLAY, "--change", "f=0.5")
    assert found["way"] == "replay" and found["nearness"] is None
    why = "the trace does not say how many CPUs there were, as traces of vprof record do"
    assert found["why_replay"] == why
    assert refusal(REPLAY, "--change", "f=0.5", "--model", "simulation") == (f"--model simulation: {why}", 2)
    assert report(REPLAY, "--change", "f=0.5", "--model", "replay")["why_replay"] == ""


def test_every_interval_and_the_figures() -> None:
    found = report(REPLAY, "--change", "f=0.5", "--intervals")
    assert found["per_interval"] == {
        "u": {"latency_ns": 30, "predicted_ns": 20},
        "v": {"latency_ns": 37, "predicted_ns": 21},
    }
    assert found["figures"]["mean"] == {"now": 33.5, "then": 20.5, "ratio": 20.5 / 33.5, "ci95": None}
    # Now from 0 to 42, then from 0 to 26.
    assert found["figures"]["throughput"]["ratio"] == pytest.approx(42 / 26)
    assert found["factors"][0]["functions"] == ["g"]


def test_no_change_is_told_to_be_none() -> None:
    done = run(REPLAY)
    assert done.exit_code == 0
    assert "every latency came out as recorded" in done.output
    found = report(REPLAY, "--intervals", "--no-factors")
    assert all(one["latency_ns"] == one["predicted_ns"] for one in found["per_interval"].values())
    assert found["factors"] == [] and found["no_factors"] == "not asked for"


def test_parts_of_nanoseconds_are_kept() -> None:
    assert report(REPLAY, "--change", "f=0.3", "--intervals")["per_interval"]["v"]["predicted_ns"] == 14.6


def test_an_amount_less_never_goes_below_nothing() -> None:
    found = report(REPLAY, "--change", "f=-15ns", "--intervals")["per_interval"]
    # f takes 5 and 0: the lock comes free at 15, thread 2 ends as it gets it.
    assert {sid: one["predicted_ns"] for sid, one in found.items()} == {"u": 15, "v": 10}


def test_several_changes_of_which_the_innermost_counts(tmp_path: Path) -> None:
    trace = altered(tmp_path, REPLAY, functions=[[1, "u", "p", "", 0, 30], [1, "u", "f", "", 0, 20]])
    found = report(trace, "--change", "p=0.5", "--change", "f=2", "--intervals")["per_interval"]
    assert found["u"]["predicted_ns"] == 40 + 5


def test_the_disk_goes_with_a_function_and_by_itself(tmp_path: Path) -> None:
    segments = [[1, "u", 0, 8, "exec"], [1, "u", 8, 28, "disk"], [1, "u", 28, 30, "exec"], [2, "v", 5, 42, "exec"]]
    trace = altered(tmp_path, REPLAY, segments=segments, wakeups=[], functions=[[1, "u", "g", "", 6, 30]])
    for change, expected in (("g=0", 6), ("[disk]=0", 10), ("[disk]=0.5", 20), ("[disk]=constant", 30)):
        found = report(trace, "--change", change, "--intervals")["per_interval"]
        assert found["u"]["predicted_ns"] == expected, change
        assert found["v"]["predicted_ns"] == 37


def test_waits_for_a_cpu_stay_unless_they_are_changed(tmp_path: Path) -> None:
    segments = [
        [1, "u", 0, 10, "exec"],
        [1, "u", 10, 25, "preempted"],
        [1, "u", 25, 30, "exec"],
        [2, "v", 5, 42, "exec"],
    ]
    trace = altered(tmp_path, REPLAY, segments=segments, wakeups=[], functions=[[1, "u", "f", "", 0, 30]])
    for change, expected in (("f=0", 15), ("[preempted]=0", 15), ("f=0.5", 22.5)):
        assert report(trace, "--change", change, "--intervals")["per_interval"]["u"]["predicted_ns"] == expected


def test_the_delay_until_a_woken_thread_runs() -> None:
    found = report(HANDOFF, "--change", "[sched]=0", "--intervals")["per_interval"]
    assert [one["latency_ns"] - one["predicted_ns"] for one in found.values()] == [2, 0, 0]


def test_clients_think_as_long_or_requests_arrive_when_they_did(tmp_path: Path) -> None:
    intervals = [
        {"sid": "a", "begin": {"tid": 1, "t": 0}, "end": {"tid": 1, "t": 20}},
        {"sid": "b", "begin": {"tid": 1, "t": 50}, "end": {"tid": 1, "t": 80}},
    ]
    segments = [[1, "a", 0, 20, "exec"], [1, "b", 50, 80, "exec"]]
    functions = [[1, "a", "f", "", 0, 20], [1, "b", "f", "", 50, 80]]
    keys = {"intervals": intervals, "segments": segments, "functions": functions, "wakeups": []}
    trace = altered(tmp_path, REPLAY, **keys)
    closed, opened = (report(trace, "--change", "f=3", *more) for more in ([], ["--open"]))
    # Closed: 60 of work, 30 of thought, 90 of work. Open: the second one arrives at 50, and is taken up at 60.
    assert closed["figures"]["throughput"]["then"] == pytest.approx(2e9 / 180)
    assert opened["figures"]["throughput"]["then"] == pytest.approx(2e9 / 150)
    assert opened["open"] and not closed["open"]


def test_a_task_waits_for_its_worker() -> None:
    """Each request is received for 8 (or less) before it is enqueued; the worker handles one after the other."""
    now = report(QUEUE, "--intervals")["per_interval"]
    found = report(QUEUE, "--change", "handle=0", "--intervals")["per_interval"]
    assert all(found[sid]["predicted_ns"] < now[sid]["latency_ns"] for sid in found)


def test_rank_tries_what_holds_the_variance() -> None:
    found = report(HANDOFF, "--rank")
    gains = {one["changes"][0]: one["figures"]["variance"]["ratio"] for one in found["tried"] if one["figures"]}
    assert next(iter(gains)) == "UpdateRow=constant" and gains["UpdateRow=constant"] == pytest.approx(0, abs=1e-12)
    assert list(gains.values()) == sorted(gains.values())
    assert found["sentence"] == run(HANDOFF, "--rank").output.splitlines()[0]
    assert found["sentence"].startswith(
        "Making every call of `UpdateRow` take the mean of all would cut the variance to "
    )


def test_two_traces_have_one_mean() -> None:
    found = report(REPLAY, REPLAY, "--change", "f=constant", "--intervals")["per_interval"]
    assert {sid: one["predicted_ns"] for sid, one in found.items()} == {"1:u": 26, "1:v": 37, "2:u": 26, "2:v": 37}


def test_a_report_goes_to_a_file(tmp_path: Path) -> None:
    for words in (["--change", "f=0"], ["--rank"], ["--format", "json"]):
        assert run(REPLAY, *words, "-o", tmp_path / "out").output == ""
        assert (tmp_path / "out").read_text()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("f", "'f' is no change: write F=0.5 (times as long)"),
        ("=0", "'=0' is no change"),
        ("f=-0.5", "since '-0.5' is no amount"),
        ("f=fast", "since 'fast' is no amount"),
        ("f=-3min", "since '-3min' is no amount"),
        ("ff=0", "no function ff in this trace: did you mean f?"),
        ("[dsk]=0", "no function [dsk] in this trace: did you mean [disk]?"),
        ("[blocked]=0", "[blocked] cannot be changed by itself: change functions, or one of [preempted]"),
        ("body(f)=0", "body(f) cannot be changed by itself"),
        ("[disk]=0", "this trace has no time of [disk] to change"),
    ],
)
def test_what_is_no_change_here(change: str, said: str) -> None:
    message, code = refusal(REPLAY, "--change", change)
    assert said in message and code == 2


def test_options_that_do_not_go_together() -> None:
    assert refusal(REPLAY, "--change", "f=0", "--rank") == (
        "--change and --rank are different reports: ask for one",
        UsageError.exit_code,
    )
    assert refusal(REPLAY, "--intervals")[0] == "--intervals needs --format json"
    assert refusal(REPLAY, "--change", "f=0", "--change", "f=1")[0] == "f is changed twice: give it one change"


def test_a_function_that_only_waits_is_no_change() -> None:
    assert (
        "lock_wait only waits for other threads or a CPU in its 3 calls"
        in refusal(HANDOFF, "--change", "lock_wait=0")[0]
    )


def test_one_interval_is_nothing_to_predict_from(tmp_path: Path) -> None:
    [first, *_] = json.loads(REPLAY.read_text())["intervals"]
    trace = altered(tmp_path, REPLAY, intervals=[first])
    assert "nothing to predict from one interval: record longer" in refusal(trace, "--change", "f=0")[0]
    assert report(trace, "--change", "f=0", "--intervals")["per_interval"]["u"]["predicted_ns"] == 10


def test_threads_that_nothing_links(tmp_path: Path) -> None:
    intervals = json.loads(REPLAY.read_text())["intervals"]
    intervals[1]["end"]["tid"] = 1
    intervals[1]["end"]["t"] = 30
    trace = altered(tmp_path, REPLAY, intervals=intervals, wakeups=[])
    assert "nothing to replay: intervals end on other threads" in refusal(trace, "--change", "f=0")[0]
