"""What servers do to themselves, and what machines do to servers: are records lost, is the host affected?

    python bench/faults.py            # the table, some minutes
    python bench/faults.py --short threads daemons

Each fault is a real program under the real collector; the trace is read by the analyzer's reader. `lost` are records of
calls that were over and are neither in the trace nor counted as dropped; the host is affected if it ends otherwise, or
says something else, than without a session. Exit code 1 if anything was lost or affected.
"""

from __future__ import annotations

import argparse
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from fault_lab import (
    CALLS_ALONE,
    WAIT_S,
    Lab,
    Outcome,
    Recording,
    account,
    calls_in,
    dropped_in,
    said,
    start,
    start_collector,
    told_lost,
)

from vprof.errors import VprofError
from vprof.trace.chunks import TraceFile
from vprof.trace.loss import contradictions

Fault = Callable[[Lab, bool], Outcome]
FAULTS: dict[str, Fault] = {}


def fault(name: str) -> Callable[[Fault], Fault]:
    def add(run: Fault) -> Fault:
        FAULTS[name] = run
        return run

    return add


def simple(name: str, program: str, *words: str, trials: int = 5, code: int = 0, options: tuple[str, ...] = ()) -> None:
    """A fault that a scenario of faults.c makes by itself."""

    @fault(name)
    def run(lab: Lab, short: bool) -> Outcome:
        outcome = Outcome(note=f"{words[1]} times each" if len(words) > 1 else "")
        for _ in range(1 if short else trials):
            recording = lab.recording(*options)
            output, status = recording.run(lab.folder / program, *words)
            outcome.expect(status == code, f"ended with {status}: {output}")
            account(outcome, recording.finish(), said(output))
        return outcome


SMALL = ("--ring-bytes", "65536", "--slots", "200")
simple("fork, with and without exec", "faults", "fork", "100", options=SMALL)
simple("vfork and exec", "faults", "vfork", "100")
simple("posix_spawn, system, popen", "faults", "helpers", "20")
simple("thread exit and cancel in a probe", "faults", "ends", "50", options=SMALL)
simple("main thread ends before others", "faults", "main-ends")
simple("dlopen and dlclose, probes on", "faults", "load", "100")
simple("abort", "faults", "abort", "1000", code=-signal.SIGABRT)
simple("probes before main, at exit, in thread ends", "faults", "threads", "100", options=SMALL)
simple("exec of a program without probes", "faults", "daemons", "60", options=("--slots", "64", "--ring-bytes", "4096"))


@fault("threads one after another, and in waves")
def many_threads(lab: Lab, short: bool) -> Outcome:
    n, outcome = 1000 if short else 10000, Outcome()
    for scenario in ("threads", "waves"):
        recording = lab.recording("--slots", "1500", "--ring-bytes", "4096")
        output, status = recording.run(lab.folder / "faults", scenario, n)
        outcome.expect(status == 0, f"ended with {status}")
        trace = recording.finish()
        account(outcome, trace, said(output), 4 * int(trace.of("end")[0]["unslotted"]))
        outcome.expect(len({event["uid"] for event in trace.of("thread")}) == n + 1, "threads are missing")
    outcome.note = f"{n} threads through 1500 slots"
    return outcome


@fault("threads at one time, more than slots")
def live_threads(lab: Lab, short: bool) -> Outcome:
    n, outcome = 1000 if short else 10000, Outcome()
    for slots in (100, n + 10):
        recording = lab.recording("--slots", str(slots), "--ring-bytes", "4096")
        size = (recording.directory / "arena").stat().st_size >> 20
        output, status = recording.run(lab.folder / "faults", "live", n)
        outcome.expect(status == 0, f"ended with {status}: {output}")
        trace = recording.finish()
        account(outcome, trace, said(output), 2 * int(trace.of("end")[0]["unslotted"]))
        outcome.expect(len(trace.of("thread_end")) == min(slots, n + 1), "threads are missing")
    outcome.note = f"{n} threads; with a slot for each the arena takes {size} MB"
    return outcome


@fault("setuid, chroot, umask, chdir, closed descriptors")
def changes(lab: Lab, short: bool) -> Outcome:
    outcome = Outcome(note="" if os.geteuid() == 0 else "not root: without setuid and chroot")
    for _ in range(1 if short else 5):
        recording = lab.recording()
        _, status = recording.run(lab.folder / "processes", "change")
        outcome.expect(status == 0, f"ended with {status}")
        account(outcome, recording.finish(), 6)
    return outcome


