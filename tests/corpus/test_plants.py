"""The plants of plant_study.py: how they get into a source, and how an answer is judged."""

import sys
from pathlib import Path
from typing import Any

import drawn
import pytest
from drawn import Candidate
from planted import FIXED, Plant, judged

sys.path.append(str(Path(__file__).parent / "plants"))

from patch import body_begin, edited

SOURCE = """\
int f(int x);
int g(void) { return f(1); }
int
f(int x)
{
  return x;
}
"""


def test_a_plant_stands_at_the_begin_of_the_definition() -> None:
    planted = edited(SOURCE, {"file": "a.c", "function": "f", "insert": "plant_here(1);"})
    assert planted == SOURCE.replace("{\n  return x", "{ plant_here(1);\n  return x")
    assert planted.count("\n") == SOURCE.count("\n")
    assert body_begin(SOURCE, "none") is None


def test_of_several_definitions_the_nearest_is_meant() -> None:
    twice = SOURCE + "#else\n" + SOURCE
    first, second = body_begin(SOURCE, "f"), body_begin(twice, "f", 11)
    assert first is not None and second == first + len(SOURCE) + len("#else\n")
    assert {body_begin(twice, "f", line) for line in (0, 3, 5)} == {first}


def test_one_is_drawn_of_each_fifth_of_the_depths() -> None:
    some = [Candidate(f"f{i}", "a.c", i, depth=i // 4, calls=1.0) for i in range(50)]
    chosen = drawn.draw(some, "1 x")
    assert [one.line // 10 for one in chosen] == [0, 1, 2, 3, 4]
    assert len({one.depth for one in chosen}) == 5
    assert drawn.draw(some[::-1], "1 x") == chosen != drawn.draw(some, "2 x")
    assert len(drawn.draw([one for one in some if one.depth == 3], "1 x", count=2)) == 2


def test_lines_that_are_there_twice_are_no_place() -> None:
    with pytest.raises(SystemExit, match=r"a\.c: 2 times"):
        edited("x;\nx;\n", {"file": "a.c", "before": "x;", "insert": "y;"})


def tree(**shares: float) -> dict[str, Any]:
    children = [{"node": name, "share": share} for name, share in shares.items()]
    return {"node": "<interval>", "share": 1.0, "children": children}


def factor(name: str, *explains: str) -> dict[str, Any]:
    return {"functions": [name], "explains": list(explains)}


@pytest.mark.parametrize(
    ("factors", "verdict"),
    [
        ([factor("f")], "right"),
        ([factor("body(f)")], "right"),
        ([factor("g", "f")], "listed"),
        ([factor("g"), factor("f")], "listed"),
        ([factor("g")], "wrong"),
        ([], "abstains"),
    ],
)
def test_an_answer_is_right_if_it_begins_with_the_plant(factors: list[dict[str, Any]], verdict: str) -> None:
    answer = judged(tree(f=0.6, g=0.4), factors, factors, Plant("spin", "f", 1, "spin"), "")
    assert (answer.verdict, answer.found) == (verdict, 0.6)


def test_what_sleeps_is_called_by_its_caller() -> None:
    def node(name: str, share: float, *children: dict[str, Any]) -> dict[str, Any]:
        return {"node": name, "share": share, "children": list(children)}

    waker = node("[blocked]", 0.6, node("f@a.c:3", 0.6, node("nanosleep", 0.6)))
    sleeps = node("<interval>", 1.0, node("h", 0.8, waker, node("g", 0.2, node("nanosleep", 0.2))))
    factors = [factor("nanosleep", "h"), factor("g")]
    answer = judged(sleeps, factors, factors, Plant("held", "f", 1, "held"), "")
    assert (answer.verdict, answer.first) == ("right", "f (in nanosleep)")
    assert judged(sleeps, factors, factors, Plant("held", "g", 1, "held"), "").verdict == "listed"
    assert judged(sleeps, factors, factors, Plant("held", "i", 1, "held"), "").verdict == "wrong"


@pytest.mark.parametrize("program", ["nginx", "nghttpd"])
def test_each_program_has_a_plant_of_each_kind(program: str) -> None:
    assert [plant.kind for plant in FIXED[program]] == ["spin", "held"]
    others = drawn.plants(program)
    assert {plant.kind for plant in others} == {"spin", "held"}
    assert len({plant.number for plant in (*FIXED[program], *others)}) == 2 + drawn.COUNT
    assert [edit["insert"] for edit in drawn.edits(program)] == [f"plant_here({one.number});" for one in others]
