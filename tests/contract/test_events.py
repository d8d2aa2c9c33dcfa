"""Events with right checksums that no recorder writes: refused in one line, before anything is allocated for them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from writer import Writer, chunk, function, header, unit

from vprof.errors import TraceError
from vprof.report.recorded import compilers
from vprof.trace.events import EVENTS
from vprof.trace.reading import load_binary

SITES = 1 << 22
BEYOND = [True, None, 1.5, float("nan"), -1, 1 << 62, 10**400, "1", [], {}]
SOUND: dict[str, dict[str, Any]] = {
    "session": {
        "clock": "tsc",
        "probe_ps": 9000,
        "built_from": "server 1.0-1",
        "offered_rate": 12.5,
        "collector_version": "0.1.0",
    },
    "anchor": {"ticks": 1, "monotonic_ns": 1},
    "module": {
        "index": 1,
        "path": "lib",
        "base": 4096,
        "count": 64,
        "section_addr": 0x4000,
        "state": "mapped",
        "compilers": ["GCC: 12.2.0"],
        "build_id": "0123abcd",
    },
    "thread": {
        "uid": 1,
        "pid": 100,
        "tid": 101,
        "name": "worker",
        "ticks": 1,
        "off_cpu": "rseq",
        "interposed": True,
        "fiber": True,
    },
    "stray": {"uid": 1, "ticks": 9},
    "thread_end": {"uid": 1, "ticks": 900, "written": 4, "stored": 4, "dropped": 0},
    "label": {"number": 1, "text": "pay"},
    "name": {"number": 1, "text": "row 7"},
    "stack": {"number": 1, "functions": [[0, "wait()"]]},
    "flip": {"before": 2, "after": 3, "on": [[200, 1]], "off": []},
    "mark": {"ticks": 5, "text": "slice on"},
    "plan": {"on": [[0, 100]]},
    "open": {"uid": 1, "ticks": 900, "frames": [[3, 5, 0]]},
    "loss": {"uid": 1, "from": 1, "to": 2, "count": 7},
    "end": {"ticks": 900, "records": 4, "unslotted": 2, "unnamed": 3, "not_wrapped": 5, "own_text": 1},
}

MAY_BE_MISSING = {
    "off_cpu", "interposed", "fiber", "probe_ps", "built_from", "offered_rate", "collector_version", "compilers",
    "build_id", "unslotted", "unnamed", "not_wrapped", "own_text",
}  # fmt: skip


def small(*events: tuple[str, dict[str, Any]], times: int = 1) -> Writer:
    writer = Writer()
    writer.unit(unit([function("serve", 0), function("work", 1)]))
    worker = writer.thread(1)
    worker.begin(1, 100)
    worker.invocation(64, 110, 190)
    worker.end(1, 200)
    for event, keys in events * times:
        writer.event(event, **keys)
    return writer


def test_every_kind_is_checked() -> None:
    assert set(SOUND) == set(EVENTS)


@pytest.mark.parametrize("event", SOUND)
def test_a_sound_event_is_read_and_none_with_another_value_of_a_key(tmp_path: Path, event: str) -> None:
    keys = SOUND[event]
    load_binary(small((event, keys)).save(tmp_path / "sound.trace"))
    for key, value in keys.items():
        wrong = [bad for bad in BEYOND if not (type(bad) is type(value) and type(bad) in (str, list, bool))]
        fractions = [("probe_ps", 1.5), ("offered_rate", 1.5)]
        wrong = [bad for bad in wrong if (key, bad) not in (*fractions, ("section_addr", 1 << 62))]
        for bad in [*wrong, *([[[0]], [["a", 1]], [[SITES, 1]], [None]] if isinstance(value, list) else [])]:
            path = small((event, {**keys, key: bad})).save(tmp_path / "run.trace")
            with pytest.raises(TraceError, match=f"run.trace: an event `{event}`: `{key}`") as refused:
                load_binary(path)
            assert "\n" not in str(refused.value)
        if key not in MAY_BE_MISSING:
            path = small((event, {k: v for k, v in keys.items() if k != key})).save(tmp_path / "run.trace")
            with pytest.raises(TraceError, match=f"an event `{event}` lacks the key `{key}`"):
                load_binary(path)


@pytest.mark.parametrize(
    "payload", [b'{"event":' * 100_000, b"[" * 100_000, b"1", b'{"event": 1}', b'{"event": "\\ud800"}']
)
def test_what_is_no_event_ends_the_reading_before_it(tmp_path: Path, payload: bytes) -> None:
    parts = small().chunks()
    path = tmp_path / "run.trace"
    path.write_bytes(header() + b"".join(parts) + chunk(2, payload, len(parts)))
    trace = load_binary(path)
    assert len(trace.intervals.begin) == 1
    assert "an event is not a JSON object with the key `event`" in trace.notes[0]


def test_an_unknown_event_may_hold_anything(tmp_path: Path) -> None:
    trace = load_binary(small(("news", {"uid": "x", "ticks": None, "on": [[0, 1 << 31]]})).save(tmp_path / "run.trace"))
    assert len(trace.intervals.begin) == 1


def test_metadata_whose_sites_are_not_the_modules(tmp_path: Path) -> None:
    writer = small()
    writer.units.clear()
    writer.unit(unit([function("serve", 0)]), address=0x1000)
    assert any("are of another module" in note for note in load_binary(writer.save(tmp_path / "run.trace")).notes)


ALL = {"on": [[0, SITES]], "off": [[0, SITES]], "before": 1, "after": 2}
BOMBS: dict[str, Writer] = {
    "a plan of all numbers": small(("plan", {"on": [[0, (1 << 31) - 1]]})),
    "a plan again and again": Writer(on=[[0, SITES]] * 20_000),
    "all sites, as often as is allowed": small(("flip", ALL), times=100),
    "all sites, more often": small(("flip", ALL), times=1000),
    "many flips of many plans": small(
        *(("flip", {"on": [[n % 4000, 1]], "off": [[n * 7 % 4000, 1]], "before": n, "after": n}) for n in range(5000))
    ),
    "a label": small(("label", {"number": (1 << 31) - 1, "text": ""})),
    "a module many times": small(("module", {**SOUND["module"], "index": 0, "base": 0, "count": 4096}), times=20_000),
    "a module of all addresses": small(("module", {**SOUND["module"], "count": 1 << 40})),
    "a thread's number": small(("thread", {**SOUND["thread"], "uid": (1 << 32) - 1})),
    "marks": small(("mark", SOUND["mark"]), times=20_000),
    "frames": small(("open", {"uid": 1, "ticks": 9, "frames": [[n % 9, n, 0] for n in range(20_000)]})),
}


@pytest.mark.parametrize("what", BOMBS)
def test_a_small_file_takes_no_gigabyte(tmp_path: Path, what: str) -> None:
    path = BOMBS[what].save(tmp_path / "run.trace")
    begin = time.process_time()
    process = subprocess.Popen(
        [sys.executable, "-c", "from vprof.cli import main; main()", "analyze", path],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr
    said = process.stderr.read()
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode in (0, 1), said
    assert len(said.splitlines()) == process.returncode, said
    assert used.ru_maxrss < 1 << 20, f"{used.ru_maxrss >> 10} MB"
    assert used.ru_utime < 60, f"{used.ru_utime:.0f} s of CPU, {time.process_time() - begin:.0f} here"


def test_the_events_of_a_recorder_pass(tmp_path: Path) -> None:
    """What real ones hold: contract tests with the real runtime read them; here that keys not known are passed over."""
    for event, keys in SOUND.items():
        load_binary(small((event, {**keys, "news": [json.dumps(keys)]})).save(tmp_path / "run.trace"))


def test_what_ran_is_read(tmp_path: Path) -> None:
    """Without libvprof. An older file does not say what compiled its modules."""
    module = {**SOUND["module"], "path": "/srv/lib/plugin.so", "compilers": ["GCC: 12.2.0", "clang version 19"]}
    own = {**module, "index": 2, "path": "/lib/libvprof.so", "compilers": ["GCC: 9"]}
    [ran] = load_binary(small(("module", module), ("module", own)).save(tmp_path / "run.trace")).recorded
    assert (ran.vprof, compilers(ran)) == ("0", "clang version 19, GCC: 12.2.0")
    assert "/srv/lib/plugin.so" in ran.modules
    [older] = load_binary(small().save(tmp_path / "older.trace")).recorded
    assert (older.compilers, compilers(older)) == ((), "")
