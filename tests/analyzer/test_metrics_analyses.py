"""Pieces are analyzed as seldom as their cost demands, in a process that does not outlive the watch."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from patience import wait_for

from vprof.metrics import analyses
from vprof.metrics.analyses import Analyses, Done
from vprof.trace.chunks import TraceFile
from vprof.trace.clock import Clock
from vprof.watch.pieces import Piece

_BURNS = """
import time, sys
while time.process_time() < 0.2: pass
print('{"is": "here"}' if %r else 'nothing')
print("cannot do it", file=sys.stderr)
"""


def piece(folder: Path) -> Piece:
    path = folder / "000000001.trace"
    path.write_bytes(b"x")
    return Piece(path, TraceFile(path, 1, ""), Clock.of("tsc", []), 0, 5 * 10**9, 1)


def ended(running: Analyses) -> Done:
    found: list[Done] = []

    def look() -> bool:
        if done := running.poll():
            found.append(done)
        return bool(found)

    wait_for(look, "an analysis")
    assert running.poll() is None
    return found[0]


def test_the_next_waits_until_its_time_is_earned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(analyses, "_VERB", _BURNS % True)
    running = Analyses(tmp_path, None, budget=0.05)
    begun = time.monotonic()
    running.begin(piece(tmp_path), 77.0, 100)
    (tmp_path / "000000001.trace").unlink()
    assert (tmp_path / "analyzed.trace").exists()
    done = ended(running)
    assert (done.document, done.seconds, done.ended) == ({"is": "here"}, 5.0, 77.0)
    assert 0.2 <= done.cpu < 5 and not list(tmp_path.iterdir())
    assert running._next == pytest.approx(begun + done.cpu / 0.05, abs=0.5)
    running.begin(piece(tmp_path), 78.0, 100)
    assert running.poll() is None and not (tmp_path / "analyzed.trace").exists()


def test_few_intervals_are_not_analyzed(tmp_path: Path) -> None:
    running = Analyses(tmp_path, None)
    running.begin(piece(tmp_path), 77.0, 99)
    assert running.poll() is None and not (tmp_path / "analyzed.trace").exists()


def test_one_that_fails_says_why_and_is_paid_for_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(analyses, "_VERB", _BURNS % False)
    running = Analyses(tmp_path, None, budget=0.05)
    running.begin(piece(tmp_path), 77.0, 100)
    done = ended(running)
    assert (done.document, done.reason) == (None, "cannot do it") and done.cpu >= 0.2
    assert running._next > time.monotonic()


def test_it_is_gone_when_the_watch_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(analyses, "_VERB", "import time; time.sleep(600)")
    running = Analyses(tmp_path, None)
    running.begin(piece(tmp_path), 77.0, 100)
    assert running._running
    pid = running._running.process.pid
    before = len(list(Path("/proc/self/fd").iterdir()))
    running.close()
    assert not Path(f"/proc/{pid}").exists() and len(list(Path("/proc/self/fd").iterdir())) == before - 2
    running.close()
