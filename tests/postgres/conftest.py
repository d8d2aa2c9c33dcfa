"""The instrumented PostgreSQL that the tests of this folder share, from the cache or built now."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from build_cache import Built, built, cache_folder

from vprof.source import SourceUnavailableError
from vprof.target import Target

sys.path.append(str(Path(__file__).parents[2] / "targets/postgres"))


@pytest.fixture(scope="session")
def installed() -> Path:
    """The prefix of the tools under test."""
    return Path(os.environ.get("VPROF_PREFIX", sys.prefix))


@pytest.fixture(scope="session")
def postgres(request: pytest.FixtureRequest, installed: Path) -> Iterator[Built]:
    """Its server is set up anew. Skipped over only if the source cannot be had."""
    capture = request.config.pluginmanager.getplugin("capturemanager")

    def say(line: str) -> None:
        with capture.global_and_fixture_disabled():
            print(f"\n{line}", flush=True)

    try:
        with built("postgres", cache_folder(), installed, say) as found:
            (found.target.folder / "server.setup").unlink(missing_ok=True)
            yield found
    except SourceUnavailableError as error:
        # A machine without Debian's source packages can test all else; a failing build is another error, and fails.
        pytest.skip(f"PostgreSQL's source cannot be fetched: {error}")


@pytest.fixture
def target(postgres: Built, monkeypatch: pytest.MonkeyPatch) -> Target:
    """For tests that run server and session in this process."""
    monkeypatch.setenv("VPROF_PREFIX", str(postgres.prefix))
    return postgres.target
