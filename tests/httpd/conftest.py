"""The instrumented httpd that the tests of this folder share, from the cache or built now."""

from collections.abc import Iterator

import pytest
from build_cache import Built
from kept_builds import KeptBuild
from kept_builds import installed as installed
from kept_builds import kept_build as kept_build
from kept_builds import say as say

from vprof.target import Target


@pytest.fixture(scope="session")
def httpd(kept_build: KeptBuild) -> Iterator[Built]:
    """Its server is set up anew."""
    with kept_build("httpd") as found:
        (found.target.folder / "server.setup").unlink(missing_ok=True)
        yield found


@pytest.fixture
def target(httpd: Built, monkeypatch: pytest.MonkeyPatch) -> Target:
    """For tests that run server and session in this process."""
    monkeypatch.setenv("VPROF_PREFIX", str(httpd.prefix))
    return httpd.target
