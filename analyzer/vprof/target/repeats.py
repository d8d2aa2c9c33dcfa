"""What an [[interval]] entry of an abort says of clients that repeat what was aborted: `retry`, `retry_within`.

    entries -> Retry (trace/marks.py), which every trace of the target holds
    an abort without `retry` beside one that has it -> an end of the type GIVEN_UP, by which the analysis knows it

The schema is annotations/README.md.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from vprof.errors import UsageError
from vprof.trace.marks import GIVEN_UP, Retry

KEYS = ("retry", "retry_within")
"""Of an entry. The rewriter does not get them."""
_BY_THREAD = "thread"
_USUAL_SECONDS, _MOST_SECONDS = 1.0, 3600.0
"""Clients that repeat a transaction do so at once or after some milliseconds, which grow with each attempt."""


def check(entry: dict[str, Any], where: str) -> None:
    """Raises UsageError."""
    if not set(KEYS) & set(entry):
        return
    if entry.get("event") != "abort":
        raise UsageError(f"{where}: retry is only for event = abort")
    if entry.get("retry") not in (True, False, _BY_THREAD):
        raise UsageError(f"{where}: retry must be true (the id names the connection) or '{_BY_THREAD}'")
    seconds = entry.get("retry_within", _USUAL_SECONDS)
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not 0 < seconds <= _MOST_SECONDS:
        raise UsageError(f"{where}: retry_within must be a number of seconds, up to {_MOST_SECONDS:g}")


def retry_of(entries: Iterable[dict[str, Any]], file: str) -> Retry | None:
    """What the entries of a program say together; None: nothing. Raises UsageError if two say different things."""
    said = {_retry(entry) for entry in entries if entry.get("retry")}
    if len(said) > 1:
        raise UsageError(f"{file}: [[interval]] retry: a trace has one for all aborts, and these entries differ")
    return said.pop() if said else None


def _retry(entry: dict[str, Any]) -> Retry:
    return Retry(round(1e9 * entry.get("retry_within", _USUAL_SECONDS)), entry["retry"] == _BY_THREAD)


def for_rewriter(entry: dict[str, Any], repeated: bool) -> dict[str, Any]:
    """The entry as the rewriter gets it. `repeated`: clients repeat those of the program's aborts that have `retry`."""
    known = {key: value for key, value in entry.items() if key not in KEYS}
    if repeated and entry.get("event") == "abort" and not entry.get("retry"):
        return known | {"event": "end", "type": f'"{GIVEN_UP}"'}
    return known
