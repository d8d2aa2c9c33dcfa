"""What holds for tests of all folders: those that need quiet CPUs (shared/quiet_cpus.py) are skipped without; text is
as wide as where it is piped, in one process or several (pytest-xdist gives its workers a width)."""

import os
from collections.abc import Iterator

import pytest
import quiet_cpus

os.environ.pop("COLUMNS", None)

WATCH = pytest.StashKey[quiet_cpus.Watch]()


def pytest_runtest_setup(item: pytest.Item) -> None:
    if item.get_closest_marker("quiet_cpus"):
        if why := quiet_cpus.why_not():
            pytest.skip(why)
        item.stash[WATCH] = quiet_cpus.Watch()


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Iterator[None]:
    try:
        return (yield)
    except (AssertionError, IndexError):
        watch = pyfuncitem.stash.get(WATCH, None)
        if watch and (why := watch.why_not()):
            pytest.skip(why)
        raise
