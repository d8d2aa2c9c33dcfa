"""One analysis, from a loaded trace to everything a report shows.

    Trace -> critical paths -> path tree -> variance tree -> factors -> next plan  =  Analysis

Reports (vprof/report/) are views of `Analysis`; they compute nothing themselves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from vprof import statistics
from vprof.cpu_view import cpu_ns
from vprof.errors import VprofError
from vprof.factors import Factor, rank, select
from vprof.merge import merge
from vprof.model import NONE, Bool, Int64, Trace
from vprof.parts import Parts
from vprof.path_tree import PathTree, display_names
from vprof.per_interval import Details, IntervalDetail
from vprof.planner import Expansion, expansions, naive_cost, next_functions, outermost_functions
from vprof.probe_cost import MOSTLY, ProbeCost, ProbeTimes
from vprof.scan import Progress
from vprof.single_times import SingleTimes
from vprof.sources import Loaded, Source
from vprof.stacks import MAX_DEPTH
from vprof.sums import CallCounts, Sums, TypedTree
from vprof.unknown import UnknownWait
from vprof.variance_tree import VarianceTree

if TYPE_CHECKING:
    from vprof.distortion import Distortion

WARN_LOST = 0.01
REFUSE_LOST = 0.10
_RIVALS, _NEARLY = 20, 0.5
"""How many other factors may turn out first in a resample, and what part of the smallest share they must have here."""
_NOTHING_RANKED = statistics.NoBlocks("", np.zeros(0, np.int64))


@dataclass(frozen=True)
class AnalysisOptions:
    """`k` factors with at least `min_share` of Var(L); specificity is a height difference to the power of
    `specificity_exp`. `force`: rank although too much was lost. `tail`: tail shares look beyond this quantile, or a
    lower one if too few intervals are there. `own`: waits count where they are waited, not for who ended them.
    `top`: nodes of a tree that text and pictures show (None: as many as can be read). `cpu_apart`: waits for a CPU are
    taken out of the functions, and are no factors (cpu_view.py)."""

    k: int = 3
    min_share: float = 0.05
    specificity_exp: int = 2
    intervals: bool = False
    by_type: bool = False
    force: bool = False
    tail: float = 0.99
    own: bool = False
    top: int | None = None
    cpu_apart: bool = False


@dataclass(frozen=True)
class RankedFactor:
    """A chosen factor with the 95 % interval of its share, or the reason why there is none; `first`: the part of the
    resamples in which it is ranked first; `probes`: the part of its time that probes take, None: not known."""

    factor: Factor
    ci95: tuple[float, float] | None
    ci95_reason: str
    first: float | None = None
    probes: float | None = None

    @property
    def is_probes(self) -> bool:
        """Its time is mostly the cost of probes: switched off, it may be no factor."""
        return self.probes is not None and self.probes >= MOSTLY


@dataclass(frozen=True)
class Analysis:
    """`ranking` holds all non-zero factors by score, `factors` the chosen ones; `no_ranking` says why both are empty.

    `events`: (interval, latency) of the few intervals that hold half of the variance, if that is why there are no 95 %
    intervals. `next` are the functions to switch on, `expansions` why: of the k best factors that are no end points.
    `blocked_ns`: what the intervals waited for (unknown.py), by cause; `unknown` is where waits end without anybody
    known to have ended them, most time first.
    `n_eff`: to how many blocks of equal weight the variance amounts, None: too few intervals, or nothing ranked.
    `lost`: what lost records took away. `naive_cost`: the call paths from the outermost functions of the intervals, all
    of which the naive strategy would measure. `distortion`: what the probes do to the latencies, if they were
    switched in turn; `probe_cost`: what they cost by their number, if the cost of one is known. `blocks`: of the run,
    None if nothing varies. `explained`: the variance of the latencies without waits for a CPU, if these are apart, by
    Var(L). `types` and `type_trees` (in the order of its rows) only on request. `times`: what single intervals took,
    by reading the traces again. `calls`: by function.
    """

    trace: Trace
    options: AnalysisOptions
    summary: statistics.Summary
    excluded: dict[str, int]
    tree: VarianceTree
    tail_quantile: float | None
    ranking: list[Factor]
    factors: list[RankedFactor]
    events: list[tuple[str, int]]
    n_eff: float | None
    no_ranking: str
    expansions: list[Expansion]
    next: list[str]
    lost: statistics.Lost
    warnings: list[str]
    unknown: list[UnknownWait]
    blocked_ns: dict[str, int]
    calls: CallCounts
    times: SingleTimes
    naive_cost: int = 0
    distortion: Distortion | None = None
    probe_cost: ProbeCost | None = None
    types: statistics.TypeSplit | None = None
    type_trees: list[TypedTree] = field(default_factory=list)
    per_interval: dict[str, IntervalDetail] = field(default_factory=dict)
    blocks: statistics.Blocks | statistics.NoBlocks | None = None
    explained: float = 1.0

    @property
    def refused(self) -> bool:
        """Too much was lost to rank."""
        return self.lost.share > REFUSE_LOST and not self.options.force


def analyze(trace: Trace, options: AnalysisOptions | None = None) -> Analysis:
    """Of a trace in memory. Raises VprofError with a diagnosis when there is no interval to analyze."""
    return analyze_sources([Loaded(trace)], options or AnalysisOptions())


def analyze_sources(
    sources: Sequence[Source], options: AnalysisOptions, progress: Progress = lambda part: None
) -> Analysis:
    """Traces of one program and plan as one, window by window. Raises VprofError as `merge` and `analyze` do."""
    known = merge([source.outline() for source in sources])
    rows = rows_of(known)
    begin, latency = known.intervals.begin[rows], known.intervals.end[rows] - known.intervals.begin[rows]
    parts = Parts(sources, known, rows, options.own, options.cpu_apart)
    looks, left = (2 if options.cpu_apart else 1), latency
    if options.cpu_apart:  # blocks are cut by what is left, which is known only when all has been seen
        left = latency - _waited_for_a_cpu(parts, lambda part: progress(part / looks))
    blocks = statistics.blocks_of(begin, left)
    types = with_own_tree(known, split(known, rows) if options.by_type else None, rows)
    block = blocks.of if isinstance(blocks, statistics.Blocks) else None
    sums = Sums.begin(parts.forest, len(known.program.functions), latency, options.tail, block, types)
    details = Details(known, rows) if options.intervals else None
    for opened in parts.open(lambda part: progress((looks - 1 + part) / looks)):
        sums.count(opened)
        if opened.is_analyzed:
            part = parts.placed(opened)
            sums.add(part)
            if details:
                details.add(part)
    trace = merge([source.conclude(source.outline()) for source in sources])
    analysis = _conclude(trace, options, rows, blocks, parts, sums)
    explained = float(left.var() / latency.var()) if latency.any() and latency.var() > 0 else 1.0
    return replace(analysis, explained=explained, per_interval=details.found if details else {})


def _waited_for_a_cpu(parts: Parts, progress: Progress) -> Int64:
    """By analyzed interval, in ns."""
    waited = np.zeros(parts.count, np.int64)
    for opened in parts.open(progress):
        if opened.is_analyzed:
            found = cpu_ns(parts.forest, parts.placed(opened).times, len(opened.positions))
            waited[opened.positions[opened.positions != NONE]] = found[opened.positions != NONE]
    return waited


def rows_of(trace: Trace) -> Int64:
    """The intervals to analyze. Raises VprofError with a diagnosis when there is none."""
    rows: Int64 = np.flatnonzero(~trace.intervals.ignore)
    if not len(rows):
        raise VprofError(diagnose(_excluded(trace)))
    return rows


def _conclude(
    trace: Trace,
    options: AnalysisOptions,
    rows: Int64,
    blocks: statistics.Blocks | statistics.NoBlocks | None,
    parts: Parts,
    sums: Sums,
) -> Analysis:
    """From what was summed over the intervals `rows` to everything."""
    whole, of_types = sums.conclude(trace)
    iv, tree = trace.intervals, whole.tree
    latency = iv.end[rows] - iv.begin[rows]
    lost = statistics.lost(latency, trace.excluded_latencies)
    no_ranking = _why_not(tree, lost, options)
    ranking = [] if no_ranking else rank(trace, tree, options.specificity_exp, options.cpu_apart)
    chosen = select(ranking, options.k, options.min_share)
    rivals = select(ranking, len(chosen) + _RIVALS, options.min_share * _NEARLY)
    worthwhile = select(ranking, len(ranking), options.min_share)
    cut = blocks
    blocks = blocks if chosen and blocks else _NOTHING_RANKED
    probes = ProbeTimes(tree, trace.probe_ns) if trace.probe_ns else None
    ranked = _with_intervals(tree, blocks, chosen, rivals, options.min_share)
    if probes:
        ranked = [replace(r, probes=probes.part(r.factor)) for r in ranked]
    grow = expansions(trace.program, worthwhile)[: options.k]
    names = display_names(trace)
    return Analysis(
        trace=trace,
        options=options,
        summary=statistics.summarize(latency),
        excluded=_excluded(trace),
        tree=tree,
        tail_quantile=whole.tail_quantile,
        ranking=ranking,
        factors=ranked,
        events=[(trace.interval_ids[rows[i]], int(latency[i])) for i in _events(blocks)],
        n_eff=blocks.effective,
        no_ranking=no_ranking,
        expansions=grow,
        next=[names[f] for f in next_functions(grow)],
        lost=lost,
        warnings=_warnings(lost, options, tree.paths),
        unknown=sums.blocked.unknown(trace),
        blocked_ns=sums.blocked.by_cause(),
        calls=sums.call_counts(),
        times=SingleTimes(parts, tree.paths.parent, tree.summed),
        naive_cost=naive_cost(trace.program, outermost_functions(tree.paths)),
        distortion=_distortion(trace),
        probe_cost=probes.total if probes else None,
        types=split(trace, rows) if options.by_type else None,
        type_trees=of_types,
        blocks=cut,
    )


def split(trace: Trace, rows: Int64) -> statistics.TypeSplit:
    iv = trace.intervals
    return statistics.split_by_type(iv.end[rows] - iv.begin[rows], iv.type[rows], trace.types)


def _distortion(trace: Trace) -> Distortion | None:
    if not trace.slices:
        return None
    from vprof.distortion import compare  # SciPy takes long to load

    return compare(trace.slices)


def _excluded(trace: Trace) -> dict[str, int]:
    excluded = {reason: n for reason, n in trace.excluded.items() if n}
    ignored = int(np.count_nonzero(trace.intervals.ignore))
    return {**excluded, "ignored": ignored} if ignored else excluded


def diagnose(excluded: dict[str, int]) -> str:
    """Why there is nothing to analyze, and what to do about it."""
    total = sum(excluded.values())
    if not total:
        return (
            "no interval began in this trace: analyze it with --root FUNCTION (a function that was switched on), "
            "or annotate the program with intervals"
        )
    counts = ", ".join(f"{n} {reason}" for reason, n in sorted(excluded.items(), key=lambda x: -x[1]))
    if set(excluded) == {"unfinished"}:
        return f"no interval ended in this trace ({counts}): record longer, or check where the intervals end"
    return f"all {total} intervals of this trace are excluded ({counts}): record again with this cause removed"


def with_own_tree(trace: Trace, types: statistics.TypeSplit | None, rows: Int64) -> list[tuple[str, Bool]]:
    """The types that get a tree, and which of the intervals `rows` are theirs; none if there is but one type."""
    if types is None or len(types.rows) < 2:
        return []
    names = np.array([statistics.type_name(name) for name in trace.types])[trace.intervals.type[rows]]
    return [(row.type, names == row.type) for row in types.rows]


def _why_not(tree: VarianceTree, lost: statistics.Lost, options: AnalysisOptions) -> str:
    if lost.share > REFUSE_LOST and not options.force:
        return f"{lost}: no ranking (record with larger rings or a smaller plan, or insist with --force)"
    if tree.total_variance <= 0:
        n = len(tree.latency_ns)
        return (
            "one interval has no variance"
            if n == 1
            else f"all {n} intervals took the same time: no variance to explain"
        )
    return ""


def _warnings(lost: statistics.Lost, options: AnalysisOptions, tree: PathTree) -> list[str]:
    found = []
    if tree.folded:
        found.append(f"the tree is folded at {MAX_DEPTH} levels: deeper calls and waits count for the level there")
    if lost.share > WARN_LOST and (lost.share <= REFUSE_LOST or options.force):
        found.append(f"{lost}: the ranking is biased")
    return found


def _with_intervals(
    tree: VarianceTree,
    blocks: statistics.Blocks | statistics.NoBlocks,
    chosen: list[Factor],
    rivals: list[Factor],
    min_share: float,
) -> list[RankedFactor]:
    """`rivals`: the factors that could be ranked first in a resample, the chosen ones among them."""
    if isinstance(blocks, statistics.NoBlocks):
        return [RankedFactor(f, None, blocks.reason) for f in chosen]
    shares = statistics.ShareIntervals(tree, blocks, rivals)
    first = dict(zip(map(id, rivals), shares.firsts(rivals, min_share), strict=True))
    return [RankedFactor(f, shares.of(f), "", first[id(f)]) for f in chosen]


def _events(blocks: statistics.Blocks | statistics.NoBlocks) -> list[int]:
    """Positions of the intervals that keep the shares from having 95 % intervals."""
    return blocks.events.tolist() if isinstance(blocks, statistics.NoBlocks) else []
