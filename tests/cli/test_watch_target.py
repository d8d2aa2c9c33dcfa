"""`vprof watch --target`: the server and its load run for as long as they are watched, and are stopped afterwards."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from patience import PATIENCE_SECONDS, wait_for
from watched import LIMIT_MS, SOURCE, Truth, kept_ids, read_until, run, watching

from vprof.trace.reading import load_binary

_DESCRIPTOR = """
name = "toy"
roots = ["serve"]
[source]
kind = "tree"
path = "."
[build]
steps = ["{cc} -O1 -pthread -o {build}/toy {source}/toy.c"]
programs = ["toy"]
"""
_SERVER = """
[server]
start = "sh -c 'echo $$ > pid; exec {build}/toy 1000000 400 40 20'"
ready = "test -e {server}/pid"
[load]
command = "sh -c 'echo $$ >> loads; sleep {seconds}'"
"""


def built(folder: Path, more: str) -> list[object]:
    """Options that name the target."""
    target, work = folder / "toy", folder / "work"
    target.mkdir()
    shutil.copy(SOURCE, target / "toy.c")
    (target / "target.toml").write_text(_DESCRIPTOR + more)
    options: list[object] = ["--target", str(target), "--dir", str(work)]
    verb = [sys.executable, "-c", "from vprof.cli import main; main()", "instrument"]
    subprocess.run([*verb, *map(str, options)], check=True, capture_output=True)
    return options


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> list[object]:
    return built(tmp_path_factory.mktemp("target"), _SERVER)


def is_alive(pid: str) -> bool:
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return False
    return True


def test_a_server_is_watched_until_a_signal_and_then_stopped(target: list[object], tmp_path: Path) -> None:
    folder, work = tmp_path / "slow", Path(str(target[3]))
    arguments = ["--slower-than", f"{LIMIT_MS}ms", "--piece-seconds", 0.4, "--per-hour", 1000]
    with watching(folder, *arguments, *target) as watch:
        assert str(work / "build" / "toy") in read_until(watch, "vprof watch: joined")
        wait_for(lambda: (work / "server" / "loads").exists(), "the load")
        pids = [(work / "server" / name).read_text().split()[-1] for name in ("pid", "loads")]
        assert all(map(is_alive, pids))
        wait_for(lambda: len(kept_ids(folder)) > 3, "what is slow")
        watch.send_signal(signal.SIGTERM)
        assert watch.wait(timeout=PATIENCE_SECONDS) == 0
    assert not any(map(is_alive, pids))
    truth = Truth.of((work / "server.log").read_text())
    # The server runs before the recording begins, and after it has ended.
    kept = kept_ids(folder)
    assert {id_ for id_ in truth.stalls if min(kept) <= id_ <= max(kept)} <= kept
    assert kept <= truth.stalls.keys() | truth.slow.keys()
    trace = load_binary(next((folder / "kept").glob("*.trace")))
    on = {trace.program.functions[f] for f in trace.program.on.nonzero()[0]}
    assert "serve" in on and "flush_log" not in on


def test_it_ends_after_its_seconds(target: list[object], tmp_path: Path) -> None:
    work = Path(str(target[3]))
    done = run(tmp_path / "slow", "--slower-than", "20ms", *target, "--seconds", 1, "--sites", "flush_log")
    assert done.returncode == 0 and "vprof watch: ended" in done.stderr, done.stderr
    assert not is_alive((work / "server" / "pid").read_text())


def test_a_server_that_ends_is_one_line(target: list[object], tmp_path: Path) -> None:
    folder, work = tmp_path / "slow", Path(str(target[3]))
    with watching(folder, "--slower-than", "20ms", *target) as watch:
        read_until(watch, "vprof watch: joined")
        wait_for(lambda: (work / "server" / "loads").exists(), "the load")
        os.kill(int((work / "server" / "pid").read_text()), signal.SIGKILL)
        assert watch.stderr
        said = watch.stderr.read().splitlines()
        assert watch.wait(timeout=PATIENCE_SECONDS) == 1
    assert said[-2].startswith("vprof watch: ended kept=")
    assert said[-1].startswith("vprof: the server ended (status -9): ")


def test_a_target_without_a_server_is_its_command(tmp_path: Path) -> None:
    target = built(tmp_path, '[run]\ncommand = "{build}/toy 900 300 40 20"\n')
    folder = tmp_path / "slow"
    done = run(folder, "--slower-than", f"{LIMIT_MS}ms", "--piece-seconds", 0.4, *target)
    assert done.returncode == 0, done.stderr
    truth = Truth.of(done.stdout)
    assert len(truth.stalls) == 3 and truth.stalls.keys() <= kept_ids(folder)


def test_bad_input_is_one_line(target: list[object], tmp_path: Path) -> None:
    watched = tmp_path / "slow"
    usual = [watched, "--slower-than", "1ms"]
    cases: list[tuple[list[object], int, str]] = [
        (["--target", "nosuch"], 2, "no target 'nosuch': give one of "),
        ([*target, "--session", tmp_path], 2, "--target and --session are different things to watch: give one"),
        (["--seconds", 5, "--", "true"], 2, "--seconds is for a --target: others run until they end"),
        (["--target", "minidb", "--dir", tmp_path / "no"], 1, f"{tmp_path / 'no'}/build/minidb does not exist: run `"),
        ([*target, "--load", "tpcc"], 2, f"{Path(str(target[1])) / 'target.toml'}: there is no [workloads], which"),
        (["--load", "tpcc", "--", "true"], 2, "--load is for a --target with a server"),
        (["--server-options=-x", "--", "true"], 2, "--server-options are for a --target with a server"),
    ]
    for arguments, code, line in cases:
        done = run(*usual, *arguments)
        assert done.returncode == code and done.stderr.startswith(f"vprof: {line}"), (arguments, done.stderr)
        assert len(done.stderr.splitlines()) == 1 and not watched.exists()
