"""When transactions begin: intended starts of an open loop, pauses of a closed one, the warm-up, and lateness."""

import os
import time
from collections.abc import Callable

import numpy as np
from load_runs import UNFINISHED, Driver, Ended, Stub
from numpy.typing import NDArray
from scipy import stats


def intended_ns(ended: Ended) -> NDArray[np.int64]:
    """From the beginning of what counts."""
    assert ended.latencies and ended.code == 0, ended.errors
    starts: NDArray[np.int64] = np.sort(ended.latencies.transactions()["intended"]) - ended.latencies.begin_ns
    return starts


def test_even_arrivals(driver: Driver, serve: Callable[..., Stub]) -> None:
    ended = driver.run(
        "noop", serve().where, "--clients", 4, "--rate", 300, "--arrivals", "even", "--seconds", 2, "--warmup", 0.5
    )
    assert abs(intended_ns(ended) - np.arange(600) * 1e9 / 300).max() < 2


def test_poisson_arrivals(driver: Driver, serve: Callable[..., Stub]) -> None:
    """Exponential gaps of the right mean; the same for the same seed, whatever the server does; others for others."""
    stub = serve()
    load = ["--clients", 4, "--rate", 1000, "--seconds", 2]
    first = intended_ns(driver.run("noop", stub.where, *load))
    gaps = np.diff(first)
    assert stats.kstest(gaps / 1e6, "expon").pvalue > 1e-4
    assert abs(len(first) - 2000) < 5 * np.sqrt(2000)
    assert (first == intended_ns(driver.run("noop", serve("--delay", "constant:2ms").where, *load))).all()
    assert len(first) != len(intended_ns(driver.run("noop", stub.where, *load, "--seed", 2)))


def test_nothing_of_the_warm_up_is_recorded(driver: Driver, serve: Callable[..., Stub]) -> None:
    stub = serve()
    ended = driver.run("noop", stub.where, "--clients", 2, "--rate", 200, "--seconds", 1, "--warmup", 1)
    assert ended.latencies and ended.result["warmup_s"] == 1
    records = ended.latencies.records
    assert records["intended"].min() >= ended.result["begin_ns"] == ended.latencies.begin_ns
    assert records["intended"].max() < ended.result["end_ns"] == ended.result["begin_ns"] + 10**9
    assert len(stub.truth()) > 1.5 * len(ended.latencies.transactions())


def test_clients_think(driver: Driver, serve: Callable[..., Stub]) -> None:
    ended = driver.run("noop", serve().where, "--clients", 20, "--think", 20, "--seconds", 3)
    assert ended.latencies and ended.result["think_ms"] == 20 and ended.result["rate"] is None
    records = ended.latencies.transactions()
    assert (records["intended"] == records["start"]).all()
    assert 2000 < len(records) < 3300


def test_lateness_has_each_millisecond(driver: Driver, serve: Callable[..., Stub]) -> None:
    ended = driver.run("noop", serve().where, "--clients", 1, "--rate", 10, "--seconds", 2)
    assert ended.latencies
    ticks = np.sort(ended.latencies.of("[lateness]"), order="intended")
    assert (ticks["intended"] - ended.latencies.begin_ns == np.arange(2000) * 10**6).all()
    assert (ticks["start"] >= ticks["intended"]).all() and (ticks["end"] == ticks["start"]).all()


def test_what_is_due_just_before_the_end_begins(driver: Driver, serve: Callable[..., Stub]) -> None:
    """The client that waits for it wakes after the end."""
    stub = serve()
    for _ in range(5):
        ended = driver.run(
            "noop", stub.where, "--clients", 50, "--rate", 2000, "--arrivals", "even", "--seconds", 0.5001
        )
        assert ended.latencies and not (ended.latencies.transactions()["outcome"] == UNFINISHED).any()
        assert len(ended.latencies.transactions()) == 1001


def test_the_time_a_file_takes_is_none_of_the_run(driver: Driver, serve: Callable[..., Stub]) -> None:
    """A busy disk may take a second to empty the file of the run before; a pipe without a reader as well."""
    os.mkfifo(driver.file)
    started = driver.start("noop", serve().where, "--clients", 2, "--rate", 100, "--arrivals", "even", "--seconds", 0.5)
    time.sleep(1)
    pipe_ns = time.monotonic_ns()
    with driver.file.open("rb") as pipe:
        data = pipe.read()
    driver.file.unlink()
    driver.file.write_bytes(data)
    ended = driver.wait(started)
    assert ended.latencies and ended.latencies.begin_ns > pipe_ns
    records = ended.latencies.transactions()
    assert len(records) == 50 and not (records["outcome"] == UNFINISHED).any()


def test_a_rate_that_cannot_be_reached_leaves_nothing_out(driver: Driver, serve: Callable[..., Stub]) -> None:
    """Two clients do 100 a second at 20 ms each: of 300 a second two thirds never begin."""
    stub = serve("--delay", "constant:20ms")
    load = ["--clients", 2, "--rate", 300, "--arrivals", "even", "--seconds", 2, "--progress"]
    ended = driver.run("noop", stub.where, *load)
    assert ended.latencies and ended.code == 0
    records = ended.latencies.transactions()
    unbegun = records[records["outcome"] == UNFINISHED]
    assert len(records) == 600 and 395 < len(unbegun) < 500
    assert (unbegun["start"] == 0).all() and (unbegun["tries"] == 0).all()
    assert (unbegun["end"] == ended.result["end_ns"]).all()
    assert (unbegun["intended"] < ended.result["end_ns"]).all()
    seconds, finished, failed, retries, behind_ms = ended.errors.splitlines()[-1].split()
    assert (seconds, failed, retries) == ("2", "0", "0")
    assert 50 < int(finished) <= 102 and float(behind_ms) > 1000
