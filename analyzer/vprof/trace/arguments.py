"""Arguments of verbs that are traces, here or elsewhere: no more than click is imported for those that are here."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click


class TracePath(click.ParamType):  # type: ignore[type-arg]
    """A file here, or what lies elsewhere: `s3://...`, `https://...`."""

    name = "trace"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        if "://" not in str(value):
            return Path(value)
        from vprof.trace.remote import path_of

        return path_of(value)


def all_matching(ctx: click.Context, param: click.Parameter, traces: tuple[Path, ...]) -> tuple[Path, ...]:
    """A callback: patterns of paths elsewhere, which no shell knows, as the files that they stand for."""
    if not any("://" in str(path) for path in traces):
        return traces
    from vprof.trace.remote import matching

    return tuple(one for path in traces for one in matching(path))
