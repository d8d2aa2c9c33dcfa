"""One analysis, from a loaded trace to everything a report shows.

    Trace -> critical paths -> path tree -> variance tree -> factors -> next plan  =  Analysis

Reports (vprof/report/) are views of `Analysis`; they compute nothing themselves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from vprof.jobs.tasks import Jobs, Progress
from vprof.path.path_tree import PathTree, display_names
from vprof.path.stacks import MAX_DEPTH
from vprof.path.view import View
from vprof.tables.model import Int64, Trace
from vprof.trace.merge import merge
from vprof.trace.origins import host_of_intervals
from vprof.trace.sources import Loaded, Source
from vprof.trace.strays import said
from vprof.trace.unseen_waits import warning
from vprof.trace.usable import excluded_by_reason
from vprof.variance import statistics
from vprof.variance.blocked import UnknownWait
from vprof.variance.chains import of_others
from vprof.variance.cpu_share import CpuShare, cpu_share_of
from vprof.variance.factors import NEGLIGIBLE, Factor, causes, rank, select
from vprof.variance.look import Looks, Traces, split
from vprof.variance.objects import AllObjects
from vprof.variance.origins import HOST, PROCESS, OriginSplit, by_host, by_process
from vprof.variance.per_interval import Details, IntervalDetail
from vprof.variance.planner import Expansion, expansions, naive_cost, next_functions, outermost_functions
from vprof.variance.probe_cost import MOSTLY, ProbeCost, ProbeTimes
from vprof.variance.single_times import SingleTimes
from vprof.variance.sums import CallCounts, Sums, TypedTree
from vprof.variance.variance_tree import VarianceTree
from vprof.variance.wait_stacks import WhereItWaits
from vprof.variance.wakers import Waker

if TYPE_CHECKING:
    from vprof.variance.distortion import Distortion

WARN_LOST = 0.01
REFUSE_LOST = 0.10
MUCH_APART = 0.10
"""Share of Var(L) from which on reports say how much of it is waiting for a CPU, or the client's time."""
_RIVALS, _NEARLY = 20, 0.5
"""How many other factors may turn out first in a resample, and how much of the smallest share they must have here."""
_NOTHING_RANKED = statistics.NoBlocks("", np.zeros(0, np.int64))


@dataclass(frozen=True)
class AnalysisOptions:
    """`k` factors with at least `min_share` of Var(L), of what is left of it without what is apart; specificity is a
    height difference to the power of `specificity_exp`. `force`: rank although too much was lost. `tail`: tail shares
    look beyond this quantile, or a lower one if too few intervals are there. `own`: waits count where they are waited,
    not for who ended them. `top`: nodes of a tree that text and pictures show (None: as many as can be read).
    `cpu_apart`, `client_apart`: waits for a CPU, and the client's own time, are taken out of the functions, and are no
    factors (path/view.py). `by`: split the variance by HOST, by PROCESS (origins.py). `calls_together`: call sites tell
    no nodes apart."""

    k: int = 3
    min_share: float = 0.05
    specificity_exp: int = 2
    intervals: bool = False
    by_type: bool = False
    force: bool = False
    tail: float = 0.99
    own: bool = False
    top: int | None = None
    cpu_apart: bool = True
    client_apart: bool = True
    by: tuple[str, ...] = ()
    calls_together: bool = False

    @property
    def view(self) -> View:
        return View(self.own, self.cpu_apart, self.client_apart, self.calls_together)


@dataclass(frozen=True)
class RankedFactor:
    """A chosen factor with the 95 % interval of its share, or the reason why there is none; `first`: the part of the
    resamples in which it is ranked first; `probes`: the part of its time that probes take, None: not known. `explains`:
    the other factors that pass their variance on to it, best first."""

    factor: Factor
    ci95: tuple[float, float] | None
    ci95_reason: str
    first: float | None = None
    probes: float | None = None
    explains: list[str] = field(default_factory=list)

    @property
    def is_probes(self) -> bool:
        """Its time is mostly the cost of probes: switched off, it may be no factor."""
        return self.probes is not None and self.probes >= MOSTLY


