"""`vprof watch` beside a program that stalls, by its own word, once in so many transactions (programs/watched)."""

from __future__ import annotations

import json
import os
import resource
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from patience import PATIENCE_SECONDS, wait_for
from watched import (
    LIMIT_MS,
    Truth,
    built,
    collector,
    kept_ids,
    listed,
    read_until,
    run,
    serve,
    session_directory,
    watching,
)

from vprof.path.chosen import one_path
from vprof.session.control import Control
from vprof.trace.reading import load_binary


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built(tmp_path_factory.mktemp("watched"))


@pytest.fixture
def session() -> Iterator[Path]:
    with session_directory() as path:
        yield path


def test_every_stall_is_kept_and_nothing_else(program: Path, tmp_path: Path) -> None:
    folder = tmp_path / "slow"
    # On a busy machine more than the usual 20 are slow.
    arguments = ["--slower-than", f"{LIMIT_MS}ms", "--sites", "*", "--piece-seconds", 0.5, "--per-hour", 1000]
    done = run(folder, *arguments, "--", program, 5600, 700, 40, LIMIT_MS)
    assert done.returncode == 0, done.stderr
    truth, kept = Truth.of(done.stdout), listed(folder)
    assert len(truth.stalls) == 8
    truth.check(kept)
    assert sorted(path.name for path in folder.iterdir()) == ["kept"]
    assert f"vprof watch: ended kept={len(kept)}" in done.stderr

    stall = next(one for one in kept if int(one["interval"]) in truth.stalls)
    trace = folder / "kept" / f"{stall['number']:06}.trace"
    assert trace.stat().st_size == stall["bytes"] < 2 << 20
    path = one_path([trace], stall["interval"])
    assert path.latency_ns == stall["latency_ns"]
    wait = max(path.steps, key=lambda step: step.stop - step.start)
    assert (wait.kind, wait.stack[-2:]) == ("blocked", ["serve", "write_log"])
    assert any("flush_log" in inner.stack for inner in wait.steps)
    whole = load_binary(trace)
    assert not [note for note in whole.notes if "damaged" in note or "lost" in note]

    shown = run("--show", stall["number"], folder)
    assert shown.returncode == 0, shown.stderr
    assert f"{stall['interval']} (pay): " in shown.stdout and "flush_log" in shown.stdout
    assert "Beside it, one of the median latency of the same seconds" in shown.stdout
    reported = run("--report", folder)
    assert reported.returncode == 0, reported.stderr
    assert "more of" in reported.stdout and "flush_log" in reported.stdout


def test_an_interval_that_is_longer_than_pieces_is_kept_whole(program: Path, tmp_path: Path) -> None:
    folder = tmp_path / "slow"
    done = run(
        folder, "--slower-than", "500ms", "--sites", "*", "--piece-seconds", 0.3, "--", program, 300, 150, 1100, 500
    )
    assert done.returncode == 0, done.stderr
    truth, kept = Truth.of(done.stdout), listed(folder)
    assert [int(one["interval"]) for one in kept] == list(truth.stalls) == [150, 300]
    for one in kept:
        path = one_path([folder / "kept" / f"{one['number']:06}.trace"], one["interval"])
        assert path.latency_ns == one["latency_ns"] > 1.1e9
        wait = max(path.steps, key=lambda step: step.stop - step.start)
        flush = max(wait.steps, key=lambda step: step.stop - step.start)
        assert "flush_log" in flush.stack


def test_calls_of_a_root_are_intervals_too(program: Path, tmp_path: Path) -> None:
    folder = tmp_path / "slow"
    done = run(
        folder,
        *("--slower-than", "20ms", "--root", "serve", "--sites", "flush_log", "--piece-seconds", 0.3, "--"),
        *(program, 900, 300, 400, 20),
    )
    assert done.returncode == 0, done.stderr
    truth, kept = Truth.of(done.stdout), listed(folder)
    assert len(truth.stalls) <= len(kept) <= len(truth.stalls) + len(truth.slow)
    stalls = sorted(kept, key=lambda one: -one["latency_ns"])[: len(truth.stalls)]
    for one, ns in zip(stalls, sorted(truth.stalls.values(), reverse=True), strict=True):
        assert 400e6 < one["latency_ns"] <= ns
        trace = folder / "kept" / f"{one['number']:06}.trace"
        assert one_path([trace], one["interval"], "serve").latency_ns == one["latency_ns"]


