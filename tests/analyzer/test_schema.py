"""The JSON reports have the form that their schemas and SCHEMA.md give: of every option, on the worked cases and on
random histories."""

import json
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

import click
import histories
import numpy as np
import pytest
from click.testing import CliRunner
from jsonschema import Draft202012Validator, ValidationError
from properties import seeds
from test_explain import serving_trace
from worked_cases import TRACES

from vprof.commands.analyze import command
from vprof.commands.whatif import command as command_whatif
from vprof.report import explain, load, lock_history, locks, path, tune, whatif
from vprof.report import json as report
from vprof.scheduling.ages import locked
from vprof.scheduling.history import Taken
from vprof.trace.json_trace import trace_from_dict
from vprof.trace.locks import LockSteps, LockTrace
from vprof.variance.analysis import AnalysisOptions, analyze

ROOT = Path(__file__).parents[2]
SCHEMAS = {
    name: name.replace("/", "-") + ".json"
    for name in (
        report.SCHEMA,
        explain.SCHEMA,
        path.SCHEMA,
        load.SCHEMA,
        tune.SCHEMA,
        whatif.SCHEMA,
        locks.SCHEMA,
        lock_history.SCHEMA,
    )
}
HANDOFF = next(case for case in TRACES if case.stem == "02_lock_handoff")


