"""What `vprof reorder --verify` found: the sentence first, then the first difference, or the comparison under load."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.console import Console

from vprof.report.diff import diff_json, show_diff
from vprof.report.tables import heading, line
from vprof.verify.alone import SIDES, Difference
from vprof.verify.under_load import Loaded
from vprof.verify.verifying import Verified


def sentence(found: Verified) -> str:
    """The answer in one line."""
    alone = found.alone
    runs = f"{alone.runs} run{'s' * (alone.runs != 1)}"
    if alone.difference is None:
        return f"alike after {runs}: the output, and {alone.tables} tables"
    return f"not alike: {alone.difference.where} differs after run {alone.runs}"


def verified_json(found: Verified) -> dict[str, Any]:
    """docs/reorder-verify.md says what the keys are."""
    alone = found.alone
    return {
        "alike": found.alike,
        "sentence": sentence(found),
        "runs": alone.runs,
        "tables": alone.tables,
        "difference": _difference_json(alone.difference) if alone.difference else None,
        "under_load": _loaded_json(found.loaded) if found.loaded else None,
    }


def _difference_json(found: Difference) -> dict[str, Any]:
    return {
        "run": found.run,
        "call": found.call,
        "where": found.where,
        "columns": list(found.columns),
        **dict(zip(SIDES, (found.original or None, found.reordered or None), strict=True)),
    }


def _loaded_json(found: Loaded) -> dict[str, Any]:
    returned = {
        side: {str(value): count for value, count in sorted(counts.items())}
        for side, counts in zip(SIDES, found.returned, strict=True)
    }
    return {"diff": diff_json(found.diff), "returned": returned}


def show_verified(found: Verified, console: Console) -> None:
    heading(console, "Each alone, one call after the other")
    line(console, sentence(found), "" if found.alike else "red")
    if found.alone.difference:
        _show_difference(found.alone.difference, console)
    if found.loaded:
        heading(console, "Under load: the original before, the reordered one after")
        show_diff(found.loaded.diff, console)
        for side, counts in zip(SIDES, found.loaded.returned, strict=True):
            values = ", ".join(f"{value}: {count} times" for value, count in sorted(counts.items()))
            line(console, f"what {side} transactions returned: {values}")


def _show_difference(found: Difference, console: Console) -> None:
    line(console, f"the call: {found.call}")
    if found.columns:
        line(console, f"the columns: {', '.join(found.columns)}")
    for side, text in zip(SIDES, _shown((found.original, found.reordered)), strict=True):
        line(console, f"only {side}: {text}")


def _shown(texts: Sequence[str]) -> list[str]:
    return [text or "nothing" for text in texts]
