"""`vprof top` beside the program of tests/programs/watched: its engine with real sessions, and the whole as a user runs
it without a terminal."""

from __future__ import annotations

import itertools
import os
import pwd
import resource
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import pytest
from patience import PATIENCE_SECONDS, wait_for
from test_watch import collector, program, serve, session

from vprof.session.control import Control
from vprof.session.plan import Plan
from vprof.top.engine import Engine, Settings
from vprof.top.orders import OpenPath, Orders, Pause, Save, Stop, Switch
from vprof.top.running import Running, attached
from vprof.top.view import View
from vprof.trace.reading import load_binary

__all__ = ["program", "session"]  # fixtures


def vprof(*arguments: object) -> list[str]:
    return [sys.executable, "-c", "from vprof.cli import main; main()", "top", *map(str, arguments)]


def run(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = vprof(*arguments)
    return subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=PATIENCE_SECONDS)


@dataclass
class Seen:
    """A `Show` that keeps all. `files`: how many pieces there were at each refresh."""

    folder: Path
    views: SimpleQueue[View] = field(default_factory=SimpleQueue)
    paths: SimpleQueue[str] = field(default_factory=SimpleQueue)
    lines: list[str] = field(default_factory=list)
    files: list[int] = field(default_factory=list)

    def refreshed(self, view: View) -> None:
        self.files.append(len(list(self.folder.glob("0*.trace"))))
        self.views.put(view)

    def opened(self, rank: int, text: str) -> None:
        self.paths.put(f"{rank}: {text}")

    def said(self, line: str) -> None:
        self.lines.append(line)

    def view(self, wanted: Any = lambda view: view.document) -> View:
        """The next that is as wanted."""
        while True:
            found = self.views.get(timeout=PATIENCE_SECONDS)
            if wanted(found):
                return found


@contextmanager
def looking(running: Running, folder: Path, root: str | None = None) -> Iterator[tuple[Seen, Orders]]:
    seen, orders = Seen(folder), Orders()
    engine = Engine(running, folder, Settings(root, 0.5, 1.5, folder), seen)
    raised: list[Exception] = []

    def work() -> None:
        try:
            engine.run(orders)
        except Exception as error:
            raised.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield seen, orders
    finally:
        orders.give(Stop())
        thread.join()
    assert not raised, raised


@contextmanager
def serving(program: Path, session: Path) -> Iterator[None]:
    """For as long as somebody looks."""
    environment = {**os.environ, "VPROF_SESSION": str(session)}
    process = subprocess.Popen([program, "10000000", "100", "20", "20"], env=environment, stdout=subprocess.DEVNULL)
    try:
        yield
    finally:
        process.kill()
        process.wait()


def test_keys_act_on_a_session_of_somebody_else_which_is_left_as_it_was(
    program: Path, tmp_path: Path, session: Path
) -> None:
    with collector(session), serving(program, session):
        control = Control(session)
        wait_for(lambda: control.join() and control.programs, "joined")
        control.switch(Plan.of(["serve", "read_row"]))
        before, file = control.sites_on(), tmp_path / "own.trace"
        control.rotate(file)
        folder = tmp_path / "pieces"
        folder.mkdir()
        with looking(attached(session), folder) as (seen, orders):
            found = seen.view()
            assert found.title.startswith("watched (pid ") and list(found.on) == ["read_row", "serve"]
            assert found.window.count > 10 and found.window.p50 < found.window.p99 <= found.window.max
            assert control.note().owner == f"vprof top (pid {os.getpid()})"
            assert "write_log" in found.below["serve"]

            orders.give(Switch(("write_log", "flush_log"), True, "below serve"))
            orders.give(Switch(("read_row",), False, "read_row"))
            seen.view(lambda view: view.document and list(view.on) == ["flush_log", "serve", "write_log"])
            wait_for(lambda: "read_row: 1 probes switched off; the window begins anew" in seen.lines, "said")

            ranks = itertools.cycle(range(20))

            def is_stall() -> bool:
                """The window may hold none yet, and what lost its CPU may have taken longer."""
                rank = next(ranks)
                orders.give(OpenPath(rank))
                path = seen.paths.get(timeout=PATIENCE_SECONDS)
                return path.startswith(f"{rank}: ") and "flush_log" in path and "blocked" in path

            wait_for(is_stall, "a path with a stall")
            orders.give(OpenPath(10**9))
            assert seen.paths.get(timeout=PATIENCE_SECONDS).startswith("1000000000: ")

            orders.give(Save())
            wait_for(lambda: any(line.startswith("saved ") for line in seen.lines), "saved")
            (saved,) = folder.glob("top-*.trace")
            assert "serve" in load_binary(saved).program.functions

            orders.give(Pause(True))
            orders.give(OpenPath(1))
            seen.paths.get(timeout=PATIENCE_SECONDS)
            shown = len(seen.files)
            time.sleep(1.2)
            assert len(seen.files) == shown
            orders.give(Pause(False))
            wait_for(lambda: len(seen.files) > shown, "goes on")
            # Three pieces are the window; one more is recorded.
            assert max(seen.files) <= 4
        assert (control.sites_on(), control.note().owner) == (before, "")
        assert control.stats()["file"] == f"{file}.after-top"
        control.disconnect()