def test_the_slowest_of_an_hour_are_kept_also_over_restarts(program: Path, tmp_path: Path) -> None:
    folder = tmp_path / "slow"
    longest: list[int] = []
    for first, ms in ((1, 40), (1001, 80)):
        arguments = ["--slower-than", "20ms", "--per-hour", 3, "--piece-seconds", 0.4]
        done = run(folder, *arguments, "--", program, 600, 200, ms, LIMIT_MS, first)
        assert done.returncode == 0, done.stderr
        truth = Truth.of(done.stdout)
        longest = sorted([*longest, *truth.stalls.values(), *truth.slow.values()], reverse=True)[:3]
    kept = sorted((one["latency_ns"] for one in listed(folder)), reverse=True)
    assert len(kept) == 3
    for ns, told in zip(kept, longest, strict=True):
        assert ns == pytest.approx(told, rel=0.1)
    assert len(list((folder / "kept").glob("*.trace"))) == 3


def test_a_percentile_is_learned(program: Path, tmp_path: Path) -> None:
    folder = tmp_path / "slow"
    done = run(folder, "--slower-than", "p99", "--piece-seconds", 0.5, "--", program, 3000, 1000, 60, 0)
    assert done.returncode == 0, done.stderr
    truth, kept = Truth.of(done.stdout), listed(folder)
    found = {int(one["interval"]) for one in kept}
    # The first stall may come before anything is learned.
    assert set(list(truth.stalls)[1:]) <= found
    for one in kept:
        assert one["limit"] == "p99" and one["latency_ns"] > one["limit_ns"] > 0


def test_a_session_is_watched_over_restarts_of_the_server(program: Path, tmp_path: Path, session: Path) -> None:
    folder, plan = tmp_path / "slow", tmp_path / "plan.json"
    plan.write_text(json.dumps({"schema": "vprof-plan/1", "functions": ["serve"]}))
    arguments = ["--slower-than", "20ms", "--session", session, "--sites", plan, "--piece-seconds", 0.4]
    with collector(session), watching(folder, *arguments) as watch:
        first = serve(program, session, 600, 300, 40, LIMIT_MS)
        plan.write_text(json.dumps({"schema": "vprof-plan/1", "functions": ["serve", "flush_log"]}))
        watch.send_signal(signal.SIGHUP)
        read_until(watch, "vprof watch: plan ")
        second = serve(program, session, 600, 300, 40, LIMIT_MS, 10001)
        wait_for(lambda: first.stalls.keys() | second.stalls.keys() <= kept_ids(folder), "four kept")
        busy = run(folder, "--slower-than", "20ms", "--", program, 1, 1, 1, 1)
        assert (busy.returncode, busy.stderr) == (1, f"vprof: {folder}: another `vprof watch` writes there\n")
        watch.send_signal(signal.SIGTERM)
        said = watch.stderr.read()
        assert watch.wait(timeout=PATIENCE_SECONDS) == 0, said
        control = Control(session)
        assert (control.sites_on(), control.note().owner, control.stats()["file"]) == (set(), "", None)
        control.disconnect()
    Truth(first.stalls | second.stalls, first.slow | second.slow).check(listed(folder))
    # What the plan switched on only then is on the path of the later ones.
    for one in listed(folder):
        trace = load_binary(folder / "kept" / f"{one['number']:06}.trace")
        on = {trace.program.functions[f] for f in trace.program.on.nonzero()[0]}
        assert ("flush_log" in on) == (int(one["interval"]) > 10000)


def test_a_plan_that_cannot_be_read_changes_nothing(program: Path, tmp_path: Path, session: Path) -> None:
    folder, plan = tmp_path / "slow", tmp_path / "plan.json"
    plan.write_text(json.dumps({"schema": "vprof-plan/1", "functions": ["serve"]}))
    with (
        collector(session),
        watching(folder, "--slower-than", "20ms", "--session", session, "--sites", plan) as watch,
    ):
        serve(program, session, 10, 20, 1, LIMIT_MS)
        read_until(watch, "vprof watch: joined")
        control = Control(session)
        on = control.sites_on()
        assert on
        for spoil, line in (
            (lambda: plan.write_text("{"), f"{plan}: not a plan"),
            (plan.unlink, f"cannot read {plan}: No such file or directory"),
            (plan.mkdir, f"cannot read {plan}: Is a directory"),
        ):
            spoil()
            watch.send_signal(signal.SIGHUP)
            assert f'vprof watch: plan-unreadable reason="{line}' in read_until(watch, "plan")
            assert control.sites_on() == on
        control.disconnect()
        plan.rmdir()
        plan.write_text(json.dumps({"schema": "vprof-plan/1", "functions": ["flush_log", "flush_logs"]}))
        watch.send_signal(signal.SIGHUP)
        assert read_until(watch, "plan") == "vprof watch: plan functions=2 off=0\n"
        assert "flush_logs" in read_until(watch, "vprof watch: no-site reason=")
        watch.send_signal(signal.SIGTERM)
        assert watch.wait(timeout=PATIENCE_SECONDS) == 0