@fault("probes in signal handlers")
def handlers(lab: Lab, short: bool) -> Outcome:
    outcome = Outcome(note="2000 signals each, own and alternate stack")
    for scenario in ("signals", "signals-alternate"):
        recording = lab.recording()
        output, status = recording.run(lab.folder / "lives", scenario)
        outcome.expect(status == 0, f"ended with {status}")
        account(outcome, recording.finish(), 3 * said(output))
    return outcome


@fault("kill -9, crash, _exit at random points")
def random_ends(lab: Lab, short: bool) -> Outcome:
    n, outcome = 30 if short else 300, Outcome(note="of one process each")
    for _ in range(1 if short else 10):
        recording = lab.recording("--ring-bytes", "262144", "--slots", "320")
        output, _ = recording.run(lab.folder / "processes", "end", n, **CALLS_ALONE)
        trace = recording.finish()
        uids = {event["pid"]: event["uid"] for event in trace.of("thread")}
        dropped = {event["uid"]: event["dropped"] for event in trace.of("thread_end")}
        for pid, calls in (map(int, line.split()) for line in output.splitlines()):
            own = [chunk for chunk in trace.chunks if chunk.uid == uids.get(pid)]
            found = calls_in(TraceFile(recording.trace, 0, "", chunks=own)) + dropped.get(uids.get(pid, 0), 0)
            outcome.lost += max(0, 2 * calls - found)
            outcome.expect(found <= 2 * calls + 2, f"{found} records of {calls} calls")
            outcome.trials += 1
        for contradiction in contradictions(trace, told_lost(trace)):
            outcome.expect(False, contradiction)
    return outcome


@fault("static, PIE, non-PIE")
def links(lab: Lab, short: bool) -> Outcome:
    outcome = Outcome()
    for name, flags in {"static": ["-static"], "pie": ["-fPIE", "-pie"], "no-pie": ["-fno-pie", "-no-pie"]}.items():
        recording = lab.recording()
        output, status = recording.run(lab.build(f"faults-{name}", "faults.c", *flags), "calls", "1000")
        outcome.expect(status == 0, f"{name} ended with {status}")
        account(outcome, recording.finish(), said(output))
    return outcome


@contextmanager
def serving(recording: Recording, lab: Lab, pause: int, **environment: str) -> Iterator[subprocess.Popen[str]]:
    """A program that calls until its input ends; afterwards it must have ended well."""
    process = recording.start(lab.folder / "faults", "serve", pause, **environment)
    while not recording.probes_on:
        recording.follow()
    assert process.stdin and process.stdout
    process.stdout.readline()
    try:
        yield process
    finally:
        process.stdin.close()


def calls_of(process: subprocess.Popen[str], outcome: Outcome) -> int:
    assert process.stdout
    made = said(process.stdout.read())
    outcome.expect(process.wait(WAIT_S) == 0, "the program did not end well")
    return made


@fault("collector stopped for a second, rings full")
def stopped_collector(lab: Lab, short: bool) -> Outcome:
    outcome = Outcome()
    for _ in range(1 if short else 10):
        recording = lab.recording(*SMALL)
        with serving(recording, lab, 0, **CALLS_ALONE) as process:
            time.sleep(0.2)
            recording.collector.send_signal(signal.SIGSTOP)
            time.sleep(1)
            recording.collector.send_signal(signal.SIGCONT)
            time.sleep(0.2)
        made = calls_of(process, outcome)
        trace = recording.finish()
        account(outcome, trace, made)
        outcome.expect(dropped_in(trace) > 0, "the ring was never full")
        outcome.expect(calls_in(trace) + dropped_in(trace) == made, "records that nobody wrote")
    outcome.note = "dropped, counted, the program goes on"
    return outcome


@fault("collector killed -9")
def killed_collector(lab: Lab, short: bool) -> Outcome:
    outcome = Outcome(note="its trace is readable up to there")
    for _ in range(1 if short else 10):
        recording = lab.recording(*SMALL)
        with serving(recording, lab, 1000) as process:
            time.sleep(0.2)
            recording.collector.kill()
            recording.collector.wait()
            time.sleep(0.2)
        calls_of(process, outcome)
        outcome.expect(calls_in(recording.read()) > 0, "nothing in the trace")
        outcome.trials += 1
    return outcome


