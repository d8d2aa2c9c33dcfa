"""`vprof tune` around the statistics: knobs of descriptors, what is tried, sessions, bad input in one line, reports."""

import json
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from jsonschema import Draft202012Validator
from simulated_tune import Simulated, sweep
from test_server import make

from vprof.commands.tune import command
from vprof.errors import UsageError, VprofError
from vprof.installed import target_file, target_names
from vprof.report import tune as report
from vprof.report.page.html import TUNE, render
from vprof.report.page.tune import tune_data
from vprof.target.descriptor import load
from vprof.target.knobs import NOTHING, environment, load_words, server_options
from vprof.target.target import Target
from vprof.tune import auto
from vprof.tune.file import Asked, TuneFile
from vprof.tune.outcome import outcome_of
from vprof.tune.settings import BASELINE, settings_of

KNOBS = """
[[knob]]
name = "delay"
kind = "whole"
values = [0, 100]
unit = "us"
server_option = "-c delay={value}"
line = "delay = {value}"
restart = false
trades = "each commit waits"
governs = ["flush", "[disk]"]

[[knob]]
name = "threads"
kind = "whole"
values = [1, 2]
load_option = "--threads {value}"
restart = true
trades = "nothing"
governs = ["[queue]"]

[[knob]]
name = "arenas"
kind = "choice"
values = ["1", "many, of each"]
environment = "ARENAS={value}"
restart = true
trades = "memory"
governs = ["malloc"]
"""


@pytest.fixture
def target(tmp_path: Path) -> Target:
    return make(tmp_path, "[load]", f"{KNOBS}[load]")


def test_each_value_is_tried_alone_and_the_baseline_is_the_targets_own(target: Target) -> None:
    settings = settings_of(["delay=5,7,5", "threads"], target.descriptor, combined=False)
    assert [one.name for one in settings] == [BASELINE, "delay=5", "delay=7", "threads=1", "threads=2"]
    assert settings[1].lines == ["delay = 5"] and settings[1].trades == ["delay: each commit waits"]
    assert settings[3].lines == ["--threads 1"] and settings[3].trades == [] and settings[3].restart


def test_what_the_baseline_has_by_itself_is_no_setting_of_its_own(tmp_path: Path) -> None:
    """But if it is given, or combined with others, or the user's options set something else."""
    descriptor = make(tmp_path, "[load]", f"{KNOBS}[load]".replace('unit = "us"', 'default = "0"')).descriptor

    def tried(text: str, combined: bool = False, options: str = "") -> list[str]:
        return [one.name for one in settings_of([text], descriptor, combined, options)][1:]

    assert tried("delay") == ["delay=100"]
    assert tried("delay=0,100") == tried("delay", combined=True) == ["delay=0", "delay=100"]
    assert tried("delay", options="-c delay=7") == ["delay=0", "delay=100"]
    assert tried("delay", options="-c other=7") == ["delay=100"]


def test_combined_they_are_all_together(target: Target) -> None:
    settings = settings_of(["delay=5,7", "threads=1"], target.descriptor, combined=True)
    assert [one.name for one in settings] == [BASELINE, "delay=5 threads=1", "delay=7 threads=1"]
    last = settings[-1].assignments
    assert server_options(last) == "-c delay=7" and load_words(last) == ["--threads", "1"] and environment(last) == {}


