"""`vprof reorder`: its reports, and files that it refuses."""

import json
from itertools import pairwise
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from vprof.cli import root
from vprof.errors import UsageError

CASE = Path(__file__).parents[1] / "cases/31_reorder.json"


def run(*words: object) -> Result:
    return CliRunner().invoke(root, ["reorder", *map(str, words)])


def test_json_is_the_order_and_its_objective(tmp_path: Path) -> None:
    expected = json.loads(CASE.read_text())["expected"]
    done = run("--problem", CASE, "--format", "json")
    assert done.exit_code == 0, done.output
    assert json.loads(done.output) == {
        "order": expected["optimal_orders"][0],
        "objective": expected["optimal_objective"],
    }
    assert run("--problem", CASE, "--format", "json", "-o", tmp_path / "order.json").output == ""
    assert (tmp_path / "order.json").read_text() == done.output


def test_text_says_what_is_gained_what_moved_and_what_could_not() -> None:
    done = run("--problem", CASE)
    assert done.exit_code == 0, done.output
    lines = [line.rstrip() for line in done.output.splitlines()]
    assert lines[:2] == [
        "contended queries come later: the objective is 109.9 % larger",
        "the sum of position times conflict index: 2375 -> 4985",
    ]
    table = lines[lines.index("New order") + 2 :][:7]
    assert [row.split() for row in table] == [
        ["3", "1", "3", "30"],
        ["6", "2", "6", "0"],
        ["5", "3", "5", "20"],
        ["1", "4", "1", "40"],
        ["7", "5", "7", "15"],
        ["4", "6", "4", "310"],
        ["2", "7", "2", "400"],
    ]
    moved = lines[lines.index("Why units moved") + 1 : lines.index("Why others could not") - 1]
    assert moved == [
        "3 goes in front of 1 and 2: its index 30 is smaller",
        "6 goes in front of 5, 1, 4 and 2: it has no index, and each query behind it gains a position",
        "5 goes in front of 1, 4 and 2: its index 20 is smaller",
        "1 goes behind 3, 6 and 5: its index 40 is larger",
        "7 goes in front of 4 and 2: its index 15 is smaller",
        "4 goes behind 6, 5 and 7: its index 310 is larger",
        "2 goes behind 3, 6, 5, 7 and 1 more: its index 400 is larger",
    ]
    held = lines[lines.index("Why others could not") + 1 :]
    assert held == [
        "3 stays in front of 7 (index 15): 3 must precede 6 (RAW total); 6 must precede 7 (RAW total)",
        "5 stays in front of 7 (index 15): 1 must precede 7 (RAW name), which gains more",
        "1 stays in front of 7 (index 15): 1 must precede 7 (RAW name)",
    ]


def test_an_order_that_is_the_best_already(tmp_path: Path) -> None:
    file = tmp_path / "best.json"
    file.write_text(json.dumps({"units": ["a", "b"], "conflict_index": {"a": 1, "b": 2}, "before": []}))
    done = run("--problem", file)
    assert done.output.startswith("the old order is the best one that keeps all constraints: nothing moves\n")
    assert "Why" not in done.output


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (None, "cannot read {file}: No such file or directory"),
        ("{", "{file} is not JSON: "),
        ("\x80", "{file} is not JSON: "),
        ("[" * 100_000, "{file} is not JSON: "),
        ("[]", "{file}: a problem is an object with units, conflict_index and before"),
        ('{"units": [1], "units": [2]}', "{file}: the key units is there twice in an object"),
        (
            '{"units": ["a"], "conflict_index": {"a": NaN}, "before": []}',
            "{file}: the conflict index of unit a is nan: it must be 0 or more, and at most 1e+300",
        ),
    ],
)
def test_a_file_that_is_no_problem(tmp_path: Path, content: str | None, says: str) -> None:
    file = tmp_path / "problem.json"
    if content is not None:
        file.write_bytes(content.encode("latin-1"))
    done = run("--problem", file)
    assert isinstance(done.exception, UsageError)
    assert str(done.exception).startswith(says.format(file=file)) and "\n" not in str(done.exception)


def test_the_cycle_is_named(tmp_path: Path) -> None:
    file = tmp_path / "problem.json"
    before = [["b", "c", "x"], ["a", "b", "x"], ["c", "a", "x"]]
    file.write_text(json.dumps({"units": ["a", "b", "c"], "conflict_index": {}, "before": before}))
    said = str(run("--problem", file).exception)
    assert said.startswith("the constraints in before go round: ")
    names = said.removeprefix("the constraints in before go round: ").partition(";")[0].split(" before ")
    assert len(names) == 4 and names[0] == names[-1]
    assert all([*pair, "x"] in before for pair in pairwise(names))
