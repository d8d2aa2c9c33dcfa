"""A trace against the kernel's scheduler: what its events say, and what is right or wrong of a trace by them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from writer import Writer

from vprof.cli import main
from vprof.installed import native
from vprof.tables.model import Trace
from vprof.trace.clock import Clock
from vprof.trace.kernel_check import Sum, compare, render
from vprof.trace.kernel_sched import INTERRUPT, TRACEFS, read_schedule
from vprof.trace.reading import load_binary

PREEMPTED, BLOCKED = 1, 2
CLOCK = Clock.of("monotonic", [])


def switch(t: int, leaves: int, state: str, enters: int) -> str:
    return (
        f"            prog-{leaves}   [000] d..2. {t}: sched_switch: prev_comm=prog prev_pid={leaves} prev_prio=120 "
        f"prev_state={state} ==> next_comm=two words next_pid={enters} next_prio=120"
    )


def waking(t: int, waker: int, wakee: int, flags: str = "d..3.") -> str:
    return (
        f" kworker/u8:2-ev-{waker}   [001] {flags} {t}: sched_waking: comm=pid=7 x pid={wakee} prio=120 target_cpu=000"
    )


def test_lines_become_absences_and_wakings() -> None:
    lines = [
        switch(100, 11, "S", 0),
        waking(150, 12, 11),
        switch(180, 0, "R", 11),
        switch(200, 11, "R+", 99),
        switch(260, 99, "S", 11),
        switch(300, 11, "D|K", 99),
        waking(330, 0, 11, "dNh4."),
        "CPU:1 [LOST 3 EVENTS]",
        switch(340, 99, "R", 11),
        waking(345, 11, 99),
    ]
    found = read_schedule(lines, {11})
    absences = zip(found.left, found.runnable, found.back, found.preempted, strict=True)
    assert list(absences) == [(100, 150, 180, False), (200, 200, 260, True), (300, 330, 340, False)]
    assert list(zip(found.wakee, found.waking, found.waker, strict=True)) == [(11, 150, 12), (11, 330, INTERRUPT)]
    assert found.lost == 3


def test_events_that_are_missing_are_counted() -> None:
    """Thread 11 enters at 100, 120, ... and leaves 10 later. That it leaves is missing once."""
    whole = [switch(t, *((11, "S", 0) if t % 20 else (0, "R", 11))) for t in range(100, 300, 10)]
    assert read_schedule(whole, {11}).lost == 0
    for i in range(1, len(whole) - 1, 2):
        assert read_schedule(whole[:i] + whole[i + 1 :], {11}).lost == 1


def test_who_does_something_is_back_although_that_is_not_told() -> None:
    """The kernel's filter drops some switches from an idle CPU."""
    lines = [
        switch(100, 11, "S", 0),
        waking(150, 0, 11, "d.h3."),
        waking(160, 11, 12),
        switch(170, 11, "S", 0),
        waking(200, 0, 11, "d.h3."),
        switch(210, 11, "R", 99),
        switch(250, 11, "S", 0),
    ]
    found = read_schedule(lines, {11})
    absences = zip(found.left, found.runnable, found.back, found.preempted, strict=True)
    assert list(absences) == [(100, 150, 150, False), (170, 200, 200, False), (210, 210, 250, True)]
    assert found.lost == 0


def recorded(folder: Path) -> Trace:
    """Thread 11: preempted, three waits, and a sleep of its own. 12 releases.

    The second wait is idle, for what comes from outside; in the third it never slept.
    """
    trace = Writer()
    for uid in (1, 2):
        trace.event("thread", uid=uid, pid=10, tid=10 + uid, name="prog", ticks=0, off_cpu="rseq")
    thread = trace.thread(1)
    thread.on_behalf(0, 100)
    thread.off_cpu(200, 40, PREEMPTED)
    thread.on_behalf(0, 200)
    thread.blocked(300, 400, peer=2, woke=370)
    thread.blocked(500, 600, class_=11)
    thread.blocked(700, 710, peer=2, woke=705)
    thread.off_cpu(900, 100, BLOCKED)
    thread.on_behalf(0, 900)
    other = trace.thread(2)
    other.on_behalf(0, 90)
    other.on_behalf(0, 950)
    return load_binary(trace.save(folder / "run.trace"))


def kernel(waker: int) -> list[str]:
    return [
        switch(150, 11, "R", 99),
        switch(190, 99, "S", 11),
        switch(310, 11, "S", 99),
        waking(370, waker, 11),
        switch(390, 99, "S", 11),
        switch(510, 11, "S", 99),
        waking(570, 0, 11, "d.h3."),
        switch(590, 99, "S", 11),
        switch(810, 11, "D", 99),
        waking(860, 0, 11, "d.h3."),
        switch(900, 99, "S", 11),
    ]


