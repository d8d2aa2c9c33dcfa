"""How far a build step has come, by what build tools write."""

import os
from pathlib import Path

import pytest

from vprof.target.build_progress import run, so_far


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[1/90] Building C object a.o\n[2/90] Building C object b.o\na.c:3:1: warning: [5/6]\n", "2 of 90"),
        ("[  7%] Building C object a.o\n[ 12%] Linking C\n", "12 %"),
        ("cc -c a.c\ncc -c b.c\n", ""),
        ("", ""),
    ],
)
def test_the_last_line_that_counts_is_said(text: str, said: str) -> None:
    assert so_far(text) == said


def test_a_step_is_told_of_while_it_runs_by_what_it_has_written_itself(tmp_path: Path) -> None:
    log, told = tmp_path / "build.log", list[str]()
    goes_on = tmp_path / "goes on"
    script = f"echo '[3/10] one'; until [ -e '{goes_on}' ]; do sleep 0.1; done; exit 7"

    def tell(far: str) -> None:
        told.append(far)
        goes_on.touch()

    with log.open("w", encoding="utf-8") as output:
        output.write("[9/9] of the step before\n")
        assert run(["sh", "-c", "sleep 1.5"], tmp_path, os.environ, output, tell) == 0
        assert told == []
        assert run(["sh", "-c", script], tmp_path, os.environ, output, tell) == 7
    assert told == ["3 of 10"]
    assert log.read_text() == "[9/9] of the step before\n[3/10] one\n"
