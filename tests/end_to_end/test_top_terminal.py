"""`vprof top` in a real terminal (tmux), on minidb: what is on the screen, keys, another size, the program killed."""

from __future__ import annotations

import os
import re
import secrets
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from patience import wait_for
from verbs import vprof

from vprof.session.control import Note
from vprof.session.owned import Session
from vprof.trace.reading import load_binary

COMMAND = [sys.executable, "-c", "from vprof.cli import main; main()", "top"]


@dataclass
class Terminal:
    """A tmux of our own, with one window. What runs in it leaves its status behind."""

    name: str
    folder: Path

    def tmux(self, *arguments: object) -> str:
        command = ["tmux", "-L", self.name, "-f", os.devnull, *map(str, arguments)]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout

    def start(self, *arguments: object, columns: int = 80, rows: int = 24) -> None:
        command = shlex.join([*COMMAND, *map(str, arguments)])
        self.tmux("new-session", "-d", "-x", columns, "-y", rows, "-c", self.folder, f"{command}; echo status=$?; cat")

    def screen(self) -> str:
        return self.tmux("capture-pane", "-p")

    def keys(self, *keys: str) -> None:
        self.tmux("send-keys", *keys)

    def until(self, pattern: str) -> str:
        """The screen as soon as it has this."""
        found = [""]

        def is_there() -> bool:
            found[0] = self.screen()
            return bool(re.search(pattern, found[0]))

        wait_for(is_there, pattern)
        return found[0]


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with minidb, built."""
    folder = tmp_path_factory.mktemp("top")
    done = vprof(folder, "instrument", "--target", "minidb")
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture
def terminal(work: Path) -> Iterator[Terminal]:
    made = Terminal(f"vprof-test-{secrets.token_hex(4)}", work)
    yield made
    subprocess.run(["tmux", "-L", made.name, "kill-server"], check=False, capture_output=True)


def selected(screen: str) -> str:
    """What the cursor is at."""
    found = re.search(r"^.* >(.*)$", screen, re.MULTILINE)
    assert found, screen
    return found[1].rstrip()


def test_a_session_in_a_real_terminal(terminal: Terminal, work: Path) -> None:
    terminal.start("--target", "minidb", "--every", 1, "--", "--pathology", "wal")
    screen = terminal.until(r"serve_txn\n(.*\n)+.*flush latch")
    assert re.search(r"^vprof top  minidb \(pid \d+\)  last \d+ s, \d+ intervals$", screen, re.MULTILINE), screen
    assert re.search(r"^p99 +[\d.]+ ms  [▁-█]+ +to [\d.]+ ms$", screen, re.MULTILINE), screen
    assert "on: serve_txn\n" in screen

    # To the function itself, its children on. A key that is not yet seen must not be pressed again.
    while not re.fullmatch(r"(rest\()?serve_txn\)?", at := selected(screen)):
        terminal.keys("Up" if re.search(r"serve_txn\)?\n(.*\n)*.*>", screen) else "Down")
        screen = terminal.until(rf" >(?!{re.escape(at)}\n)")
    terminal.keys("e")
    terminal.until("below serve_txn: 5 probes switched on")
    terminal.until(r"on: parse_request, .*serve_txn, txn_end, txn_execute")

    terminal.tmux("resize-window", "-x", 60, "-y", 14)
    assert max(map(len, terminal.until(r"enter pa.?\n").splitlines())) <= 60
    terminal.tmux("resize-window", "-x", 100, "-y", 30)
    terminal.until(r"w save  q quit\n")

    terminal.keys("Enter")
    path = terminal.until(r"n next fastest")
    assert re.search(r"^\d+ \(\w+\): [\d.]+ ms", path), path
    terminal.keys("Escape")
    terminal.until("^vprof top  ")  # a key right after it would be one with Alt
    terminal.keys("w")
    saved = re.search(r"saved (top-[\d-]+\.trace)", terminal.until(r"saved top-"))
    assert saved and len(load_binary(work / saved[1]).interval_ids) > 10
    terminal.keys("q")
    terminal.until(r"status=0")


def test_a_program_that_is_killed_leaves_what_was_seen(terminal: Terminal) -> None:
    terminal.start("--target", "minidb", "--every", 1)
    shown = re.search(r"minidb \(pid (\d+)\)", terminal.until(r"minidb \(pid \d+\)"))
    assert shown
    os.kill(int(shown[1]), 9)
    assert "serve_txn" in terminal.until("the program ended by SIGKILL; q quits")
    terminal.keys("q")
    terminal.until(r"status=137")


def test_a_session_that_somebody_else_has_is_one_line(terminal: Terminal) -> None:
    with Session.start(None) as session:
        session.write_note(Note(owner="somebody"))
        terminal.start("--session", session.directory)
        screen = terminal.until(r"status=1")
        assert screen.strip() == "vprof: somebody has this session: wait until it is done\nstatus=1"


def test_a_terminal_that_goes_away_takes_all_with_it(terminal: Terminal) -> None:
    """As when a connection by ssh breaks."""
    terminal.start("--target", "minidb", "--every", 1)
    shown = re.search(r"minidb \(pid (\d+)\)", terminal.until(r"minidb \(pid \d+\)"))
    assert shown
    program = Path("/proc") / shown[1]
    top = Path("/proc") / program.joinpath("stat").read_text().rpartition(")")[2].split()[1]
    terminal.tmux("kill-server")
    wait_for(lambda: not program.exists() and not top.exists(), "both have ended")
