"""What a trace that is made of pieces says beside its records: events, in the order in which readers want them.

    pieces, threads, times -> session, clock, modules, plan, names, threads -> (the records) -> losses, ends

cut.py makes a small trace of it, the room `top` one of the last seconds.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any

import numpy as np

from vprof.tables.model import Int64
from vprof.trace.chunks import TraceFile
from vprof.trace.marks import parse_retry


def before(files: Sequence[TraceFile], uids: Collection[int], times: Int64) -> Iterator[dict[str, Any]]:
    """The events that readers must know first. `uids`: of the threads whose records follow, or who are named in them;
    `times`: rows of (from, to) in ticks that the records are of."""
    yield of(files, "session", {"event": "session", "clock": "unknown"})
    yield from _anchors(files, times)
    yield from {event["index"]: event for event in all_of(files, "module")}.values()
    plan, flips = _plan(files, int(times.min()))
    yield plan
    yield from (flip for flip in flips if flip["before"] <= times.max())
    for name in ("label", "name", "stack"):
        yield from {event["number"]: event for event in all_of(files, name)}.values()
    threads = {event["uid"]: event for event in all_of(files, "thread") if event["uid"] in uids}
    yield from threads.values()
    retries = [event for event in all_of(files, "mark") if parse_retry(event["text"])]
    yield from retries[:1]


def _anchors(files: Sequence[TraceFile], times: Int64) -> list[dict[str, Any]]:
    """Those around the times, so that they are read as in the pieces."""
    anchors = sorted(all_of(files, "anchor"), key=lambda event: int(event["ticks"]))
    ticks = [int(event["ticks"]) for event in anchors]
    first = max(0, int(np.searchsorted(ticks, times.min(), "right")) - 1)
    last = min(len(anchors), int(np.searchsorted(ticks, times.max(), "left")) + 1)
    first = min(first, max(0, last - 2))
    return anchors[first : max(last, first + 2)]


def _plan(files: Sequence[TraceFile], begin: int) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """What was on at a time, and the flips since then."""
    flips = sorted(all_of(files, "flip"), key=lambda flip: int(flip["before"]))
    ranges = [part for event in files[0].of("plan")[:1] for part in event["on"]]
    on = {site for first, count, *_ in ranges for site in range(first, first + count)}
    later = [flip for flip in flips if flip["after"] >= begin]
    for flip in flips[: len(flips) - len(later)]:
        on -= {site for first, count, *_ in flip["off"] for site in range(first, first + count)}
        on |= {site for first, count, *_ in flip["on"] for site in range(first, first + count)}
    return {"event": "plan", "on": [[site, 1] for site in sorted(on)]}, later


def after(files: Sequence[TraceFile], uids: Collection[int], times: Int64) -> Iterator[dict[str, Any]]:
    """What was lost, who ended, what was still open when the last piece ended. `uids`: of the threads whose records
    came before."""
    last = int(times.max())
    for event in all_of(files, "loss"):
        if any(event["from"] <= end and event["to"] >= begin for begin, end in times.tolist()):
            yield event
    yield from (event for event in all_of(files, "stray") if event["uid"] in uids)
    yield from (event for event in all_of(files, "thread_end") if event["uid"] in uids and event["ticks"] <= last)
    for event in files[-1].of("open"):
        frames = [frame for frame in event["frames"] if frame[1] <= last]
        if frames and event["uid"] in uids:
            yield {**event, "frames": frames}


def end(files: Sequence[TraceFile], times: Int64, records: int) -> dict[str, Any]:
    """The event that ends the trace, after so many records."""
    told = {"event": "end", "ticks": int(times.max()), "records": records, "dropped": 0}
    return {**of(files[-1:], "end", told), **told}


def all_of(files: Sequence[TraceFile], name: str) -> list[dict[str, Any]]:
    return [event for file in files for event in file.of(name)]


def of(files: Sequence[TraceFile], name: str, else_: dict[str, Any]) -> dict[str, Any]:
    return next(iter(all_of(files, name)), else_)
