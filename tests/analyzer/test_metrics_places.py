"""Where metrics go: a port of this machine or a file, and one line for what cannot be."""

from __future__ import annotations

import os
import resource
import shutil
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from pathlib import Path

import numpy as np
import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families as openmetrics_families
from prometheus_client.parser import text_string_to_metric_families as text_families

from vprof.errors import UsageError, VprofError
from vprof.metrics.exposition import File, Port, place
from vprof.metrics.figures import Figures


@pytest.mark.parametrize(
    ("text", "address", "expected"),
    [
        ("9464", None, Port("127.0.0.1", 9464)),
        ("9464", "0.0.0.0", Port("0.0.0.0", 9464)),
        ("9464", "::1", Port("::1", 9464)),
        ("127.0.0.1:9464", None, Port("127.0.0.1", 9464)),
        ("localhost:9464", None, Port("127.0.0.1", 9464)),
        ("[::1]:9464", None, Port("::1", 9464)),
        ("10.1.2.3:9464", "10.1.2.3", Port("10.1.2.3", 9464)),
        ("vprof.prom", None, File(Path("vprof.prom"))),
        ("./9464", None, File(Path("9464"))),
        ("/a/b:9464", None, File(Path("/a/b:9464"))),
    ],
)
def test_what_a_user_may_say(text: str, address: str | None, expected: Port | File) -> None:
    assert place(text, address) == expected


@pytest.mark.parametrize(
    ("text", "address", "line"),
    [
        ("70000", None, "--openmetrics 70000: ports are from 0 (one that is free) to 65535"),
        ("-1", None, "--openmetrics -1: ports are"),
        (
            "0.0.0.0:9464",
            None,
            "--openmetrics 0.0.0.0:9464: others could read names of functions and locks there: if",
        ),
        ("[::]:9464", None, "--openmetrics [::]:9464: others could read"),
        ("10.1.2.3:9464", "0.0.0.0", "--openmetrics 10.1.2.3:9464 and --openmetrics-address 0.0.0.0 are different"),
        ("9464", "server.example", "'server.example' is no address: give one such as 127.0.0.1, 0.0.0.0 or ::1"),
        ("300.1.1.1:9464", None, "'300.1.1.1' is no address"),
        ("vprof.prom", "0.0.0.0", "--openmetrics-address is for a port, and vprof.prom is a file"),
    ],
)
def test_what_a_user_may_not_say(text: str, address: str | None, line: str) -> None:
    with pytest.raises(UsageError) as caught:
        place(text, address)
    assert str(caught.value).startswith(line)


def figures() -> Figures:
    found = Figures()
    found.piece({"pay": np.array([10**6])}, {"pay": None}, 1.0)
    return found


def asked(at: str, accept: str = "application/openmetrics-text; version=1.0.0") -> str:
    request = urllib.request.Request(f"http://{at}/metrics", headers={"Accept": accept})
    with urllib.request.urlopen(request, timeout=30) as reply:
        text: str = reply.read().decode()
        return text


def test_a_scraper_gets_the_format_that_it_takes() -> None:
    served = Port("127.0.0.1", 0).open(figures())
    try:
        samples = [sample.name for family in openmetrics_families(asked(served.at)) for sample in family.samples]
        plain = [sample.name for family in text_families(asked(served.at, "text/plain")) for sample in family.samples]
        assert "vprof_interval_seconds_bucket" in samples and samples == plain
    finally:
        served.close()
    with pytest.raises(OSError, match="refused"):
        asked(served.at)


def test_it_listens_on_loopback_alone() -> None:
    served = Port("127.0.0.1", 0).open(figures())
    try:
        assert served._server.socket.getsockname()[0] == "127.0.0.1"
    finally:
        served.close()


def test_a_port_that_cannot_be_had_is_one_line() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        number = taken.getsockname()[1]
        with pytest.raises(VprofError) as caught:
            Port("127.0.0.1", number).open(figures())
    assert str(caught.value) == f"--openmetrics: port {number} of 127.0.0.1 is taken: give another"
    with pytest.raises(VprofError) as caught:
        Port("192.0.2.1", 0).open(figures())
    assert str(caught.value) == "--openmetrics: 192.0.2.1 is no address of this machine"


_OPENS_80 = """
from vprof.errors import VprofError
from vprof.metrics.exposition import Port
from vprof.metrics.figures import Figures
try:
    Port("127.0.0.1", 80).open(Figures())
except VprofError as error:
    print(error)
"""


def test_a_port_of_root_is_one_line() -> None:
    if int(Path("/proc/sys/net/ipv4/ip_unprivileged_port_start").read_text()) <= 80:
        pytest.skip("this machine lets everybody have port 80")
    without = ["--bounding-set=-net_bind_service", "--inh-caps=-net_bind_service"]
    alone = ["setpriv", *without] if os.geteuid() == 0 and shutil.which("setpriv") else []
    if os.geteuid() == 0 and not alone:
        pytest.skip("root may have port 80, and there is no setpriv to be somebody else")
    done = subprocess.run([*alone, sys.executable, "-c", _OPENS_80], capture_output=True, text=True)
    assert done.stdout == "--openmetrics: port 80 is for root alone: give one from 1024 on\n", done.stderr


def test_a_file_is_whole_at_every_moment(tmp_path: Path) -> None:
    path = tmp_path / "vprof.prom"
    written = File(path).open(figures())
    ends = threading.Event()

    def renew() -> None:
        while not ends.is_set():
            assert written.renew() == ""

    thread = threading.Thread(target=renew)
    thread.start()
    try:
        until, looked = time.monotonic() + 0.5, 0
        while time.monotonic() < until:
            names = [sample.name for family in text_families(path.read_text()) for sample in family.samples]
            assert names[-1] == "vprof_analyzed_intervals_total"
            looked += 1
    finally:
        ends.set()
        thread.join()
    assert looked > 5 and [one.name for one in tmp_path.iterdir()] == ["vprof.prom"]
    assert path.stat().st_mode & 0o444 == 0o444 & ~_umask()


def _umask() -> int:
    now = os.umask(0)
    os.umask(now)
    return now


def test_other_files_are_openmetrics(tmp_path: Path) -> None:
    File(tmp_path / "vprof.txt").open(figures())
    text = (tmp_path / "vprof.txt").read_text()
    assert text.endswith("# EOF\n") and list(openmetrics_families(text))


def test_a_file_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    missing, folder = tmp_path / "no" / "vprof.prom", tmp_path / "folder"
    folder.mkdir()
    for path, line in (
        (missing, f"--openmetrics {missing}: there is no folder {missing.parent}: make it"),
        (folder, f"--openmetrics: cannot write {folder}: Is a directory"),
    ):
        with pytest.raises(VprofError) as caught:
            File(path).open(figures())
        assert str(caught.value) == line
    assert [one.name for one in tmp_path.iterdir()] == ["folder"]


def test_a_full_disk_is_said_once_and_the_old_file_stays(tmp_path: Path) -> None:
    path = tmp_path / "vprof.prom"
    written = File(path).open(figures())
    before, (soft, hard) = path.read_text(), resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, hard))
    try:
        said = [written.renew() for _ in range(3)]
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert said == [f"cannot write {path}: File too large", "", ""]
    assert path.read_text() == before and len(list(tmp_path.iterdir())) == 1
    assert written.renew() == ""
