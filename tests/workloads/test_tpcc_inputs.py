"""What TPC-C's terminals ask for: the specification's rules and distributions, and the same for the same seed."""

import subprocess
from collections.abc import Callable, Iterable

import numpy as np
import pytest
from numpy.typing import NDArray
from real_servers import CHECKOUT
from scipy import stats

Draw = Callable[..., list[list[str]]]
UNLIKELY = 1e-4
"""Seeds are fixed: a test that passes once passes always, and one in 10,000 seeds would fail although all is well."""


@pytest.fixture(scope="module")
def draw(tmp_path_factory: pytest.TempPathFactory) -> Draw:
    """Words of each of `count` inputs of a type."""
    built = tmp_path_factory.mktemp("inputs") / "tpcc_inputs"
    workloads = CHECKOUT / "workloads"
    libraries = subprocess.run(
        ["pkg-config", "--cflags", "--libs", "libpq", "libmariadb"], capture_output=True, text=True, check=True
    )
    names = ["new_order", "payment", "order_status", "delivery", "stock_level", "terminal", "nurand", "decimal"]
    sources = [workloads / f"tpcc/{name}.c" for name in names]
    sources += [workloads / "driver/random.c", *(workloads / "db").glob("*.c")]
    sources += [CHECKOUT / "tests/workloads/tpcc_inputs.c"]
    options = ["-g", "-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover"]
    options += [f"-I{workloads / folder}" for folder in ("", "db", "driver", "tpcc", "../annotations")]
    command = ["clang-19", *options, *map(str, sources), *libraries.stdout.split(), "-lm", "-o", str(built)]
    subprocess.run(command, check=True)

    def words(kind: str, scale: int = 1, client: int = 0, seed: int = 1, count: int = 20_000) -> list[list[str]]:
        command = [str(built), kind, *map(str, (scale, client, seed, count))]
        out = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        return [line.split() for line in out.splitlines()]

    return words


def nurand_probabilities(a: int, low: int, high: int, constant: int) -> NDArray[np.float64]:
    """Of low .. high, exactly: pairs whose bitwise OR is a value, by counting those whose OR is within its bits."""
    bits = max(a, high).bit_length()
    within = []
    for first, last in ((0, a), (low, high)):
        counts = np.zeros(1 << bits, dtype=np.int64)
        counts[first : last + 1] = 1
        within.append(over_bits(counts, bits, np.add))
    pairs = over_bits(within[0] * within[1], bits, np.subtract)
    size = high - low + 1
    chosen = (np.arange(1 << bits) + constant) % size
    probabilities = np.zeros(size)
    np.add.at(probabilities, chosen, pairs / pairs.sum())
    return probabilities


def over_bits(counts: NDArray[np.int64], bits: int, combine: np.ufunc) -> NDArray[np.int64]:
    """Combines, bit by bit, what has the bit with what has it not."""
    result = counts.copy()
    for bit in range(bits):
        halves = result.reshape(-1, 2, 1 << bit)
        halves[:, 1, :] = combine(halves[:, 1, :], halves[:, 0, :])
    return result