def test_calls_of_a_root_are_the_intervals_and_it_stays_on(program: Path, tmp_path: Path, session: Path) -> None:
    with collector(session), serving(program, session):
        control = Control(session)
        wait_for(lambda: control.join() and control.programs, "joined")
        with looking(attached(session), tmp_path, "read_row") as (seen, orders):
            found = seen.view()
            assert list(found.on) == ["read_row"] and found.window.count > 10
            orders.give(Switch(("read_row",), False, "read_row"))
            wait_for(lambda: "read_row stays on: its calls are the intervals" in seen.lines, "said")
        assert control.sites_on() == set()
        control.disconnect()


def test_programs_come_and_go_and_two_of_us_do_not_mix(program: Path, session: Path) -> None:
    with collector(session):
        command = vprof("--session", session, "--every", 0.5)
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as top:
            assert top.stdout and top.stderr
            assert "no program has joined yet" in top.stdout.readline()
            second = run("--session", session)
            assert second.returncode == 1
            assert second.stderr == f"vprof: vprof top (pid {top.pid}) has this session: wait until it is done\n"
            for first in (1, 10001):
                serve(program, session, 1500, 500, 20, 20, first)
                assert any("; p50 " in line for line in iter(top.stdout.readline, "") if line_of_intervals(line))
            top.kill()
            top.wait()
        after = run("--session", session, "--every", 0.5, "--refreshes", 1)
        assert (after.returncode, after.stderr) == (0, "")
        control = Control(session)
        assert (control.note().owner, control.stats()["file"]) == ("", None)
        control.disconnect()


def line_of_intervals(line: str) -> bool:
    return "/s; " in line


def test_a_session_that_ends_and_a_collector_that_dies(program: Path, session: Path) -> None:
    for how, code, said in (
        (signal.SIGTERM, 0, "the session has ended"),
        (
            signal.SIGKILL,
            1,
            f"vprof: the collector of this session died: nothing is recorded any more: remove {session}",
        ),
    ):
        with collector(session) as process:
            command = vprof("--session", session, "--every", 0.5)
            with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as top:
                assert top.stdout and top.stderr
                top.stdout.readline()
                process.send_signal(how)
                last = (top.stdout.read() + top.stderr.read()).strip().split("\n")[-1]
                assert last.endswith(said), last
                assert top.wait(timeout=PATIENCE_SECONDS) == code


