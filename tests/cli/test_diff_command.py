"""`vprof diff` as a user calls it: what it says of changes that are known, its exit codes, one line per error."""

import json
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result
from jsonschema import Draft202012Validator

from vprof.cli import root

Make = Callable[..., list[Path]]


def vprof(*arguments: object) -> Result:
    return CliRunner().invoke(root, ["diff", *map(str, arguments)])


def report(*arguments: object) -> dict[str, Any]:
    done = vprof(*arguments, "--format", "json")
    assert done.exit_code == 0, done.output
    found: dict[str, Any] = json.loads(done.output)
    schema = json.loads((files("vprof.report") / "schemas" / "vprof-diff-1.json").read_text(encoding="utf-8"))
    Draft202012Validator(schema).validate(found)
    return found


def metric(found: dict[str, Any], name: str) -> dict[str, Any]:
    return next(m for m in found["metrics"] if m["metric"] == name)


def write(path: Path, work_ns: Any, rest_ns: Any, start_ns: int = 0, think_ns: int = 1000) -> Path:
    """A trace of intervals on one thread, each a call of serve that calls work; `think_ns` lie between two."""
    end = start_ns + np.cumsum(work_ns + rest_ns + think_ns)
    begin = end - work_ns - rest_ns
    rows = list(zip(begin.tolist(), (begin + work_ns).tolist(), end.tolist(), strict=True))
    data = {
        "intervals": [
            {"sid": i, "begin": {"tid": 1, "t": b}, "end": {"tid": 1, "t": e}} for i, (b, _, e) in enumerate(rows)
        ],
        "segments": [[1, i, b, e, "exec"] for i, (b, _, e) in enumerate(rows)],
        "functions": [
            call for i, (b, w, e) in enumerate(rows) for call in ([1, i, "serve", "", b, e], [1, i, "work", "", b, w])
        ],
    }
    path.write_text(json.dumps(data), encoding="utf-8")
    return path


@pytest.fixture
def runs(tmp_path: Path) -> Make:
    """Writes runs: work of 100 us that varies by `sd` us, the rest by 3 us; `pad_us`: no interval ends earlier."""

    def make(side: str, count: int = 5, sd: float = 10, pad_us: float = 0, n: int = 300, **more: int) -> list[Path]:
        found = []
        for i in range(count):
            rng = np.random.default_rng([len(side), sum(map(ord, side)), i])
            work = rng.normal(100e3, sd * 1e3, n).clip(1e3)
            rest = np.maximum(rng.normal(20e3, 3e3, n).clip(1e3), pad_us * rng.normal(1e3, 10, n) - work)
            found.append(write(tmp_path / f"{side}{i}.json", work.astype(int), rest.astype(int), **more))
        return found

    return make


def test_less_variance_is_better_and_the_verdict_is_the_first_line(runs: Make) -> None:
    done = vprof(*runs("before"), "--", *runs("after", sd=7))
    first = done.output.splitlines()[0]
    assert done.exit_code == 0
    assert first.startswith("better: variance is 0.")
    assert "5 runs against 5" in first
    assert "mean at most" in first and "throughput at least" in first


def test_more_variance_is_worse_and_no_change_is_no_difference(runs: Make) -> None:
    before = runs("before")
    assert report(*before, "--", *runs("after", sd=14))["verdict"] == "worse"
    assert report(*before, "--", *runs("again"))["verdict"] == "no-difference"


def test_padding_does_not_pass(runs: Make) -> None:
    """All intervals are made to last about 200 us: there is hardly any variance left, and nobody is served sooner."""
    found = report(*runs("before"), "--", *runs("padded", pad_us=200))
    assert (found["verdict"], found["guards"]) == ("traded", ["mean", "throughput"])
    assert found["sentence"].startswith("traded, not fixed: variance is ")
    assert found["sentence"].endswith("a fix may not worsen mean or throughput")


