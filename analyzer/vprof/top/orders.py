"""What keys ask of the engine: each is one of these, put into a queue by who reads keys, done by who has the session.

Two threads: one draws, which never waits; one talks to the collector and analyzes.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from queue import SimpleQueue
from typing import Protocol

from vprof.top.view import View


@dataclass(frozen=True)
class Switch:
    """These functions on or off, because of `of`."""

    functions: tuple[str, ...]
    on: bool
    of: str


@dataclass(frozen=True)
class Pause:
    """What is shown stays as it is, or not any more. The session is still recorded."""

    paused: bool


@dataclass(frozen=True)
class OpenPath:
    """Of the interval that so many slower ones come before."""

    rank: int


@dataclass(frozen=True)
class Save:
    """What was analyzed last, as a trace."""


@dataclass(frozen=True)
class Stop:
    """The end."""


Order = Switch | Pause | OpenPath | Save | Stop


@dataclass
class Orders:
    queue: SimpleQueue[Order] = field(default_factory=SimpleQueue)

    def give(self, order: Order) -> None:
        self.queue.put(order)


class Show(Protocol):
    """Who shows what the engine found. Called by the engine's thread."""

    def refreshed(self, view: View) -> None: ...

    def opened(self, rank: int, text: str) -> None:
        """A path, in lines."""

    def said(self, line: str) -> None:
        """What was done, or why not."""