def test_what_trace_and_kernel_agree_on(tmp_path: Path) -> None:
    found = compare(recorded(tmp_path), read_schedule(kernel(12), {11, 12}), CLOCK)
    edges, off = found.edges, found.off_cpu
    assert (edges.same, edges.outside, edges.awake) == (Sum(1, 100), Sum(1, 100), Sum(1, 10))
    assert (edges.other, edges.missed) == (Sum(), Sum())
    assert (off.preempted, off.outside.preempted) == (40, 40)
    assert (off.blocked, off.outside.blocked + off.outside.delayed) == (100, 90)
    assert (off.outside.delayed, off.within.delayed, off.known.delayed) == (40, 40, 20)
    assert off.sched == 400 - 370 + 710 - 705
    assert re.search(r"the thread that is recorded woke it +1 +0.000 s +50.00%", render(found))


def test_a_wrong_waker_and_a_missing_one_are_told(tmp_path: Path) -> None:
    lines = [*kernel(99)[:6], waking(570, 12, 11), *kernel(99)[7:]]
    edges = compare(recorded(tmp_path), read_schedule(lines, {11, 12}), CLOCK).edges
    assert (edges.same, edges.other, edges.missed) == (Sum(), Sum(1, 100), Sum(1, 100))


PROGRAM = r"""
#include <pthread.h>
#include <time.h>
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int turn;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static void take_turn(int mine) {
  pthread_mutex_lock(&mutex);
  while (turn != mine) pthread_cond_wait(&changed, &mutex);
  pthread_mutex_unlock(&mutex);
  nanosleep(&(struct timespec){0, 1000000}, NULL);  // meanwhile the other waits
  pthread_mutex_lock(&mutex);
  turn = !mine;
  pthread_cond_signal(&changed);
  pthread_mutex_unlock(&mutex);
}
static void *play(void *mine) {
  for (int i = 0; i < 200; ++i) take_turn(mine != NULL);
  return NULL;
}
int main(void) {
  pthread_t other;
  pthread_create(&other, NULL, play, &other);
  play(NULL);
  pthread_join(other, NULL);
  return 0;
}
"""


def has_events() -> bool:
    """Whether a mount namespace of our own, so that nothing stays behind, has the kernel's events."""
    mount = ["unshare", "--mount", "mount", "-t", "tracefs", "nodev", str(TRACEFS)]
    return os.geteuid() == 0 and subprocess.run(mount, capture_output=True, check=False).returncode == 0


def test_the_edges_of_a_program_are_the_kernels(tmp_path: Path) -> None:
    if not has_events():
        pytest.skip("needs root and a kernel with tracefs")
    source, program = tmp_path / "turns.c", tmp_path / "turns"
    source.write_text(PROGRAM, encoding="utf-8")
    subprocess.run([native("bin/vprof-cc"), "-O1", "-pthread", "-o", program, source], check=True)
    record = "from vprof.cli import main; main()"
    arguments = ["record", "--check-kernel", "--sites", "all", "-o", str(tmp_path / "run.trace"), "--", str(program)]
    script = f'mount -t tracefs nodev {TRACEFS} && exec "$@"'
    command = ["unshare", "--mount", "sh", "-c", script, "sh", sys.executable, "-c", record, *arguments]
    for _ in range(3):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        if "events of the kernel are missing" not in done.stdout:  # else there is nothing to compare with
            break
    assert "events of the kernel are missing" not in done.stdout, done.stdout
    counts = dict(re.findall(r"^(.+?) {2,}(\d+) +[\d.]+ s", done.stdout, re.MULTILINE))
    assert int(counts["the thread that is recorded woke it"]) > 100, done.stdout
    assert int(counts["another thread woke it"]) == 0, done.stdout
    assert int(counts["nobody is recorded, a thread of the trace woke it"]) == 0, done.stdout
    instances = ["unshare", "--mount", "sh", "-c", f"mount -t tracefs nodev {TRACEFS} && ls {TRACEFS}/instances"]
    assert "vprof-" not in subprocess.run(instances, capture_output=True, text=True, check=True).stdout


def test_a_machine_without_the_kernels_events_says_so_before_anything_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("vprof.trace.kernel_sched.TRACEFS", tmp_path / "none")
    touch = ["sh", "-c", f"touch {tmp_path}/started"]
    arguments = ["record", "--check-kernel", "--sites", "all", "-o", str(tmp_path / "run.trace"), "--", *touch]
    monkeypatch.setattr("sys.argv", ["vprof", *arguments])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    why = r"mount it first: .+|needs root"
    assert re.fullmatch(
        rf"vprof: no events of the kernel in {tmp_path}/none \(.+\): ({why})\n", capsys.readouterr().err
    )
    assert list(tmp_path.iterdir()) == []
