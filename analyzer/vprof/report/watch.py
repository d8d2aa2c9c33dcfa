"""What a watch kept: as a list, one of them beside an ordinary one, and what they have in common. Text and JSON.

JSON, schema `vprof-watch/1`:
- `--list`: `kept` [{`number`, `interval` (its id in the trace), `type`, `latency_ns`, `limit` (as it was asked for),
  `limit_ns`, `ended_ns` (since 1970), `median` (the id of one of the median latency, or null), `ordinary` [ids drawn by
  chance], `root` (null: annotated intervals), `bytes`, `rate` (intervals of its type a second, then)}];
- `--show N`: `kept` (one of these), `slow` and `median` (`vprof-path/1`; null: there is none);
- `--report`: `slow`, `moments` (how many), `excess_ns` (sum over the moments), `factors` [{`factor`, `share` of the
  excess, `more`, `less` (moments), `p` (Holm), `common`}], largest share first.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

from vprof.path.interval_path import IntervalPath
from vprof.report import path as path_report
from vprof.report.units import duration
from vprof.terminal import one_line
from vprof.watch.common import FEWEST_MOMENTS, Common
from vprof.watch.keep import SCHEMA, Kept

_MOST_FACTORS = 20


def render_list(kept: list[Kept]) -> str:
    """The newest last."""
    if not kept:
        return "nothing was kept yet\n"
    rows = [("number", "ended (UTC)", "type", "took", "limit", "interval")]
    rows += [
        (str(one.number), _when(one), one.type, duration(one.latency_ns), _limit(one), one.interval) for one in kept
    ]
    wide = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    right = {0, 3}
    lines = []
    for row in rows:
        cells = [
            cell.rjust(width) if i in right else cell.ljust(width)
            for i, (cell, width) in enumerate(zip(row, wide, strict=True))
        ]
        lines.append("  ".join(cells).rstrip())
    return "\n".join([*map(one_line, lines), ""])


def list_json(kept: list[Kept]) -> str:
    return json.dumps({"schema": SCHEMA, "kept": [asdict(one) for one in kept]}, indent=1) + "\n"


def render_show(kept: Kept, slow: IntervalPath, median: IntervalPath | None) -> str:
    type_ = f" of type {kept.type}" if kept.type else ""
    why = f"number {kept.number}, ended {_when(kept)} UTC: an interval{type_} that took {duration(kept.latency_ns)}"
    parts = [one_line(f"{why}, more than {_limit(kept)}"), "", path_report.render(slow)]
    if median:
        parts += ["Beside it, one of the median latency of the same seconds:", "", path_report.render(median)]
    return "\n".join(parts)


def show_json(kept: Kept, slow: IntervalPath, median: IntervalPath | None) -> str:
    paths = {"slow": path_report.path_json(slow), "median": path_report.path_json(median) if median else None}
    return json.dumps({"schema": SCHEMA, "kept": asdict(kept), **paths}, indent=1) + "\n"


def render_report(found: Common) -> str:
    """In sentences; a table where there is one."""
    if found.moments < FEWEST_MOMENTS:
        few = f"slow intervals with ordinary ones beside them: {found.slow}, in moments: {found.moments}"
        return f"{few}; too few to say what they have in common: {FEWEST_MOMENTS} moments are needed\n"
    head = f"{found.slow} slow intervals in {found.moments} moments, each against an ordinary one of the same seconds"
    lines = [f"{head}; they took {duration(round(found.excess_ns / found.moments))} longer", ""]
    common = [one for one in found.factors if one.is_common]
    if not common:
        lines.append("Nothing is surely in common: in no factor the slow ones have more time often enough.")
        return "\n".join([*lines, ""])
    names = [one_line(one.factor) for one in common[:_MOST_FACTORS]]
    wide = max(map(len, [*names, "more of"]))
    lines.append(f"{'more of':<{wide}}  excess  moments  p (Holm)")
    for name, one in zip(names, common, strict=False):
        lines.append(f"{name:<{wide}}  {100 * one.share:5.1f}%  {f'{one.more} of {found.moments}':>7}  {one.p:.2g}")
    return "\n".join([*lines, ""])


def report_json(found: Common) -> str:
    factors: list[dict[str, Any]] = [{**asdict(one), "common": one.is_common} for one in found.factors]
    told = {"slow": found.slow, "moments": found.moments, "excess_ns": found.excess_ns, "factors": factors}
    return json.dumps({"schema": SCHEMA, **told}, indent=1) + "\n"


def _when(kept: Kept) -> str:
    return datetime.fromtimestamp(kept.ended_ns / 1e9, UTC).strftime("%Y-%m-%d %H:%M:%S")


def _limit(kept: Kept) -> str:
    learned = kept.limit.startswith("p")
    return f"{kept.limit} = {duration(kept.limit_ns)}" if learned else duration(kept.limit_ns)
