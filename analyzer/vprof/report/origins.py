"""The variance by host and by process: as a table and as JSON."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from rich.console import Console

from vprof.report.tables import Row, heading, line, print_table
from vprof.report.units import duration, percent
from vprof.variance.analysis import Analysis
from vprof.variance.origins import OriginSplit
from vprof.variance.outliers import Unlike

_MOST_ROWS = 20


def show(analysis: Analysis, console: Console) -> None:
    """What was asked for; nothing if nothing was."""
    for what, plural, split in (
        ("host", "hosts", analysis.by_host),
        ("process", "processes", analysis.by_process),
    ):
        if split:
            _show(what, plural, split, analysis.options.top or _MOST_ROWS, console)


def _show(what: str, plural: str, split: OriginSplit, most: int, console: Console) -> None:
    heading(console, f"By {what}")
    rows: list[Row] = [
        (
            row.title,
            percent(row.share),
            percent(row.between),
            str(row.count),
            duration(row.mean_ns),
            duration(row.variance_ns2**0.5),
            duration(row.p99_ns),
        )
        for row in split.rows[:most]
    ]
    print_table(console, ("variance", "by its mean", "intervals", "mean", "sd", "p99"), rows)
    if len(split.rows) > most:
        line(console, f"not shown: {len(split.rows) - most} {plural} (--top, --format json)", "dim")
    total = split.within_ns2 + split.between_ns2
    if total > 0:
        within, between = percent(split.within_ns2 / total), percent(split.between_ns2 / total)
        line(console, f"{within} of the variance lies within {plural}, {between} between them")
    for sentence in sentences(split):
        line(console, sentence, "yellow")
    if split.outliers and split.outliers.reason:
        line(console, split.outliers.reason, "dim")


def sentences(split: OriginSplit) -> list[str]:
    """Which hosts are unlike the others."""
    found = _found(split)
    said = [
        f"{split.rows[one.host].title} is unlike the other hosts: {one.metric} {one.ratio:.2f} times theirs"
        f" (p {max(one.p_holm, 0.0001):.4f})"
        for one in found
    ]
    if split.outliers and split.outliers.tested and not found:
        said = ["no host is unlike the others by more than chance and by more than they differ"]
    return said


def _found(split: OriginSplit) -> list[Unlike]:
    return [one for one in split.outliers.tested if one.found] if split.outliers else []


def by_host_json(split: OriginSplit) -> dict[str, Any]:
    hosts = []
    for at, row in enumerate(split.rows):
        tested = [one for one in split.outliers.tested if one.host == at] if split.outliers else []
        unlike = [
            {"metric": one.metric, "ratio": one.ratio, "p_holm": one.p_holm, "found": one.found} for one in tested
        ]
        plain = {key: value for key, value in asdict(row).items() if key not in ("pid", "name")}
        hosts.append({**plain, "tests": unlike})
    return {
        "within_ns2": split.within_ns2,
        "between_ns2": split.between_ns2,
        "hosts": hosts,
        "outliers": list(dict.fromkeys(split.rows[one.host].host for one in _found(split))),
        "reason": split.outliers.reason if split.outliers else "",
    }


def by_process_json(split: OriginSplit) -> dict[str, Any]:
    rows = [asdict(row) for row in split.rows]
    return {"within_ns2": split.within_ns2, "between_ns2": split.between_ns2, "processes": rows}
