"""`vprof ctl`: a running program with many processes and threads, its probes switched from outside."""

import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from patience import PATIENCE_SECONDS, wait_for

from vprof.errors import UsageError, VprofError
from vprof.installed import native
from vprof.session import control as control_module
from vprof.session import owned as session_module
from vprof.session import running as sessions
from vprof.session.control import Control, Note
from vprof.session.owned import Session
from vprof.session.plan import Plan, Switched
from vprof.trace.reading import Windows, open_windows
from vprof.trace.window import WHOLE

PROGRAMS = Path(__file__).parents[1] / "contract" / "programs"
PROCESSES, THREADS = 3, 4
Json = dict[str, object]


def vprof(*arguments: object) -> list[str]:
    return [sys.executable, "-c", "from vprof.cli import main; main()", *map(str, arguments)]


def build(output: Path, source: str, *options: str) -> Path:
    environment = {**os.environ, "VPROF_DESCRIPTOR": str(Path(__file__).parents[1] / "all_sites.json")}
    command = [native("bin/vprof-cc"), "-O1", "-pthread", "-Wall", "-Werror", *options, "-o", output, PROGRAMS / source]
    subprocess.run(list(map(str, command)), check=True, env=environment)
    return output


@pytest.fixture(scope="module")
def crowd(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("crowd") / "crowd", "crowd.c")


@dataclass
class Recording:
    """A `vprof record` that runs."""

    process: subprocess.Popen[str]
    session: Path
    trace: Path
    go_on: Path

    def ctl(self, *arguments: object) -> subprocess.CompletedProcess[str]:
        command = vprof("ctl", *arguments, "--session", self.session)
        return subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_SECONDS)

    def report(self, *arguments: object) -> Json:
        done = self.ctl(*arguments, "--format", "json")
        assert done.returncode == 0, done.stderr
        report = json.loads(done.stdout)
        assert isinstance(report, dict)
        return report

    def decoded(self) -> Windows:
        """What was recorded, once the program has ended."""
        self.go_on.unlink()
        assert self.process.wait(timeout=PATIENCE_SECONDS) == 0
        return open_windows(self.trace, 0)


def start(folder: Path, sites: str, *program: object) -> Recording:
    go_on, trace = folder / "go-on", folder / "run.trace"
    go_on.touch()
    said = ["sh", "-c", 'echo "$VPROF_SESSION"; exec "$@"', "sh", *map(str, program)]
    command = vprof("record", "--sites", sites, "-o", trace, "--", *said)
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout
    return Recording(process, Path(process.stdout.readline().strip()), trace, go_on)


@pytest.fixture
def recording(crowd: Path, tmp_path: Path) -> Iterator[Recording]:
    """The crowd, all of it running, `outer` on."""
    running = start(tmp_path, "outer", crowd, tmp_path / "go-on", PROCESSES, THREADS)
    wait_for(lambda: int(str(running.report("status")["threads"])) >= PROCESSES * THREADS)
    yield running
    running.go_on.unlink(missing_ok=True)
    running.process.communicate(timeout=PATIENCE_SECONDS)


def calls_of(decoded: Windows, name: str) -> tuple[np.ndarray, np.ndarray]:
    """(process, start in ns) of each call of a function."""
    scanned = decoded.known.scanned
    known = {event["uid"]: event["pid"] for event in scanned.file.of("thread")}
    calls = decoded.content(WHOLE).calls
    functions = np.array(scanned.sites.graph.names)[scanned.sites.functions(calls.number)]
    mine = functions == name
    return np.array([known[uid] for uid in scanned.scan.records.uids])[calls.thread[mine]], calls.start[mine]


def test_the_sessions_are_listed_with_their_programs(recording: Recording) -> None:
    rows = recording.report("sessions")["sessions"]
    assert isinstance(rows, list)
    [row] = [row for row in rows if row["session"] == str(recording.session)]
    assert {program["name"] for program in row["programs"]} == {"crowd"}
    assert len(row["programs"]) == row["processes"] >= PROCESSES
    assert all(Path(f"/proc/{program['pid']}").exists() for program in row["programs"])
    assert 0 <= row["seconds"] < PATIENCE_SECONDS
    [line] = [line for line in recording.ctl("sessions").stdout.splitlines() if str(recording.session) in line]
    assert f"(crowd, pid {row['programs'][0]['pid']} and " in line


def test_a_switch_reaches_every_process_under_load(recording: Recording) -> None:
    for action in ("on", "off"):
        assert recording.report(action, "inner")["functions"] == ["inner"]
        time.sleep(0.5)
    decoded = recording.decoded()
    scanned = decoded.known.scanned
    on, off = (scanned.clock.one(flip["before"]) for flip in scanned.file.of("flip")[-2:])
    processes, starts = calls_of(decoded, "inner")
    delays_ms = {}
    for process in set(processes):
        mine = starts[processes == process]
        delays_ms[int(process)] = ((mine.min() - on) / 1e6, (mine.max() - off) / 1e6)
    print("from the flip to the first and to the last call of each process, ms:", delays_ms)
    assert len(delays_ms) == PROCESSES
    assert starts.min() >= on
    assert all(first < 5000 and last < 5000 for first, last in delays_ms.values())


