"""What holds for tests of all folders: those that need quiet CPUs (shared/quiet_cpus.py) are skipped without; text is
as wide as where it is piped, in one process or several (pytest-xdist gives its workers a width). Kernels run compiled,
also for the few rows of most tests; with VPROF_BOTH_WAYS set, each as Python, too (shared/both_ways.py). With
`--dist loadscope`, one process runs all tests of a folder: it keeps the lock of a server's build to its end. (With
pytest 9.2, xdist_group and `loadgroup` of pytest-xdist 3.8 do nothing.)
"""

import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
import quiet_cpus
from both_ways import run_both_ways
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling

from vprof.tables.kernels import COMPILER

os.environ.pop("COLUMNS", None)
COMPILER.turn_on()

WATCH = pytest.StashKey[quiet_cpus.Watch]()


@pytest.fixture(autouse=bool(os.environ.get("VPROF_BOTH_WAYS")))
def both_ways(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Each kernel runs in both ways; counts its calls."""
    return run_both_ways(monkeypatch)


class _ByFolder(LoadScopeScheduling):
    def _split_scope(self, nodeid: str) -> str:
        return str(Path(nodeid.partition("::")[0]).parent)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> _ByFolder | None:
    return _ByFolder(config, log) if config.getoption("dist") == "loadscope" else None


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