@fault("collector starts after the program")
def late_collector(lab: Lab, short: bool) -> Outcome:
    outcome = Outcome(trials=1, note="the program stays unrecorded")
    session = lab.next_folder() / "session"
    process = start(lab.folder / "faults", "serve", 1000, VPROF_SESSION=str(session))
    assert process.stdin and process.stdout
    process.stdout.readline()
    recording = lab.recording()
    process.stdin.close()
    calls_of(process, outcome)
    outcome.expect(calls_in(recording.finish()) == 0, "recorded")
    return outcome


@fault("disk full in mid-run")
def full_disk(lab: Lab, short: bool) -> Outcome:
    """A limit of the file's size is a full disk to the collector."""
    outcome = Outcome(note="said once; the trace is whole up to there")
    for _ in range(1 if short else 10):
        recording = lab.recording()
        resource.prlimit(recording.collector.pid, resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))
        with serving(recording, lab, 1000) as process:
            deadline = time.monotonic() + WAIT_S
            while not recording.session.stats()["ended"] and time.monotonic() < deadline:
                time.sleep(0.01)
        calls_of(process, outcome)
        reason = recording.session.stop()["ended"]
        trace = recording.read()
        outcome.expect("File too large" in reason, f"said: {reason}")
        outcome.expect(trace.stopped == "" and calls_in(trace) > 10000, f"not readable: {trace.stopped}")
        outcome.trials += 1
    return outcome


@fault("shared memory full at start")
def full_memory(lab: Lab, short: bool) -> Outcome:
    outcome = Outcome(trials=1, note="refused in one line")
    session = lab.folder / "no-room"
    collector = start_collector(session, lab.folder / "no-room.trace", "--slots", "60000", "--ring-bytes", "1073741824")
    message = collector.communicate()[1]
    outcome.expect(collector.returncode == 1 and "cannot allocate" in message, message)
    outcome.expect(not session.exists(), "the session's directory stays")
    return outcome


