"""Random tests in lots: hundreds of tests of a few milliseconds would spend their time in pytest."""

from collections.abc import Iterator
from contextlib import contextmanager

LOT = 100


@contextmanager
def named(seed: int) -> Iterator[None]:
    """A failure inside says which seed it was."""
    try:
        yield
    except Exception as error:
        error.add_note(f"seed {seed}")
        raise