@dataclass(frozen=True, kw_only=True)
class Analysis:
    """`ranking` holds all non-zero factors by score, `factors` the chosen ones; `no_ranking` says why both are empty.

    `heaviest`: (interval, latency) of those that hold half of the variance, if few do: there are no 95 % intervals.
    `next` are the functions to switch on, `expansions` why: of the k best factors that are no end points.
    `blocked_ns`: what the intervals waited for (blocked.py), by cause; `unknown` is where waits end without anybody
    known to have ended them, most time first; `wakers` are the threads that were waited for while nothing of theirs was
    on. `where_it_waits`: the call stacks in which the intervals waited, whatever was on; `waited_for`: the objects.
    `n_eff`: to how many blocks of equal weight the variance amounts, None: too few intervals, or nothing ranked.
    `lost`: what lost records took away. `naive_cost`: the call paths from the outermost functions of the intervals, all
    of which the naive strategy would measure. `distortion`: what the probes do to the latencies, if they were switched
    in turn; `probe_cost`: what they cost by their number, if the cost of one is known. `blocks`: of the run, None if
    nothing varies. `explained`: the variance of the latencies without what is apart, by Var(L). `types` and
    `type_trees` (in the order of its rows) only on request, with the `type_factors` of each, as are `by_host` and
    `by_process`. `times`: what single intervals took, by reading the traces again. `calls`: by function.
    """

    trace: Trace
    options: AnalysisOptions
    summary: statistics.Summary
    excluded: dict[str, int]
    tree: VarianceTree
    tail_quantile: float | None
    ranking: list[Factor]
    factors: list[RankedFactor]
    heaviest: list[tuple[str, int]]
    n_eff: float | None
    no_ranking: str
    expansions: list[Expansion]
    next: list[str]
    lost: statistics.Lost
    warnings: list[str]
    unknown: list[UnknownWait]
    blocked_ns: dict[str, int]
    wakers: list[Waker]
    where_it_waits: WhereItWaits
    waited_for: AllObjects
    calls: CallCounts
    times: SingleTimes
    naive_cost: int = 0
    distortion: Distortion | None = None
    probe_cost: ProbeCost | None = None
    types: statistics.TypeSplit | None = None
    type_trees: list[TypedTree] = field(default_factory=list)
    type_factors: list[list[Factor]] = field(default_factory=list)
    by_host: OriginSplit | None = None
    by_process: OriginSplit | None = None
    per_interval: dict[str, IntervalDetail] = field(default_factory=dict)
    blocks: statistics.Blocks | statistics.NoBlocks | None = None
    explained: float = 1.0

    @property
    def leading_cpu(self) -> CpuShare | None:
        """How much of the first factor is waiting for a CPU; None: there is no factor, or such waits are apart."""
        if self.options.cpu_apart or not self.factors:
            return None
        return cpu_share_of(self.tree, self.factors[0].factor)

    @property
    def least_share(self) -> float:
        """The share of Var(L) from which on a factor matters."""
        return least_share(self.options, self.explained)

    @property
    def refused(self) -> bool:
        """Too much was lost to rank, or calls are mixed that do not belong together."""
        return bool(why_refused(self.trace, self.lost, self.options))


def analyze(trace: Trace, options: AnalysisOptions | None = None) -> Analysis:
    """Of a trace in memory. Raises VprofError with a diagnosis when there is no interval to analyze."""
    return analyze_sources([Loaded(trace)], options or AnalysisOptions())


