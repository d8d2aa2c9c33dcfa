"""Tasks in this process as if they ran in others: what a worker takes and gives is pickled, and comes in any order.

A test of a cluster takes seconds to begin; this is for tests of many traces and ways to cut them.
"""

from __future__ import annotations

import pickle
import random
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

T = TypeVar("T")


class Apart:
    """Jobs (vprof/jobs/tasks.py) of so many `parts`, which are done in the order that `seed` gives."""

    is_open = True

    def __init__(self, parts: int, seed: int = 0) -> None:
        self.parts = parts
        self._chance = random.Random(seed)

    def share(self, value: Any) -> Any:
        return pickle.dumps(value)

    def each(
        self,
        task: Callable[..., T],
        shared: Sequence[Any],
        items: Sequence[Any],
        progress: Callable[[float], None] = lambda done: None,
    ) -> list[T]:
        found: dict[int, T] = {}
        known = [_loaded(value) for value in shared]
        for k in self._chance.sample(range(len(items)), len(items)):
            if self._chance.random() < 0.5:  # another worker
                known = [_loaded(value) for value in shared]
            found[k] = _sent(task(*known, _sent(items[k])))
            progress(len(found) / len(items))
        return [found[k] for k in range(len(items))]

    def merged(
        self,
        task: Callable[..., T],
        merge: Callable[[T, T], T],
        shared: Sequence[Any],
        items: Sequence[Any],
        progress: Callable[[float], None] = lambda done: None,
    ) -> T:
        level = self.each(task, shared, items, progress)
        while len(level) > 1:
            pairs = zip(level[::2], level[1::2], strict=False)
            level = [_sent(merge(a, b)) for a, b in pairs] + level[len(level) // 2 * 2 :]
        return level[0]

    def stream(self, task: Callable[..., T], shared: Sequence[Any], items: Sequence[Any]) -> Iterator[T]:
        return iter(self.each(task, shared, items))


def _loaded(value: Any) -> Any:
    return pickle.loads(value) if isinstance(value, bytes) else value


def _sent(value: T) -> T:
    return pickle.loads(pickle.dumps(value))  # type: ignore[no-any-return]
