"""`vprof diff --predicted`: what came true of a prediction, in every form of the report; what is no prediction."""

import json
import re
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from jsonschema import Draft202012Validator

from vprof.cli import root
from vprof.compare import predicted
from vprof.errors import UsageError
from vprof.whatif.model import MODEL_ERROR, REPLAY


def vprof(*words: object) -> str:
    done = CliRunner().invoke(root, list(map(str, words)))
    assert done.exit_code == 0, done.output or done.exception
    return done.output


def write(path: Path, work_ns: Any, rest_ns: Any) -> Path:
    """A trace of intervals on one thread, each a call of work and as much more."""
    end = np.cumsum(work_ns + rest_ns + 1000)
    begin = end - work_ns - rest_ns
    rows = list(zip(begin.tolist(), (begin + work_ns).tolist(), end.tolist(), strict=True))
    data = {
        "intervals": [
            {"sid": i, "begin": {"tid": 1, "t": b}, "end": {"tid": 1, "t": e}} for i, (b, _, e) in enumerate(rows)
        ],
        "segments": [[1, i, b, e, "exec"] for i, (b, _, e) in enumerate(rows)],
        "functions": [[1, i, "work", "", b, w] for i, (b, w, _) in enumerate(rows)],
    }
    path.write_text(json.dumps(data), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Path]]:
    """Runs before; after, with half of the work, and a little less, as most changes gain more than was predicted; with
    no work; and with twice as much."""
    folder = tmp_path_factory.mktemp("runs")

    def side(name: str, factor: float) -> list[Path]:
        found = []
        for i in range(3):
            rng = np.random.default_rng([int(10 * factor), i])
            work = rng.normal(100e3, 20e3, 2000).clip(1e3) * factor
            rest = rng.normal(20e3, 3e3, 2000).clip(1e3)
            found.append(write(folder / f"{name}{i}.json", work.astype(int), rest.astype(int)))
        return found

    return {name: side(name, factor) for name, factor in (("before", 1), ("half", 0.48), ("none", 0), ("twice", 2))}


@pytest.fixture(scope="module")
def file(runs: dict[str, list[Path]]) -> Path:
    found = runs["before"][0].parent / "whatif.json"
    vprof("whatif", *runs["before"], "--change", "work=0.5", "--no-factors", "--format", "json", "-o", found)
    return found


def diff(runs: dict[str, list[Path]], side: str, file: Path, *words: object) -> str:
    return vprof("diff", *runs["before"], "--predicted", file, "--no-factors", *words, "--", *runs[side])


