"""The life of a server: set up once, ready before it is used, stopped on every way out, and one line when it fails."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from vprof.errors import UsageError, VprofError
from vprof.server import Server, check_server_options
from vprof.target import Target

DESCRIPTOR = """
name = "toy"
roots = ["serve"]
[source]
kind = "tree"
path = "."
[build]
steps = []
programs = []
[server]
setup = ["sh -c 'echo made >> {server}/../setups'"]
start = "sh -c 'echo $$ > pid; touch up; while test ! -e stop; do sleep 0.05; done; rm -f up stop; echo bye'"
ready = "test -e {server}/up"
stop = "touch {server}/stop"
[load]
command = "sh -c 'echo $0 $1 >> ../loads' {seconds} {clients}"
clients = 3
"""


def make(tmp_path: Path, *change: str) -> Target:
    folder = tmp_path / "toy"
    folder.mkdir(exist_ok=True)
    (folder / "target.toml").write_text(DESCRIPTOR.replace(*change) if change else DESCRIPTOR)
    work = tmp_path / "work"
    work.mkdir(exist_ok=True)
    return Target.load(str(folder), work)


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def pid_of(server: Server) -> int:
    return int((server.folder / "pid").read_text())


def test_it_is_ready_inside_and_gone_outside(tmp_path: Path) -> None:
    server = Server.of(make(tmp_path))
    with server.running():
        assert (server.folder / "up").exists()
        pid = pid_of(server)
    assert not alive(pid)
    assert server.log.read_text() == "bye\n"


def test_it_is_set_up_once_and_again_when_the_steps_change(tmp_path: Path) -> None:
    setups = tmp_path / "work" / "setups"
    Server.of(make(tmp_path))
    Server.of(make(tmp_path))
    assert setups.read_text() == "made\n"
    Server.of(make(tmp_path, "echo made", "echo remade"))
    assert setups.read_text() == "made\nremade\n"


def test_a_failed_setup_is_repeated(tmp_path: Path) -> None:
    with pytest.raises(VprofError, match="the setup failed: no disk"):
        Server.of(make(tmp_path, "echo made >> {server}/../setups", "echo no disk; exit 1"))
    Server.of(make(tmp_path))
    assert (tmp_path / "work" / "setups").read_text() == "made\n"


def test_the_loads_setup_runs_against_the_server(tmp_path: Path) -> None:
    target = make(tmp_path, "[load]", "[load]\nsetup = [\"sh -c 'cp up loaded'\"]")
    server = Server.of(target)
    assert (server.folder / "loaded").exists()
    assert not alive(pid_of(server))


def test_a_failure_inside_stops_it(tmp_path: Path) -> None:
    server = Server.of(make(tmp_path))
    with pytest.raises(RuntimeError), server.running():
        raise RuntimeError
    assert not alive(pid_of(server))


def test_a_stop_that_does_not_help_is_followed_by_a_kill(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vprof.server._STOP_SECONDS", 0.2)
    server = Server.of(make(tmp_path, "touch {server}/stop", "true"))
    with server.running():
        pid = pid_of(server)
    assert not alive(pid)


def test_sigterm_for_vprof_stops_it(tmp_path: Path) -> None:
    make(tmp_path)
    code = (
        "from pathlib import Path; import time; from vprof.server import Server; from vprof.target import Target\n"
        f"with Server.of(Target.load({str(tmp_path / 'toy')!r}, Path({str(tmp_path / 'work')!r}))).running():\n"
        "    time.sleep(60)"
    )
    vprof = subprocess.Popen([sys.executable, "-c", code])
    up = tmp_path / "work" / "server" / "up"
    deadline = time.monotonic() + 30
    while not up.exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    pid = int((up.parent / "pid").read_text())
    vprof.send_signal(signal.SIGTERM)
    assert vprof.wait(timeout=30) == 128 + signal.SIGTERM
    assert not alive(pid)


def test_a_server_that_ends_by_itself_is_one_line_with_its_last_word(tmp_path: Path) -> None:
    server = Server.of(make(tmp_path, "echo $$ > pid; touch up", "echo cannot bind; exit 3"))
    with pytest.raises(VprofError, match=r"the server ended \(status 3\): cannot bind"), server.running():
        pass


def test_two_at_once_are_refused(tmp_path: Path) -> None:
    target = make(tmp_path)
    with Server.of(target).running(), pytest.raises(VprofError, match="another vprof runs the server"):
        Server.of(target)


def test_the_load_gets_its_numbers_and_is_started_anew_when_it_ends(tmp_path: Path) -> None:
    server = Server.of(make(tmp_path))
    loads = tmp_path / "work" / "loads"
    with server.running(), server.lasting_load([]) as check:
        deadline = time.monotonic() + 30
        while not (loads.exists() and len(loads.read_text().splitlines()) > 1) and time.monotonic() < deadline:
            check()
            time.sleep(0.02)
    assert set(loads.read_text().splitlines()) == {"86400 3"}
    assert len(loads.read_text().splitlines()) > 1


def test_a_load_that_fails_is_one_line_with_its_last_word(tmp_path: Path) -> None:
    server = Server.of(make(tmp_path, "echo $0 $1 >> ../loads", "echo no table; exit 2"))
    with server.running(), server.lasting_load([]) as check, pytest.raises(VprofError, match=r"status 2.*no table"):
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            check()
            time.sleep(0.02)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root chooses an account")
def test_root_runs_it_as_the_account_of_the_descriptor(tmp_path: Path) -> None:
    for folder in [tmp_path, *tmp_path.parents]:
        if folder != Path("/tmp") and folder.owner() == "root" and folder.is_relative_to("/tmp"):
            folder.chmod(0o711)
    target = make(tmp_path, "[server]", '[server]\nuser = "nobody"')
    work = tmp_path / "work"
    (work / "setups").touch(mode=0o666)
    (work / "setups").chmod(0o666)
    server = Server.of(target)
    with server.running():
        assert (server.folder / "pid").owner() == "nobody"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root chooses an account")
def test_a_folder_that_the_account_cannot_enter_is_one_line(tmp_path: Path) -> None:
    target = make(tmp_path, "[server]", '[server]\nuser = "nobody"')
    tmp_path.chmod(0o700)
    with pytest.raises(VprofError, match="nobody, who runs the server, cannot enter"):
        Server.of(target)


def test_options_of_the_user_reach_the_command_that_starts_it(tmp_path: Path) -> None:
    target = make(
        tmp_path, "echo $$ > pid; touch up", "echo $$ > pid; for word; do echo [$word] >> words; done; touch up"
    )
    server = Server.of(target, "-D 'two words' -c")
    with server.running():
        assert (server.folder / "words").read_text() == "[two words]\n[-c]\n"  # sh -c takes the first as its name


def test_options_of_the_server_that_are_wrong_are_one_line(tmp_path: Path) -> None:
    target = make(tmp_path)
    with pytest.raises(UsageError, match="--server-options 'it's': No closing quotation"):
        Server.of(target, "it's")
    with pytest.raises(UsageError, match="are for a --target with a server"):
        check_server_options("-D one", None)
    check_server_options("-D one", target)