def test_a_value_in_quotes_may_hold_commas_and_reach_the_environment(target: Target) -> None:
    _, setting = settings_of(["arenas='many, of each'"], target.descriptor, combined=False)
    assert environment(setting.assignments) == {"ARENAS": "many, of each"}


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        (["dealy=1"], "there is no knob 'dealy': did you mean 'delay'\\? .* has delay, threads, arenas"),
        (["delay=fast"], "--knob delay: 'fast' is not a whole number"),
        (["delay=1.5"], "--knob delay: '1.5' is not a whole number"),
        (["arenas=2"], "--knob arenas: '2' is not one of 1, many, of each"),
        (["delay="], "--knob delay=: give values with commas between, or delay alone"),
        (["delay=1", "delay=2"], "--knob delay is given twice"),
        (["delay=" + ",".join(map(str, range(99)))], "100 settings are too many to try"),
        (["delay='1"], "--knob: '1: unexpected end of data"),
    ],
)
def test_what_cannot_be_tried_is_one_line(target: Target, texts: list[str], said: str) -> None:
    with pytest.raises(UsageError, match=said) as caught:
        settings_of(texts, target.descriptor, combined=False)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("values = [0, 100]", "values = [0, true]", "values must be a list of texts or numbers"),
        ("values = [0, 100]", 'values = ["0", "much"]', "values: 'much' is not a whole number"),
        ("values = [0, 100]", "values = []", "values must be a list"),
        ('unit = "us"', 'units = "us"', "has no key 'units'"),
        ('kind = "whole"', 'kind = "int"', "kind = 'int' must be one of whole, number, size, time, choice"),
        ('server_option = "-c delay={value}"', "", "give one of server_option, load_option, environment"),
        ("-c delay={value}", "-c delay", "server_option must hold {value}"),
        ('environment = "ARENAS={value}"', 'environment = "{value}"', "environment must hold {value}, as in 'NAME="),
        ('trades = "each commit waits"', 'trades = ""', "trades must be a text"),
        ('trades = "each commit waits"', "", "'trades' is missing"),
        ("restart = false", 'restart = "no"', "restart must be true or false"),
        ('governs = ["flush", "[disk]"]', 'governs = "flush"', "governs must be a list of texts"),
        ('name = "threads"', 'name = "delay"', "there is another knob 'delay'"),
        ('unit = "us"', 'default = "5ms"', "default: '5ms' is not a whole number"),
        ("values = [0, 100]", 'values = [0]\ndefault = "0"', "values must hold one that is not the default"),
        ("[[knob]]", "[knob]", "Cannot|two brackets"),
    ],
)
def test_a_mistake_in_a_knob_is_one_line(tmp_path: Path, old: str, new: str, said: str) -> None:
    text = KNOBS if old != "[[knob]]" else KNOBS.split("\n\n")[0].replace(old, new) + "\n"
    with pytest.raises(UsageError, match=said.replace("{", "\\{")) as caught:
        make(tmp_path, "[load]", f"{text.replace(old, new, 1)}[load]")
    assert "\n" not in str(caught.value)


def test_without_a_server_there_are_no_server_options(tmp_path: Path) -> None:
    folder = tmp_path / "toy"
    folder.mkdir()
    (folder / "target.toml").write_text(f'name = "toy"\n[build]\nprograms = []\n{KNOBS}')
    with pytest.raises(UsageError, match=r"server_option is for a \[server\]"):
        load(folder / "target.toml")


@pytest.mark.parametrize("name", target_names())
def test_knobs_of_known_targets_say_what_they_trade(name: str) -> None:
    """Each trades something or says `nothing`, so that a recommendation always has what to print."""
    for knob in load(target_file(name)).knobs.values():
        assert knob.trades == NOTHING or len(knob.trades) > len(NOTHING)
        for value in knob.values:
            assert value in knob.assigned(value).option


# Reports of simulated sweeps.


@pytest.fixture
def simulated(tmp_path: Path, target: Target) -> Callable[..., Any]:
    def run(effects: dict[str, float], **more: Any) -> Any:
        settings = settings_of(["delay=1,2,3", "threads=9"], target.descriptor, combined=False)
        one = sweep(tmp_path, settings, Simulated(effects, sd=0.08, **more))
        one.go()
        return outcome_of(one)

    return run