def report(runs: dict[str, list[Path]], side: str, file: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(diff(runs, side, file, "--format", "json"))
    schema = json.loads((files("vprof.report") / "schemas" / "vprof-diff-1.json").read_text(encoding="utf-8"))
    Draft202012Validator(schema).validate(found)
    prediction: dict[str, Any] = found["prediction"]
    return prediction


def found(prediction: dict[str, Any]) -> dict[str, str]:
    return {figure["metric"]: figure["found"] for figure in prediction["figures"]}


def test_what_was_predicted_came_true(runs: dict[str, list[Path]], file: Path) -> None:
    prediction = report(runs, "half", file)
    assert prediction["changes"] == ["work=0.5"] and prediction["file"] == str(file)
    assert found(prediction) == dict.fromkeys(("mean", "variance", "p99"), "as predicted")
    asked = json.loads(file.read_text())["figures"]
    for figure in prediction["figures"]:
        assert figure["ratio"] == asked[figure["metric"]]["ratio"]
        assert figure["ci95"] == asked[figure["metric"]]["ci95"]
        assert figure["widened"][0] < figure["ci95"][0] and figure["widened"][1] == figure["ci95"][1]
        assert figure["measured"] == pytest.approx(figure["ratio"], rel=0.1)


def test_what_came_otherwise(runs: dict[str, list[Path]], file: Path) -> None:
    little = file.with_name("little.json")
    vprof("whatif", *runs["before"], "--change", "work=0.9", "--no-factors", "--format", "json", "-o", little)
    assert found(report(runs, "none", little)) == dict.fromkeys(("mean", "variance", "p99"), "better than predicted")
    assert found(report(runs, "twice", file)) == dict.fromkeys(("mean", "variance", "p99"), "worse than predicted")


def test_only_the_measured_interval_reaches_it(runs: dict[str, list[Path]], file: Path) -> None:
    """What was predicted ends between what was measured and the low end of its interval."""
    [mean] = [one for one in report(runs, "half", file)["figures"] if one["metric"] == "mean"]
    shifted = {**json.loads(file.read_text())}
    outside = (mean["measured_ci95"][0] + mean["measured"]) / 2 - MODEL_ERROR[REPLAY]["mean"][1]
    shifted["figures"]["mean"] = {"now": 1, "then": 1, "ratio": outside, "ci95": None}
    other = file.with_name("shifted.json")
    other.write_text(json.dumps(shifted))
    assert found(report(runs, "half", other))["mean"] == "perhaps"


def test_a_ratio_that_nobody_knows_is_not_judged(runs: dict[str, list[Path]], file: Path) -> None:
    unknown = {**json.loads(file.read_text())}
    unknown["figures"]["variance"] |= {"ratio": None, "ci95": None}
    other = file.with_name("unknown.json")
    other.write_text(json.dumps(unknown))
    assert found(report(runs, "half", other)) == {"mean": "as predicted", "variance": "", "p99": "as predicted"}


def test_text_and_page_say_it_beside_the_verdict(runs: dict[str, list[Path]], file: Path, tmp_path: Path) -> None:
    text = diff(runs, "half", file)
    assert text.splitlines()[0].startswith("better: variance is 0.2")
    assert re.search(r"^Predicted \(work=0\.5\)$", text, re.M)
    assert len(re.findall(r"as predicted$", text, re.M)) == 3
    assert "model: hand-overs keep their order" in text
    page = tmp_path / "diff.html"
    assert diff(runs, "half", file, "-o", page).startswith("better")
    assert "Predicted (work=0.5)" in page.read_text() and "predicted-table" in page.read_text()
    plain = vprof("diff", *runs["before"], "--no-factors", "-o", page, "--", *runs["half"])
    assert plain and "<h3>Predicted" not in page.read_text()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, "No such file or directory"),
        ("no", "is no prediction, since it is no JSON"),
        ("[]", "is no prediction, since it has no schema, not vprof-whatif/1"),
        ('{"schema": "vprof-diff/1"}', "is no prediction, since its schema is 'vprof-diff/1', not vprof-whatif/1"),
        ('{"schema": "vprof-whatif/1"}', "lacks the key `changes`, so it is no prediction"),
    ],
)
def test_what_is_no_prediction(tmp_path: Path, text: str | None, said: str) -> None:
    file = tmp_path / "whatif.json"
    if text is not None:
        file.write_text(text)
    with pytest.raises(UsageError) as caught:
        predicted.read(file)
    message = str(caught.value)
    assert said in message and "\n" not in message
    assert message.endswith("write one with vprof whatif BEFORE... --change F=0.5 --format json -o FILE")


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({"changes": []}, "predicts no change, it was written without --change"),
        ({"figures": {}}, "`figures` lacks the key `mean`"),
        ({"figures": {"mean": {"ratio": "1", "ci95": None}}}, "`ratio` is not a number"),
        ({"model": 3}, "`model` is not a text"),
        ({"way": []}, "`way` is not replay or simulation"),
    ],
)
def test_what_a_prediction_lacks(file: Path, tmp_path: Path, keys: dict[str, Any], said: str) -> None:
    bad = tmp_path / "whatif.json"
    bad.write_text(json.dumps({**json.loads(file.read_text()), **keys}))
    with pytest.raises(UsageError, match=re.escape(said)):
        predicted.read(bad)
