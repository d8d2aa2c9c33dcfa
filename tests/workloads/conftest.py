"""The driver, servers with known delays, and real ones, each started once and below a folder of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from kept_builds import installed as installed
from load_runs import Driver, Stub, stub
from real_servers import RealServer, mariadb, postgres


@pytest.fixture
def driver(installed: Path, tmp_path: Path) -> Driver:
    return Driver(installed / "lib/vprof/vprof-load-driver", tmp_path)


@pytest.fixture
def serve(installed: Path, tmp_path: Path) -> Iterator[Callable[..., Stub]]:
    """Starts a stub with these options; the last one is in the same place as the one before."""
    with ExitStack() as stack:
        yield lambda *options: stack.enter_context(stub(installed / "lib/vprof/vprof-load-stub", tmp_path, *options))


@pytest.fixture(scope="session", params=[postgres, mariadb], ids=["postgres", "mariadb"])
def server(request: pytest.FixtureRequest) -> Iterator[RealServer]:
    with request.param() as running:
        yield running
