"""Sums in single blocks: exact, whatever parts they came in, and kept once for each pair of a block."""

from __future__ import annotations

import pickle
from collections import defaultdict

import numpy as np
from properties import seeds

from vprof.variance.cells import BlockRows, InBlock, cells_of

PAIRS, BLOCKS = 30, 4


def random_part(rng: np.random.Generator) -> tuple[InBlock, list[tuple[int, int, int]]]:
    """With products beyond 2^64; and (pair, product, time) of each row."""
    pair = rng.choice(PAIRS, rng.integers(0, PAIRS), replace=False).astype(np.int32)
    exact = [int(x) ** 2 * 5 for x in rng.integers(1, 1 << 40, len(pair))]
    times = rng.integers(0, 1 << 40, len(pair))
    product = np.array([x % 2**64 for x in exact], np.uint64).view(np.int64)
    rounded = np.stack((np.array(exact, np.float64), times.astype(np.float64)), axis=1)
    block = int(rng.integers(BLOCKS))
    return InBlock(pair, product, rounded, block), list(zip(pair.tolist(), exact, times.tolist(), strict=True))


@seeds(10)
def test_cells_are_the_sums_of_all_parts_in_any_order_merged_or_not(seed: int) -> None:
    rng = np.random.default_rng(seed)
    one, several = BlockRows(), [BlockRows() for _ in range(3)]
    expected: dict[tuple[int, int], list[int]] = defaultdict(lambda: [0, 0])
    place = rng.permutation(PAIRS)
    for _ in range(int(rng.integers(1, 80))):
        part, rows = random_part(rng)
        one.add(part._replace(pair=place[part.pair].astype(np.int32)))
        several[rng.integers(3)].add(part)
        for pair, product, time in rows:
            cell = expected[int(place[pair]), part.block]
            cell[0] += product
            cell[1] += time
    merged = BlockRows()
    for apart in several:
        merged.merge(pickle.loads(pickle.dumps(apart.added_up() if rng.random() < 0.5 else apart)), place)
    asked = rng.permutation(PAIRS)[: rng.integers(1, PAIRS)]
    for rows in (one, merged, one.added_up()):
        cells = cells_of(rows.parts, asked, PAIRS)
        found = {
            (int(asked[k]), int(cells.block[row])): (cells.product[row], cells.time[row])
            for k in range(len(asked))
            for row in range(cells.first[k], cells.first[k + 1])
        }
        assert found == {
            key: (float(product), float(time)) for key, (product, time) in expected.items() if key[0] in asked.tolist()
        }


def test_no_more_is_kept_of_a_block_than_of_its_pairs_some_times() -> None:
    rng = np.random.default_rng(0)
    rows = BlockRows()
    for _ in range(1000):
        rows.add(random_part(rng)[0])
    assert sum(len(part.pair) for part in rows.parts) <= 8 * BLOCKS * PAIRS
    assert sum(len(part.pair) for part in rows.added_up().parts) == BLOCKS * PAIRS
