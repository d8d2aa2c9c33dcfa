"""Everything an analysis says, on random schedules of threads, locks, queues and forks whose answer is known.

2,400 schedules in lots of 100; a failure names its seed: `Schedule(seed)` is the trace, `told(...)` what it must give.
"""

import random
from collections import Counter
from dataclasses import replace
from fractions import Fraction

import pytest
import reference
from properties import LOT, lots, named
from reference_tree import Path, Tree, covariance, own_times, path_times
from schedule_answer import Answer
from schedules import Schedule

from vprof.tables.kinds import L_BODY
from vprof.tables.model import Trace
from vprof.trace.json_trace import trace_from_dict
from vprof.variance import statistics
from vprof.variance.analysis import Analysis, AnalysisOptions, analyze


def told(schedule: Schedule) -> dict[str, Path]:
    """The answer, in the order in which vprof has the intervals."""
    answer = Answer(schedule)
    order = sorted(schedule.intervals, key=lambda iv: iv["begin"]["t"])
    paths = {iv["sid"]: answer.path(iv["sid"]) for iv in order}
    return {sid: [(kind, tid, node, b - a) for kind, tid, node, a, b in path] for sid, path in paths.items()}


def analyzed(schedule: Schedule, **options: object) -> tuple[Trace, Analysis]:
    """With random heights, of which some exceed the root's."""
    rng = random.Random(len(schedule.wakeups))
    names = {call[2] for call in schedule.data["functions"]} | {"main"}
    data = {
        **schedule.data,
        "heights": {name: rng.randint(0, 9) for name in sorted(names)} | {"main": 7},
        "root": "main",
    }
    trace = trace_from_dict(data)
    view = AnalysisOptions(intervals=True, by_type=True, cpu_apart=False, client_apart=False)
    return trace, analyze(trace, replace(view, **options))  # type: ignore[arg-type]


def joined(path: list[tuple[str, str, int]]) -> list[tuple[str, str, int]]:
    """Neighbours of one kind and thread as one."""
    out: list[tuple[str, str, int]] = []
    for kind, tid, ns in path:
        if out and out[-1][:2] == (kind, tid):
            out[-1] = (kind, tid, out[-1][2] + ns)
        else:
            out.append((kind, tid, ns))
    return out


def check_paths(schedule: Schedule, analysis: Analysis, expected: dict[str, Path]) -> None:
    assert list(analysis.per_interval) == list(expected)
    for sid, path in expected.items():
        detail = analysis.per_interval[sid]
        found = [(kind, tid, b - a) for kind, tid, a, b in detail.critical_path]
        assert joined(found) == joined([(kind, tid, ns) for kind, tid, _, ns in path])
        assert detail.path_times == path_times(path)
        assert detail.own_times == own_times(schedule.data["functions"], sid)


def check_tree(analysis: Analysis, expected: Tree) -> None:
    """The same nodes with the same times in each interval; shares and moments to rounding."""
    tree = analysis.tree
    names: list[tuple[str, ...]] = [()]
    for x in range(1, len(tree.paths.parent)):
        name = tree.paths.name[x]
        name = f"body({name[5:-1].partition('@')[0]})" if tree.paths.pseudo[x] == L_BODY and name[0] != "[" else name
        names.append((*names[tree.paths.parent[x]], name))
    assert {names[x]: analysis.times.of(x).tolist() for x in range(len(names))} == expected.times
    slow = tail_of(analysis)
    for x, name in enumerate(names):
        assert tree.var_ns2[x] == pytest.approx(float(expected.cov(name, name)), abs=1e-9)
        if analysis.tree.total_variance > 0:
            assert tree.share[x] == pytest.approx(float(expected.share(name)), abs=1e-9)
            if slow:
                assert tree.tail_share[x] == pytest.approx(float(expected.tail_share(name, slow)), abs=1e-9)


def tail_of(analysis: Analysis) -> list[int]:
    """The intervals whose latency is no less than the quantile, a latency that occurred."""
    latency = analysis.tree.latency_ns.tolist()
    q = analysis.tail_quantile
    if q is None:
        return []
    limit = min(v for v in latency if sum(u <= v for u in latency) >= Fraction(str(q)) * len(latency))
    return [i for i, v in enumerate(latency) if v >= limit]


