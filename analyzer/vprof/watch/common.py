"""What slow intervals have in common: where their time goes more often than that of ordinary ones of the same seconds.

    kept traces -> own times on the critical paths, of the slow one and of an ordinary one drawn by chance -> pairs
    pairs -> one for each moment -> by factor: its part of the excess, a sign test -> Holm's correction

An ordinary one has the type of the slow one and ended in the same piece, so a load that changes is no difference. Slow
ones that were slow together are one moment: a stall that ten of them wait for is one event. Were a factor the same in
both, each of the two would have more of it equally often: of that the test knows the exact chance. Which factors are
tested depends only on how much they differ, not on the side that has more, so the test keeps its level.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from vprof.compare.across_runs import ALPHA
from vprof.path.chosen import chosen_paths
from vprof.path.interval_path import IntervalPath
from vprof.variance.holm import holm
from vprof.watch.keep import Folder, Kept

FEWEST_MOMENTS = 6
"""With fewer not even all of them on one side are below 1 in 20, for two factors."""
_TOGETHER_NS = 10**8
"""Slow ones with less time between them are of one moment."""
_LEAST_PART = 0.05
"""Of the excess, that a factor has to differ by in all to be tested."""
_INNERMOST = 2
"""Functions of a stack that name a factor: the caller of `usleep` says more than `usleep`."""
_LEAST_SHARE = 0.005
"""Of an interval, that the two times of a factor have to differ by: less is chance of the clock."""


@dataclass(frozen=True)
class Pair:
    """Own times in ns by factor, of a slow interval and of an ordinary one; `latency`: of both."""

    kept: Kept
    slow: Mapping[str, float]
    ordinary: Mapping[str, float]
    latency: tuple[int, int]


@dataclass(frozen=True)
class Shared:
    """A factor. `share`: of the excess of the slow ones over the ordinary ones; `more`, `less`: moments in which the
    slow ones have more of it, or less; `p`: by Holm's correction."""

    factor: str
    share: float
    more: int
    less: int
    p: float

    @property
    def is_common(self) -> bool:
        return self.p < ALPHA and self.share > 0


@dataclass(frozen=True)
class Common:
    """`slow`: intervals compared, in `moments`; `factors`: most of the excess first, [] if there are too few."""

    slow: int
    moments: int
    excess_ns: float
    factors: list[Shared]


def pairs_of(folder: Folder) -> list[Pair]:
    """Of all that were kept with an ordinary one."""
    found = []
    for kept in sorted(folder.kept.values(), key=lambda one: one.number):
        if not kept.ordinary:
            continue
        slow, *others = _paths(folder, kept)
        times = [own_times(path) for path in others]
        names = {name for one in times for name in one}
        mean = {name: sum(one.get(name, 0.0) for one in times) / len(times) for name in names}
        latency = round(sum(path.latency_ns for path in others) / len(others))
        found.append(Pair(kept, own_times(slow), mean, (slow.latency_ns, latency)))
    return found


def _paths(folder: Folder, kept: Kept) -> list[IntervalPath]:
    ids = [kept.interval, *kept.ordinary]
    return chosen_paths([folder.trace(kept.number)], lambda trace: ids, kept.root)


def own_times(path: IntervalPath) -> dict[str, float]:
    """By innermost functions and kind of time: `f > g`, `f > g > [sleep]`; below a wait, by what went on meanwhile:
    `[blocked] > f`. And by kind alone, `[sleep]`: all of it, wherever it was, since what happens to whatever runs, such
    as waiting for a CPU, is in no function each time."""
    times: dict[str, float] = defaultdict(float)
    work = [(step, "") for step in path.steps]
    while work:
        step, above = work.pop()
        took = step.stop - step.start
        if step.kind != "exec" and (step.stack or above or step.steps) and f"[{step.kind}] > " != above:
            times[f"[{step.kind}]"] += took
        if step.steps:
            work += [(inner, f"[{step.kind}] > ") for inner in step.steps]
            continue
        where = step.stack[-_INNERMOST:] or (["[outside probed functions]"] if step.kind == "exec" else [])
        kind = [] if step.kind == "exec" else [f"[{step.kind}]"]
        times[above + " > ".join(where + kind)] += took
    return dict(times)


def common(pairs: Sequence[Pair]) -> Common:
    moments = _moments(pairs)
    excess = sum(slow - ordinary for slow, ordinary, _ in moments)
    if len(moments) < FEWEST_MOMENTS or excess <= 0:
        return Common(len(pairs), len(moments), excess, [])
    tested = []
    for factor in sorted({name for _, _, differs in moments for name in differs}):
        by = [differs.get(factor, 0.0) for _, _, differs in moments]
        if sum(map(abs, by)) >= _LEAST_PART * excess:
            least = [_LEAST_SHARE * slow for slow, _, _ in moments]
            more = sum(d > bound for d, bound in zip(by, least, strict=True))
            less = sum(d < -bound for d, bound in zip(by, least, strict=True))
            tested.append((factor, sum(by) / excess, more, less))
    p = holm([sign_p(more, less) for _, _, more, less in tested])
    factors = [Shared(*row, value) for row, value in zip(tested, p, strict=True)]
    return Common(len(pairs), len(moments), excess, sorted(factors, key=lambda one: (-one.share, one.factor)))


def sign_p(more: int, less: int) -> float:
    """Two-sided: the chance of a split as uneven as this, if both sides are equally likely."""
    from scipy.stats import binomtest

    return float(binomtest(more, more + less).pvalue) if more + less else 1.0


def _moments(pairs: Iterable[Pair]) -> list[tuple[float, float, dict[str, float]]]:
    """Of each moment the mean latency of its slow ones and of the ordinary ones, and by factor the difference."""
    groups: list[list[Pair]] = []
    last = 0
    for pair in sorted(pairs, key=lambda one: one.kept.ended_ns - one.kept.latency_ns):
        if not groups or pair.kept.ended_ns - pair.kept.latency_ns - last > _TOGETHER_NS:
            groups.append([])
        groups[-1].append(pair)
        last = max(last, pair.kept.ended_ns)
    found = []
    for group in groups:
        names = {name for pair in group for name in (*pair.slow, *pair.ordinary)}
        differs = {
            name: sum(pair.slow.get(name, 0.0) - pair.ordinary.get(name, 0.0) for pair in group) / len(group)
            for name in names
        }
        slow, ordinary = (sum(pair.latency[side] for pair in group) / len(group) for side in (0, 1))
        found.append((slow, ordinary, differs))
    return found
