"""The driver proves itself: against a server with known delays and stalls, what it measures is what was planted.

The truth needs none of the driver's clock readings. Evenly spaced intended starts follow from the rate; the stub says
when it got the n-th request and when it answered; the n-th intended start and the n-th request belong together, since
clients take the starts in turn. From the one to the answer is what a user waits who comes at the intended time.
"""

from collections.abc import Callable

import numpy as np
import pytest
from load_runs import COMMITTED, Driver, Ended, Stub, latencies_ms, true_latencies_ms

PERCENTILES = [50, 99, 99.9, 100]


def is_exact(ended: Ended, stub: Stub) -> bool:
    assert ended.latencies and ended.code == 0, ended.errors
    records = ended.latencies.transactions()
    assert set(records["outcome"]) == {COMMITTED} and set(records["tries"]) == {1}
    truth = true_latencies_ms(ended, stub.truth())
    assert len(records) == len(truth) == ended.result["rate"] * ended.result["seconds"]
    measured, true = np.percentile(latencies_ms(records), PERCENTILES), np.percentile(truth, PERCENTILES)
    print(f"measured {measured.round(2)}, true {true.round(2)} ms")
    return bool(np.allclose(measured, true, rtol=0.01))


@pytest.mark.quiet_cpus
@pytest.mark.parametrize(
    ("clients", "delays"),
    [
        (128, ["--delay", "lognormal:40ms:0.4"]),
        (256, ["--delay", "constant:40ms", "--stall", "600ms/3s"]),
        (16, ["--delay", "constant:40ms", "--stall", "600ms/3s"]),
    ],
    ids=["no-stall", "stall", "stall-and-too-few-clients"],
)
def test_percentiles_are_exact_within_1_percent(
    clients: int, delays: list[str], driver: Driver, serve: Callable[..., Stub]
) -> None:
    """p50, p99, p99.9 and the maximum. With too few clients all wait in a stall, then for what came meanwhile. One of
    three runs must be exact: a pause of the machine spoils one."""
    load = ["--clients", clients, "--rate", 250, "--arrivals", "even", "--warmup", 1, "--seconds", 7]

    def attempt() -> bool:
        stub = serve(*delays)
        return is_exact(driver.run("noop", stub.where, *load), stub)

    assert any(attempt() for _ in range(3))


def test_an_open_loop_shows_a_stall(driver: Driver, serve: Callable[..., Stub]) -> None:
    """A fifth of all users come while nothing goes on."""
    stub = serve("--delay", "constant:10ms", "--stall", "600ms/3s")
    ended = driver.run("noop", stub.where, "--clients", 16, "--rate", 200, "--arrivals", "even", "--seconds", 5)
    assert ended.latencies
    latencies = latencies_ms(ended.latencies.transactions())
    assert len(latencies) == 1000 and np.percentile(latencies, 97) > 400 and latencies.max() > 600


def test_a_closed_loop_hides_a_stall(driver: Driver, serve: Callable[..., Stub]) -> None:
    """The stalls take a tenth of the time, but each of four clients waits once for each."""
    stub = serve("--delay", "constant:5ms", "--stall", "300ms/3s")
    closed = driver.run("noop", stub.where, "--clients", 4, "--seconds", 7)
    opened = driver.run("noop", stub.where, "--clients", 100, "--rate", 200, "--seconds", 7)
    assert closed.latencies and opened.latencies
    slow_in_closed, slow_in_open = (
        (latencies_ms(ended.latencies.transactions()) > 150).mean() for ended in (closed, opened) if ended.latencies
    )
    assert 0 < slow_in_closed < 0.02 and slow_in_open > 0.03