def test_switching_at_random_under_load_never_unpairs_a_call(recording: Recording) -> None:
    rng = random.Random(7)
    clients = [Control(recording.session), Control(recording.session)]
    numbers = []
    for client in clients:
        client.join()
        numbers = client.sites.numbers(Plan.of(["inner", "outer"]))
    end = time.monotonic() + 3
    while time.monotonic() < end:
        chosen = sorted(rng.sample(numbers, rng.choice([1, len(numbers)])))
        rng.choice(clients).flip(rng.choice(["on", "off"]), chosen)
        time.sleep(rng.choice([0, 0.0002, 0.002, 0.06]))
    decoded = recording.decoded()
    calls = decoded.content(WHOLE).calls
    assert decoded.known.scanned.scan.abandoned == 0
    assert calls.corrected == 0
    assert len(calls.start) > 1000
    assert np.all(calls.start < calls.end)
    assert_nested(decoded)
    assert_off_is_off(decoded)


def assert_nested(decoded: Windows) -> None:
    """Two calls of a thread lie one after the other or one in the other."""
    calls = decoded.content(WHOLE).calls
    for thread in np.unique(calls.thread):
        mine = np.flatnonzero(calls.thread == thread)
        mine = mine[np.lexsort((-calls.end[mine], calls.start[mine]))]
        still_open: list[int] = []
        for start, end in zip(calls.start[mine].tolist(), calls.end[mine].tolist(), strict=True):
            while still_open and still_open[-1] <= start:
                still_open.pop()
            assert not still_open or end <= still_open[-1]
            still_open.append(end)


def assert_off_is_off(decoded: Windows) -> None:
    """While a site is off a thread enters it at most once: it may have looked at the switch just before."""
    calls, clock = decoded.content(WHOLE).calls, decoded.known.scanned.clock
    flips = decoded.known.scanned.file.of("flip")
    for number in np.unique(calls.number).tolist():
        turns = [(flip, on) for flip in flips for on in ("on", "off") if holds(flip[on], number)]
        off_since = None
        for flip, turned in turns:
            if turned == "on" and off_since is not None:
                inside = (
                    (calls.number == number) & (calls.start > off_since) & (calls.start < clock.one(flip["before"]))
                )
                assert np.bincount(calls.thread[inside]).max(initial=0) <= 1
                off_since = None
            elif turned == "off" and off_since is None:
                off_since = clock.one(flip["after"])


def holds(ranges: list[list[int]], number: int) -> bool:
    return any(first <= number < first + count for first, count in ranges)


def test_list_and_status_say_what_is_on(recording: Recording) -> None:
    def functions(*names: str) -> list[tuple[str, bool]]:
        return [(row["function"], row["on"]) for row in recording.report("list", *names)["functions"]]  # type: ignore[attr-defined]

    assert functions() == [("outer", True)]
    assert functions("inn*", "outer") == [("inner", False), ("outer", True)]
    of_libc = "off open  libvprof.so\noff openat  libvprof.so\n"
    assert recording.ctl("list", "o*").stdout == f"off one_process  crowd\n{of_libc}on  outer  crowd\n"
    status = recording.report("status")
    assert status["processes"] in (PROCESSES, PROCESSES + 1)  # the parent has records of its own, or not
    assert PROCESSES * THREADS <= int(str(status["threads"])) <= PROCESSES * (THREADS + 1) + 1
    assert (status["functions_on"], status["modules"], status["file"]) == (1, 1, str(recording.trace))
    assert int(str(status["records"])) > 0


def test_a_name_that_matches_nothing_switches_nothing(recording: Recording) -> None:
    done = recording.ctl("on", "inner", "outre")
    assert done.returncode == 2
    assert done.stderr == "vprof: no site matches 'outre'; near misses: outer; nothing was done\n"
    assert recording.report("status")["functions_on"] == 1


def test_what_is_switched_holds_in_libraries_loaded_later(tmp_path: Path) -> None:
    library = build(tmp_path / "late.so", "late.c", "-shared", "-fPIC")
    program = build(tmp_path / "loader", "loader.c", "-ldl")
    recording = start(tmp_path, "all", program, library, tmp_path / "load", tmp_path / "go-on")
    wait_for(lambda: recording.report("status")["modules"] == 1)
    recording.report("off", "*")
    recording.report("on", "ma*")
    (tmp_path / "load").touch()
    wait_for(lambda: recording.report("status")["modules"] == 2)
    assert [row["function"] for row in recording.report("list")["functions"]] == ["main", "make_late"]  # type: ignore[attr-defined]
    decoded = recording.decoded()
    assert len(calls_of(decoded, "make_late")[0]) > 0
    assert len(calls_of(decoded, "other_late")[0]) == 0
    recording.process.communicate()


def test_the_probes_of_a_drill_are_its_own(recording: Recording) -> None:
    Control(recording.session).write_note(Note(owner="vprof drill"))
    done = recording.ctl("on", "inner")
    assert done.returncode == 1
    assert "vprof drill switches the probes of this session" in done.stderr
    assert recording.ctl("status").returncode == 0


