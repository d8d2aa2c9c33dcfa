"""Options that several commands have, and what options take."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

_LEAST_BYTES = 1 << 20


class Size(click.ParamType):  # type: ignore[type-arg]
    """Bytes: a number with K, M, G or T after it, powers of 1024, or without."""

    name = "size"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        if isinstance(value, int):
            return value
        match = re.fullmatch(r"(\d+)([KMGT]?)B?", value, re.IGNORECASE)
        if not match:
            self.fail(f"'{value}' is no size: give one such as 512M or 2G", param, ctx)
        size = int(match[1]) << 10 * " KMGT".index(match[2].upper() or " ")
        if size < _LEAST_BYTES:
            self.fail(f"{value} is too small: at least {_LEAST_BYTES >> 20}M", param, ctx)
        return size


class RingSize(click.ParamType):  # type: ignore[type-arg]
    """Bytes as a power of two: a number with K, M or G after it, or without."""

    name = "size"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        match = re.fullmatch(r"(\d{1,10})([KMG]?)B?", str(value), re.IGNORECASE)
        size = int(match[1]) << 10 * " KMG".index(match[2].upper() or " ") if match else 0
        if not 4096 <= size <= 1 << 30 or size & (size - 1):
            self.fail(f"'{value}' is no power of two from 4K to 1G", param, ctx)
        return size


class Duration(click.ParamType):  # type: ignore[type-arg]
    """Seconds: a number with s, m or h after it, or without."""

    name = "duration"

    def convert(self, value: str | float, param: click.Parameter | None, ctx: click.Context | None) -> float:
        if isinstance(value, float):
            return value
        match = re.fullmatch(r"(\d+(?:\.\d+)?)([smh]?)", value)
        if not match:
            self.fail(f"'{value}' is no duration: give one such as 90s, 5m or 1h", param, ctx)
        return float(match[1]) * {"": 1, "s": 1, "m": 60, "h": 3600}[match[2]]


server_options_option = click.option(
    "--server-options",
    default="",
    metavar="OPTIONS",
    help="Options for the command that starts a target's server, such as '-c work_mem=1MB'.",
)

_LOAD_OPTIONS = (
    click.option(
        "--load",
        metavar="NAME",
        help="Put this workload of `vprof load` on a target's server, instead of the target's own load.",
    ),
    click.option(
        "--scale", "--warehouses", type=click.IntRange(min=1), metavar="N", help="With --load: how large its data is."
    ),
    click.option(
        "--rate",
        type=click.FloatRange(min=0, min_open=True),
        metavar="R",
        help="With --load: transactions a second. [default: as fast as the clients get answers]",
    ),
    click.option("--clients", type=click.IntRange(1, 10_000), metavar="N", help="With --load: connections."),
)


def load_options(command: Callable[..., None]) -> Callable[..., None]:
    """--load and what belongs to it: `load`, `scale`, `rate`, `clients`."""
    for option in reversed(_LOAD_OPTIONS):
        command = option(command)
    return command


preload_option = click.option(
    "--preload",
    is_flag=True,
    help="Load libvprof first (LD_PRELOAD), for a program built without vprof that loads an instrumented library.",
)

source_option = click.option(
    "--source",
    type=click.Path(exists=True, file_okay=False, resolve_path=True, path_type=Path),
    metavar="DIR",
    help="Build your own source tree instead of the descriptor's source.",
)
source_version_option = click.option(
    "--source-version", metavar="V", help="The version of that tree, for entries that apply to some versions only."
)
interval_option = click.option(
    "--interval",
    metavar="KIND",
    help="The descriptor's intervals of this kind, such as statement. [default: the usual]",
)

root_option = click.option(
    "--root", metavar="F", help="Each outermost call of function F is an interval, instead of annotated ones."
)
cpu_wait_option = click.option(
    "--cpu-wait",
    default="apart",
    show_default=True,
    type=click.Choice(("apart", "in")),
    help="Where waits for a CPU count: apart from the functions that waited, or in them.",
)
client_time_option = click.option(
    "--client-time",
    default="apart",
    show_default=True,
    type=click.Choice(("apart", "in")),
    help="Where the client's own time ([gap]) counts: apart from the functions, or like a function's.",
)
own_option = click.option(
    "--own", is_flag=True, help="Do not look into waits: count them for the functions that wait, not for their wakers."
)
_JOBS_OPTIONS = (
    click.option(
        "--jobs",
        metavar="N",
        type=click.IntRange(1),
        help="Let N processes share the work. Each may take one part in N + 1 of the machine's memory.",
    ),
    click.option(
        "--scheduler",
        metavar="ADDRESS",
        help="Let the workers of a Dask cluster do it, such as tcp://127.0.0.1:8786. They need the same vprof, and the"
        " traces under the same paths.",
    ),
)


def jobs_options(command: Callable[..., None]) -> Callable[..., None]:
    """--jobs and --scheduler: `jobs`, `scheduler`."""
    for option in reversed(_JOBS_OPTIONS):
        command = option(command)
    return command


tail_option = click.option(
    "--tail",
    default=0.99,
    show_default=True,
    type=click.FloatRange(0.5, 1, max_open=True),
    help="Quantile beyond which an interval is in the tail; a lower one if fewer than 100 intervals would be there.",
)
force_option = click.option(
    "--force",
    is_flag=True,
    help="Rank the factors even if more than 10 % of the intervals were lost, or calls of fibers are mixed.",
)