def schema(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((files("vprof.report") / "schemas" / SCHEMAS[name]).read_text(encoding="utf-8"))
    return found


def check(text: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(text)
    Draft202012Validator(schema(found["schema"])).validate(found)
    return found


def run(*options: object, verb: click.Command = command) -> dict[str, Any]:
    """What the command prints."""
    done = CliRunner().invoke(verb, [str(option) for option in (*options, "--format", "json")])
    assert done.exit_code == 0, done.output
    return check(done.output)


@pytest.mark.parametrize("name", SCHEMAS)
def test_the_schemas_are_schemas_of_the_version_they_are_named_for(name: str) -> None:
    Draft202012Validator.check_schema(schema(name))
    assert schema(name)["$id"] == schema(name)["properties"]["schema"]["const"] == name


@pytest.mark.parametrize("case", TRACES, ids=lambda case: case.stem)
@pytest.mark.parametrize(
    "options",
    [
        [],
        ["--intervals", "--by-type"],
        ["--own", "-k", 50, "--min-share", -9],
        ["--tail", 0.5, "--top", 1, "--force", "--specificity-exp", 3],
        ["--path", "median"],
        ["--by", "host", "--by", "process"],
    ],
    ids=lambda options: " ".join(map(str, options)),
)
def test_every_option_on_the_worked_cases(case: Path, options: list[object]) -> None:
    run(case, *options)


def test_roots_several_traces_and_explanations() -> None:
    assert run(HANDOFF, HANDOFF, "--root", "txnB")["intervals"]["count"] == 6
    assert run(HANDOFF, "--explain", "UpdateRow")["schema"] == "vprof-explain/1"
    assert run(HANDOFF, "--explain", "[blocked]")["rank"] is None
    assert run(next(case for case in TRACES if "two_call" in case.stem), "--explain", "f|f")["kind"] == "covariance"


@pytest.mark.parametrize("case", TRACES, ids=lambda case: case.stem)
@pytest.mark.parametrize("options", [[], ["--open", "--no-factors"]], ids=" ".join)
def test_what_would_be_gained_in_the_worked_cases(case: Path, options: list[str]) -> None:
    run(case, "--intervals", *options, verb=command_whatif)


@pytest.mark.parametrize("load", [["--clients", 9], ["--rate", 3000]], ids=["closed", "open"])
def test_policies_of_locks(load: list[object], tmp_path: Path) -> None:
    made = ["--generate", "zipf", "--transactions", 200, "--records", 20]
    run("--locks", "vats,ldsf", *made, *load, "--seeds", 2, verb=command_whatif)
    transactions = [{"id": k, "steps": [["lock", "a", "X"], ["work", 9]]} for k in range(9)]
    traced = {"policy": "fifo", "mean_ns": 45, "variance_ns2": 540}
    path = tmp_path / "script.json"
    path.write_text(json.dumps({"transactions": transactions, "clients": 9, "traced": traced}))
    found = run("--locks", "vats", "--script", path, "--servers", "a=1", verb=command_whatif)
    assert found["calibration"]["mean_ratio"] == found["calibration"]["variance_ratio"] == 1


def test_locks_of_a_trace() -> None:
    columns = ([0, 1], [5, 5], [1, 1], [0, 10], [0, 40], [2, 42], [40, 90], [0, 1], [0, 1])
    found = Taken(*map(np.array, columns), against=np.zeros(2, np.bool_))
    steps = LockSteps(*[np.zeros(0, np.int64)] * 6)
    begin, end = np.array([0, 5]), np.array([50, 95])
    trace = LockTrace(Path("t"), steps, begin, begin, end, ["a", "b"], 1, 0)
    shown = check(lock_history.render_json(locked(trace, found, 5)))
    assert shown["ages"][0]["decisions"] == 1 and shown["objects"][0]["waited_ns"] == 30


def test_what_was_tried() -> None:
    assert run(HANDOFF, "--rank", verb=command_whatif)["tried"]


def test_a_report_with_everything_in_it() -> None:
    """Types with trees, a tail, 95 % intervals, something to switch on."""
    history, _ = histories.lock_convoy(5, threads=2, rounds=500)
    for i, interval in enumerate(history["intervals"]):
        interval["type"] = "even" if i % 2 else "odd"
    trace = trace_from_dict(history)
    trace.program.on[trace.program.functions.index("held")] = False
    found = check(report.render(analyze(trace, AnalysisOptions(by_type=True, intervals=True, k=20, min_share=-9))))
    assert {row["tail_quantile"] for row in found["by_type"]["types"]} != {None}
    assert all("tree" in row for row in found["by_type"]["types"])
    assert any(factor["ci95"] for factor in found["factors"])
    assert found["next"] == ["held"]


@seeds(40)
def test_random_histories(seed: int) -> None:
    options = AnalysisOptions(k=99, min_share=-1e9, intervals=True, by_type=True, own=seed % 2 == 1)
    check(report.render(analyze(trace_from_dict(histories.random_history(seed)), options)))


def objects(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        yield value
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else []:
        yield from objects(inner)


def test_a_report_that_gained_or_lost_a_key_does_not_pass() -> None:
    """Of every object of a whole report: so the schema is no looser anywhere than it says."""
    found = json.loads(report.render(analyze(serving_trace(), AnalysisOptions(k=2, cpu_apart=False))))
    validator = Draft202012Validator(schema(report.SCHEMA))
    maps = (
        found["intervals"]["excluded"],
        found["blocked_ns"],
        found["cpu_wait"]["by_kind"],
        found["waiting_for_cpu"]["by_kind"],
        *(node["cov"] for node in objects(found["tree"]) if "cov" in node),
    )
    for one in objects(found):
        if any(one is free for free in maps):
            continue
        for key in list(one):
            value = one.pop(key)
            with pytest.raises(ValidationError):
                validator.validate(found)
            one[key] = value
        one["invented"] = 1
        with pytest.raises(ValidationError):
            validator.validate(found)
        del one["invented"]
    validator.validate(found)


@pytest.mark.parametrize("name", SCHEMAS)
def test_the_text_for_people_names_every_key(name: str) -> None:
    text = (ROOT / "analyzer" / "SCHEMA.md").read_text(encoding="utf-8")
    keys = {key for one in objects(schema(name)) for key in one.get("properties", {}) if isinstance(one, dict)}
    missing = sorted(key for key in keys if f"`{key}`" not in text)
    assert missing == []


def test_the_kinds_of_the_schema_are_those_of_the_analyzer() -> None:
    from vprof.tables.kinds import PIECE_NAMES

    kinds = schema(report.SCHEMA)["$defs"]["interval"]["properties"]["critical_path"]["items"]["prefixItems"][0]["enum"]
    assert sorted(kinds) == sorted(PIECE_NAMES)
