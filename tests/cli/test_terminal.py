"""No verb prints what steers a terminal, whatever names a program, a trace or a file has; colours stay."""

import json
import os
import pty
import re
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from vprof.installed import native
from vprof.terminal import one_line, printable

PACKAGE = Path(__file__).parents[2] / "analyzer/vprof"
PROGRAM = Path(__file__).parent / "programs/hostile_names.c"
STEERING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
WIDTH = {"COLUMNS": "100"}
EVIL = "\x1b[31mred\x1b]0;taken\x07\r\x9b31m\u202egnp\x7f"


def vprof(*arguments: object, **options: object) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-c", "from vprof.cli import main; main()", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, **options)  # type: ignore[call-overload,no-any-return]


def assert_harmless(done: "subprocess.CompletedProcess[str]", exit_code: int = 0) -> None:
    assert done.returncode == exit_code, done.stderr
    assert not STEERING.search(done.stdout), STEERING.search(done.stdout)
    assert not STEERING.search(done.stderr), STEERING.search(done.stderr)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With `program` and two traces of it, one under a name that steers."""
    folder = tmp_path_factory.mktemp("hostile")
    subprocess.run([native("bin/vprof-cc"), "-O1", "-pthread", PROGRAM, "-o", folder / "program"], check=True)
    for trace in ("run.trace", "other\x1b[31m.trace"):
        assert_harmless(vprof("record", "--sites", "all", "--locks", "-o", folder / trace, "--", folder / "program"))
    return folder


@pytest.mark.parametrize(
    "arguments",
    [
        "sites run.trace",
        "sites program --left",
        "callgraph run.trace",
        "callgraph run.trace -f w*",
        "analyze run.trace",
        "analyze run.trace --root serve",
        "analyze run.trace --by-type --own",
        "analyze run.trace --path slowest",
        "analyze run.trace --explain work",
        "analyze run.trace --format json --intervals",
        "analyze run.trace --locks",
        "whatif run.trace --change work=0.5",
        "whatif run.trace --rank --format json --intervals",
        "analyze run.trace --format dot",
        "analyze run.trace -o /dev/stdout",
        "report run.trace -o page.html",
        "export run.trace --to folded -o /dev/stdout",
        "export run.trace --to csv -o tables",
        "diff run.trace -- other\x1b[31m.trace",
        "diff run.trace --no-factors -- other\x1b[31m.trace",
        "diff run.trace -- other\x1b[31m.trace -o page.html",
    ],
)
def test_names_of_a_program_are_shown_as_escapes(folder: Path, arguments: str) -> None:
    assert_harmless(vprof(*arguments.split(" "), cwd=folder))
    for table in folder.glob("tables/*.csv"):
        assert not STEERING.search(table.read_text())


def test_what_a_watch_keeps(folder: Path) -> None:
    done = vprof("watch", "slow", "--slower-than", "1ns", "--sites", "all", "--", folder / "program", cwd=folder)
    assert_harmless(done)
    assert "vprof watch: kept number=1 " in done.stderr
    for report in (("--list",), ("--show", 1), ("--report",)):
        assert_harmless(vprof("watch", *report, "slow", cwd=folder))


def test_a_replay_of_locks_is_harmless_also_if_it_is_refused(folder: Path) -> None:
    """Who gets a mutex, nobody decides: it may be more than 10 % off."""
    done = vprof("whatif", "run.trace", "--locks", "vats", "--traced", "fcfs", cwd=folder)
    assert_harmless(done, done.returncode)
    assert done.returncode == 0 or "by which the script was measured" in done.stderr


def test_the_escapes_can_be_read(folder: Path) -> None:
    assert "/tmp/\\x1b[31mred\\x1b]0;taken\\x07\\x9b2m\\u202e.c:" in vprof("sites", folder / "run.trace").stdout
    assert "green\\n\\r\\x07\\u202e" in vprof("analyze", "--by-type", folder / "run.trace").stdout


def test_names_in_other_files(tmp_path: Path) -> None:
    (tmp_path / "drill").mkdir()
    step = {"number": 1, "on": [EVIL], "intervals": 9, "mean_ns": 1.0, "stddev_ns": 1.0, "p99_ns": 2, "calls": 1.0}
    step |= {"shares": {EVIL: 1.0}, "no_ranking": EVIL, "expanded": {EVIL: [EVIL]}, "dropped": [EVIL]}
    session = {"schema": "vprof-drill/1", "settings": {}, "steps": [step], "ended": EVIL}
    (tmp_path / "drill/session.json").write_text(json.dumps(session))
    shown = vprof("drill", "--show", "--root", "f", "--dir", tmp_path)
    assert_harmless(shown)
    assert "\\x1b[31mred" in shown.stdout
    problem = {"units": [EVIL, "b"], "conflict_index": {EVIL: 2, "b": 1}, "before": [[EVIL, "b", EVIL]]}
    (tmp_path / "problem.json").write_text(json.dumps(problem))
    for form in ("text", "json"):
        assert_harmless(vprof("reorder", "--problem", tmp_path / "problem.json", "--format", form))
    target = tmp_path / "target.toml"
    target.write_text(f"name = {json.dumps(tmp_path.name)}\n{json.dumps(EVIL)} = 1\n")
    assert_harmless(vprof("targets", "check", target), 2)


@pytest.mark.parametrize("verb", ["analyze", "sites", "callgraph", "report", "diff"])
def test_a_name_of_a_file_in_an_error(tmp_path: Path, verb: str) -> None:
    evil = EVIL + "\n\udcff"
    done = vprof(verb, evil, *(["--", "x"] if verb == "diff" else []), cwd=tmp_path)
    assert_harmless(done, 1)
    assert len(done.stderr.splitlines()) == 1
    assert "\\n\\udcff" in done.stderr


def test_what_a_collector_answers(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "control"))
        server.listen()

        def answer() -> None:
            for _ in range(2):  # the first only looks whether somebody is there
                client = server.accept()[0]
                if client.recv(100):
                    client.sendall(json.dumps({"error": EVIL}).encode() + b"\n")

        thread = threading.Thread(target=answer, daemon=True)
        thread.start()
        assert_harmless(vprof("ctl", "status", "--session", tmp_path), 1)


def on_a_terminal(folder: Path, stream: str, *arguments: str) -> tuple[str, str]:
    """What a verb writes to a terminal as this stream, and to the other one."""
    ours, theirs = pty.openpty()
    environment = {**os.environ, "TERM": "xterm-256color", **WIDTH}
    environment.pop("NO_COLOR", None)
    command = [sys.executable, "-c", "from vprof.cli import main; main()", *arguments]
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, stream: theirs}
    with subprocess.Popen(command, cwd=folder, env=environment, text=True, **streams) as process:  # type: ignore[call-overload]
        os.close(theirs)
        shown = b""
        while True:
            try:
                part = os.read(ours, 1 << 16)
            except OSError:  # the other side is closed
                break
            shown += part
        other = (process.stdout or process.stderr).read()
        assert process.wait() == 0, other
    os.close(ours)
    return shown.decode().replace("\r\n", "\n"), other


def test_colours_stay_on_a_terminal(folder: Path) -> None:
    text, _ = on_a_terminal(folder, "stdout", "analyze", "--by-type", "run.trace")
    assert "\x1b[1m" in text
    assert not STEERING.search(re.sub("\x1b\\[[0-9;]*m", "", text))
    assert "green\\n" in text


@pytest.mark.parametrize(
    ("arguments", "stages"),
    [
        ("analyze run.trace", ["analyzing"]),
        ("whatif run.trace --change work=0.5", ["reading", "loading", "replaying", "analyzing"]),
        ("whatif run.trace --change work=constant --no-factors", ["reading", "measuring", "replaying"]),
    ],
)
def test_a_terminal_shows_how_far_the_work_is(folder: Path, arguments: str, stages: list[str]) -> None:
    text, report = on_a_terminal(folder, "stderr", *arguments.split())
    begun = [text.find(stage) for stage in stages]
    assert -1 not in begun and begun == sorted(begun), text
    assert report == vprof(*arguments.split(), cwd=folder, env=os.environ | WIDTH).stdout


def test_what_is_no_text_for_a_terminal() -> None:
    assert printable("a\x1b[0m\x00\x7f\x85\u202e\u2028\ufeff\ud800\tb\n") == (
        "a\\x1b[0m\\x00\\x7f\\x85\\u202e\\u2028\\ufeff\\ud800\tb\n"
    )
    assert one_line("a\tb\nc") == "a\\tb\\nc"
    assert printable("Größe 名前 🙂 …") == "Größe 名前 🙂 …"


def test_an_ascii_terminal_is_no_error(folder: Path) -> None:
    odd = {**os.environ, "PYTHONIOENCODING": "ascii", "LC_ALL": "C"}
    assert_harmless(vprof("analyze", folder / "run.trace", env=odd))


def test_there_is_one_way_to_a_terminal() -> None:
    around = re.compile(r"\bConsole\(|sys\.__std|\.buffer\b|os\.write\(")
    found = [str(file) for file in PACKAGE.rglob("*.py") if around.search(file.read_text())]
    assert found == [str(PACKAGE / "terminal.py")]
