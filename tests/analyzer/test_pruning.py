"""Large trees: the heaviest nodes are shown, connected to the root, and the limit is stated."""

from pathlib import Path

from vprof.report.pruning import SMALLEST, prune, weight
from vprof.trace.json_trace import load_json
from vprof.variance.analysis import analyze

CASE = Path(__file__).parents[1] / "cases" / "01_writelog.json"


def test_the_heaviest_nodes_stay_connected_to_the_root() -> None:
    tree = analyze(load_json(CASE)).tree
    pruned = prune(tree, 4)
    names = {tree.paths.name[x] for x in pruned.children}
    assert names == {"<interval>", "txn", "Execute@txn:1", "WriteLog@txn:2"}
    assert pruned.threshold == min(weight(tree, x) for x in pruned.children)


def test_a_small_tree_loses_only_what_is_next_to_nothing() -> None:
    tree = analyze(load_json(CASE)).tree
    pruned = prune(tree, 100)
    assert pruned.threshold == SMALLEST
    left_out = {tree.paths.name[x] for x in range(len(tree.paths.name)) if x not in pruned.children}
    assert left_out == {"Unlock@WriteLog:3", "body(txn)"}