def test_a_session_that_is_not_there_or_not_ours_is_one_line(tmp_path: Path, session: Path) -> None:
    """Nothing is made, and nobody else's session is looked into."""
    link, foreign = tmp_path / "link", tmp_path / "foreign"
    with collector(session) as process:
        link.symlink_to(session)
        process.kill()
        process.wait()
    foreign.mkdir()
    cases = [
        (tmp_path / "no", "there is no session (any more); start one: "),
        (link, "the session of another user, or a link"),
        (session, "the collector has ended and left its session behind: remove that folder"),
    ]
    if os.geteuid() == 0:
        os.chown(foreign, 65534, 65534)
        cases.append((foreign, "the session of another user, or a link"))
    for directory, line in cases:
        done = run(tmp_path / "slow", "--slower-than", "20ms", "--session", directory)
        assert done.returncode == 1 and done.stderr.startswith(f"vprof: {directory}: {line}"), done.stderr
        assert len(done.stderr.splitlines()) == 1


def test_a_disk_that_is_too_small_is_said_and_what_was_kept_stays(program: Path, tmp_path: Path, session: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1500k", "none", disk], capture_output=True, text=True)
    if mounted.returncode:
        pytest.skip(f"no disk of a size of its own: {mounted.stderr.strip()}")
    try:
        folder = disk / "slow"
        arguments = ["--slower-than", "20ms", "--session", session, "--sites", "*", "--piece-seconds", 0.4]
        with collector(session), watching(folder, *arguments) as watch:
            first = serve(program, session, 300, 300, 40, LIMIT_MS)
            wait_for(lambda: first.stalls.keys() <= kept_ids(folder), "the first")
            before = {path.name: path.read_bytes() for path in (folder / "kept").iterdir()}
            filler = disk / "filler"
            filler.write_bytes(b"x" * (shutil.disk_usage(disk).free - 8192))
            serve(program, session, 3000, 1000, 40, LIMIT_MS, 10001)
            assert "No space left on device" in read_until(watch, "No space left")
            filler.unlink()
            time.sleep(1)
            last = serve(program, session, 300, 300, 40, LIMIT_MS, 20001)
            wait_for(lambda: last.stalls.keys() <= kept_ids(folder), "the last")
            watch.send_signal(signal.SIGTERM)
            assert watch.wait(timeout=PATIENCE_SECONDS) == 0
        after = {path.name: path.read_bytes() for path in (folder / "kept").iterdir()}
        assert before and before.items() <= after.items()
        assert {path.partition(".")[2] for path in after} == {"json", "trace"}
    finally:
        subprocess.run(["umount", disk], check=True)


def test_a_collector_that_dies_costs_one_line_and_nothing_kept(program: Path, tmp_path: Path, session: Path) -> None:
    folder = tmp_path / "slow"
    arguments = ["--slower-than", "20ms", "--session", session, "--piece-seconds", 30]
    with collector(session) as process, watching(folder, *arguments) as watch:
        truth = serve(program, session, 6000, 3000, 40, LIMIT_MS)
        time.sleep(0.5)  # what is not drained yet dies with it
        process.kill()
        assert watch.stderr
        said = watch.stderr.read().splitlines()
        assert watch.wait(timeout=PATIENCE_SECONDS) == 1
    assert said[-1].startswith("vprof: the collector ") and said[-1].endswith("the trace ends here")
    truth.check(listed(folder))


def test_a_watch_that_was_killed_is_followed_by_another(program: Path, tmp_path: Path, session: Path) -> None:
    """In the same session and folder, with what was kept before."""
    folder, found = tmp_path / "slow", Truth()
    arguments = ["--slower-than", "20ms", "--session", session, "--sites", "serve", "--piece-seconds", 0.4]
    with collector(session):
        for first in (1, 10001):
            with watching(folder, *arguments) as watch:
                truth = serve(program, session, 300, 300, 40, LIMIT_MS, first)
                found.stalls.update(truth.stalls)
                found.slow.update(truth.slow)
                wait_for(lambda: found.stalls.keys() <= kept_ids(folder), "kept")
                watch.kill()
                watch.wait()
    found.check(listed(folder))


def test_a_full_disk_is_said_and_it_goes_on_when_there_is_room(program: Path, tmp_path: Path, session: Path) -> None:
    """A limit of the file's size is a full disk: for the watch itself, and for the collector that writes the pieces."""
    folder, free = tmp_path / "slow", resource.RLIM_INFINITY
    arguments = ["--slower-than", "20ms", "--session", session, "--piece-seconds", 0.4]
    with collector(session) as process, watching(folder, *arguments) as watch:
        resource.prlimit(watch.pid, resource.RLIMIT_FSIZE, (4096, free))
        serve(program, session, 300, 300, 40, LIMIT_MS)
        assert 'reason="File too large"' in read_until(watch, "not-kept")
        resource.prlimit(watch.pid, resource.RLIMIT_FSIZE, (free, free))
        resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (4096, free))
        assert "File too large" in read_until(watch, "piece-ended")
        resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (free, free))
        read_until(watch, "piece-ended")
        time.sleep(1)
        last = serve(program, session, 300, 300, 40, LIMIT_MS, 20001)
        read_until(watch, "kept number=")
        watch.send_signal(signal.SIGTERM)
        assert watch.wait(timeout=PATIENCE_SECONDS) == 0
    last.check(listed(folder))
    assert {path.suffix for path in (folder / "kept").iterdir()} == {".json", ".trace"}


