"""A slow, independent reading of docs/algorithms.md sections 2 and 3, by the nanosecond, on the tuples of a JSON trace.

Shares no code with vprof. `paths(data)` gives, per interval id, a list with one entry per nanosecond from begin to end:
(kind, tid, node), node being the tuple of tree labels from the root down, as `("txnA", "lock_wait@txnA:7",
"[blocked]", "txnB")`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

Nanosecond = tuple[str, Any, tuple[str, ...]]

ALONE: dict[str, tuple[str, ...]] = {
    "exec": (),
    "preempted": ("[preempted]",),
    "fault": ("[fault]",),
    "disk": ("[disk]",),
    "off_cpu": ("[off cpu]",),
    "sleep": ("[sleep]",),
    "memory": ("[memory]",),
    "idle": ("[idle]",),
}
"""States in which a thread waits for nobody, and what hangs below its stack then."""


class Context(NamedTuple):
    """Where a walk's time hangs: the waits around it, outermost first, each the thread that waits or a fixed stack; or
    the stack that is open while the interval's thread does other work."""

    waits: tuple[Any, ...]


def paths(data: dict[str, Any]) -> dict[str, list[Nanosecond]]:
    return {iv["sid"]: Walk(data, iv["sid"]).interval(iv) for iv in data["intervals"] if not iv.get("ignore", False)}


