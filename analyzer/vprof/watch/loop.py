"""The watch itself: records in pieces, looks at each once it is closed, keeps what is slow, forgets the rest.

    every few seconds: rotate -> Piece -> what ended -> slow? -> cut -> Folder
    Watch.turn: one of these; Watch.run: until it is to stop, the recording ends, or the collector dies

What is slow waits until the piece is closed that has what came after it, too.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from vprof.errors import TraceError, UsageError, VprofError
from vprof.session.control import Control
from vprof.session.plan import Plan
from vprof.tables.model import Int64
from vprof.trace.outline import WINDOW_RECORDS
from vprof.trace.reading import open_windows
from vprof.trace.scan import FOREVER
from vprof.watch.cut import Wanted, cut
from vprof.watch.keep import Folder, Kept
from vprof.watch.latencies import Ended, Latencies
from vprof.watch.pieces import Piece
from vprof.watch.plan import calls_of
from vprof.watch.probes import Probes
from vprof.watch.slow import Found, Slow, by_type, slow_ones
from vprof.watch.threshold import Threshold

_SHORTEST_POLL_SECONDS, _LONGEST_POLL_SECONDS = 0.01, 0.25
_MARGIN_NS = 5 * 10**6
"""What is kept before and after a slow interval, at least: chunks of records are longer."""
_BESIDE_NS = 10**5
"""And before and after an ordinary one."""
_NEAR_NS = 1000
"""As in cut.py."""
_FEWEST_INTERVALS = 100
"""With fewer, nothing can be said of what probes cost."""
_CHECK_PIECES = 60
"""Every so many pieces it is looked at what the probes cost."""
_RETRY_SECONDS = 5.0
"""After a piece could not be begun."""


@dataclass(frozen=True)
class Settings:
    """`max_bytes`: of the folder, half of it for what is kept. `root`: its calls are the intervals, instead of
    annotated ones. `probe_ns`: what an enter and exit cost, None: not known. `held_pieces`: so many of the recording
    somebody else may hold while they are deleted here."""

    threshold: Threshold
    per_hour: int
    max_bytes: int
    piece_seconds: float
    root: str | None = None
    probe_ns: float | None = None
    held_pieces: int = 0

    @property
    def piece_bytes(self) -> int:
        """The next piece begins when one is so large. The session's own limit is twice that."""
        return self.max_bytes // 16


Say = Callable[..., None]
"""Writes a line for the log: an event, and its fields."""
Seen = Callable[[Piece, Mapping[str, Int64]], None]
"""Told of each piece, and of the latencies that ended in it, by type in ns, before the threshold learns of them."""


def unseen(piece: Piece, latencies: Mapping[str, Int64]) -> None:
    """Nobody wants to know."""


