"""What tests of several folders share: the installed tools, and builds of targets that are kept (build_cache.py)."""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest
from build_cache import Built, built, cache_folder

from vprof.target.fetch import SourceUnavailableError
from vprof.target.target import Target

KeptBuild = Callable[[str], AbstractContextManager[Built]]


@pytest.fixture(scope="session")
def installed() -> Path:
    """The prefix of the tools under test."""
    return Path(os.environ.get("VPROF_PREFIX", sys.prefix))


@pytest.fixture(scope="session")
def say(request: pytest.FixtureRequest) -> Callable[[str], None]:
    """Prints a line at once, past pytest's capture: what a run waits for, or makes for minutes."""
    capture = request.config.pluginmanager.getplugin("capturemanager")

    def say(line: str) -> None:
        with capture.global_and_fixture_disabled():
            print(f"\n{line}", flush=True)

    return say


@pytest.fixture(scope="session")
def kept_build(installed: Path, say: Callable[[str], None]) -> KeptBuild:
    """A target's build by name, from the cache or made now. Skips only if its source cannot be had."""

    @contextmanager
    def kept(name: str) -> Iterator[Built]:
        try:
            with built(name, cache_folder(), installed, say) as found:
                yield found
        except SourceUnavailableError as error:
            # A machine without Debian's source packages can test all else; a failing build is another error, and fails.
            pytest.skip(f"the source of {name} cannot be fetched: {error}")

    return kept


def server_fixtures(name: str) -> tuple[Callable[..., Iterator[Built]], Callable[..., Target]]:
    """Two fixtures for the conftest.py of a target with a server: its build, whose server is set up anew, and for tests
    that run server and session in this process its Target."""

    @pytest.fixture(scope="session")
    def build(kept_build: KeptBuild) -> Iterator[Built]:
        with kept_build(name) as found:
            (found.target.folder / "server.setup").unlink(missing_ok=True)
            yield found

    @pytest.fixture
    def target(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Target:
        found: Built = request.getfixturevalue(name)
        monkeypatch.setenv("VPROF_PREFIX", str(found.prefix))
        return found.target

    return build, target
