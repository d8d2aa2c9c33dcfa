"""Drill-downs that are interrupted, taken up again, or done in somebody else's session; without a descriptor."""

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from patience import PATIENCE_SECONDS, wait_for

from vprof.cli import main
from vprof.installed import native

PROGRAM = Path(__file__).parents[1] / "programs" / "requests"
FOREVER = "4000000000"


def vprof(*arguments: object) -> list[str]:
    return [sys.executable, "-c", "from vprof.cli import main; main()", *map(str, arguments)]


def run(*arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(vprof(*arguments), capture_output=True, text=True, timeout=PATIENCE_SECONDS)


@pytest.fixture(scope="module")
def requests(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("forever")
    shutil.copytree(PROGRAM, folder, dirs_exist_ok=True)
    environment = {key: value for key, value in os.environ.items() if key != "VPROF_DESCRIPTOR"}
    subprocess.run(["make", "-C", folder, f"CC={native('bin/vprof-cc')} -DWAITS=1"], check=True, env=environment)
    return folder / "requests"


def drill(folder: Path, *options: object) -> list[str]:
    return vprof("drill", "--auto", "--step-seconds", 0.3, "--dir", folder, *options)


def running(program: Path) -> list[int]:
    """Processes of that program."""
    found = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if entry.read_bytes().split(b"\0")[0] == os.fsencode(program):
                found.append(int(entry.parent.name))
        except OSError:
            continue
    return found


def file(folder: Path) -> dict[str, object]:
    found: dict[str, object] = json.loads((folder / "drill" / "session.json").read_text())
    return found


def steps(folder: Path) -> int:
    try:
        found = file(folder)["steps"]
    except FileNotFoundError:
        return 0
    assert isinstance(found, list)
    return len(found)


def found(result: dict[str, object], confirmed: bool = True) -> set[str]:
    """Functions of confirmed findings, or of all, and those that pass their variance on to them."""
    findings = result["findings"]
    assert isinstance(findings, list)
    those = [finding for finding in findings if finding["confirmed"] or not confirmed]
    return {name for finding in those for name in (*finding["functions"], *finding["explains"])}


def test_a_program_without_a_descriptor_is_drilled_into_by_its_root(requests: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        drill(tmp_path, "--root", "handle_request", "--format", "json", "--", requests, FOREVER),
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
    )
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert result == file(tmp_path)
    assert result["steps"][0]["on"] == ["handle_request"]
    assert "transform" in found(result)
    assert not running(requests)

    shown = run("drill", "--show", "--dir", tmp_path)
    assert shown.returncode == 0, shown.stderr
    assert "step 1: " in shown.stdout
    assert "transform" in shown.stdout
    again = run("drill", "--resume", "--auto", "--dir", tmp_path)
    assert (again.returncode, "is done" in again.stderr) == (2, True)


IDLE = """
#include <unistd.h>
__attribute__((noinline)) void handle(int n) { usleep(100 + n % 7 * 100); }
int main(int argc, char **argv) {
  while (access(argv[1], F_OK)) usleep(10000);
  for (int n = 0;; n++) handle(n);
}
"""


def test_an_idle_program_is_waited_for(tmp_path: Path) -> None:
    """A server without requests was ended with "no interval began"."""
    (tmp_path / "idle.c").write_text(IDLE)
    subprocess.run([native("bin/vprof-cc"), "-O1", "-o", tmp_path / "idle", tmp_path / "idle.c"], check=True)
    program = [tmp_path / "idle", tmp_path / "go"]
    command = drill(tmp_path, "--root", "handle", "--max-steps", 1, "--", *program)
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    assert process.stderr.readline() == (
        "vprof: waiting for the first call of handle that returns: put load on the program\n"
    )
    (tmp_path / "go").touch()
    out, err = process.communicate(timeout=PATIENCE_SECONDS)
    assert (process.returncode, err) == (0, ""), out
    assert "step 1: " in out


def test_an_idle_program_is_waited_for_no_longer_than_the_budget(tmp_path: Path) -> None:
    (tmp_path / "idle.c").write_text(IDLE)
    subprocess.run([native("bin/vprof-cc"), "-O1", "-o", tmp_path / "idle", tmp_path / "idle.c"], check=True)
    command = drill(tmp_path, "--root", "handle", "--budget", "1s", "--", tmp_path / "idle", tmp_path / "go")
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_SECONDS)
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].startswith("vprof: no call of handle was recorded")


def test_a_killed_drill_goes_on_where_it_was(requests: Path, tmp_path: Path) -> None:
    process = subprocess.Popen(drill(tmp_path, "--root", "handle_request", "-k", 1, "--", requests, FOREVER))
    wait_for(lambda: steps(tmp_path) > 0 or process.poll() is not None)
    process.send_signal(signal.SIGKILL)
    process.wait()
    wait_for(lambda: not running(requests))
    before = file(tmp_path)["steps"]
    assert isinstance(before, list)

    unfinished = run("drill", "--show", "--dir", tmp_path)
    assert "not finished: --resume goes on" in unfinished.stdout
    done = run("drill", "--auto", "--resume", "--dir", tmp_path, "--format", "json")
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert result["steps"][: len(before)] == before
    assert result["settings"]["k"] == 1
    assert found(result) & {"transform", "usleep"}, result["findings"]


