"""`vprof run`: one command from a program to its page."""

import os
import subprocess
import sys
import webbrowser
from pathlib import Path

import click
import pytest
from patience import PATIENCE_SECONDS

from vprof.cli import root
from vprof.commands import run
from vprof.installed import native

REQUESTS = Path(__file__).parents[1] / "programs" / "requests"


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    binary = tmp_path_factory.mktemp("requests") / "requests"
    environment = {key: value for key, value in os.environ.items() if key != "VPROF_DESCRIPTOR"}
    sources = [str(path) for path in sorted(REQUESTS.glob("*.c"))]
    command = [str(native("bin/vprof-cc")), "-O1", "-pthread", "-o", str(binary), *sources]
    subprocess.run(command, check=True, env=environment)
    return binary


def vprof_run(output: Path, *program: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", "from vprof.cli import main; main()", "run", "--root", "handle_request"]
    command += ["--no-open", "-o", str(output), "--", *map(str, program)]
    return subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_SECONDS)


def test_a_program_is_recorded_analyzed_and_shown(program: Path, tmp_path: Path) -> None:
    done = vprof_run(tmp_path / "x.trace", program)
    assert done.returncode == 0, done.stderr
    assert "Factors" in done.stdout and "transform" in done.stdout
    page = tmp_path / "x.trace.html"
    assert f"{page}: open it in a browser" in done.stderr
    assert "handle_request" in page.read_text(encoding="utf-8")


def test_the_page_is_opened_where_there_is_a_display(
    program: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    opened: list[str] = []
    monkeypatch.setattr(webbrowser, "open", lambda page: bool(opened.append(page) or True))
    monkeypatch.setenv("DISPLAY", ":0")
    arguments = ["--root", "handle_request", "-o", str(tmp_path / "x.trace"), "--", str(program)]
    run.command.main(arguments, standalone_mode=False)
    assert opened == [(tmp_path / "x.trace.html").resolve().as_uri()]
    assert "x.trace.html: opened" in capfd.readouterr().err
    monkeypatch.delenv("DISPLAY")
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    run.command.main(arguments, standalone_mode=False)
    assert len(opened) == 1


def test_its_exit_code_is_the_programs_and_the_answer_comes_first(program: Path, tmp_path: Path) -> None:
    shell = ["sh", "-c", '"$@"; exit 3', "sh", program]
    done = vprof_run(tmp_path / "x.trace", *shell)
    assert (done.returncode, "Factors" in done.stdout) == (3, True), done.stderr
    assert "vprof: the program ended with status 3\n" in done.stderr


def test_without_a_program_it_says_what_is_missing() -> None:
    with pytest.raises(click.UsageError) as error:
        root.main(["run", "--root", "f"], standalone_mode=False)
    assert error.value.format_message() == "Missing argument 'PROGRAM...'."
