"""The driver's random numbers: the same for the same seed and stream, and of the distributions they should have."""

import subprocess
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from real_servers import CHECKOUT
from scipy import stats

COUNT = 20_000


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    built = tmp_path_factory.mktemp("random") / "random_check"
    folder = CHECKOUT / "workloads/driver"
    sources = [CHECKOUT / "tests/workloads/random_check.c", folder / "random.c", folder / "zipf.c"]
    subprocess.run(["cc", "-O2", f"-I{folder}", *sources, "-o", built, "-lm"], check=True)
    return built


def draw(program: Path, seed: int, stream: int, count: int = COUNT, *zipf: object) -> NDArray[np.float64]:
    command = [program, *map(str, [seed, stream, count, *zipf])]
    out = subprocess.run(command, capture_output=True, text=True, check=True)
    return np.loadtxt(out.stdout.splitlines(), ndmin=2)


def test_seed_and_stream_determine_all(program: Path) -> None:
    first = draw(program, 7, 3, 100)
    assert (first == draw(program, 7, 3, 100)).all()
    for seed, stream in [(7, 4), (8, 3), (3, 7), (6, 3)]:
        assert not (first[:, 3] == draw(program, seed, stream, 100)[:, 3]).any()


def test_distributions(program: Path) -> None:
    """Each would be rejected once in 10,000 seeds if it were right; the seed is fixed."""
    small, whole, third, unit, exponential = draw(program, 1, 0).T
    counts = np.bincount(small.astype(int) + 3, minlength=10)
    assert len(counts) == 10 and stats.chisquare(counts).pvalue > 1e-4
    assert stats.kstest(whole / 2**64 + 0.5, "uniform").pvalue > 1e-4
    assert stats.kstest(third / (3 * 2**61), "uniform").pvalue > 1e-4
    assert unit.min() >= 0 and unit.max() < 1 and stats.kstest(unit, "uniform").pvalue > 1e-4
    assert stats.kstest(exponential / 5, "expon").pvalue > 1e-4


def test_streams_are_independent(program: Path) -> None:
    """Neighbouring streams, and neighbours within one."""
    streams = np.array([draw(program, 1, stream, 5000)[:, 3] for stream in range(6)])
    assert abs(np.corrcoef(streams) - np.eye(6)).max() < 0.06
    assert abs(np.corrcoef(streams[0][:-1], streams[0][1:])[0, 1]) < 0.06


@pytest.mark.parametrize("theta", [0, 0.5, 0.99, 1, 1.0000001, 2])
@pytest.mark.parametrize("n", [1, 7, 1000])
def test_ranks_follow_zipfs_law(n: int, theta: float, program: Path) -> None:
    ranks = draw(program, 5, 0, COUNT, n, theta)[:, 0].astype(int)
    expected = np.arange(1, n + 1) ** -float(theta)
    expected *= COUNT / expected.sum()
    counts = np.bincount(ranks, minlength=n + 1)[1:]
    assert ranks.min() >= 1 and len(counts) == n
    common = max(1, int((expected >= 5).sum()))  # rarer ones are counted together
    drawn, wanted = (np.append(values[:common], values[common:].sum() or 1e-9) for values in (counts, expected))
    assert n == 1 or stats.chisquare(drawn, wanted * drawn.sum() / wanted.sum()).pvalue > 1e-4


def test_ranks_are_scattered_one_to_one(program: Path) -> None:
    ranks, rows = draw(program, 5, 0, COUNT, 1000, 0).T
    assert len(set(zip(ranks, rows, strict=True))) == len(set(ranks)) == len(set(rows)) == 1000
    assert rows.min() == 0 and rows.max() == 999
