"""Property tests: what must hold of any input. `make properties` takes 50 times as many inputs as `make test`.

VPROF_EXAMPLES says how many times as many, 1 by default. Hundreds of tests of a few milliseconds would spend their time
in pytest, so seeds come in lots.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

LOT = 100
_TIMES = int(os.environ.get("VPROF_EXAMPLES", "1"))

Mark = Callable[[Callable[..., None]], Any]


def examples(count: int) -> Mark:
    """So many of Hypothesis, for a test with `@given` below it. However long they take: machines may be busy."""
    chosen = settings(max_examples=_TIMES * count, deadline=None, suppress_health_check=[HealthCheck.too_slow])

    def marked(test: Callable[..., None]) -> Any:
        return pytest.mark.property(chosen(test))

    return marked


def lots(count: int) -> Mark:
    """Seeds from 0 on: the test goes through those from `first` to `first + LOT`, each with its name (`named`)."""
    return _each("first", range(0, _TIMES * count, LOT))


def seeds(count: int) -> Mark:
    """Seeds from 0 on, each a test of its own."""
    return _each("seed", range(_TIMES * count))


def _each(name: str, values: range) -> Mark:
    def marked(test: Callable[..., None]) -> Any:
        return pytest.mark.property(pytest.mark.parametrize(name, values)(test))

    return marked


@contextmanager
def named(seed: int) -> Iterator[None]:
    """A failure inside says which seed it was."""
    try:
        yield
    except Exception as error:
        error.add_note(f"seed {seed}")
        raise
