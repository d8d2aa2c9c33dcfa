"""`--own`, `--by-type`, `--tail`: other views of the same times."""

from dataclasses import replace

import numpy as np
import pytest
from hand import EVERYTHING, hand_trace, ranking, tree_text
from test_explain import serving_trace

from vprof.variance.analysis import AnalysisOptions, analyze

OWN = replace(EVERYTHING, own=True)


def test_waits_are_leaves_and_wakers_no_factors() -> None:
    full, own = analyze(serving_trace(), EVERYTHING), analyze(serving_trace(), OWN)
    assert tree_text(own) == [
        "<interval> 62.5",
        "  serve 62.5",
        "    lock@serve.c:5 15",
        "      [blocked] 15",
        "    lock@serve.c:6 22.5",
        "      [blocked] 22.5",
        "    body(serve) 25",
    ]
    mine = {name: value for name, value in ranking(full).items() if "lock" in name or "serve" in name}
    assert ranking(own) == pytest.approx(mine)
    assert "flush" in ranking(full)


def test_a_type_has_the_tree_of_its_intervals() -> None:
    """The first two intervals are reads, the others writes: each tree is that of a trace with these intervals alone."""
    trace = serving_trace()
    trace.types = ["read", "write", "idle"]
    trace.intervals.type[:] = [0, 0, 1, 1]
    typed = analyze(trace, AnalysisOptions(by_type=True))
    by_type = typed.type_trees
    assert [one.type for one in by_type] == ["read", "write"]
    for number, one in enumerate(by_type):
        alone = serving_trace()
        alone.intervals.ignore[:] = [t != number for t in (0, 0, 1, 1)]
        factors = {ranked.factor.name: ranked.factor.share for ranked in analyze(alone).factors}
        assert {factor.name: factor.share for factor in typed.type_factors[number]} == pytest.approx(factors)
        assert factors
        expected = analyze(alone).tree
        place = {tuple(_path(expected, x)): x for x in range(len(expected.paths.name))}
        for x in np.flatnonzero(one.tree.mean_ns):
            y = place[tuple(_path(one.tree, x))]
            assert one.tree.mean_ns[x] == expected.mean_ns[y]
            assert one.tree.var_ns2[x] == pytest.approx(expected.var_ns2[y])


def _path(tree, x: int) -> list[str]:  # type: ignore[no-untyped-def]
    names = [tree.paths.name[x]]
    while x:
        x = int(tree.paths.parent[x])
        names.append(tree.paths.name[x])
    return names


def test_one_type_has_no_tree_of_its_own() -> None:
    assert analyze(serving_trace(), AnalysisOptions(by_type=True)).type_trees == []


@pytest.mark.parametrize(("wanted", "count", "quantile"), [(0.99, 20000, 0.99), (0.99, 5000, 0.95), (0.8, 5000, 0.8)])
def test_the_tail_is_where_it_was_asked_for_or_lower(wanted: float, count: int, quantile: float) -> None:
    trace = hand_trace(
        {f"i{k}": (1, 1000 * k, 1, 1000 * k + 1 + k * 7 % 500) for k in range(count)},
        "\n".join(f"1 i{k} {1000 * k} {1000 * k + 1 + k * 7 % 500} exec" for k in range(count)),
    )
    assert analyze(trace, AnalysisOptions(tail=wanted)).tail_quantile == quantile