def analyze_sources(
    sources: Sequence[Source],
    options: AnalysisOptions,
    progress: Progress = lambda done: None,
    jobs: Jobs | None = None,
) -> Analysis:
    """Traces of one program and plan as one, window by window; with `jobs` some windows in each task. Raises VprofError
    as `merge` and `analyze` do."""
    traces = Traces(sources, options.view, options.tail, options.by_type)
    known, rows, latency = traces.known, traces.rows, traces.latency
    begin, looks = known.intervals.begin[rows], Looks(traces, jobs)
    host = host_of_intervals(known)[rows]
    blocks = statistics.blocks_of(begin, latency, host)
    details = Details(known, rows) if options.intervals else None
    sums, left = looks.look(blocks, details, progress)
    explained = float(left.var() / latency.var()) if latency.any() and latency.var() > 0 else 1.0
    if abs(explained - 1) >= MUCH_APART:  # blocks are cut by what is left, which is known only now
        blocks = statistics.blocks_of(begin, left, host)
        sums, _ = looks.look(blocks, None, progress)
    trace = merge([source.conclude(source.bare()) for source in sources])
    analysis = _conclude(trace, options, rows, blocks, looks, sums, explained)
    return replace(analysis, per_interval=details.found if details else {})


@dataclass(frozen=True, kw_only=True)
class _Summed:
    """The intervals `rows` of a trace, summed up. `latency`: theirs. `blocks`, `explained`: as in `Analysis`. `probes`:
    None if the cost of one is not known."""

    trace: Trace
    options: AnalysisOptions
    rows: Int64
    latency: Int64
    tree: VarianceTree
    lost: statistics.Lost
    blocks: statistics.Blocks | statistics.NoBlocks | None
    explained: float
    probes: ProbeTimes | None


@dataclass(frozen=True, kw_only=True)
class _Ranking:
    """The fields of `Analysis` that say what matters, and how sure that is."""

    ranking: list[Factor]
    factors: list[RankedFactor]
    no_ranking: str
    heaviest: list[tuple[str, int]]
    n_eff: float | None
    expansions: list[Expansion]


def _conclude(
    trace: Trace,
    options: AnalysisOptions,
    rows: Int64,
    blocks: statistics.Blocks | statistics.NoBlocks | None,
    looks: Looks,
    sums: Sums,
    explained: float,
) -> Analysis:
    """From what was summed over the intervals `rows` to everything. `explained`: as in `Analysis`."""
    whole, of_types = sums.conclude(trace)
    tally, tree, latency = sums.tally, whole.tree, trace.intervals.end[rows] - trace.intervals.begin[rows]
    lost = statistics.lost(latency, trace.excluded_latencies)
    probes = ProbeTimes(tree, trace.probe_ns) if trace.probe_ns else None
    ranked = _ranked(
        _Summed(
            trace=trace,
            options=options,
            rows=rows,
            latency=latency,
            tree=tree,
            lost=lost,
            blocks=blocks,
            explained=explained,
            probes=probes,
        )
    )
    names = display_names(trace)
    return Analysis(
        trace=trace,
        options=options,
        summary=statistics.summarize(latency),
        excluded=excluded_by_reason(trace),
        tree=tree,
        tail_quantile=whole.tail_quantile,
        ranking=ranked.ranking,
        factors=ranked.factors,
        heaviest=ranked.heaviest,
        n_eff=ranked.n_eff,
        no_ranking=ranked.no_ranking,
        expansions=ranked.expansions,
        next=[names[f] for f in next_functions(ranked.expansions)],
        lost=lost,
        warnings=_warnings(trace, lost, options, tree.paths),
        unknown=tally.blocked.unknown(trace),
        blocked_ns=tally.blocked.by_cause(),
        wakers=tally.wakers.wakers(trace, latency),
        where_it_waits=tally.stacks.where(latency),
        waited_for=tally.objects.objects(trace, latency),
        calls=sums.call_counts(),
        times=SingleTimes(looks, tree.paths.parent, tree.summed),
        naive_cost=naive_cost(trace.program, outermost_functions(tree.paths)),
        distortion=_distortion(trace),
        probe_cost=probes.total if probes else None,
        types=split(trace, rows) if options.by_type else None,
        type_trees=of_types,
        type_factors=[[] if ranked.no_ranking else _of_type(trace, one.tree, options, explained) for one in of_types],
        by_host=by_host(trace, rows) if HOST in options.by else None,
        by_process=by_process(trace, rows) if PROCESS in options.by else None,
        blocks=blocks,
        explained=explained,
    )


