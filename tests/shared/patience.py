"""How long tests wait for what surely comes: on a machine with much else to do it comes late, and only a hang later."""

import time
from collections.abc import Callable

PATIENCE_SECONDS = 1200


def wait_for(condition: Callable[[], object], what: str = "", every_seconds: float = 0.05) -> None:
    """Looks again and again until it holds; fails after PATIENCE_SECONDS."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not condition():
        assert time.monotonic() < deadline, f"{what}: not within {PATIENCE_SECONDS} s"
        time.sleep(every_seconds)