def validated(text: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(text)
    schema = json.loads((files("vprof.report") / "schemas" / "vprof-tune-1.json").read_text(encoding="utf-8"))
    Draft202012Validator.check_schema(schema)
    Draft202012Validator(schema).validate(found)
    return found


def test_a_recommendation_says_the_line_when_it_takes_effect_and_what_it_trades(simulated: Any) -> None:
    text = report.render(simulated({"delay=2": 0.3, "threads=9": 0.5}))
    lines = [line.strip() for line in text.splitlines()]
    assert lines[0].startswith("better: with delay=2 variance is 0.")
    at = lines.index("For the configuration")
    assert lines[at + 1 : at + 4] == [
        "delay = 2",
        "it takes effect without a restart",
        "it trades delay: each commit waits",
    ]
    at = lines.index("Or, which trades nothing")
    assert lines[at + 1 : at + 4] == [
        "--threads 9",
        "it takes effect when the server is started",
        "it trades nothing",
    ]
    assert any(line.startswith("flush") and line.endswith("lost") for line in lines)
    assert any(line.startswith("Pareto front of mean and p99: ") for line in lines)


def test_a_null_result_is_a_result(simulated: Any) -> None:
    outcome = simulated({})
    text = report.render(outcome)
    assert text.startswith("nothing helps: of 4 settings none is better than the target's own")
    assert "For the configuration" not in text
    assert validated(report.render_json(outcome))["recommended"] == []


def test_the_json_has_its_schema_and_all_that_the_text_says(simulated: Any) -> None:
    outcome = simulated({"delay=2": 0.3}, failing={"delay=3": "the server ended (status 1): no such value"})
    found = validated(report.render_json(outcome))
    rows = {row["setting"]: row for row in found["settings"]}
    assert rows["delay=2"]["verdict"] == "better" and rows["delay=2"]["changes"][0]["p_holm"] < 0.05
    assert (rows["delay=3"]["verdict"], rows["delay=3"]["why"]) == (
        "failed",
        "the server ended (status 1): no such value",
    )
    assert found["recommended"][0]["trades"] == ["delay: each commit waits"]
    assert "delay=3: failed: the server ended (status 1): no such value" in report.render(outcome)


def test_the_page_holds_the_same_figures_and_no_markup_of_others(simulated: Any) -> None:
    hostile = "<img src=x onerror=alert(1)>"
    page = render(tune_data(simulated({"delay=2": 0.3}, failing={"delay=3": hostile})), TUNE)
    assert hostile not in page
    text = page.split('<script type="application/json" id="data">')[1].split("</script>")[0]
    data = json.loads(text)
    assert data["tune"]["sentence"].startswith("better: with delay=2")
    p99, variance = data["against"]
    assert {point["setting"] for point in p99["points"]} == {BASELINE, "delay=1", "delay=2", "threads=9"}
    assert "delay=2" in variance["front"]
    assert all(point["x_ci95"][0] < point["x"] < point["x_ci95"][1] for point in p99["points"])


# Sessions.


def asked(**more: Any) -> Asked:
    return Asked(target="toy", settings=[BASELINE, "delay=1"], **more)


def test_a_session_comes_back_as_it_was(simulated: Any, tmp_path: Path) -> None:
    outcome = simulated({"delay=2": 0.3}, failing={"delay=3": "no"})
    kept = TuneFile(tmp_path / "kept.json", outcome.sweep.file.asked, outcome.sweep.file.runs, 12.5)
    kept.save()
    found = TuneFile.open(tmp_path / "kept.json", kept.asked)
    assert found == kept
    outcome.sweep.file = found
    assert validated(report.render_json(outcome_of(outcome.sweep)))["load"]["rate"] == 12.5


def test_a_session_of_another_sweep_is_refused(tmp_path: Path) -> None:
    TuneFile(tmp_path / "s.json", asked()).save()
    with pytest.raises(UsageError, match=r"of another sweep \(server options differs\)"):
        TuneFile.open(tmp_path / "s.json", asked(server_options="-x"))


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"schema": "vprof-tune-session/1"}', '{"schema": 3, "runs": [], "asked": {}, "rate": 1}']
)
def test_what_is_no_session_is_one_line(tmp_path: Path, text: str) -> None:
    (tmp_path / "s.json").write_text(text)
    with pytest.raises(VprofError, match="not the file of a sweep"):
        TuneFile.open(tmp_path / "s.json", asked())


# Findings.


def drilled(path: Path, findings: list[dict[str, Any]], **more: Any) -> Path:
    path.write_text(json.dumps({"schema": "vprof-drill/1", "settings": {"name": "toy"}, "findings": findings, **more}))
    return path


def finding(*functions: str, confirmed: bool = True, **more: Any) -> dict[str, Any]:
    return {"functions": list(functions), "share": 0.4, "confirmed": confirmed, **more}