def not_ours(recording: Recording) -> Iterator[tuple[str, Path]]:
    """Ways in which a session's directory is refused; each is undone."""
    directory, arena = recording.directory, recording.directory / "arena"
    for what, path, mode in (
        ("directory open to others", directory, 0o750),
        ("arena open to others", arena, 0o640),
        ("folder where all may rename", directory.parent, 0o777),
    ):
        before = path.stat().st_mode & 0o7777
        path.chmod(mode)
        yield what, directory
        path.chmod(before)
    link = directory.parent / "link"
    link.symlink_to(directory)
    yield "symlink", link
    if os.geteuid() == 0:
        os.chown(directory, 65534, 65534)
        yield "another owner", directory
        os.chown(directory, 0, 0)
    content = arena.read_bytes()
    for what, changed in (
        ("another version", b"VPROFAR0" + content[8:]),
        ("cut short", content[: len(content) // 2]),
        ("only a header", content[:64]),
        ("empty", b""),
        ("too many slots", content[:16] + b"\xff" * 4 + content[20:]),
        *((f"{n} slots, not 4", content[:16] + n.to_bytes(4, "little") + content[20:]) for n in (5, 64, 1024, 65536)),
        ("longer rings", content[:20] + (1 << 16).to_bytes(4, "little") + content[24:]),
    ):
        copy = directory.parent / f"copy of {what}"
        copy.mkdir(mode=0o700)
        for name, data in (("arena", changed), ("switches", (directory / "switches").read_bytes())):
            (copy / name).write_bytes(data)
            (copy / name).chmod(0o600)
        yield f"arena: {what}", copy


@fault("a session that is not ours, or broken")
def foreign_sessions(lab: Lab, short: bool) -> Outcome:
    outcome = Outcome(note="the program runs, unrecorded")
    recording = lab.recording("--slots", "4", "--ring-bytes", "4096")
    for what, directory in not_ours(recording):
        process = start(lab.folder / "faults", "calls", "1000", VPROF_SESSION=str(directory))
        output = process.communicate(timeout=WAIT_S)[0]
        outcome.expect(process.returncode == 0 and said(output) == 2004, f"{what}: ended with {process.returncode}")
        outcome.trials += 1
    outcome.expect(recording.session.request("modules")["modules"] == [], "one was joined")
    recording.finish()
    return outcome


@fault("collector without a descriptor left")
def no_descriptors(lab: Lab, short: bool) -> Outcome:
    """It cannot look at processes: nobody may be taken for dead."""
    outcome = Outcome()
    for _ in range(1 if short else 5):
        recording = lab.recording(*SMALL)
        with serving(recording, lab, 1000) as process:
            resource.prlimit(recording.collector.pid, resource.RLIMIT_NOFILE, (4, 64))
            time.sleep(0.5)
            resource.prlimit(recording.collector.pid, resource.RLIMIT_NOFILE, (64, 64))
        made = calls_of(process, outcome)
        trace = recording.finish()
        account(outcome, trace, made)
        outcome.expect(len(trace.of("thread_end")) == 1, "a live thread was taken for dead")
    return outcome


def whole_file(recording: Recording, outcome: Outcome) -> None:
    """Whatever was overwritten, the collector goes on and leaves a whole file."""
    try:
        trace = recording.finish()
    except VprofError as error:
        outcome.expect(False, f"the collector ended with {recording.collector.poll()}: {error}")
    else:
        outcome.expect(trace.stopped == "", trace.stopped)


@fault("program overwrites the arena at random")
def scribbles(lab: Lab, short: bool) -> Outcome:
    """Out of scope for the program."""
    outcome = Outcome(note="the collector goes on; the file is whole")
    for _ in range(3 if short else 50):
        recording = lab.recording("--slots", "8", "--ring-bytes", "4096")
        recording.run_overwriting(lab.folder / "faults", "scribble", 20000)
        whole_file(recording, outcome)
        outcome.trials += 1
    return outcome


WAYS_TO_OVERWRITE = ("words", "header", "tables", "slots", "random", "held")
HELD_SECONDS = 10
"""What everything that is held for ever may cost a program in all: it waits for a second at most."""


@fault("worker without rights overwrites the arena of root")
def hostile_worker(lab: Lab, short: bool) -> Outcome:
    """Then the program is in scope: its memory stays, it ends as without a session, and as soon."""
    if os.geteuid() != 0:
        return Outcome(note="not tried: only root can give up rights")
    outcome = Outcome(note="the program's memory stays, it neither fails nor hangs; the file is whole")
    for kind in WAYS_TO_OVERWRITE:
        began = time.monotonic()
        wanted = start(lab.folder / "worker", kind).communicate(timeout=WAIT_S)[0]
        plain_seconds = time.monotonic() - began
        for _ in range(1 if short else 5):
            recording = lab.recording("--slots", "16", "--ring-bytes", "4096")
            began = time.monotonic()
            output, status = recording.run_overwriting(lab.folder / "worker", kind)
            seconds = time.monotonic() - began
            outcome.expect((output, status) == (wanted, 0), f"{kind}: ended with {status}: {output}, not {wanted}")
            late = seconds > 3 * plain_seconds + HELD_SECONDS
            outcome.expect(not late, f"{kind}: took {seconds:.1f} s, without a session {plain_seconds:.1f} s")
            whole_file(recording, outcome)
            outcome.trials += 1
    return outcome


def report(rows: list[tuple[str, Outcome]]) -> str:
    lines = [f"{'fault':<50} {'trials':>6} {'lost':>5} {'host':>9}  note"]
    for name, outcome in rows:
        host = "AFFECTED" if outcome.affected else "no effect"
        lines.append(f"{name:<50} {outcome.trials:>6} {outcome.lost:>5} {host:>9}  {outcome.note}")
        lines += [f"    {reason}" for reason in outcome.affected[:5]]
    return "\n".join(lines)


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--short", action="store_true", help="one trial or few of each")
    parser.add_argument("words", nargs="*", help="only faults whose name has one of these")
    options: Any = parser.parse_args(arguments)
    chosen = [name for name in FAULTS if not options.words or any(word in name for word in options.words)]
    rows = []
    with tempfile.TemporaryDirectory(prefix="vprof-faults-", dir="/dev/shm") as folder:
        lab = Lab(Path(folder))
        try:
            for name in chosen:
                print(name, file=sys.stderr)
                rows.append((name, FAULTS[name](lab, options.short)))
        finally:
            lab.close()
    print(report(rows))
    return int(any(outcome.lost or outcome.affected for _, outcome in rows))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