def test_the_factor_that_was_mended_lost_and_nothing_is_said_of_the_others(runs: Make) -> None:
    found = report(*runs("before"), "--", *runs("after", sd=4))
    factors = {tuple(f["functions"]): f for f in found["factors"]}
    work = factors["work",]
    assert work["found"] == "lost"
    assert work["ci95"][0] <= work["change"] <= work["ci95"][1] < 0
    assert work["change"] == pytest.approx(4**2 / 109 - 100 / 109, abs=0.1)
    assert factors["body(serve)",]["found"] == ""
    text = vprof(*runs("before"), "--", *runs("after", sd=4)).output
    assert [line.split()[-1] for line in text.splitlines() if line.startswith("work ")] == ["lost"]


def test_latencies_alone_when_factors_are_not_wanted(runs: Make) -> None:
    found = report(*runs("before"), "--", *runs("after", sd=4), "--no-factors")
    assert (found["verdict"], found["factors"], found["no_factors"]) == ("better", [], "not asked for")


def test_calls_of_a_function_can_be_the_intervals(runs: Make) -> None:
    found = report(*runs("before"), "--", *runs("after"), "--root", "work")
    assert metric(found, "mean")["before"] == pytest.approx(100e3, rel=0.05)


@pytest.mark.parametrize(("before", "after"), [(1, 1), (2, 5), (5, 2)])
def test_few_runs_have_no_verdict_whatever_they_hold(runs: Make, before: int, after: int) -> None:
    found = report(*runs("before", before), "--", *runs("after", after, sd=1))
    assert (found["verdict"], metric(found, "variance")["ci95"]) == ("no-verdict", None)
    plural = "s" * (before != 1)
    assert f"no verdict across runs: {before} run{plural} against {after}, 3 of each side needed" in found["sentence"]
    assert metric(found, "variance")["ratio"] < 0.2, "shown all the same"


@pytest.mark.parametrize(
    ("sd", "fail_on", "code"),
    [
        (14, ["worse"], 3),
        (7, ["worse"], 0),
        (10, ["worse", "traded"], 0),
        (10, ["no-difference"], 3),
        (7, ["traded", "better"], 3),
    ],
)
def test_fail_on_a_verdict_is_exit_code_3(runs: Make, sd: int, fail_on: list[str], code: int) -> None:
    options = [word for verdict in fail_on for word in ("--fail-on", verdict)]
    assert vprof(*options, *runs("before"), "--", *runs("after", sd=sd)).exit_code == code


def test_another_metric_can_decide(runs: Make) -> None:
    found = report("--metric", "mean", *runs("before"), "--", *runs("padded", pad_us=200))
    assert (found["verdict"], found["metric"], found["metrics"][0]["metric"]) == ("worse", "mean", "mean")


def test_metrics_of_one_run_and_the_ones_that_need_more_intervals(runs: Make, tmp_path: Path) -> None:
    sides = [write(tmp_path / f"r{i}.json", np.array([100, 200, 300]), np.array([100, 100, 100])) for i in range(2)]
    found = report(sides[0], "--", sides[1])
    values = found["before"][0]["metrics"]
    assert (values["mean"], values["variance"], values["p50"], values["max"]) == (300, 20000 / 3, 300, 400)
    assert values["l2"] == pytest.approx((290000 / 3) ** 0.5)
    assert values["throughput"] == pytest.approx(3e9 / 2900)
    assert (values["p99"], values["p99.9"]) == (None, None)
    assert metric(found, "p99")["reason"] == "p99 needs 100 intervals in each run, one has 3"


def test_runs_of_unequal_length_are_compared_over_the_same_time(runs: Make) -> None:
    """A start is slow: twice as much of it in the shorter runs would look like a change."""
    before, after = runs("before", n=900), runs("after", n=300)
    found = report(*before, "--", *after)
    assert any("all runs cut to" in remark and "of the intervals unused" in remark for remark in found["remarks"])
    assert max(r["intervals"] for r in found["before"]) < 320
    assert found["verdict"] == "no-difference"
    assert not any("cut" in remark for remark in report(*before, "--", *runs("other", n=850))["remarks"])


