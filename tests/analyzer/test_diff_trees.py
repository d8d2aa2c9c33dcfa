"""The trees of both sides as one: matched by the names of functions, and additive on each side."""

from typing import Any

import numpy as np
import pytest
from hand import hand_trace

from vprof.compare.diff_factors import contributions_of
from vprof.compare.diff_trees import RunTree, TreeChange, compare_trees, tree_of
from vprof.tables.model import NONE
from vprof.variance.analysis import AnalysisOptions, analyze


def run(*nodes: tuple[int, str, float, float], off: str = "") -> RunTree:
    """Of (parent, name, contribution, mean)."""
    parent, name, contribution, mean = map(list, zip(*nodes, strict=True))
    return RunTree(parent, name, np.array(contribution), np.array(mean), frozenset(off.split()))


def by_path(tree: TreeChange) -> dict[str, tuple[float, ...]]:
    """Before, after, and the two mean times, by the names from the root on."""
    paths: list[str] = []
    for parent, name in zip(tree.parent, tree.name, strict=True):
        paths.append(name if parent == NONE else f"{paths[parent]}/{name}")
    columns = (tree.before_ns2, tree.after_ns2, tree.mean_before_ns, tree.mean_after_ns)
    return dict(zip(paths, zip(*(column.tolist() for column in columns), strict=True), strict=True))


def test_paths_are_matched_by_name_and_siblings_of_one_name_count_together() -> None:
    root = (NONE, "root", 100.0, 10.0)
    before = run(root, (0, "f", 60.0, 4.0), (0, "f", 10.0, 2.0), (2, "g", 10.0, 2.0))
    after = run(root, (0, "g", 30.0, 3.0), (0, "f", 70.0, 7.0), (2, "g", 50.0, 5.0))
    assert by_path(compare_trees([before], [after])) == {
        "root": (100, 100, 10, 10),
        "root/f": (70, 70, 6, 7),
        "root/f/g": (10, 50, 2, 5),
        "root/g": (0, 30, 0, 3),
    }


def test_a_path_that_a_run_lacks_counts_0_there() -> None:
    with_f = run((NONE, "root", 100.0, 10.0), (0, "f", 80.0, 6.0), off="g")
    without = run((NONE, "root", 50.0, 5.0), off="f g")
    found = compare_trees([with_f, without], [without])
    assert by_path(found) == {"root": (75, 50, 7.5, 5), "root/f": (40, 0, 3, 0)}
    assert (found.off_before, found.off_after) == ({"f", "g"}, {"f", "g"})


def calls_of_one_function(lines: tuple[int, int]) -> Any:
    """serve calls get at two lines; the first call varies by 10, the second by 2, and so does the latency, by 12."""
    return hand_trace(
        {"a": (1, 0, 1, 30), "b": (1, 100, 1, 142)},
        "1 a 0 30 exec\n1 b 100 142 exec",
        f"""1 serve 0 30\n1 get@s.c:{lines[0]} 0 10\n1 get@s.c:{lines[1]} 10 15
        1 serve 100 142\n1 get@s.c:{lines[0]} 100 120\n1 get@s.c:{lines[1]} 120 127""",
    )


def test_of_a_real_tree_lines_do_not_matter_and_siblings_add_up() -> None:
    assert {"get@s.c:12", "get@s.c:15"} <= set(analyze(calls_of_one_function((12, 15))).tree.paths.name)
    together = AnalysisOptions(calls_together=True)
    whole = [analyze(calls_of_one_function(lines), together) for lines in ((12, 15), (13, 17))]
    assert [contributions_of(run).of["variance", ("get",)] for run in whole] == [36, 36], "their covariance as well"
    found = by_path(compare_trees([tree_of(whole[0])], [tree_of(whole[1])]))
    get, serve, body = found.pop("<interval>/serve/get"), found["<interval>/serve"], "<interval>/serve/body(serve)"
    assert get == pytest.approx((36, 36, 21, 21))
    assert serve == pytest.approx([a + b for a, b in zip(get, found[body], strict=True)])
    assert set(found) == {"<interval>", "<interval>/serve", body}
