"""How runs end: by a signal, without a server, with a full disk, with a server that hangs. One line, a code, a file."""

import json
import signal
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from load_runs import COMMITTED, UNFINISHED, Driver, Stub, wait_for_size

FOREVER = ["--clients", 4, "--rate", 200, "--seconds", 1000]
SOME_BLOCKS = 60_000


@pytest.mark.parametrize("which", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_a_run_in_order(which: signal.Signals, driver: Driver, serve: Callable[..., Stub]) -> None:
    """What was under way is finished."""
    stub = serve("--delay", "constant:50ms")
    running = driver.start("noop", stub.where, "--clients", 20, *FOREVER[2:])
    wait_for_size(driver.file, SOME_BLOCKS)
    running.send_signal(which)
    ended = driver.wait(running)
    assert ended.code == 0 and ended.result["interrupted"] and ended.result["cut_short"] is None and not ended.errors
    assert ended.latencies
    records = ended.latencies.transactions()
    assert set(records["outcome"]) == {COMMITTED}
    assert (records["end"] > ended.result["end_ns"]).any() and (records["intended"] < ended.result["end_ns"]).all()
    assert len(records) == len(stub.truth())


def test_a_signal_during_the_warm_up(driver: Driver, serve: Callable[..., Stub]) -> None:
    stub = serve()
    running = driver.start("noop", stub.where, *FOREVER, "--warmup", 1000)
    wait_for_size(driver.file, 32)
    running.send_signal(signal.SIGINT)
    ended = driver.wait(running)
    assert ended.code == 0 and ended.latencies and len(ended.latencies.records) == 0
    assert ended.result["begin_ns"] == ended.result["end_ns"]


def test_a_server_that_dies_cuts_the_run_short(driver: Driver, serve: Callable[..., Stub]) -> None:
    stub = serve()
    running = driver.start("noop", stub.where, *FOREVER)
    wait_for_size(driver.file, SOME_BLOCKS)
    stub.process.kill()
    ended = driver.wait(running)
    assert ended.code == 3 and ended.errors.count("\n") == 1
    assert (
        "cut short: the server is lost: " in ended.errors and "cut short: " + ended.result["cut_short"] in ended.errors
    )
    assert ended.result["lost_connections"] == 4 and not ended.result["interrupted"]
    assert ended.result["first_error"].startswith("select_1: ")
    assert ended.latencies
    records = ended.latencies.transactions()
    counts = np.bincount(records["outcome"], minlength=5)
    assert counts[COMMITTED] > 100 and counts[UNFINISHED] > 4 and counts.sum() == len(records)
    lost = records[(records["outcome"] == UNFINISHED) & (records["start"] > 0)]
    assert len(lost) == 4


def test_a_server_that_comes_back_is_used_again(driver: Driver, serve: Callable[..., Stub]) -> None:
    stub = serve()
    running = driver.start("noop", stub.where, "--clients", 4, "--rate", 200, "--seconds", 6)
    wait_for_size(driver.file, SOME_BLOCKS)
    stub.process.kill()
    time.sleep(0.5)
    again = serve()
    ended = driver.wait(running)
    assert ended.code == 0 and ended.result["lost_connections"] == 4 and ended.result["cut_short"] is None
    assert ended.latencies and len(again.truth()) > 100
    outcomes = ended.latencies.transactions()["outcome"]
    assert np.bincount(outcomes, minlength=5)[UNFINISHED] == 4


def test_a_server_that_hangs(driver: Driver, serve: Callable[..., Stub]) -> None:
    """The second signal does not wait for what never ends."""
    stub = serve()
    running = driver.start("noop", stub.where, *FOREVER)
    wait_for_size(driver.file, SOME_BLOCKS)
    stub.process.send_signal(signal.SIGSTOP)
    time.sleep(0.3)
    began = time.monotonic()
    running.send_signal(signal.SIGINT)
    time.sleep(0.5)
    assert running.poll() is None
    running.send_signal(signal.SIGINT)
    ended = driver.wait(running)
    assert time.monotonic() - began < 9
    assert ended.code == 0 and ended.latencies and ended.result["interrupted"] and ended.result["lost_connections"] == 0
    assert (ended.latencies.transactions()["outcome"] == UNFINISHED).any()


def test_no_server(driver: Driver, tmp_path: Path) -> None:
    for on in "postgres", "mysql":
        ended = driver.run("noop", ["--on", on, "--socket", tmp_path / "none"], *FOREVER)
        assert ended.code == 1 and ended.errors.count("\n") == 1 and "none" in ended.errors
        assert not ended.result and ended.latencies is None


def test_a_file_that_cannot_be_made(driver: Driver, serve: Callable[..., Stub], tmp_path: Path) -> None:
    driver.file = tmp_path / "no folder/latencies"
    ended = driver.run("noop", serve().where, *FOREVER)
    assert ended.code == 1 and not ended.result
    assert ended.errors == f"vprof-load-driver: {driver.file}: No such file or directory\n"


def test_a_full_disk_cuts_the_run_short(driver: Driver, serve: Callable[..., Stub]) -> None:
    """Small files only: the first block does not fit any more."""
    limit = f"ulimit -f 64; trap '' XFSZ; exec {driver.program} run noop --latencies {driver.file}"
    where = " ".join(map(str, [*serve().where, *FOREVER]))
    shell = Driver(Path("/bin/sh"), driver.file.parent)
    done = shell.call("-c", f"{limit} {where}")
    assert done.returncode == 3
    assert done.stderr == f"vprof-load-driver: the run was cut short: {driver.file}: File too large\n"
    assert json.loads(done.stdout)["cut_short"] == f"{driver.file}: File too large"
    assert 0 < driver.file.stat().st_size <= 64 * 1024 and (driver.file.stat().st_size - 56) % 32 == 0


def test_memory_does_not_grow_with_the_run(driver: Driver, serve: Callable[..., Stub]) -> None:
    stub = serve()
    short, long = (
        driver.run("noop", stub.where, "--clients", 2, "--seconds", seconds).result["peak_rss_kb"]
        for seconds in (0.5, 5)
    )
    assert long < short + 500
