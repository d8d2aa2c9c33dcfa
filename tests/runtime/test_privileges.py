"""A collector of root and the programs of another user: what that user may change, and whom it may ask.

Needs root, who alone can record for others.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from vprof.installed import native

PROGRAMS = Path(__file__).parent / "programs"
NOBODY = 65534

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can record for another user")


@pytest.fixture
def place() -> Iterator[Path]:
    """A folder that all may enter, with a file of root's that nobody else may write."""
    with tempfile.TemporaryDirectory(prefix="vprof-", dir="/dev/shm") as name:
        folder = Path(name)
        folder.chmod(0o711)
        victim = folder / "victim"
        victim.write_text("precious")
        victim.chmod(0o644)
        yield folder


def unchanged(victim: Path) -> bool:
    status = victim.lstat()
    return (status.st_mode & 0o7777, status.st_uid, victim.read_text()) == (0o644, 0, "precious")


@contextmanager
def collecting(folder: Path, output: Path, **environment: str) -> Iterator[subprocess.Popen[str]]:
    """A collector for programs of nobody's."""
    small = ["--slots", "4", "--ring-bytes", "4096"]
    command = [native("lib/vprof/vprof-collector"), "--session", folder, "--output", output, "--user", "nobody", *small]
    with subprocess.Popen(
        list(map(str, command)), stdout=subprocess.PIPE, text=True, env={**os.environ, **environment}
    ) as collector:
        assert collector.stdout
        assert collector.stdout.readline() == "ready\n"
        try:
            yield collector
        finally:
            collector.terminate()
            collector.wait(timeout=60)


def as_nobody(act: str, *arguments: object) -> str:
    """What a Python text prints, run without rights."""
    command = ["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups", "/usr/bin/python3", "-c", act]
    done = subprocess.run([*command, *map(str, arguments)], capture_output=True, text=True, timeout=60, cwd="/")
    return done.stdout + done.stderr


def test_no_path_is_followed_that_the_user_can_exchange(place: Path) -> None:
    library = place / "exchange.so"
    subprocess.run(
        ["clang-19", "-O1", "-D_GNU_SOURCE", "-shared", "-fPIC", PROGRAMS / "exchange.c", "-o", library], check=True
    )
    session, victim = place / "session", place / "victim"
    with collecting(session, place / "run.trace", LD_PRELOAD=str(library), FOLDER=str(session), VICTIM=str(victim)):
        assert unchanged(victim)
    assert unchanged(victim)
    assert not session.exists(), "the collector has removed what it had made"


ASK = """
import socket, sys
client = socket.socket(socket.AF_UNIX)
try:
    client.connect(sys.argv[1])
    client.sendall(b"rotate " + sys.argv[2].encode() + b"\\n")
    print("answered:", client.recv(1000))
except OSError as error:
    print("refused:", error)
"""


def test_the_user_cannot_name_files_that_root_writes(place: Path) -> None:
    with collecting(place / "session", place / "run.trace"):
        control = place / "session/control"
        assert "refused: [Errno 13]" in as_nobody(ASK, control, place / "victim")
        control.chmod(0o666)  # a socket that all may connect to answers only its own user
        assert "{" not in as_nobody(ASK, control, place / "victim")
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(str(control))
            client.sendall(b"stats\n")
            assert json.loads(client.recv(4096))["records"] == 0
    assert unchanged(place / "victim")


def test_a_trace_goes_through_no_link_of_others(place: Path) -> None:
    others = place / "others"
    others.mkdir()
    (others / "run.trace").symlink_to(place / "victim")
    for path in (others, others / "run.trace"):
        os.chown(path, NOBODY, NOBODY, follow_symlinks=False)
    command = [native("lib/vprof/vprof-collector"), "--session", place / "session", "--output", others / "run.trace"]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert done.stderr.endswith("run.trace: a symbolic link: name the file itself\n")
    assert unchanged(place / "victim")


def test_a_session_that_its_user_cuts_short_ends_in_order(place: Path) -> None:
    with collecting(place / "session", place / "run.trace") as collector:
        as_nobody("import os, sys; os.truncate(sys.argv[1], 0)", place / "session/arena")
        assert collector.wait(timeout=60) == 1
