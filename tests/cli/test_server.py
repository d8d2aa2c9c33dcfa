"""The life of a server: set up once, ready before it is used, stopped on every way out, and one line when it fails."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from patience import PATIENCE_SECONDS, wait_for

from vprof.errors import UsageError, VprofError
from vprof.target.server import Server, check_server_options
from vprof.target.target import Target

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


def make(tmp_path: Path, *changes: str) -> Target:
    """`changes`: what is replaced in the descriptor, and by what, in turn."""
    text = DESCRIPTOR
    for old, new in zip(changes[::2], changes[1::2], strict=True):
        text = text.replace(old, new)
    folder = tmp_path / "toy"
    folder.mkdir(exist_ok=True)
    (folder / "target.toml").write_text(text)
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


def test_a_stop_that_does_not_help_is_followed_by_a_kill(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("vprof.target.server._STOP_SECONDS", 0.2)
    server = Server.of(make(tmp_path, "touch {server}/stop", "true"))
    with server.running():
        pid = pid_of(server)
    assert not alive(pid)
    assert f"vprof: the server (process {pid}) did not stop: killed" in capsys.readouterr().err


def test_without_a_stop_it_gets_a_sigterm(tmp_path: Path) -> None:
    trap = 'trap \\"echo asked; exit\\" TERM; '
    target = make(tmp_path, 'stop = "touch {server}/stop"\n', "", "echo $$ > pid;", f"{trap}echo $$ > pid;")
    server = Server.of(target)
    with server.running():
        pid = pid_of(server)
    assert not alive(pid)
    assert server.log.read_text() == "asked\n"


def test_its_pid_can_be_part_of_the_stop(tmp_path: Path) -> None:
    server = Server.of(make(tmp_path, "touch {server}/stop", "sh -c 'echo {pid} > ../told; touch stop'"))
    with server.running():
        pid = pid_of(server)
    assert int((tmp_path / "work" / "told").read_text()) == pid


def test_a_slow_stop_says_what_it_waits_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("vprof.target.server._SILENT_SECONDS", 0.05)
    server = Server.of(make(tmp_path, "rm -f up stop", "sleep 0.5; rm -f up stop"))
    with server.running():
        pid = pid_of(server)
    folder = tmp_path / "work" / "server"
    assert capsys.readouterr().err == (
        f"vprof: waiting up to 60 s for the server (process {pid}) to end after `touch {folder}/stop`\n"
    )


def test_sigterm_for_vprof_stops_it(tmp_path: Path) -> None:
    make(tmp_path)
    code = (
        "from pathlib import Path; import time; from vprof.target.server import Server\n"
        "from vprof.target.target import Target\n"
        f"with Server.of(Target.load({str(tmp_path / 'toy')!r}, Path({str(tmp_path / 'work')!r}))).running():\n"
        "    time.sleep(6000)"
    )
    vprof = subprocess.Popen([sys.executable, "-c", code])
    up = tmp_path / "work" / "server" / "up"
    wait_for(up.exists, "the server")
    pid = int((up.parent / "pid").read_text())
    vprof.send_signal(signal.SIGTERM)
    assert vprof.wait(timeout=PATIENCE_SECONDS) == 128 + signal.SIGTERM
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

        def have_been_two() -> bool:
            check()
            return loads.exists() and len(loads.read_text().splitlines()) > 1

        wait_for(have_been_two, "two loads", every_seconds=0.02)
    assert set(loads.read_text().splitlines()) == {"86400 3"}
    assert len(loads.read_text().splitlines()) > 1


def test_a_load_that_fails_is_one_line_with_its_last_word(tmp_path: Path) -> None:
    server = Server.of(make(tmp_path, "echo $0 $1 >> ../loads", "echo no table; exit 2"))
    with server.running(), server.lasting_load([]) as check, pytest.raises(VprofError, match=r"status 2.*no table"):
        wait_for(lambda: check() and False, "the failure", every_seconds=0.02)


def test_a_load_ends_with_all_that_it_has_started(tmp_path: Path) -> None:
    """As `timeout` does, one of them has a group of its own."""
    load = "sleep 1000 & echo $! >> ../clients; setsid sleep 1000 & echo $! >> ../clients; wait"
    server = Server.of(make(tmp_path, "echo $0 $1 >> ../loads", load))
    clients = tmp_path / "work" / "clients"
    with server.running(), server.lasting_load([]):
        wait_for(lambda: clients.exists() and len(clients.read_text().splitlines()) == 2, "two clients")
        started = [int(line) for line in clients.read_text().splitlines()]
        assert all(map(alive, started))
    wait_for(lambda: not any(map(alive, started)), "their end")


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