def _ranked(summed: _Summed) -> _Ranking:
    trace, options, tree = summed.trace, summed.options, summed.tree
    no_ranking = _why_not(trace, tree, summed.lost, options)
    ranking = [] if no_ranking else rank(trace, tree, options.specificity_exp, options.view)
    least = least_share(options, summed.explained)
    found = causes(ranking, options.k, least, of_others(tree))
    chosen = [factor for factor, _ in found]
    rivals = select(ranking, max(map(ranking.index, chosen), default=0) + 1 + _RIVALS, least * _NEARLY)
    worthwhile = select(ranking, len(ranking), least)
    blocks = summed.blocks if chosen and summed.blocks else _NOTHING_RANKED
    factors = _with_intervals(tree, blocks, chosen, rivals, least)
    factors = [replace(r, explains=names) for r, (_, names) in zip(factors, found, strict=True)]
    if summed.probes:
        factors = [replace(r, probes=summed.probes.share(r.factor)) for r in factors]
    return _Ranking(
        ranking=ranking,
        factors=factors,
        no_ranking=no_ranking,
        heaviest=[(trace.interval_ids[summed.rows[i]], int(summed.latency[i])) for i in _heaviest(blocks)],
        n_eff=blocks.effective,
        expansions=expansions(trace.program, worthwhile)[: options.k],
    )


def _of_type(trace: Trace, tree: VarianceTree, options: AnalysisOptions, explained: float) -> list[Factor]:
    """The factors of the intervals of one type, as those of all are chosen."""
    ranking = rank(trace, tree, options.specificity_exp, options.view)
    return [factor for factor, _ in causes(ranking, options.k, least_share(options, explained), of_others(tree))]


def least_share(options: AnalysisOptions, explained: float) -> float:
    """The share of Var(L) from which on a factor matters. On a busy machine most of the variance may be waiting for a
    CPU, with a slow client the client's time, which hide causes without being one: where these are apart, it is a part
    of what is left, if anything is."""
    return options.min_share * (min(1.0, explained) if explained > NEGLIGIBLE else 1.0)


def _distortion(trace: Trace) -> Distortion | None:
    if not trace.slices:
        return None
    from vprof.variance.distortion import compare  # SciPy takes long to load

    return compare(trace.slices)


def why_refused(trace: Trace, lost: statistics.Lost, options: AnalysisOptions) -> str:
    """Too much was lost, or calls are mixed, for any figure to be believed; "" if not."""
    if options.force:
        return ""
    if trace.strayed:
        return f"{said(trace.strayed)}: no ranking (insist with --force)"
    if lost.share > REFUSE_LOST:
        return f"{lost}: no ranking (record with larger rings or a smaller plan, or insist with --force)"
    return ""


def _why_not(trace: Trace, tree: VarianceTree, lost: statistics.Lost, options: AnalysisOptions) -> str:
    if refused := why_refused(trace, lost, options):
        return refused
    if tree.total_variance <= 0:
        n = len(tree.latency_ns)
        return (
            "one interval has no variance"
            if n == 1
            else f"all {n} intervals took the same time: no variance to explain"
        )
    return ""


def _warnings(trace: Trace, lost: statistics.Lost, options: AnalysisOptions, tree: PathTree) -> list[str]:
    found = [said(trace.strayed)] if trace.strayed else []
    if trace.uninterposed:
        found.append(warning(trace.uninterposed))
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


def _heaviest(blocks: statistics.Blocks | statistics.NoBlocks) -> list[int]:
    """Positions of the intervals that keep the shares from having 95 % intervals."""
    return blocks.heaviest.tolist() if isinstance(blocks, statistics.NoBlocks) else []
