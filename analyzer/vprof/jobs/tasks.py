"""What code needs of workers to give them tasks, and how work is cut.

A task is a function of a module: workers import it. It gets what was shared and one item, and changes neither; a task
that is repeated comes to the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any, Protocol, TypeVar

T = TypeVar("T")

Progress = Callable[[float], None]
"""Is told which part of the work is done, 0 to 1."""
Stages = Callable[[str], Progress]
"""Is told what begins now, such as "replaying", and gives who is told which part of that is done."""


def unseen(stage: str) -> Progress:
    """Stages that nobody looks at."""
    return lambda done: None


class Jobs(Protocol):
    """Workers that take tasks. `shared` are results of `share`. Raises the VprofError of the first task, in order, that
    raises one."""

    @property
    def is_open(self) -> bool:
        """There still are workers."""

    @property
    def parts(self) -> int:
        """Into how many tasks work is cut, if it can be: several for each worker, so that none waits long at the
        end."""

    def share(self, value: Any) -> Any:
        """Makes it known to all workers, once."""

    def each(
        self,
        task: Callable[..., T],
        shared: Sequence[Any],
        items: Sequence[Any],
        progress: Progress = lambda done: None,
    ) -> list[T]:
        """The result of each item, in their order."""

    def merged(
        self,
        task: Callable[..., T],
        merge: Callable[[T, T], T],
        shared: Sequence[Any],
        items: Sequence[Any],
        progress: Progress = lambda done: None,
    ) -> T:
        """The results merged as a tree, neighbours first; `merge` makes a new one of two, and is a task itself.
        REQUIRES: there is an item."""

    def stream(self, task: Callable[..., T], shared: Sequence[Any], items: Sequence[Any]) -> Iterator[T]:
        """The result of each item, in their order; no more than `parts` of them wait for the one who takes them."""


def spans(count: int, parts: int) -> list[tuple[int, int]]:
    """[first, last) of 0 .. count - 1, in order, in at most so many parts of about one size."""
    parts = max(1, min(count, parts))
    return [(a, b) for a, b in pairwise(count * k // parts for k in range(parts + 1))]


def balanced(sizes: Sequence[int], parts: int) -> list[list[int]]:
    """All numbers 0 .. len(sizes) - 1, each in one of at most so many parts, whose sizes are as equal as they get when
    the largest go first."""
    found: list[list[int]] = [[] for _ in range(max(1, min(len(sizes), parts)))]
    load = [0] * len(found)
    for number in sorted(range(len(sizes)), key=lambda number: -sizes[number]):
        least = load.index(min(load))
        found[least].append(number)
        load[least] += sizes[number]
    return [sorted(part) for part in found if part]
