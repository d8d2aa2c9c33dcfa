"""The options of `vprof whatif --locks`, as one value."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import click

USUAL = "fcfs,vats,ldsf,bldsf"


@dataclass(frozen=True)
class LockWishes:
    """`locks`: policies, None: not asked for. What is None was not given."""

    locks: str | None
    traced: str | None
    script: Path | None
    generate: str | None
    clients: int | None
    rate: float | None
    theta: float | None
    writes: float | None
    records: int | None
    statements: int | None
    transactions: int | None
    work_us: float | None
    seeds: int | None
    servers: tuple[str, ...]
    sizes: str | None
    union: str | None
    delay_factor: str | None
    barrier: bool | None

    def given(self) -> list[str]:
        """The options that were given, as they are written."""
        return [f"--{one.name.replace('_', '-')}" for one in fields(self) if getattr(self, one.name) not in (None, ())]


_DELAYS = ("log2", "one", "sqrt-log2", "sqrt", "half", "k")
_OPTIONS = (
    click.option(
        "--locks",
        is_flag=False,
        flag_value=USUAL,
        metavar="[POLICY,...]",
        help=f"Replay logical locks by these policies instead, the first beside the others.  [default: {USUAL}]",
    ),
    click.option("--traced", metavar="POLICY", help="Of a trace: how the recorded program decides.  [default: fifo]"),
    click.option(
        "--script",
        type=click.Path(exists=True, dir_okay=False, path_type=Path),
        metavar="FILE",
        help="With --locks: transactions as JSON.",
    ),
    click.option("--generate", type=click.Choice(("zipf",)), help="With --locks: make the transactions."),
    click.option("--clients", type=click.IntRange(1, 10**6), help="A closed loop.  [default with --generate: 100]"),
    click.option("--rate", type=click.FloatRange(1e-9, 1e12), help="An open loop: transactions a second, by chance."),
    click.option("--theta", type=click.FloatRange(0, 10), help="Zipf's exponent.  [default: 0.8]"),
    click.option("--writes", type=click.FloatRange(0, 1), help="Part of exclusive locks.  [default: 0.6]"),
    click.option("--records", type=click.IntRange(1, 10**7), help="How many may be locked.  [default: 20000]"),
    click.option("--statements", type=click.IntRange(1, 1000), help="Locks of a transaction.  [default: 5]"),
    click.option("--transactions", type=click.IntRange(2, 10**8), help="Of each seed.  [default: 20000]"),
    click.option("--work-us", type=click.FloatRange(1e-3, 1e9), help="Mean work after a lock.  [default: 100]"),
    click.option("--seeds", type=click.IntRange(1, 10**4), help="How many runs of each policy.  [default: 10]"),
    click.option("--servers", multiple=True, metavar="OBJECT=N", help="The object is N of them: logs, workers."),
    click.option("--sizes", type=click.Choice(("exact", "effective")), help="Of dependency sets.  [default: exact]"),
    click.option("--union", type=click.Choice(("sum", "exact")), help="Of bldsf's batches.  [default: sum]"),
    click.option("--delay-factor", type=click.Choice(_DELAYS), help="f(k) of bldsf.  [default: log2]"),
    click.option(
        "--barrier/--no-barrier",
        default=None,
        help="Whether later requests wait for the queue before them.  [default: barrier]",
    ),
)


def lock_options(command: Callable[..., None]) -> Callable[..., None]:
    """--locks and what belongs to it, as the parameter `wishes`."""

    @functools.wraps(command)
    def collected(**values: Any) -> None:
        wishes = LockWishes(**{one.name: values.pop(one.name) for one in fields(LockWishes)})
        command(**values, wishes=wishes)

    for option in reversed(_OPTIONS):
        collected = option(collected)
    return collected