def test_a_program_that_is_started_gives_its_output_and_its_status(program: Path, tmp_path: Path) -> None:
    done = run("--every", 0.5, "--root", "serve", "--sites", "flush_log", "--", program, 3000, 300, 20, 20)
    *_, last = done.stdout.splitlines()
    assert done.returncode == 0 and "stall" not in done.stdout
    assert last.endswith("  the program ended with status 0")
    assert any("flush_log " in line and "on 2; lost 0; probes " in line for line in done.stdout.splitlines()), (
        done.stdout
    )
    failing = tmp_path / "failing.sh"
    failing.write_text(f"#!/bin/sh\n{program} 300 300 20 20 >/dev/null\necho 'no \033[31mroom' >&2\nexit 3\n")
    failing.chmod(0o755)
    done = run("--every", 0.5, "--", failing)
    assert done.returncode == 3
    assert done.stdout.splitlines()[-1].endswith("  the program ended with status 3: no \\x1b[31mroom")


def test_a_signal_ends_it_in_order(program: Path, session: Path) -> None:
    with collector(session), serving(program, session):
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            command = vprof("--session", session, "--every", 0.5)
            with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as top:
                assert top.stdout
                top.stdout.readline()
                top.send_signal(number)
                assert top.wait(timeout=PATIENCE_SECONDS) == 0
            control = Control(session)
            assert control.note().owner == ""
            control.disconnect()


def test_a_full_disk_is_said_and_it_goes_on_when_there_is_room(program: Path, session: Path) -> None:
    """A limit of the file's size is a full disk: for ourselves, and for the collector that writes the pieces."""
    free = resource.RLIM_INFINITY
    with collector(session) as process, serving(program, session):
        command = vprof("--session", session, "--every", 0.5)
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as top:
            assert top.stdout

            def read_until(*wanted: str) -> str:
                seen = []
                for line in itertools.islice(iter(top.stdout.readline, ""), 200) if top.stdout else ():
                    seen.append(line)
                    if all(part in line for part in wanted):
                        return line
                raise AssertionError(f"no line of {wanted}: {seen}")

            read_until("; p50 ", "; waits for mutex ", "; on 0; lost 0")
            resource.prlimit(top.pid, resource.RLIMIT_FSIZE, (4096, free))
            read_until("; p50 ", "cannot write ", "window.trace: File too large")
            resource.prlimit(top.pid, resource.RLIMIT_FSIZE, (free, free))
            resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (4096, free))
            assert "cannot" not in read_until("records are missing: ", "File too large")
            resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (free, free))
            read_until("; p50 ", "; waits for mutex ", "; on 0; lost ")
            top.send_signal(signal.SIGTERM)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_the_session_of_another_user_is_none_of_ours(tmp_path: Path) -> None:
    theirs = tmp_path / "vprof-theirs"
    theirs.mkdir(0o700)
    os.chown(theirs, *pwd.getpwnam("nobody")[2:4])
    done = run("--session", theirs)
    assert done.returncode == 1
    assert done.stderr == f"vprof: {theirs}: the session of another user, or a link\n"


def test_bad_input_is_one_line(program: Path, tmp_path: Path) -> None:
    nowhere = tmp_path / "x"
    cases: list[tuple[list[object], int, str]] = [
        (["--session", nowhere], 1, f"{nowhere}: there is no session (any more); start one: vprof record"),
        (["--session", nowhere, "--target", "minidb"], 2, "--session is a session that runs: leave out --target and P"),
        (["--session", nowhere, "--preload"], 2, "--preload is for a program that is started"),
        (["--sites", "all"], 2, "--sites is for a program that is started"),
        (["--save-to", nowhere, "--", program], 2, "Invalid value for '--save-to': Directory"),
        (["--", nowhere], 2, f"{nowhere}: not found"),
        (["--", "true"], 1, "no program built by vprof-cc joined; build it with CC=vprof-cc (and link with it)"),
        (["--every", "0.1"], 2, "Invalid value for '--every': 0.1 is not in the range 0.5<=x<=60"),
        (["--target", "minidbs"], 2, "no target 'minidbs'"),
        (["--load", "tpcc", "--", program], 2, "--load is for a --target with a server"),
    ]
    for arguments, code, line in cases:
        done = run(*arguments)
        assert (done.returncode, done.stderr.count("\n")) == (code, 1), (arguments, done.stderr)
        assert done.stderr.startswith(f"vprof: {line}"), (arguments, done.stderr)