def test_runs_that_were_not_alternated_are_remarked(runs: Make, tmp_path: Path) -> None:
    second = 10**9

    def side(name: str, starts: list[int]) -> list[Path]:
        rng = np.random.default_rng(1)
        work = [rng.integers(1, 1000, 50) for _ in starts]
        return [write(tmp_path / f"{name}{s}.json", w, w, s * second) for s, w in zip(starts, work, strict=True)]

    def remarked(*sides: list[Path]) -> bool:
        remarks = report(*sides[0], "--", *sides[1])["remarks"]
        return any("alternate them" in remark for remark in remarks)

    assert remarked(side("a", [1, 2, 3]), side("b", [4, 5, 6]))
    assert remarked(side("a", [4, 5, 6]), side("b", [1, 2, 3]))
    assert not remarked(side("a", [1, 3, 5]), side("b", [2, 4, 6]))
    assert not remarked(runs("before"), runs("after")), "their times overlap: the order is not known"


def test_nothing_varies_and_nothing_changes(tmp_path: Path) -> None:
    same = [write(tmp_path / f"r{i}.json", np.full(5, 100), np.full(5, 10)) for i in range(6)]
    found = report(*same[:3], "--", *same[3:])
    assert found["verdict"] == "no-verdict"
    assert found["sentence"] == "no verdict across runs: variance is 0 in a run: there is no ratio"
    assert (metric(found, "mean")["ratio"], metric(found, "mean")["p_holm"]) == (1, 1)
    assert found["no_factors"] == "all 5 intervals took the same time: no variance to explain"


def test_a_page_is_written_and_the_verdict_said(runs: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    sides = [*runs("before"), "--", *runs("after", sd=7)]
    done = vprof(*sides, "-o", "page.html", "--fail-on", "better")
    sentence = report(*sides)["sentence"]
    assert (done.exit_code, done.stdout) == (3, f"{sentence}\n")
    assert done.stderr.startswith("page.html: ")
    page = Path("page.html").read_text(encoding="utf-8")
    assert page.startswith("<!doctype html>") and "vprof-diff/1" in page
    assert vprof(*sides, "--format", "html").stderr.startswith("diff.html: ")
    assert Path("diff.html").read_text(encoding="utf-8") == page


def test_text_and_json_are_written_to_a_file_if_one_is_given(runs: Make, tmp_path: Path) -> None:
    sides = [*runs("before"), "--", *runs("after")]
    for options in ([], ["--format", "json"]):
        out = tmp_path / f"out{len(options)}"
        done = vprof(*sides, *options, "-o", out)
        assert (done.exit_code, done.output) == (0, "")
        assert out.read_text(encoding="utf-8").split() == vprof(*sides, *options).output.split()


@pytest.mark.parametrize(
    ("arguments", "message", "code"),
    [
        (["a.json", "b.json"], "give traces of both sides with -- between them", 2),
        (["--", "good.json"], "give traces of both sides with -- between them", 2),
        (["good.json", "--"], "give traces of both sides with -- between them", 2),
        (["good.json", "--", "good.json"], "is given twice: each run counts once", 2),
        (["good.json", "--", "none.json"], "cannot read", 1),
        (["good.json", "--", "broken.json"], "not JSON", 1),
        (["good.json", "--", "empty.json"], "empty.json: no interval began in this trace", 1),
        (["good.json", "--", "other.json", "--root", "lost"], "no function lost in this trace", 2),
        (["good.json", "--", "other.json", "-o", "no/page.html"], "cannot write no/page.html: No such file", 2),
        (["good.json", "--", "other.json", "-o", "no/page.json", "--format", "json"], "cannot write no/page.json", 2),
        (["good.json", "--", "other.json", "--format", "svg"], "'svg' is not one of", 2),
        (["--fail-on", "bad", "good.json", "--", "other.json"], "'bad' is not one of", 2),
    ],
)
def test_errors_are_one_line_with_an_exit_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], arguments: list[str],
    message: str, code: int,
) -> None:  # fmt: skip
    from vprof.cli import main

    monkeypatch.chdir(tmp_path)
    for name in ("good.json", "other.json"):
        write(Path(name), np.arange(1, 9), np.arange(1, 9))
    Path("broken.json").write_text("{")
    Path("empty.json").write_text('{"intervals": [], "segments": [], "functions": []}')
    monkeypatch.setattr("sys.argv", ["vprof", "diff", *arguments])
    with pytest.raises(SystemExit) as exit_:
        main()
    captured = capsys.readouterr()
    assert (exit_.value.code, captured.out) == (code, "")
    assert message in captured.err
    assert captured.err.count("\n") == 1