def test_findings_are_governed_by_knobs_of_functions_nodes_and_wakers(target: Target, tmp_path: Path) -> None:
    waits = finding("lock_wait", wakers=[{"function": "flush@log.c:3", "share": 0.9}])
    deep = finding("epoll_wait", explains=["sleep", "flush"])
    rows = [finding("body(flush)"), finding("[queue]"), waits, finding("parse"), deep]
    rows.append(finding("malloc", confirmed=False))
    raw = auto.read(drilled(tmp_path / "d.json", rows, cpu_wait={"[disk]": 0.2, "[sched]": 0.01}))
    found = auto.findings_of(raw, target.descriptor.knobs)
    assert [(one.name, one.knobs) for one in found.governed] == [
        ("body(flush)", ["delay"]),
        ("[queue]", ["threads"]),
        ("lock_wait", ["delay"]),
        ("parse", []),
        ("epoll_wait", ["delay"]),
        ("[disk]", ["delay"]),
    ]
    assert found.knobs == ["delay", "threads"] and found.unconfirmed == ["malloc"]
    lines = report.finding_lines(found)
    assert "parse (40.0 % of the variance): no knob governs it" in lines
    assert lines[-1] == "left out, not confirmed: malloc"


def test_what_is_not_confirmed_is_tried_if_no_knob_governs_what_is(target: Target, tmp_path: Path) -> None:
    doubted = [finding("flush", confirmed=False), finding("render", confirmed=False)]
    raw = auto.read(drilled(tmp_path / "d.json", [finding("parse"), *doubted]))
    found = auto.findings_of(raw, target.descriptor.knobs)
    assert [(one.name, one.knobs, one.confirmed) for one in found.governed] == [
        ("parse", [], True),
        ("flush", ["delay"], False),
    ]
    assert found.knobs == ["delay"] and found.unconfirmed == ["render"]
    lines = report.finding_lines(found)
    assert lines[1] == "flush (40.0 % of the variance, not confirmed, tried since nothing better was found): delay"
    assert lines[-1] == "left out, not confirmed: render"


def test_where_most_is_apart_a_share_of_the_rest_is_enough_to_be_tried(target: Target, tmp_path: Path) -> None:
    """On two CPUs that the load keeps busy, a stall of the disk has 1 % of the variance, and 22 % of what is left."""
    doubted = [finding("flush", confirmed=False) | {"share": 0.0075, "share_of_rest": 0.2246}]
    doubted += [finding("render", confirmed=False) | {"share": 0.0046, "share_of_rest": 0.139}]
    waits = {"cpu_wait": {"[preempted]": 0.279, "[sched]": 0.01}, "client_time": 0.566}
    found = auto.findings_of(auto.read(drilled(tmp_path / "d.json", doubted, **waits)), target.descriptor.knobs)
    assert found.knobs == ["delay"] and found.unconfirmed == ["render"]
    assert report.finding_lines(found) == [
        "[preempted] (27.9 % of the variance): no knob governs it",
        "flush (0.8 % of the variance, 22.5 % of the rest, not confirmed, tried since nothing better was found): delay",
        "left out, not confirmed: render",
        "85.5 % of the variance is waiting for a CPU or the client's time: under less load more of it may be the "
        "program's own",
    ]


def test_factors_of_an_analysis_are_findings_if_they_are_large(target: Target, tmp_path: Path) -> None:
    rows = [{"functions": ["flush"], "share": 0.3}, {"functions": ["malloc"], "share": 0.01}]
    (tmp_path / "a.json").write_text(json.dumps({"schema": "vprof-analysis/1", "factors": rows, "cpu_wait": None}))
    found = auto.findings_of(auto.read(tmp_path / "a.json"), target.descriptor.knobs)
    assert [(one.name, one.knobs) for one in found.governed] == [("flush", ["delay"])]


