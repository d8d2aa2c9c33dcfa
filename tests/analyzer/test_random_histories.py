"""Critical paths and the path tree on random histories: equal to the reference, or to the answer known beforehand."""

from collections import Counter
from typing import Any

import histories
import numpy as np
import reference
from properties import LOT, lots, named, seeds

from vprof.path.critical_path import critical_paths
from vprof.path.path_tree import PathTree
from vprof.tables.kinds import L_BODY, PIECE_NAMES
from vprof.trace.json_trace import trace_from_dict
from vprof.variance.analysis import AnalysisOptions, analyze

DETAILS = AnalysisOptions(intervals=True, cpu_apart=False, client_apart=False)


def vprof_paths(history: histories.History) -> dict[str, list[tuple[Any, ...]]]:
    analysis = analyze(trace_from_dict(history), DETAILS)
    return {
        sid: [(kind, int(tid), a, b) for kind, tid, a, b in detail.critical_path]
        for sid, detail in analysis.per_interval.items()
    }


def nodes(tree: PathTree) -> list[tuple[str, ...]]:
    """Every node's labels from the root; the time of a body is that of its function."""
    out: list[tuple[str, ...]] = [()]
    for x in range(1, len(tree.parent)):
        above = out[tree.parent[x]]
        out.append(above if tree.pseudo[x] == L_BODY else (*above, tree.name[x]))
    return out


@lots(1000)
def test_wild_histories_match_the_reference(first: int) -> None:
    for seed in range(first, first + LOT):
        with named(seed):
            check(histories.random_history(seed))


@lots(200)
def test_histories_without_sync_records_are_concatenated(first: int) -> None:
    """Which of two segments comes first that coincide is open: one of them goes."""
    for seed in range(first, first + LOT):
        with named(seed):
            history = histories.random_history(seed)
            segments = [[*s[:4], "exec" if s[4] in ("blocked", "queue") else s[4]] for s in history["segments"]]
            different = list({(s[1] or s[0], s[2], s[3]): s for s in segments}.values())
            check({**history, "segments": different, "wakeups": [], "created": []})


def check(history: histories.History) -> None:
    """Kind, thread and node of every nanosecond."""
    trace = trace_from_dict(history)
    paths = critical_paths(trace)
    analysis = analyze(trace, DETAILS)
    tree, path_of = analysis.tree, nodes(analysis.tree.paths)
    found: list[Counter[tuple[str, ...]]] = [Counter() for _ in trace.interval_ids]
    for _, rows in analysis.times:
        for i, x, ns in rows.tolist():
            found[i][path_of[x]] += 0 if tree.children[x] else ns
    expected = reference.paths(history)
    p = paths.pieces
    for i, sid in enumerate(trace.interval_ids):
        mine = np.flatnonzero(p.interval == i)
        kinds = [(PIECE_NAMES[p.kind[k]], int(trace.threads[p.thread[k]])) for k in mine]
        kinds = [kind for kind, k in zip(kinds, mine, strict=True) for _ in range(p.start[k], p.stop[k])]
        assert kinds == [(kind, tid) for kind, tid, _ in expected[sid]]
        assert found[i] == Counter(node for _, _, node in expected[sid])


@seeds(60)
def test_a_wait_for_a_lock_is_spent_on_its_holder(seed: int) -> None:
    history, holder = histories.lock_convoy(seed)
    waits = {(s[1], t) for s in history["segments"] if s[4] == "blocked" for t in range(s[2], s[3])}
    for sid, path in vprof_paths(history).items():
        home = int(sid[1:].split("r")[0])
        for kind, tid, a, b in path:
            assert kind == "exec"
            for t in range(a, b):
                assert tid == (holder[t] if (sid, t) in waits else home)


@seeds(30)
def test_a_task_is_followed_to_its_creator(seed: int) -> None:
    history, expected = histories.worker_pool(seed)
    assert vprof_paths(history) == expected
