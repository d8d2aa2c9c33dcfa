"""LevelDB, C++ built by `vprof instrument --target leveldb`: its own tests pass, a drill-down finds why writes wait."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from build_cache import Built
from kept_builds import KeptBuild
from kept_builds import installed as installed
from kept_builds import kept_build as kept_build
from kept_builds import say as say
from patience import PATIENCE_SECONDS

CHECK = Path(__file__).parents[2] / "targets/leveldb/check.py"
QUICK = "c_test,cache_test,env_test,log_test,memenv_test,skiplist_test,table_test,write_batch_test"
WRITE_PATH = {
    "leveldb::DBImpl::Write",
    "leveldb::DBImpl::MakeRoomForWrite",
    "leveldb::(anonymous namespace)::PosixEnv::SleepForMicroseconds",
    "leveldb::port::CondVar::Wait",
    "leveldb::DBImpl::BackgroundCall",
    "leveldb::DBImpl::BackgroundCompaction",
    "leveldb::DBImpl::CompactMemTable",
    "leveldb::DBImpl::WriteLevel0Table",
    "leveldb::BuildTable",
}
"""A write waits behind other writers, or for room; the thread that makes room writes a memtable to a table. While
level 0 has too many files, MakeRoomForWrite lets each write sleep for a millisecond: nothing else there sleeps."""


@pytest.fixture(scope="module")
def leveldb(kept_build: KeptBuild) -> Iterator[Built]:
    with kept_build("leveldb") as found:
        yield found


@pytest.mark.parametrize("mode", ["dormant", "off", "all"])
def test_its_own_tests_pass(leveldb: Built, mode: str) -> None:
    check = [sys.executable, CHECK, mode, "--tests", QUICK]
    done = subprocess.run(check, capture_output=True, timeout=PATIENCE_SECONDS, **leveldb.how())
    assert done.returncode == 0, done.stdout + done.stderr
    assert "100% tests passed, 0 tests failed out of 8" in done.stdout


def test_every_entry_applies(leveldb: Built) -> None:
    done = leveldb.vprof("targets", "check", "leveldb")
    assert done.returncode == 0, done.stderr


@pytest.mark.quiet_cpus
def test_a_drill_down_on_writes_finds_that_writes_wait(leveldb: Built) -> None:
    """It is confirmed unless a few compactions made up the variance, and then it is that which is said."""
    options = ["--max-steps", 5, "--step-seconds", 3, "--format", "json"]
    done = leveldb.vprof("drill", "--auto", "--target", "leveldb", *options)
    assert done.returncode == 0, done.stderr
    drill = json.loads(done.stdout)
    assert not drill["confirmation"]["no_ranking"]
    top = drill["findings"][0]
    assert top["share"] > 0
    names = (*top["functions"], *top["explains"])
    functions = {name.removeprefix("rest(").removeprefix("body(").rstrip(")") for name in names}
    assert functions & WRITE_PATH, top
    assert top["confirmed"] or top["few_intervals"], top