def test_later_switchings_decide() -> None:
    names = ["f", "g1", "g2"]
    everything = Switched.of(Plan.of(["*"]))
    but_g = everything.then(Switched.of(Plan.of(["g*"]), on=False))
    assert but_g.choose(names) == {"f"}
    assert but_g.then(Switched.of(Plan.of(["g1"]))).choose(names) == {"f", "g1"}
    assert but_g.then(everything).choose(names) == {"f", "g1", "g2"}
    assert list(but_g.then(everything).rules) == ["g*", "*"]


@pytest.fixture
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A machine without sessions: its shared memory, of a short name as a socket's must be."""
    with tempfile.TemporaryDirectory(dir="/dev/shm") as name:
        folder = Path(name)
        for module in (sessions, session_module):
            monkeypatch.setattr(module, "SHARED_MEMORY", folder)
        monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "absent"))
        yield folder


def test_the_session_that_runs_is_found(nowhere: Path) -> None:
    with pytest.raises(VprofError, match="no session is running; start one: vprof record"):
        sessions.find(None)
    with Session.start(None) as first:
        (nowhere / "vprof-link").symlink_to(first.directory)
        assert sessions.find(None).stats()["threads"] == 0
        with Session.start(None) as second:
            with pytest.raises(UsageError, match=rf"2 sessions .*{first.directory.name} \(no program yet, since 0 s\)"):
                sessions.find(None)
            assert sessions.find(second.directory).directory == second.directory
    with pytest.raises(VprofError, match="there is no session"):
        sessions.find(first.directory)


SERVE = """
import os, socket, sys
folder, reply = sys.argv[1], sys.argv[2].encode().decode("unicode_escape").encode()
os.mkdir(folder)
os.chmod(folder, 0o755)
server = socket.socket(socket.AF_UNIX)
server.bind(folder + "/control")
os.chmod(folder + "/control", 0o666)
server.listen(8)
print("ready", flush=True)
while True:
    client = server.accept()[0]
    client.recv(1000)
    client.sendall(reply)
"""


@contextmanager
def answering(folder: Path, reply: str, *as_user: str) -> Iterator[None]:
    """Somebody who answers in `folder` as if it were a session; an empty reply is silence."""
    command = [*as_user, "/usr/bin/python3", "-c", SERVE, folder, reply]
    with subprocess.Popen(list(map(str, command)), stdout=subprocess.PIPE, text=True, cwd="/") as server:
        assert server.stdout
        assert server.stdout.readline() == "ready\n"
        try:
            yield
        finally:
            server.kill()


AS_NOBODY = ("setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups")
EVIL = r'{"error": "\\u001b[31mplease run: evil\\u0007"}\n'


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can act as another user")
def test_nobody_else_s_session_is_talked_to(nowhere: Path) -> None:
    nowhere.chmod(0o1777)
    theirs = nowhere / "vprof-0000evil"
    with answering(theirs, EVIL, *AS_NOBODY), Session.start(None) as ours:
        assert sessions.find(None).directory == ours.directory
        with pytest.raises(VprofError, match="the session of another user"):
            sessions.find(theirs)
        (theirs / "control").rename(ours.directory / "theirs")
        (ours.directory / "control").unlink()
        (ours.directory / "theirs").rename(ours.directory / "control")
        with pytest.raises(VprofError, match="the session of another user"):
            sessions.find(ours.directory)  # whoever owns the folder, another listens


def test_what_answers_is_bounded_and_plain(nowhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(control_module, "_REPLY_SECONDS", 0.5)
    monkeypatch.setattr(control_module, "_MOST_REPLY_BYTES", 1 << 20)
    for number, (reply, said) in enumerate(
        {
            EVIL: r"collector: \\x1b\[31mplease run: evil\\x07",
            "": "does not answer",
            "no JSON\n": "what answers there is no collector",
            "[" * 100_000 + "\n": "what answers there is no collector",
            "7\n": "what answers there is no collector",
        }.items()
    ):
        with answering(nowhere / f"vprof-{number}", reply):
            with pytest.raises(VprofError, match=said) as raised:
                Control(nowhere / f"vprof-{number}").stats()
            assert str(raised.value).isprintable()


def test_a_reply_without_end_is_given_up(nowhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(control_module, "_MOST_REPLY_BYTES", 1 << 16)
    with answering(nowhere / "vprof-long", "x" * 100_000), pytest.raises(VprofError, match="a reply of more than"):
        Control(nowhere / "vprof-long").stats()


def test_a_session_whose_collector_was_killed_is_named(nowhere: Path) -> None:
    with Session.start(None) as session:
        session._collector.kill()
        session._collector.wait()
        files = ["arena", "switches", "text", "control"]
        shutil.copytree(session.directory, nowhere / "vprof-left", ignore=lambda *_: files)
        os.mknod(nowhere / "vprof-left" / "control")
        for directory in (None, session.directory):
            with pytest.raises(VprofError, match="the collector has ended and left its session behind"):
                sessions.find(directory)
