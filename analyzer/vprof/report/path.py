"""One interval's critical path, as lines and as JSON (schema `vprof-path/1`, analyzer/SCHEMA.md)."""

from __future__ import annotations

import json
from typing import Any

from vprof.path.interval_path import IntervalPath, PathStep
from vprof.report.units import duration
from vprof.tables.kinds import LANES
from vprof.terminal import one_line

SCHEMA = "vprof-path/1"
_INNERMOST = 3
"""Functions of a stack that a line shows."""


def render(path: IntervalPath) -> str:
    """Aligned lines; a wait is followed by what its waker did, indented."""
    type_ = f" ({path.type})" if path.type else ""
    rows = [("at", "takes", "", "thread", "")]
    work = [(step, 0) for step in reversed(path.steps)]
    while work:
        step, depth = work.pop()
        what = "  " * depth + step.kind
        rows.append((duration(step.start), duration(step.stop - step.start), what, step.thread, _says(step)))
        work += [(inner, depth + 1) for inner in reversed(step.steps)]
    wide = [max(len(row[i]) for row in rows) for i in range(4)]
    lines = [
        f"{at:>{wide[0]}}  {takes:>{wide[1]}}  {what:<{wide[2]}}  {thread:<{wide[3]}}  {says}".rstrip()
        for at, takes, what, thread, says in rows
    ]
    return "\n".join([*map(one_line, [f"{path.interval}{type_}: {duration(path.latency_ns)}", *lines]), ""])


def _says(step: PathStep) -> str:
    """Where it was, and for a wait what ended it."""
    if step.kind == "short":
        return "(several steps, each too short to be shown)"
    if step.kind in ("busy", "aborted"):
        return f"({LANES[step.kind]})"
    shown = " > ".join(step.stack[-_INNERMOST:]) or "(outside probed functions)"
    stack = f"... > {shown}" if len(step.stack) > _INNERMOST else shown
    return f"{stack}  [{_wait(step)}]" if step.kind == "blocked" or step.ended_by else stack


def _wait(step: PathStep) -> str:
    what = " ".join(filter(None, (step.object_class, step.object))) or ("task" if step.kind == "queue" else "wait")
    if step.ended_by is None:
        return f"{what}, nobody is known to have ended it"
    done = "made" if step.kind == "queue" else "ended"
    return f"{what}, {done} by {step.ended_by}" + (f" in {step.ended_in}" if step.ended_in else "")


def render_json(path: IntervalPath) -> str:
    return json.dumps(path_json(path), indent=1) + "\n"


def path_json(path: IntervalPath) -> dict[str, Any]:
    """The report as plain data."""
    return {
        "schema": SCHEMA,
        "interval": path.interval,
        "type": path.type,
        "latency_ns": path.latency_ns,
        "steps": [_step(step) for step in path.steps],
    }


def _step(step: PathStep) -> dict[str, Any]:
    return {
        "kind": step.kind,
        "thread": step.thread,
        "start_ns": step.start,
        "duration_ns": step.stop - step.start,
        "stack": step.stack,
        "object_class": step.object_class,
        "object": step.object,
        "ended_by": step.ended_by,
        "ended_in": step.ended_in,
        "steps": [_step(inner) for inner in step.steps],
    }