class Watch:
    def __init__(
        self, session: Control, folder: Folder, probes: Probes, settings: Settings, say: Say, seen: Seen = unseen
    ) -> None:
        self.kept = 0
        self._seen = seen
        self._session, self._folder, self._probes, self._settings, self._say = session, folder, probes, settings, say
        self._latencies = Latencies()
        self._pieces: list[Piece] = []
        self._pending: list[Slow] = []
        self._chance = random.Random(1)
        self._count = 0
        self._since_check = _CHECK_PIECES
        self._number = folder.next_number
        self._open: Path | None = None
        self._opened, self._first_size = 0.0, 0
        self._said_matched = False
        self._has_gap, self._whole_since = False, -FOREVER

    def run(self, is_over: Callable[[], bool], new_plan: Callable[[], Plan | None]) -> None:
        """Until `is_over`, which is asked some times a second. `new_plan`: another one, if there is. Raises VprofError
        when the collector dies: what it wrote until then has been looked at."""
        try:
            self._probes.begin()
            self._say_joined()
            self._turn()
            self._follow(is_over, new_plan)
            self._turn(is_last=True)
        except VprofError:
            self._take(self._open)
            self._cut_pending(is_last=True)
            raise
        self._cut_pending(is_last=True)

    def _follow(self, is_over: Callable[[], bool], new_plan: Callable[[], Plan | None]) -> None:
        pause = _SHORTEST_POLL_SECONDS
        while not is_over():
            joined = self._probes.follow()
            if joined:
                self._say_joined()
            if plan := new_plan():
                self._probes.change(plan)
                self._since_check = _CHECK_PIECES
                self._say("plan", functions=len(plan.patterns), off=0)
                self._said_matched = False
                self._say_unmatched()
            if self._is_full():
                self._turn()
            pause = _SHORTEST_POLL_SECONDS if joined else min(2 * pause, _LONGEST_POLL_SECONDS)
            time.sleep(pause)

    def _say_joined(self) -> None:
        programs = self._session.programs
        if programs:
            self._say("joined", program=programs[-1]["path"], modules=len(programs))
        self._say_unmatched()

    def _say_unmatched(self) -> None:
        """Once for each plan, when it is known what functions there are."""
        if self._session.programs and not self._said_matched:
            self._said_matched = True
            for line in self._probes.unmatched():
                self._say("no-site", reason=line)

    def _is_full(self) -> bool:
        """Whether the piece that is recorded is to end. What the programs say of themselves, at its begin, does not
        count."""
        age = time.monotonic() - self._opened
        if self._open is None:
            return age >= _RETRY_SECONDS
        try:
            size = self._open.stat().st_size
        except OSError:
            size = 0
        grown = size - self._first_size
        return age >= self._settings.piece_seconds or grown >= self._settings.piece_bytes

    def _turn(self, is_last: bool = False) -> None:
        """Ends the piece that is recorded, if there is one, begins the next without a gap, and looks at the one that
        ended. If none can be begun, that is said, and tried again later."""
        closed, self._open = self._open, None
        self._count += 1
        path = None if is_last else self._folder.path.resolve() / "pieces" / f"{self._count:09}.trace"
        self._opened = time.monotonic()
        try:
            reply = self._session.rotate(path)
            self._open = path
            self._first_size = path.stat().st_size if path and path.exists() else 0
        except VprofError as error:
            self._open = closed
            self._session.stats()  # raises if the collector is gone
            self._say("cannot-record", reason=error)
            self._open, reply = None, {}
        if closed is None:
            return
        if reply.get("ended"):
            self._say("piece-ended", reason=reply["ended"], not_kept=reply["not_kept"])
        if reply.get("dropped"):
            self._say("lost", records=reply["dropped"])
        self._take(closed)
        if path is None or reply.get("ended") or not reply:
            self._miss()

    def _take(self, path: Path | None) -> None:
        """Looks at a piece that is closed."""
        if path is None or not path.exists():
            return
        try:
            piece = Piece.read(path, self._pieces[-1] if self._pieces else None)
        except TraceError as error:
            self._say("unreadable", reason=error)
            piece = None
        if piece is None:
            path.unlink(missing_ok=True)
            self._miss()
            return
        if self._has_gap:
            self._has_gap, self._whole_since = False, piece.begin
        self._pieces.append(piece)
        self._latencies.roots = self._probes.roots
        ended = self._latencies.of(piece)
        self._find_slow(ended, piece)
        latencies = {type_: ended.latency[rows] for type_, rows in by_type(ended)}
        self._seen(piece, latencies)
        for type_, of_type in latencies.items():
            self._settings.threshold.learn(type_, of_type, piece.end)
        self._check_probes(ended, piece)
        piece.file.release()
        self._cut_pending(is_last=False)
        self._drop_pieces()

    def _miss(self) -> None:
        """Records are missing from now until the next piece: what goes on meanwhile is given up."""
        self._has_gap = True
        self._latencies.forget(FOREVER)

    def _find_slow(self, ended: Ended, piece: Piece) -> None:
        per_hour = self._settings.per_hour

        def room(ns: int) -> int:
            return self._folder.room(per_hour, piece.realtime_ns(ns))

        slow, count = slow_ones(ended, piece, self._settings.threshold, per_hour, room, self._chance)
        whole = [one for one in slow if one.found.begin >= self._whole_since]
        if len(whole) < len(slow):
            self._say("not-kept", intervals=len(slow) - len(whole), reason="records of them are missing")
        self._pending += whole
        if count > len(slow):
            self._say("not-kept", intervals=count - len(slow), reason=f"{per_hour} slower ones of the hour are kept")

    def _check_probes(self, ended: Ended, piece: Piece) -> None:
        self._since_check += 1
        probe_ns = self._settings.probe_ns
        if self._since_check < _CHECK_PIECES or len(ended.id) < _FEWEST_INTERVALS or not probe_ns:
            return
        off = self._probes.check(calls_of(piece), probe_ns, int(ended.latency.sum()))
        for name, cost in off.items():
            self._say("switched-off", function=name, cost=f"{100 * cost:.2f}%")
        # What is left may have to be looked at again: it is other work that is counted now.
        self._since_check = _CHECK_PIECES if off else 0

    def _cut_pending(self, is_last: bool) -> None:
        """Those of which all that belongs to them is recorded; or all."""
        waiting = []
        for slow in self._pending:
            if is_last or slow.found.end + _MARGIN_NS <= self._pieces[-1].end:
                self._keep(slow)
            else:
                waiting.append(slow)
        self._pending = waiting

    def _keep(self, slow: Slow) -> None:
        """Or says why not."""
        settings, found = self._settings, slow.found
        ended_ns = slow.piece.realtime_ns(found.end)
        told = {"type": slow.type or "-", "latency_ms": _ms(found.latency), "limit_ms": _ms(slow.limit)}
        if found.latency <= self._folder.room(settings.per_hour, ended_ns):
            self._say("not-kept", intervals=1, reason="slower ones of the hour are kept", **told)
            return
        if found.begin < self._pieces[0].begin:
            self._say("not-kept", intervals=1, reason="its begin is not recorded any more", **told)
            return
        number, self._number = self._number, self._number + 1
        path = self._folder.trace(number)
        try:
            cut(self._needed(slow), _wanted(slow, self._probes.roots), path)
            names = _names_in(path, slow, settings.root)
            kept = Kept(
                number=number,
                interval=names.interval,
                type=slow.type,
                latency_ns=names.latency_ns,
                limit_ns=slow.limit,
                limit=settings.threshold.text,
                ended_ns=ended_ns,
                median=names.median,
                ordinary=names.ordinary,
                root=settings.root,
                bytes=path.stat().st_size,
                rate=slow.rate,
            )
            gone = self._folder.add(kept, settings.per_hour, settings.max_bytes // 2)
        except (OSError, VprofError) as error:
            path.unlink(missing_ok=True)
            reason = error.strerror if isinstance(error, OSError) and error.strerror else error
            self._say("not-kept", intervals=1, reason=reason, **told)
            return
        self.kept += 1
        told["latency_ms"] = _ms(kept.latency_ns)
        self._say("kept", number=number, interval=kept.interval, **told, file=path)
        for one in gone:
            self._say("removed", number=one.number, latency_ms=_ms(one.latency_ns))

    def _needed(self, slow: Slow) -> list[Piece]:
        """The pieces that have its records."""
        begin = min([slow.found.begin, *(one.begin for one in _beside(slow))]) - _MARGIN_NS
        end = slow.found.end + _MARGIN_NS
        needed = [k for k, piece in enumerate(self._pieces) if piece.end >= begin and piece.begin <= end]
        # What a thread noticed late, or a call that took longer, may be in the next one.
        return self._pieces[needed[0] : needed[-1] + 2]

    def _drop_pieces(self) -> None:
        """All that nothing needs, and the oldest of what would take too much room."""
        begins = [slow.found.begin for slow in self._pending]
        begins += [oldest] if (oldest := self._oldest()) is not None else []
        needed = min(begins, default=self._pieces[-1].begin) - _MARGIN_NS
        room = self._settings.max_bytes // 2 - (2 + 2 * self._settings.held_pieces) * self._settings.piece_bytes
        while len(self._pieces) > 1 and (
            self._pieces[0].end < needed or sum(piece.size for piece in self._pieces) > room
        ):
            self._pieces.pop(0).path.unlink(missing_ok=True)
        before = self._latencies.forgotten
        self._latencies.forget(self._pieces[0].begin - _MARGIN_NS)
        if self._latencies.forgotten > before:
            given_up = self._latencies.forgotten - before
            self._say("given-up", intervals=given_up, reason="they go on for longer than there is room for records")

    def _oldest(self) -> int | None:
        """When the oldest interval that is not over began."""
        roots, last = set(self._probes.roots), self._pieces[-1]
        if not roots:
            return self._latencies.oldest()
        frames = [frame for event in last.file.of("open") for frame in event["frames"] if frame[0] in roots]
        return min((last.clock.one(frame[1]) for frame in frames), default=None)


@dataclass(frozen=True)
class _Names:
    """What the reader of a cut calls the intervals, and how long the slow one took, to the ns."""

    interval: str
    latency_ns: int
    median: str | None
    ordinary: list[str]


def _names_in(path: Path, slow: Slow, root: str | None) -> _Names:
    """Raises VprofError if the slow one is not there as it should be."""
    try:
        known = open_windows(path, WINDOW_RECORDS, root).known
    except UsageError as error:
        raise VprofError(str(error)) from None
    selection = known.selection
    intervals = selection.intervals

    def row_of(found: Found) -> int | None:
        # The speed of the clock in a piece is known to some parts in a million: a long call began before it.
        ends_near = np.abs(intervals.end - found.end) < _NEAR_NS
        begins_near = np.abs(intervals.begin - found.begin) < _NEAR_NS + found.latency // 10**4
        near = np.flatnonzero(ends_near & begins_near).tolist()
        return next((row for row in near if root or selection.ids[row].partition("#")[0] == str(found.id)), None)

    def name_of(found: Found | None) -> str | None:
        row = row_of(found) if found else None
        return None if row is None else selection.ids[row]

    row = row_of(slow.found)
    if row is None:
        why = ", ".join(selection.excluded) or "it is not in the cut"
        raise VprofError(f"its records cannot be used ({why})")
    latency = int(intervals.end[row] - intervals.begin[row])
    ordinary = [name for found in slow.ordinary if (name := name_of(found))]
    return _Names(selection.ids[row], latency, name_of(slow.median), ordinary)


def _wanted(slow: Slow, roots: list[int]) -> Wanted:
    found = slow.found
    times = [(found.begin - _MARGIN_NS, found.end + _MARGIN_NS)]
    times += [(one.begin - _BESIDE_NS, one.end + _BESIDE_NS) for one in _beside(slow)]
    begins = [begin for one in (found, *_beside(slow)) for begin in one.begins] if slow.retried else None
    return Wanted(times, begins, roots)


def _beside(slow: Slow) -> list[Found]:
    return [*([slow.median] if slow.median else []), *slow.ordinary]


def _ms(ns: int) -> str:
    return f"{ns / 1e6:.3f}"