def check_ranking(trace: Trace, analysis: Analysis, expected: Tree, exponent: int) -> None:
    program = trace.program
    heights = dict(zip(program.functions, program.height.tolist(), strict=True))
    ranking = expected.ranking(heights, 7, exponent)
    assert [tuple(f.functions) for f in analysis.ranking] == [names for names, _ in ranking]
    contribution = expected.factors()
    for factor, (names, score) in zip(analysis.ranking, ranking, strict=True):
        assert factor.contribution_ns2 == pytest.approx(float(contribution[names]))
        assert factor.score == pytest.approx(float(score))


def check_types(analysis: Analysis, schedule: Schedule) -> None:
    assert analysis.types is not None
    type_ = {iv["sid"]: iv["type"] for iv in schedule.intervals}
    latency = {sid: detail.latency_ns for sid, detail in analysis.per_interval.items()}
    groups = {t: [ns for sid, ns in latency.items() if type_[sid] == t] for t in type_.values()}
    within = sum(covariance(group, group) * len(group) for group in groups.values()) / len(latency)
    assert analysis.types.within_ns2 == pytest.approx(float(within), abs=1e-9)
    total = covariance(list(latency.values()), list(latency.values()))
    assert analysis.types.within_ns2 + analysis.types.between_ns2 == pytest.approx(float(total), abs=1e-9)
    for one in analysis.type_trees:
        assert sorted(one.tree.latency_ns.tolist()) == sorted(groups[one.type])


@lots(2400)
def test_random_schedules(first: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Paths, tree, shares, ranking and types; every other schedule in the own view; exponents 1, 2 and 3."""
    monkeypatch.setattr(statistics, "TAIL_INTERVALS", 1)
    for seed in range(first, first + LOT):
        with named(seed):
            schedule = Schedule(seed)
            if not schedule.intervals:
                continue
            expected = told(schedule)
            exponent, own = 1 + seed % 3, seed % 2 == 1
            trace, analysis = analyzed(schedule, specificity_exp=exponent, own=own)
            check_paths(schedule, analysis, expected)
            tree = Tree(expected, own)
            check_tree(analysis, tree)
            check_ranking(trace, analysis, tree, exponent)
            check_types(analysis, schedule)


@lots(400)
def test_the_answer_agrees_with_the_rules_read_nanosecond_by_nanosecond(first: int) -> None:
    """Two accounts of the same schedule: what happened, and reference.py's reading of the tuples."""
    for seed in range(first, first + LOT):
        with named(seed):
            schedule = Schedule(seed)
            by_rules = reference.paths(schedule.data)
            for sid, path in told(schedule).items():
                assert [(kind, tid, node) for kind, tid, node, ns in path for _ in range(ns)] == by_rules[sid]


def ends_of_waits(schedule: Schedule) -> list[list[int]]:
    """The wake-ups in each wait."""
    waits = [s for s in schedule.data["segments"] if s[4] == "blocked"]
    woken = [w for w in schedule.wakeups if len(w) == 3]
    return [[t for tid, _, t in woken if tid == s[0] and s[2] < t <= s[3]] for s in waits]


def test_the_schedules_have_everything_in_them() -> None:
    """Else the tests above would show less than they say."""
    seen: Counter[str] = Counter()
    for seed in range(350):
        schedule = Schedule(seed)
        contexts = [context for thread in schedule.threads for context in thread.contexts]
        seen["a creator that worked for somebody else"] += any(c.task and not c.task[2] for c in contexts)
        seen["a forked process"] += any(not t.tid.startswith("1/") for t in schedule.threads)
        seen["two wake-ups of one wait"] += any(len(ends) > 1 for ends in ends_of_waits(schedule))
        seen["a lock that several had while one waited"] += any(
            span.wait and len({hold.thread for hold in span.wait.holds}) > 1
            for thread in schedule.threads
            for span in thread.spans
        )
        seen["an interval that ends on another thread"] += any(
            iv["begin"]["tid"] != iv["end"]["tid"] for iv in schedule.intervals
        )
        if schedule.intervals:
            ranking = analyzed(schedule)[1].ranking
            by_score = sorted(ranking, key=lambda f: -f.score)
            seen["a function after a child that explains it, in spite of its score"] += ranking != by_score
        for path in told(schedule).values():
            for kind, _, node, _ in path:
                seen[kind] += 1
                seen[f"waits in waits: {node.count('[blocked]')}"] += 1
    wanted = ["waits in waits: 3", "two wake-ups of one wait", "gap", "queue", "sched", "unknown", "blocked_unknown"]
    rare = {what: seen[what] for what in {*wanted, *seen} - {"waits in waits: 4"} if seen[what] < 10}
    assert rare == {}
