"""The events of a trace and what each must hold (runtime/TRACE_FORMAT.md section 5): the only place that checks them.

    payload -> JSON object -> the keys of its kind, their types and ranges  =  an event that may be used unseen

Every number of an event fits what is computed from it: times in a signed word with room for sums, site numbers in the
22 bits of a record, labels in their 11. So nothing that is allocated for an event is larger than a table of all sites.
"""

from __future__ import annotations

import json
from typing import Any

from vprof.shapes import ANYTHING, FLAG, TEXT, Shape, list_of, number, row_of, table_of, whole
from vprof.trace.records import SITE_BITS

MOST_BYTES = 1 << 25
"""Of an event. A list of single sites that fills it has more of them than there are site numbers."""

_TICKS = _NS = whole(0, (1 << 62) - 1)
_COUNT = whole(0, (1 << 62) - 1)
_UID = whole(1, (1 << 32) - 1)
_PID = whole(0, (1 << 31) - 1)
_SITE = whole(0, (1 << SITE_BITS) - 1)
_SITES = whole(0, 1 << SITE_BITS)
_ADDRESS = whole(0, (1 << 64) - 1)
_CALL = whole(0, 1023)


def _ranges_inside(value: Any) -> str:
    said = _RANGES.wrong(value)
    if said:
        return said
    beyond = next((first + count for first, count, *_ in value if first + count > 1 << SITE_BITS), 0)
    return f" ends at site {beyond}, beyond the {SITE_BITS} bits of a site's number" if beyond else ""


_RANGES = list_of(row_of(_SITE, _SITES))
_ON = Shape(_ranges_inside)

EVENTS: dict[str, Shape] = {
    "session": table_of(
        {"clock": TEXT},
        may={
            "probe_ps": number(0, 1e12),
            "built_from": TEXT,
            "offered_rate": number(0, 1e12),
            "collector_version": TEXT,
            "command": list_of(TEXT),
            "host": TEXT,
            "cpu": TEXT,
            "cpus": whole(0, 1 << 20),
            "kernel": TEXT,
            "load": number(0, 1e9),
        },
    ),
    "anchor": table_of({"ticks": _TICKS, "monotonic_ns": _NS}, may={"realtime_ns": _NS}),
    "module": table_of(
        {
            "index": whole(0, (1 << 32) - 1),
            "path": TEXT,
            "base": _SITES,
            "count": _SITES,
            "section_addr": _ADDRESS,
            "state": TEXT,
        },
        may={"compilers": list_of(TEXT), "build_id": TEXT},
    ),
    "thread": table_of(
        {"uid": _UID, "pid": _PID, "tid": _PID, "name": TEXT, "ticks": _TICKS},
        may={"off_cpu": TEXT, "interposed": FLAG, "fiber": FLAG},
    ),
    "thread_end": table_of({"uid": _UID, "ticks": _TICKS, "written": _COUNT, "stored": _COUNT, "dropped": _COUNT}),
    "stray": table_of({"uid": _UID, "ticks": _TICKS}),
    "label": table_of({"number": whole(1, 2047), "text": TEXT}),
    "name": table_of({"number": whole(1, 16383), "text": TEXT}),
    "stack": table_of({"number": whole(1, 2047), "functions": list_of(row_of(whole(0, 256), TEXT))}),
    "flip": table_of({"before": _TICKS, "after": _TICKS, "on": _ON, "off": _ON}),
    "mark": table_of({"ticks": _TICKS, "text": TEXT}),
    "plan": table_of({"on": _ON}),
    "open": table_of({"uid": _UID, "ticks": _TICKS, "frames": list_of(row_of(_SITE, _TICKS, _CALL, least=2))}),
    "loss": table_of({"uid": _UID, "from": _TICKS, "to": _TICKS, "count": _COUNT}),
    "end": table_of(
        {"ticks": _TICKS, "records": _COUNT},
        may={"unslotted": _COUNT, "unnamed": _COUNT, "not_wrapped": _COUNT, "own_text": _COUNT},
    ),
}
"""The keys that are used; readers ignore others."""
_NAMED = table_of({"event": TEXT})


class EventError(Exception):
    """What is wrong with an event."""


def parsed(payload: bytes) -> dict[str, Any] | None:
    """The JSON object of an event with the key `event`; None if it is none."""
    try:
        event = json.loads(payload)
    except (ValueError, RecursionError):
        return None
    return event if not _NAMED.wrong(event) else None


def checked(event: dict[str, Any]) -> bool:
    """Whether it is of a kind that this reader knows. Raises EventError when it is, and is not as specified."""
    kind = event["event"]
    if said := EVENTS.get(kind, ANYTHING).wrong(event):
        raise EventError(f"an event `{kind}`{said}")
    return kind in EVENTS
