"""The instrumented PostgreSQL that the tests of this folder share, from the cache or built now."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from build_cache import Built
from kept_builds import KeptBuild
from kept_builds import installed as installed
from kept_builds import kept_build as kept_build
from kept_builds import say as say

from vprof.target import Target

sys.path.append(str(Path(__file__).parents[2] / "targets/postgres"))


@pytest.fixture(scope="session")
def postgres(kept_build: KeptBuild) -> Iterator[Built]:
    """Its server is set up anew."""
    with kept_build("postgres") as found:
        (found.target.folder / "server.setup").unlink(missing_ok=True)
        yield found


@pytest.fixture
def target(postgres: Built, monkeypatch: pytest.MonkeyPatch) -> Target:
    """For tests that run server and session in this process."""
    monkeypatch.setenv("VPROF_PREFIX", str(postgres.prefix))
    return postgres.target