def test_what_was_predicted_of_a_finding_stands_beside_what_its_knobs_did(target: Target, tmp_path: Path) -> None:
    gain = {"changes": ["flush=constant"], "ratios": {"variance": 0.4, "p99": 0.7, "mean": None}, "why_not": ""}
    without = {"changes": ["flush=0"], "ratios": {"variance": 0.3, "p99": 0.6, "mean": 0.5}, "why_not": ""}
    rows = [
        finding("flush", gain=gain, gain_without=without),
        finding("parse", gain={"changes": [], "ratios": {}, "why_not": "no calls"}),
    ]
    found = auto.findings_of(auto.read(drilled(tmp_path / "d.json", rows)), target.descriptor.knobs)
    settings = settings_of(["delay=100,200", "threads=1"], target.descriptor, combined=False)
    one = sweep(tmp_path, settings, Simulated({"delay=100": 0.5, "delay=200": 0.9, "threads=1": 0.1}, sd=0.05))
    one.go()
    outcome = outcome_of(one)
    first, alike, gone, measured, last = report.finding_lines(found, outcome)
    assert first == "flush (40.0 % of the variance): delay"
    assert alike == "  predicted, if it took always the same: variance 0.40, p99 0.70 times what it is"
    assert gone == "  predicted, if it took no time: variance 0.30, p99 0.60, mean 0.50 times what it is"
    assert measured.startswith("  measured, the best of its knobs: delay=100, variance 0.4")
    assert measured.endswith("): better")
    assert last == "parse (40.0 % of the variance): no knob governs it"
    rows = validated(json.dumps(report.tune_json(outcome, found)))["findings"]["governed"]
    assert [row["predicted_without"] for row in rows] == [without["ratios"], {}]
    assert [row["best"] for row in rows] == ["delay=100", None]
    assert rows[0]["predicted"]["variance"] == 0.4 and rows[1]["predicted"] == {}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "not the JSON of a drill-down or an analysis"),
        ('{"schema": "vprof-load/1"}', "give JSON of vprof-drill/1 or vprof-analysis/1, not vprof-load/1"),
        ('{"schema": "vprof-drill/1", "settings": {}}', "the drill-down is not done"),
        ('{"schema": "vprof-drill/1", "settings": {}, "findings": [3]}', "findings`.0. is not an object"),
    ],
)
def test_what_has_no_findings_is_one_line(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "f.json").write_text(text)
    with pytest.raises(VprofError, match=said):
        auto.read(tmp_path / "f.json")


# The verb.


def failure(*words: str) -> str:
    done = CliRunner().invoke(command, list(words))
    assert isinstance(done.exception, VprofError), done.output
    return str(done.exception)


def test_the_verb_refuses_what_it_cannot_do_in_one_line(target: Target, tmp_path: Path) -> None:
    toy = ["--target", str(target.descriptor.file.parent), "--dir", str(target.folder)]
    assert failure().startswith("nothing to tune: give --target NAME")
    assert failure(*toy) == "nothing to try: give --knob NAME=V1,V2; the target has delay, threads, arenas"
    assert failure(*toy, "--knob", "dely=1").startswith("there is no knob 'dely': did you mean 'delay'?")
    assert "take 60 s at least: give a larger --budget" in failure(
        *toy, "--knob", "delay=1", "--seconds", "10", "--budget", "50s"
    )
    parse = drilled(tmp_path / "d.json", [finding("parse")])
    assert f"d.json is of toy, not of {toy[1]}: leave out --target" in failure(*toy, "--auto", str(parse))
    (tmp_path / "a.json").write_text('{"schema": "vprof-analysis/1", "factors": []}')
    assert failure("--auto") == "--auto without a FILE drills down first: give --target NAME"
    assert failure("--auto", "--target", "nosuch").startswith("no target 'nosuch'")
    work = tmp_path / "work"
    unbuilt = failure("--auto", "--target", "postgres", "--dir", str(work))
    assert unbuilt.endswith(" does not exist: run `vprof instrument --target postgres`")
    assert failure("--auto", "--target", "voltdb-ee", "--dir", str(work)) == "nothing to try: the target has no knobs"
    nothing = "no knob of the target governs a finding: there is nothing to try"
    assert failure(*toy, "--auto", str(tmp_path / "a.json")) == nothing
    unsure = drilled(tmp_path / "d.json", [finding("parse", confirmed=False)])
    unsure.write_text(unsure.read_text().replace('"name": "toy"', f'"name": "{toy[1]}"'))
    assert (
        failure(*toy, "--auto", str(unsure)) == f"{nothing}; a longer drill-down (--budget) may confirm those left out"
    )


def test_the_knobs_are_listed_with_what_they_trade(target: Target) -> None:
    toy = ["--target", str(target.descriptor.file.parent), "--dir", str(target.folder)]
    done = CliRunner().invoke(command, [*toy, "--list"])
    assert done.output.splitlines()[:3] == [
        "delay: 0, 100 us",
        "  governs flush, [disk]",
        "  trades each commit waits",
    ]