def test_bad_input_is_one_line(program: Path, tmp_path: Path) -> None:
    watched = tmp_path / "slow"
    (watched / "kept").mkdir(parents=True)
    cases: list[tuple[list[object], int, str]] = [
        ([watched], 2, "nothing to look for: give --slower-than, such as 20ms or p99.9 (or --list, --show, --report)"),
        ([watched, "--slower-than", "20ms"], 2, "nothing to watch: give a command after `--`, or --session DIR, one"),
        ([watched, "--slower-than", "20", "--", program], 2, "'20' is no limit: give a time such as 20ms, or a perce"),
        ([watched, "--slower-than", "p100", "--", program], 2, "'p100' is no limit"),
        ([watched, "--slower-than", "1ms", "--session", tmp_path / "x"], 1, f"{tmp_path / 'x'}: there is no session"),
        ([watched, "--slower-than", "1ms", "--", tmp_path / "x"], 2, f"{tmp_path / 'x'}: not found"),
        ([watched, "--slower-than", "1ms", "--plan-from", tmp_path, "--", program], 2, f"{tmp_path}: no file of a d"),
        ([watched, "--slower-than", "1ms", "--max-size", "32M", "--", program], 2, "--max-size: at least 64M"),
        ([watched, "--slower-than", "1ms", "--", "true"], 1, "no records: no program built by vprof-cc joined"),
        ([program, "--slower-than", "1ms", "--", program], 1, f"cannot write to {program}: "),
        (["--list", tmp_path / "nothing"], 2, f"{tmp_path / 'nothing'}: no folder of `vprof watch`"),
        (["--show", 3, watched], 2, f"{watched}: number 3 is not kept (nothing was kept yet)"),
        (["--show", 3, "--report", watched], 2, "--list, --show and --report are different reports"),
    ]
    for arguments, code, line in cases:
        done = run(*arguments)
        *before, last = done.stderr.splitlines()
        assert done.returncode == code and last.startswith(f"vprof: {line}"), (arguments, done.stderr)
        assert all(said.startswith("vprof watch: ") for said in before)
    assert run("--list", watched).stdout == "nothing was kept yet\n"
    assert run("--report", watched).stdout.startswith("slow intervals with ordinary ones beside them: 0, in m")
    (watched / "kept" / "000001.json").write_text("{}")
    assert run("--list", watched).stderr.startswith(f"vprof: {watched / 'kept' / '000001.json'}: not written by")