class Walk:
    def __init__(self, data: dict[str, Any], sid: str) -> None:
        self.segments = data["segments"]
        self.functions = data["functions"]
        self.wakeups = data.get("wakeups", [])
        self.created = data.get("created", [])
        self.sid = sid
        self.out: dict[int, Nanosecond] = {}

    def interval(self, iv: dict[str, Any]) -> list[Nanosecond]:
        begin, end = iv["begin"]["t"], iv["end"]["t"]
        since = begin
        for attempt in iv.get("attempts", []):
            self.aborted(attempt, since)
            since = attempt["next"]["t"]
        self.stretch(iv["end"]["tid"], since, end)
        return [self.out[t] for t in range(begin, end)]

    def stretch(self, tid: Any, begin: int, end: int) -> None:
        if self.is_synced():
            self.back(tid, end, begin, True, (), [])
        else:
            self.concatenate(tid, begin, end)

    def is_synced(self) -> bool:
        return bool(self.wakeups or self.created or any(s[4] in ("blocked", "queue") for s in self.segments))

    def aborted(self, attempt: dict[str, Any], begin: int) -> None:
        """An attempt below the calls in which the next one began, too, and the time until that."""
        tid, end = attempt["end"]["tid"], attempt["end"]["t"]
        again, then = attempt["next"]["tid"], attempt["next"]["t"]
        self.stretch(tid, begin, end)
        above = self.open_across(tid, begin, then)
        for t in range(begin, end):
            kind, who, node = self.out[t]
            rest = node[len(above) :] if node[: len(above)] == above else node
            self.out[t] = (kind, who, (*above, "[aborted]", *rest))
        if self.is_synced():
            self.back(again, then, end, False, (("busy", self.open_across(again, end, then)),), [])
        else:
            self.emit("gap", again, end, then, ())

    def concatenate(self, tid: Any, begin: int, end: int) -> None:
        now, kind = begin, "unknown"
        for s in sorted((s for s in self.segments if s[1] == self.sid), key=lambda s: (s[2], s[3])):
            start, stop = max(s[2], now), min(s[3], end)
            if start < stop:
                tid = s[0]
                self.emit(kind, tid, now, start, ())
                self.emit(s[4], tid, start, stop, ())
                now, kind = stop, "gap"
        self.emit(kind, tid, now, end, ())

    # -- section 2

    def back(self, tid: Any, e: int, lo: int, home: bool, around: tuple[Any, ...], expanding: list[Any]) -> None:
        while e > lo:
            s = next((s for s in self.segments if s[0] == tid and s[2] < e <= s[3]), None)
            if home and s and s[1] != self.sid and not (s[1] is None and s[4] == "blocked"):
                s = None
            busy = bool(around) and around[-1][0] == "busy"
            if s is None:
                before = [t for t in self.segments if t[0] == tid and t[3] <= e and (not home or t[1] == self.sid)]
                if not before:
                    self.emit("gap" if busy else "unknown", tid, lo, e, around)
                    return
                stop = max(lo, max(t[3] for t in before))
                if home:
                    self.back(tid, e, stop, False, (("busy", self.open_across(tid, stop, e)),), [])
                else:
                    self.emit("gap" if busy else "unknown", tid, stop, e, around)
                e = stop
                continue
            start = max(s[2], lo)
            if busy and s[4] == "idle":
                self.emit("gap", tid, start, e, around)
            elif s[4] in ALONE:
                self.emit(s[4], tid, start, e, around)
            else:
                self.wait(s, tid, start, e, around, expanding, busy and s[1] is None)
            e = start
            if home and e == s[2] and e > lo:
                tid, e = self.follow(s, tid, e, lo)

    def wait(
        self, s: Any, tid: Any, start: int, e: int, around: tuple[Any, ...], expanding: list[Any], idle: bool
    ) -> None:
        inside = (*around, ("thread", tid))
        while e > start:
            for waker, t, since in self.candidates(s):
                t = min(t, e)
                looping = any(x[0] == waker and x[2] < t <= x[3] for x in expanding)
                if waker != tid and not looping and (since is None or since < e):
                    break
            else:
                if idle:
                    self.emit("gap", tid, start, e, around)
                else:
                    self.emit("blocked_unknown", tid, start, e, inside)
                return
            since = start if since is None else max(since, start)
            self.emit("sched", tid, max(t, since), e, inside)
            if t > since:
                self.back(waker, t, since, False, inside, [*expanding, s])
            e = since

    def candidates(self, s: Any) -> list[tuple[Any, int, int | None]]:
        """(waker, when, to blame since when), the latest first."""
        if s[4] == "queue":
            edges = [c for c in self.created if c[2] == s[0] and c[3] == s[3]]
            return [(c[0], c[1], None) for c in sorted(edges, key=lambda c: c[1])][-1:]
        mine = [w for w in self.wakeups if w[0] == s[0] and s[2] < w[2] <= s[3]]
        return [(w[1], w[2], w[4] if len(w) > 4 else None) for w in sorted(mine, key=lambda w: w[2])[::-1]]

    def follow(self, s: Any, tid: Any, e: int, lo: int) -> tuple[Any, int]:
        edges = sorted((c for c in self.created if c[2] == tid and c[3] == s[2]), key=lambda c: c[1])
        if not edges:
            return tid, e
        creator, made = edges[-1][0], edges[-1][1]
        if any(m[0] == creator and m[1] == self.sid and m[2] < made <= m[3] for m in self.segments):
            self.emit("queue", tid, max(made, lo), e, ())
            return creator, max(made, lo)
        floor = max([lo] + [t[3] for t in self.segments if t[0] == tid and t[1] == self.sid and t[3] <= e])
        self.emit("queue", tid, max(made, floor), e, ())
        if made > floor:
            self.back(creator, made, floor, False, (("stack", self.open_across(tid, floor, e)),), [])
        return tid, floor

    # -- section 3

    def emit(self, kind: str, tid: Any, start: int, stop: int, around: tuple[Any, ...]) -> None:
        for t in range(start, stop):
            assert t not in self.out
            node: tuple[str, ...] = ()
            above = 0  # frames of the busy thread that are in the node already
            for what, value in around:
                if what == "busy":
                    node, above = (*value, "[busy]"), len(value)
                elif what == "stack":
                    node += (*value, "[blocked]")
                else:
                    node, above = (*node, *self.stack(value, t)[above:], "[blocked]"), 0
            if kind == "gap" and around:
                node = (*around[-1][1], "[gap]")
            elif kind in ALONE:
                node += self.stack(tid, t)[above:] + ALONE[kind]
            else:
                if not around:
                    node = self.open_across(tid, start, stop)
                node += ({"blocked_unknown": "[unknown]"}.get(kind, f"[{kind}]"),)
            self.out[t] = (kind, tid, node)

    def stack(self, tid: Any, t: int) -> tuple[str, ...]:
        return self.frames(f for f in self.functions if f[0] == tid and f[4] <= t < f[5])

    def open_across(self, tid: Any, start: int, stop: int) -> tuple[str, ...]:
        return self.frames(f for f in self.functions if f[0] == tid and f[4] <= start and f[5] >= stop)

    def frames(self, calls: Any) -> tuple[str, ...]:
        """Outermost first; random traces give every call a depth as its seventh item."""
        return tuple(f"{c[2]}@{c[3]}" if c[3] else c[2] for c in sorted(calls, key=lambda c: (c[4], -c[5], c[6])))