def check_nurand(values: Iterable[int], a: int, low: int, high: int, constant: int) -> None:
    """In two groupings: by ranges, which a wrong constant shifts, and by the low bits, which the OR sets."""
    drawn = np.fromiter(values, dtype=np.int64) - low
    expected = nurand_probabilities(a, low, high, constant)
    assert drawn.min() >= 0 and drawn.max() < len(expected)
    indexes = np.arange(len(expected))
    for groups in (indexes * 50 // len(expected), (indexes - constant) % 32):
        observed = np.bincount(groups[drawn])
        probable = np.bincount(groups, weights=expected)
        assert stats.chisquare(observed, probable * len(drawn)).pvalue > UNLIKELY


def check_share(events: Iterable[bool], share: float) -> None:
    happened = list(events)
    assert stats.binomtest(sum(happened), len(happened), share).pvalue > UNLIKELY


def test_the_reference_counts_pairs() -> None:
    slow = np.zeros(10)
    for mask in range(4):
        for value in range(3, 13):
            slow[((mask | value) + 5) % 10] += 1
    assert nurand_probabilities(3, 3, 12, 5) == pytest.approx(slow / 40)


@pytest.mark.parametrize("kind", ["new_order", "payment", "order_status", "delivery", "stock_level"])
def test_seed_and_client_determine_all(kind: str, draw: Draw) -> None:
    first = draw(kind, seed=7, client=3, count=100)
    assert first == draw(kind, seed=7, client=3, count=100)
    assert first != draw(kind, seed=8, client=3, count=100)
    assert first != draw(kind, seed=7, client=4, count=100)


def test_a_client_stands_in_one_warehouse(draw: Draw) -> None:
    for client, warehouse, district in [(0, 1, 1), (2, 3, 1), (3, 1, 2), (29, 3, 10), (30, 1, 1)]:
        for kind in ("new_order", "payment", "order_status", "delivery", "stock_level"):
            assert {words[0] for words in draw(kind, scale=3, client=client, count=50)} == {str(warehouse)}
        assert {words[1] for words in draw("stock_level", scale=3, client=client, count=50)} == {str(district)}


def test_new_orders(draw: Draw) -> None:
    orders = [list(map(int, words)) for words in draw("new_order")]
    lines = [list(zip(*[iter(order[4:])] * 3, strict=True)) for order in orders]
    assert {order[0] for order in orders} == {1} and {order[3] for order in orders} == {1}
    assert stats.chisquare(np.bincount([order[1] for order in orders])[1:]).pvalue > UNLIKELY
    check_nurand((order[2] for order in orders), 1023, 1, 3000, 259)
    counts = np.bincount([len(of_order) for of_order in lines], minlength=16)
    assert counts[:5].sum() == 0 and len(counts) == 16 and stats.chisquare(counts[5:]).pvalue > UNLIKELY
    unused = [of_order[-1][0] == 100_001 for of_order in lines]
    check_share(unused, 0.01)
    used = [line for of_order in lines for line in of_order if line[0] != 100_001]
    assert sum(map(len, lines)) - len(used) == sum(unused)
    check_nurand((item for item, _, _ in used), 8191, 1, 100_000, 7911)
    assert {supply for _, supply, _ in used} == {1}
    assert stats.chisquare(np.bincount([quantity for _, _, quantity in used])[1:]).pvalue > UNLIKELY


def test_remote_lines(draw: Draw) -> None:
    orders = [list(map(int, words)) for words in draw("new_order", scale=4, client=1)]
    supplies = [order[5::3] for order in orders]
    assert [order[3] for order in orders] == [int(set(of_order) == {2}) for of_order in supplies]
    flat = [supply for of_order in supplies for supply in of_order]
    check_share((supply != 2 for supply in flat), 0.01)
    assert stats.chisquare(np.bincount([supply for supply in flat if supply != 2])[[1, 3, 4]]).pvalue > UNLIKELY


def test_payments(draw: Draw) -> None:
    payments = draw("payment")
    assert {(words[0], words[2]) for words in payments} == {("1", "1")}
    assert all(words[1] == words[3] for words in payments)
    check_share((words[4] == "0" for words in payments), 0.6)
    assert {len(words) for words in payments if words[4] != "0"} == {6}
    check_nurand((int(words[4]) for words in payments if words[4] != "0"), 1023, 1, 3000, 259)
    amounts = [float(words[5]) for words in payments]
    assert all(words[5] == f"{amount:.2f}" for words, amount in zip(payments, amounts, strict=True))
    assert stats.kstest(amounts, "uniform", (1, 4999)).pvalue > UNLIKELY


def test_remote_payments(draw: Draw) -> None:
    payments = draw("payment", scale=4, client=1)
    remote = [words for words in payments if words[2] != "2"]
    check_share((words[2] != "2" for words in payments), 0.15)
    assert all(words[1] == words[3] for words in payments if words[2] == "2")
    assert stats.chisquare(np.bincount([int(words[2]) for words in remote])[[1, 3, 4]]).pvalue > UNLIKELY
    assert stats.chisquare(np.bincount([int(words[3]) for words in remote])[1:]).pvalue > UNLIKELY


def test_last_names(draw: Draw) -> None:
    """Those asked for and those loaded are hot in other places."""
    syllables = ["BAR", "OUGHT", "ABLE", "PRI", "PRES", "ESE", "ANTI", "CALLY", "ATION", "EING"]
    names = ["".join(syllables[int(digit)] for digit in f"{number:03}") for number in range(1000)]
    numbers = {name: number for number, name in enumerate(names)}
    assert numbers["PRICALLYOUGHT"] == 371
    loaded = draw("loaded_name")
    assert all(numbers[name] == int(number) for number, name in loaded)
    check_nurand((int(number) for number, _ in loaded), 255, 0, 999, 157)
    asked = [words[-1] for words in draw("order_status") if words[2] == "0"]
    check_nurand((numbers[name] for name in asked), 255, 0, 999, 244)
    assert 65 <= 244 - 157 <= 119 and 244 - 157 not in (96, 112)


def test_the_others(draw: Draw) -> None:
    assert stats.chisquare(np.bincount([int(words[1]) for words in draw("delivery")])[1:]).pvalue > UNLIKELY
    thresholds = np.bincount([int(words[2]) for words in draw("stock_level")], minlength=21)
    assert thresholds[:10].sum() == 0 and stats.chisquare(thresholds[10:]).pvalue > UNLIKELY
    check_share((words[2] == "0" for words in draw("order_status")), 0.6)
