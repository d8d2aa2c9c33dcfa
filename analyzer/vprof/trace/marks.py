"""The marks by which a trace tells that its probes were switched on and off in turn, and how clients repeat what was
aborted."""

from __future__ import annotations

import re
from dataclasses import dataclass

SLICE_ON, SLICE_OFF, SLICE_END = "slice on", "slice off", "slice end"
"""Marks in the trace. What lies between an end and the next beginning belongs to no slice: there the probes are
switched."""
SLICES = (SLICE_ON, SLICE_OFF, SLICE_END)

GIVEN_UP = "[given up]"
"""The type of an end that stands for an abort that clients do not repeat, in traces with a mark of `Retry`."""

_RETRY = re.compile(r"retry by (id|thread) within ([0-9]{1,15}) ns")


@dataclass(frozen=True)
class Retry:
    """Clients repeat what was aborted: the next interval of the same connection that begins so soon after the end is
    the next attempt. The connection is known by the interval's id, or by the thread on which it ended."""

    within_ns: int
    by_thread: bool = False


def retry_text(retry: Retry) -> str:
    """The mark's text."""
    return f"retry by {'thread' if retry.by_thread else 'id'} within {retry.within_ns} ns"


def parse_retry(text: str) -> Retry | None:
    """None: it is another mark."""
    found = _RETRY.fullmatch(text)
    return Retry(int(found[2]), found[1] == "thread") if found else None