@pytest.mark.parametrize("victim", ["the program", "the collector"])
def test_what_ends_in_a_step_is_said_and_finished_steps_are_kept(requests: Path, tmp_path: Path, victim: str) -> None:
    # So long a second step that the kill hits it.
    command = drill(tmp_path, "--root", "handle_request", "-k", 1, "--", requests, FOREVER)
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    wait_for(lambda: steps(tmp_path) > 0)
    victims = running(requests) if victim == "the program" else collectors_of(process.pid)
    for pid in victims:
        os.kill(pid, signal.SIGKILL)
    _, said = process.communicate(timeout=PATIENCE_SECONDS)
    assert victims
    assert process.returncode == 1
    assert len(said.splitlines()) == 1, said
    assert "kept: --resume goes on" in said
    assert not running(requests)
    assert steps(tmp_path) >= 1


def collectors_of(parent: int) -> list[int]:
    children = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
    return [int(pid) for pid in children if b"vprof-collector" in Path(f"/proc/{pid}/cmdline").read_bytes()]


@dataclass
class Recording:
    process: subprocess.Popen[str]
    session: Path
    trace: Path


@pytest.fixture
def recording(requests: Path, tmp_path: Path) -> Iterator[Recording]:
    """A `vprof record` of the program, `reply` on."""
    trace = tmp_path / "run.trace"
    said = ["sh", "-c", 'echo "$VPROF_SESSION"; exec "$@"', "sh", str(requests), FOREVER]
    command = vprof("record", "--sites", "reply", "-o", trace, "--", *said)
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout
    session = Path(process.stdout.readline().strip())
    wait_for(lambda: bool(running(requests)))
    yield Recording(process, session, trace)
    for pid in running(requests):
        os.kill(pid, signal.SIGKILL)
    process.communicate(timeout=PATIENCE_SECONDS)


def test_in_a_running_session_it_starts_nothing_and_leaves_the_probes_as_they_were(
    recording: Recording, requests: Path, tmp_path: Path
) -> None:
    before = running(requests)
    options = ["--root", "handle_request", "--session", recording.session, "--format", "json"]
    done = subprocess.run(drill(tmp_path / "work", *options), capture_output=True, text=True, timeout=PATIENCE_SECONDS)
    assert done.returncode == 0, done.stderr
    # Whether that is confirmed depends on what else the machine does: a drill-down with its own program is asked that.
    assert "transform" in found(json.loads(done.stdout), confirmed=False)
    assert running(requests) == before
    on = json.loads(run("ctl", "list", "--session", recording.session, "--format", "json").stdout)["functions"]
    assert [row["function"] for row in on] == ["reply"]
    for pid in before:
        os.kill(pid, signal.SIGTERM)
    assert recording.process.wait(timeout=PATIENCE_SECONDS) == 128 + signal.SIGTERM
    # The recording's own file ended where the drill began, and it went on in another.
    for trace in (recording.trace, Path(f"{recording.trace}.after-drill")):
        assert run("analyze", trace, "--root", "reply").returncode == 0


def test_a_session_that_somebody_drills_in_is_left_alone(recording: Recording, tmp_path: Path) -> None:
    options = ["--root", "handle_request", "--session", recording.session]
    # Without --auto it waits for an answer after its first step, as long as the second takes to be refused.
    asking = vprof("drill", "--step-seconds", 0.3, "--dir", tmp_path / "one", *options)
    first = subprocess.Popen(asking, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wait_for(lambda: (tmp_path / "one" / "drill" / "session.json").exists())
    second = subprocess.run(drill(tmp_path / "two", *options), capture_output=True, text=True, timeout=PATIENCE_SECONDS)
    assert (second.returncode, "vprof drill switches the probes" in second.stderr) == (1, True)
    first.communicate(b"q\n", timeout=PATIENCE_SECONDS)
    assert first.returncode == 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "nothing to drill into"),
        (["--root", "f"], "nothing to run"),
        (["--root", "f", "--target", "minidb"], "not both"),
        (["--root", "f", "--session", "/nowhere", "--", "true"], "nothing is started"),
        (["--root", "f", "--session", "/nowhere"], "there is no session"),
        (["--root", "f", "--", "/nowhere/prog"], "not found"),
        (["--resume"], "no drill-down to go on with"),
        (["--show"], "no drill-down to go on with"),
        (["--root", "f", "--rebuild", "--", "true"], "--rebuild builds a target"),
        (["--root", "f", "--budget", "soon", "--", "true"], "no duration"),
    ],
)
def test_wrong_use_is_one_line(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    arguments: list[str],
    said: str,
) -> None:
    # In this process: starting Python costs more than all of the rest.
    monkeypatch.setattr(sys, "argv", ["vprof", "drill", "--auto", "--dir", str(tmp_path), *arguments])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code in (1, 2)
    errors = capfd.readouterr().err
    assert len(errors.splitlines()) == 1, errors
    assert said in errors


def test_a_root_that_the_program_lacks_is_said_with_near_misses(requests: Path, tmp_path: Path) -> None:
    command = drill(tmp_path, "--root", "handle_requests", "--", requests, FOREVER)
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_SECONDS)
    assert done.returncode == 2
    assert "near misses: handle_request" in done.stderr
    assert not running(requests)
