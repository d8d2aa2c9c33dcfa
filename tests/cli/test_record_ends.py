"""How a recording ends: full, interrupted, its collector gone. The trace is readable, the program is not disturbed."""

import io
import json
import os
import pty
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from patience import PATIENCE_SECONDS, wait_for

from vprof.commands import record
from vprof.installed import native
from vprof.report.recording import Progress
from vprof.session.control import Control
from vprof.session.owned import Limit, Session
from vprof.session.plan import Plan
from vprof.trace.chunks import read_chunks

PROGRAMS = Path(__file__).parents[1] / "contract" / "programs"


def vprof(*arguments: object) -> list[str]:
    return [sys.executable, "-c", "from vprof.cli import main; main()", *map(str, arguments)]


def run(*arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(vprof(*arguments), capture_output=True, text=True, timeout=PATIENCE_SECONDS)


def build(folder: Path, name: str) -> Path:
    environment = {**os.environ, "VPROF_DESCRIPTOR": str(Path(__file__).parents[1] / "all_sites.json")}
    command = [native("bin/vprof-cc"), "-O1", "-pthread", "-o", folder / name, PROGRAMS / f"{name}.c"]
    subprocess.run(list(map(str, command)), check=True, env=environment)
    return folder / name


@pytest.fixture(scope="module")
def steady(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Short intervals for as long as the file named on the command line exists."""
    return build(tmp_path_factory.mktemp("steady"), "steady")


@pytest.fixture(scope="module")
def crowd(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Many calls in processes and threads for as long as the file exists."""
    return build(tmp_path_factory.mktemp("crowd"), "crowd")


Recording = tuple[subprocess.Popen[str], Control]


def start(program: Path, folder: Path, options: list[object], *arguments: object) -> Recording:
    """A `vprof record` that has recorded something, and its session."""
    (folder / "go-on").touch()
    said = ["sh", "-c", 'echo "$VPROF_SESSION"; exec "$@"', "sh", program, folder / "go-on", *arguments]
    command = vprof("record", "--sites", "all", "-o", folder / "run.trace", *options, "--", *said)
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=heed_signals
    )
    assert process.stdout
    control = Control(Path(process.stdout.readline().strip()))
    wait_for(lambda: control.stats()["records"] > 0)
    return process, control


def heed_signals() -> None:
    """Tests that run behind `nohup` or in the background of a shell inherit that some are ignored."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


def end(process: subprocess.Popen[str], folder: Path) -> tuple[int, str]:
    (folder / "go-on").unlink(missing_ok=True)
    _, errors = process.communicate(timeout=PATIENCE_SECONDS)
    return process.returncode, errors


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_is_the_programs_and_the_trace_is_complete(steady: Path, tmp_path: Path, number: int) -> None:
    process, _ = start(steady, tmp_path, [])
    process.send_signal(number)
    _, errors = process.communicate(timeout=PATIENCE_SECONDS)
    assert process.returncode == 128 + number, errors
    file = read_chunks(tmp_path / "run.trace")
    assert file.chunks
    assert file.events[-1]["event"] == "end"


def test_a_full_trace_ends_and_the_program_goes_on(crowd: Path, tmp_path: Path) -> None:
    process, control = start(crowd, tmp_path, ["--max-size", "1M"], 2, 4)
    wait_for(lambda: control.stats()["not_kept"] > 0)
    trace = tmp_path / "run.trace"
    assert process.stderr is not None
    told = process.stderr.readline()
    assert told == f"vprof: {trace} ends here: it has reached its greatest size; the program goes on unrecorded\n"
    assert process.poll() is None
    status, errors = end(process, tmp_path)
    assert status == 0
    assert " not kept; it ended early: " in errors
    assert trace.stat().st_size <= 1 << 20
    assert read_chunks(trace).events[-1]["event"] == "end"


def test_the_newest_files_are_analyzed_as_one(steady: Path, tmp_path: Path) -> None:
    go_on, limit = tmp_path / "go-on", 1 << 20
    go_on.touch()
    with Session.start(tmp_path / "run.trace", limit=Limit(limit, newest=True)) as session:
        program = subprocess.Popen([steady, go_on], env=session.environment())

        def are_ten() -> bool:
            """On a busy machine several files may go by between two looks."""
            session.follow(Plan.of(["work", "inner"]))
            return int(Path(session.stats()["file"]).suffix[1:]) >= 10

        wait_for(are_ten, "ten files", every_seconds=0.01)
        go_on.unlink()
        program.wait(timeout=PATIENCE_SECONDS)
        report = session.stop()
    files = sorted(tmp_path.glob("run.trace.*"))
    assert [str(files[0]), str(files[-1])] == [report["oldest"], report["file"]]
    assert len(files) == 8
    assert sum(file.stat().st_size for file in files) <= limit
    assert report["not_kept"] > 0
    analysis = json.loads(run("analyze", *files, "--format", "json").stdout)
    excluded = sum(analysis["intervals"]["excluded"].values())
    assert analysis["intervals"]["count"] + excluded >= report["intervals"]
    assert excluded <= 2 * len(files), "only those that cross from file to file"


def test_a_killed_collector_leaves_the_program_alone(steady: Path, tmp_path: Path) -> None:
    process, control = start(steady, tmp_path, [])
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    [collector] = [pid for pid in children if b"vprof-collector" in Path(f"/proc/{pid}/cmdline").read_bytes()]
    os.kill(int(collector), signal.SIGKILL)
    assert process.stderr
    assert "the program goes on unrecorded" in process.stderr.readline()
    time.sleep(0.2)
    assert process.poll() is None
    status, errors = end(process, tmp_path)
    assert status == 1
    assert "the trace ends here" in errors
    assert read_chunks(tmp_path / "run.trace").chunks
    assert not control.directory.exists()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--max-size", "lots"], "'lots' is no size: give one such as 512M or 2G"),
        (["--max-size", "10K"], "10K is too small: at least 1M"),
        (["--keep", "newest"], "--keep newest needs --max-size"),
        (["--keep", "newest", "--max-size", "8M"], "a --max-size of 64M at least"),
        (["--keep", "newest", "--max-size", "64M"], "run.trace.000003 is of an earlier recording"),
    ],
)
def test_what_cannot_be_is_said(tmp_path: Path, options: list[str], said: str) -> None:
    (tmp_path / "run.trace.000003").touch()
    done = run("record", "--sites", "all", "-o", tmp_path / "run.trace", *options, "--", "true")
    assert done.returncode == 2
    assert said in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_trace_must_be_a_regular_file() -> None:
    done = run("record", "--sites", "all", "-o", "/dev/null", "--", "true")
    assert (done.returncode, done.stderr) == (
        1,
        "vprof: cannot write /dev/null: not a regular file, and a trace must be one\n",
    )


def test_a_trace_that_may_not_be_written_stays(tmp_path: Path) -> None:
    kept = tmp_path / "run.trace"
    kept.write_text("precious")
    kept.chmod(0o400)
    as_others = ["setpriv", "--bounding-set", "-dac_override"] if os.geteuid() == 0 else []
    command = [*as_others, *vprof("record", "--sites", "all", "-o", kept, "--", "true")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_SECONDS)
    assert (done.returncode, done.stderr) == (1, f"vprof: cannot write {kept}: Permission denied\n")
    assert kept.read_text() == "precious"


def test_seconds_end_a_program_that_would_go_on(steady: Path, tmp_path: Path) -> None:
    """By SIGTERM; vprof's own exit code is then 0, and the trace is whole."""
    (tmp_path / "go-on").touch()
    trace = tmp_path / "run.trace"
    done = run("record", "--sites", "all", "--seconds", 1, "-o", trace, "--", steady, tmp_path / "go-on")
    assert (done.returncode, "records, 0 dropped" in done.stderr) == (0, True), done.stderr
    assert read_chunks(trace).events[-1]["event"] == "end"


def test_what_does_not_heed_a_sigterm_is_killed(
    steady: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("vprof.session.ending._TERM_SECONDS", 0.1)
    (tmp_path / "go-on").touch()
    stubborn = ["sh", "-c", 'trap "" TERM; exec "$@"', "sh", str(steady), str(tmp_path / "go-on")]
    options = ["--sites", "all", "--seconds", "1", "-o", str(tmp_path / "run.trace"), "--"]
    record.command.main([*options, *stubborn], standalone_mode=False)
    assert "did not end within 0.1 s of SIGTERM: killed" in capsys.readouterr().err


def test_a_crash_on_the_way_out_is_not_excused(steady: Path, tmp_path: Path) -> None:
    """What the shell leaves behind has to end as well: it holds the pipes of what `run` waits for."""
    (tmp_path / "go-on").touch()
    dies = """trap 'rm "$2"; kill -SEGV $$' TERM; "$@" & wait"""
    crash = ["sh", "-c", dies, "sh", steady, tmp_path / "go-on"]
    done = run("record", "--sites", "all", "--seconds", 1, "-o", tmp_path / "run.trace", "--", *crash)
    assert done.returncode == 128 + signal.SIGSEGV, done.stderr


def test_seconds_do_not_hurry_or_excuse_a_program_that_ends_before(steady: Path, tmp_path: Path) -> None:
    options = ["--sites", "all", "--seconds", 60, "-o", tmp_path / "run.trace", "--"]
    done = run("record", *options, "sh", "-c", '"$@"; exit 3', "sh", steady, tmp_path / "gone")
    assert done.returncode == 3, done.stderr


def test_on_a_terminal_a_line_a_second_says_how_it_goes(steady: Path, tmp_path: Path) -> None:
    program = [steady, tmp_path / "go-on"]
    program[1].touch()
    terminal, its_end = pty.openpty()
    command = vprof("record", "--sites", "all", "--seconds", 4, "-o", tmp_path / "run.trace", "--", *program)
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=its_end, timeout=PATIENCE_SECONDS)
    os.close(its_end)
    said = os.read(terminal, 1 << 16).decode()
    os.close(terminal)
    assert done.returncode == 0, said
    assert "vprof: the session is /" in said
    lines = re.findall(
        r"^ +\d+ s  [\d,]+ intervals/s  p50 [\d.]+ [mun]?s  p99 [\d.]+ [mun]?s  [\d,]+ records  0 dropped", said, re.M
    )
    assert 2 <= len(lines) <= 5
    captured = run("record", "--sites", "all", "--seconds", 2, "-o", tmp_path / "run.trace", "--", *program).stderr
    assert "intervals/s" not in captured and "the session is" not in captured


def test_of_annotated_intervals_it_says_how_many_and_how_long() -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    out = Terminal()
    progress = Progress("/dev/shm/vprof-x", out)
    told = {"records": 100, "intervals": 10, "dropped": 0, "ticks": 1000, "p50_ticks": 0, "p99_ticks": 0}
    progress.tell(told)
    time.sleep(1.1)
    began = time.monotonic()
    later = {"records": 2300, "intervals": 120, "ticks": 1000 + 11 * 10**8, "p50_ticks": 10**5, "p99_ticks": 10**7}
    progress.tell(told | later)
    assert time.monotonic() - began < 0.5
    assert re.search(
        r"^ +1 s  (9\d|100) intervals/s  p50 1\d\d us  p99 1\d\.?\d* ms  2,300 records  0 dropped$",
        out.getvalue(),
        re.M,
    )
