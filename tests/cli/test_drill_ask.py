"""A drill-down by questions: what is answered is done, what is no answer is said."""

import io
from collections.abc import Callable

import pytest
from replay import STEPWISE, Replay

from vprof.drill.loop import CHOSEN, NOTHING_LEFT, Drill
from vprof.report.drill_ask import LeaveError, ask

Answers = Callable[[str], Drill]


@pytest.fixture
def answered(monkeypatch: pytest.MonkeyPatch) -> Answers:
    def drill(text: str) -> Drill:
        monkeypatch.setattr("sys.stdin", io.StringIO(text))
        done = Drill(frozenset({"txn"}), Replay(), STEPWISE, ask)
        list(done.steps())
        return done

    return drill


def test_enter_takes_the_default_to_the_end(answered: Answers) -> None:
    drill = answered("\n\n\n")
    assert [step.expanded for step in drill.done] == [
        {"txn": ["Execute", "WriteLog"]},
        {"WriteLog": ["Lock", "CopyData", "Unlock"]},
        {},
    ]
    assert drill.ended == NOTHING_LEFT


def test_one_may_confirm_early_measure_again_accept_and_skip(
    answered: Answers, capsys: pytest.CaptureFixture[str]
) -> None:
    drill = answered("m\n1\na 1\ns 2\nc\n")
    assert [len(step.plan) for step in drill.done] == [1, 1, 3]
    assert len(drill.done[-1].accepted) == len(drill.done[-1].skipped) == 1
    assert drill.ended == CHOSEN
    shown = capsys.readouterr().err
    assert "2 below it to switch on" in shown
    assert "end point" in shown


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ("x", "numbers: expand"),
        ("a", "numbers: expand"),
        ("1 b", "numbers: expand"),
        ("99", "give numbers from 1 to"),
        ("0", "give numbers from 1 to"),
    ],
)
def test_what_is_no_answer_is_asked_again(
    answered: Answers, capsys: pytest.CaptureFixture[str], answer: str, said: str
) -> None:
    drill = answered(f"{answer}\n1\nc\n")
    assert said in capsys.readouterr().err
    assert len(drill.done) == 2


def test_an_end_point_cannot_be_expanded(answered: Answers, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(LeaveError):
        answered("\n\n1 2 3 4\n")
    assert "is an end point" in capsys.readouterr().err


@pytest.mark.parametrize("text", ["1\nq\n", "1\n"])
def test_q_and_the_end_of_the_input_leave(answered: Answers, text: str) -> None:
    with pytest.raises(LeaveError):
        answered(text)
