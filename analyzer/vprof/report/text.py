"""The report for the terminal: latency, the tree with shares, the ranked factors, what to switch on next, what was
lost.

Plain when it is not a terminal or NO_COLOR is set; names are cut, numbers never, when the terminal is narrow:
first their scopes, then on the right.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
from rich.console import Console

from vprof.report import aborted, apart, origins, recorded
from vprof.report.folding import FEWEST, Folded, fold
from vprof.report.json import intervals_json
from vprof.report.pruning import prune, same_time
from vprof.report.roles import OTHERS, ROOT, WAIT, WORK, roles
from vprof.report.tables import PLAIN_WIDTH, Row, heading, line, print_table, to_terminal, to_text
from vprof.report.units import big, duration, percent
from vprof.report.wait_stacks import places
from vprof.tables.kinds import MEANINGS
from vprof.variance.analysis import Analysis, RankedFactor
from vprof.variance.blocked import ENDED
from vprof.variance.cpu_share import client_share, cpu_share
from vprof.variance.hints import is_of_unmeasured_waker, of_wakers
from vprof.variance.sums import TypedTree
from vprof.variance.variance_tree import VarianceTree

_MOST_NODES = 40
_THEN, _LONGEST_CHAIN = " > ", 36
"""A row holds a chain of calls that say the same, up to so many characters."""
_DEEPEST_INDENT = 24
"""Columns; deeper rows begin there, too, so that a name has room."""
_STYLES = {ROOT: "bold", WORK: "", WAIT: "yellow", OTHERS: "magenta"}
_MOST_INTERVALS = 10
_MOST_UNKNOWN = 5
_MOST_CHILDREN = 8
_MUCH_UNKNOWN = 0.01
"""Share of the intervals' time from which on unexplained waits are listed."""


def print_analysis(analysis: Analysis) -> None:
    """The report on standard output."""
    to_terminal(partial(_show, analysis))


def render(analysis: Analysis, width: int = PLAIN_WIDTH) -> str:
    """The report as text without colour."""
    return to_text(partial(_show, analysis), width)


def _show(analysis: Analysis, console: Console) -> None:
    for warning in analysis.warnings:
        line(console, f"warning: {warning}", "yellow")
    for sentence in apart.sentences(analysis):
        line(console, sentence, "yellow")
    for option in apart.options(analysis):
        line(console, f"{option} takes it out", "yellow")
    _summary(analysis, console)
    _trees(analysis, console)
    _factors(analysis, console)
    _types(analysis, console)
    origins.show(analysis, console)
    _wait_stacks(analysis, console)
    _blocked(analysis, console)
    _unknown(analysis, console)
    _wakers(analysis, console)
    _next(analysis, console)
    _distortion(analysis, console)
    _probe_cost(analysis, console)
    _remarks(analysis, console)


def _summary(analysis: Analysis, console: Console) -> None:
    s = analysis.summary
    of = f" of {', '.join(analysis.trace.built_from)}" if analysis.trace.built_from else ""
    line(console, f"{s.count} interval{'s' * (s.count != 1)}{of}", "bold")
    for sentence in aborted.sentences(intervals_json(analysis)):
        line(console, sentence, "yellow")
    for what, said in recorded.rows(analysis.trace.recorded):
        line(console, f"{what} {said}", "dim")
    cv = f", {s.cv:.2f} of the mean" if s.cv is not None else ""
    line(console, f"latency  mean {duration(s.mean_ns)}  sd {duration(s.stddev_ns)}{cv}")
    quantiles = (("p50", s.p50_ns), ("p95", s.p95_ns), ("p99", s.p99_ns), ("p99.9", s.p999_ns), ("max", s.max_ns))
    line(console, "         " + "  ".join(f"{name} {duration(ns)}" for name, ns in quantiles))
    if analysis.excluded:
        line(console, "left out " + ", ".join(f"{n} ({reason})" for reason, n in sorted(analysis.excluded.items())))


def _trees(analysis: Analysis, console: Console) -> None:
    """Of all intervals, and of each type if that was asked for."""
    own = "; waits are not looked into" if analysis.options.own else ""
    own += "; waits for a CPU are apart" if analysis.options.cpu_apart and cpu_share(analysis.tree) else ""
    own += "; the client's time is apart" if analysis.options.client_apart and client_share(analysis.tree) else ""
    _tree(
        f"Variance tree (shares are additive{own})",
        TypedTree("", analysis.tree, analysis.tail_quantile),
        analysis,
        console,
    )
    for one in analysis.type_trees:
        count = len(one.tree.latency_ns)
        _tree(f"Variance tree of {one.type} ({count} intervals)", one, analysis, console)


def _tree(title: str, typed: TypedTree, analysis: Analysis, console: Console) -> None:
    tree = typed.tree
    heading(console, title)
    tail = f"beyond p{100 * typed.tail_quantile:g}" if typed.tail_quantile else "tail"
    folded = fold(tree, prune(tree, analysis.options.top or _MOST_NODES))
    pruned = folded.pruned
    rows, last = zip(*_rows(tree, folded), strict=True)
    kind = roles(tree)
    print_table(console, ("variance", tail, "mean", "mean time", "sd"), rows, [_STYLES[kind[x]] for x in last])
    hidden = int(np.count_nonzero(tree.mean_ns)) - len(pruned.children)
    if hidden:
        line(console, f"not shown: {hidden} below {percent(pruned.threshold)} (--format json has all)", "dim")
    if folded.deepest >= FEWEST and not analysis.options.own:
        again = " (a chain: the same wait, again and again)" if folded.chains else ""
        line(console, f"waits for others who wait, {folded.deepest} deep{again}", "dim")
        line(console, "--own looks into no wait; --path slowest shows what one interval waited for", "dim")


def _rows(tree: VarianceTree, folded: Folded) -> Iterator[tuple[Row, int]]:
    """The nodes worth showing, parents first; with the node whose numbers they are."""
    found: list[tuple[int, list[int]]] = []
    work = [(0, 0)]
    while work:
        first, depth = work.pop()
        chain = same_time(tree, folded.pruned, first, _LONGEST_CHAIN, len(_THEN))
        found.append((depth, chain))
        work += [(c, depth + 1) for c in reversed(folded.pruned.children[chain[-1]])]
    step = 2 if 2 * max(depth for depth, _ in found) <= _DEEPEST_INDENT else 1
    for depth, chain in found:
        last = chain[-1]
        title = _THEN.join(_name(tree, folded, x) for x in chain)
        spread = (duration(tree.mean_ns[last]), duration(tree.var_ns2[last] ** 0.5))
        shares = (percent(tree.share[last]), percent(tree.tail_share[last]), percent(tree.mean_share[last]))
        yield (" " * min(step * depth, _DEEPEST_INDENT) + title, *shares, *spread), last


def _name(tree: VarianceTree, folded: Folded, x: int) -> str:
    times = folded.chains.get(x)
    return tree.paths.name[x] + (f", chain of {times}" if times else "")


def _factors(analysis: Analysis, console: Console) -> None:
    heading(console, "Factors (ordered by variance and by depth in the call graph)")
    if analysis.no_ranking:
        line(console, analysis.no_ranking)
        return
    if not analysis.factors:
        line(console, f"no function holds {percent(analysis.least_share)} of the variance (--min-share)")
        return
    rows: list[Row] = []
    for i, ranked in enumerate(analysis.factors, 1):
        f = ranked.factor
        low_high = f"{percent(ranked.ci95[0])} .. {percent(ranked.ci95[1])}" if ranked.ci95 else "-"
        title = f"{i}. {_title(f.kind, f.functions)}"
        rows.append((title, percent(f.share), low_high, percent(ranked.first), str(f.height)))
    print_table(console, ("share", "95 % interval", "first", "height"), rows)
    for ranked in analysis.factors:
        if alike := _alike(ranked):
            line(console, alike, "dim")
    if analysis.n_eff is not None and analysis.factors[0].ci95:
        line(
            console,
            f"first: part of the resamples that rank it first; the run counts as {analysis.n_eff:.0f} blocks",
            "dim",
        )
    for reason in sorted({r.ci95_reason for r in analysis.factors if r.ci95_reason}):
        line(console, f"no 95 % interval: {reason}", "dim")
    if remark := _of_groups(analysis):
        line(console, remark, "dim")
    for ranked in analysis.factors:
        if ranked.is_probes:
            title = _title(ranked.factor.kind, ranked.factor.functions)
            said = f"{title}: {percent(ranked.probes)} of its time is the cost of probes, its own and those below it"
            line(console, f"{said}; with fewer probes on, it may not be a factor", "yellow")
    if analysis.heaviest:
        listed = ", ".join(f"{sid} {duration(ns)}" for sid, ns in analysis.heaviest[:_MOST_INTERVALS])
        more = ", ..." if len(analysis.heaviest) > _MOST_INTERVALS else ""
        line(console, f"half of the variance: {listed}{more}", "dim")


def _alike(ranked: RankedFactor) -> str:
    """What varies because the factor does, "" if nothing else is known to."""
    name = ranked.factor.name
    said = {f"body({name})": "its own time", f"rest({name})": "its own time, or what it calls and was off"}
    where = [text for other, text in said.items() if other in ranked.explains]
    where += [f"{MEANINGS[other]} {other}" for other in ranked.explains if other in MEANINGS]
    if callers := [other for other in ranked.explains if other not in said and other not in MEANINGS]:
        more = f" and {len(callers) - 1} more" if len(callers) > 1 else ""
        where.append(f"{callers[0]}{more} above it var{'y' if more else 'ies'} as it does")
    return f"{name}: {'; '.join(where)}" if where else ""


def _of_groups(analysis: Analysis) -> str:
    """That recursive groups decide about heights, "" where they do not."""
    program = analysis.trace.program
    sizes = {
        factor.function: program.in_group(f)
        for factor in (r.factor for r in analysis.factors)
        for f in factor.expandable
        if factor.function and program.in_group(f) > 1
    }
    if not sizes:
        return ""
    among = ", ".join(f"{name} is one of {size}" for name, size in sizes.items())
    return f"{among} functions that call each other: calls that come back do not count for its height"


def _title(kind: str, functions: list[str]) -> str:
    return functions[0] if kind == "variance" else f"{functions[0]} with {functions[1]} (covariance)"


def _types(analysis: Analysis, console: Console) -> None:
    split = analysis.types
    if not split:
        return
    heading(console, "By type")
    total = split.within_ns2 + split.between_ns2
    rows = [
        (r.type, str(r.count), duration(r.mean_ns), duration(r.variance_ns2**0.5), duration(r.p99_ns))
        for r in split.rows
    ]
    print_table(console, ("intervals", "mean", "sd", "p99"), rows)
    if total > 0:
        within, between = percent(split.within_ns2 / total), percent(split.between_ns2 / total)
        line(console, f"{within} of the variance lies within types, {between} between them (inherent work)")


def _wait_stacks(analysis: Analysis, console: Console) -> None:
    found = places(analysis)
    if not found:
        return
    heading(console, "Where it waits, by call stacks (these functions are off)")
    rows = [(place.function, percent(place.share), duration(place.total_ns)) for place in found]
    print_table(console, ("variance", "total"), rows)
    for place in found:
        line(console, place.path, "dim")


def _blocked(analysis: Analysis, console: Console) -> None:
    total = sum(analysis.blocked_ns.values())
    if not total or set(analysis.blocked_ns) == {ENDED}:
        return
    heading(console, "What was waited for")
    rows = [(cause, percent(ns / total), duration(ns)) for cause, ns in analysis.blocked_ns.items()]
    print_table(console, ("share of blocked time", "total"), rows)


def _unknown(analysis: Analysis, console: Console) -> None:
    """Only where it matters: the sites that hold most of the waits whose end nothing explains."""
    if sum(u.share for u in analysis.unknown) < _MUCH_UNKNOWN:
        return
    heading(console, "Waits that nobody is known to have ended")
    rows: list[Row] = []
    shown = [u for u in analysis.unknown if u.share >= _MUCH_UNKNOWN / 10][:_MOST_UNKNOWN]
    for u in shown:
        where = (f"{u.function}@{u.site}" if u.site else u.function) or "outside probed functions"
        title = f"{where}, waker not recorded" if u.waker_known else where
        if u.thread:
            title += f" (thread {u.thread})"
        total, each = duration(u.total_ns), duration(u.total_ns / u.count)
        rows.append((title, percent(u.share), total, str(u.count), each))
    print_table(console, ("share of time", "total", "waits", "each"), rows)
    for advice in dict.fromkeys(u.advice for u in shown if u.advice):
        line(console, advice)
    known = all(u.advice or is_of_unmeasured_waker(u) for u in shown)
    if not known and not analysis.trace.uninterposed:
        line(
            console,
            "I/O, a timeout, or a primitive that the descriptor does not describe: look at what these functions call",
            "dim",
        )


def _wakers(analysis: Analysis, console: Console) -> None:
    """Whom the intervals waited for, where the tree has only `[waker]` or `[unknown]`."""
    said = [] if analysis.no_ranking else of_wakers(analysis)
    if not said:
        return
    heading(console, "Threads that were waited for while nothing of theirs was on")
    for sentence in said:
        line(console, sentence)
    line(console, "vprof drill switches on what they run; vprof record --sites all, everything", "dim")


def _next(analysis: Analysis, console: Console) -> None:
    if analysis.no_ranking:
        return
    heading(console, "Next")
    cost, on = analysis.naive_cost, int(np.count_nonzero(analysis.trace.program.on))
    line(console, f"{on} functions are on; decomposing everything would take {big(cost)} call paths", "dim")
    if not analysis.next:
        line(console, "nothing to switch on: every factor is a leaf, a body, or all its children are on")
    for e in analysis.expansions:
        functions = analysis.trace.program.functions
        children = ", ".join(functions[c] for c in e.children[:_MOST_CHILDREN])
        more = f" and {len(e.children) - _MOST_CHILDREN} more" if len(e.children) > _MOST_CHILDREN else ""
        line(console, f"switch on the children of {functions[e.function]}: {children}{more}")


def _distortion(analysis: Analysis, console: Console) -> None:
    found = analysis.distortion
    if not found:
        return
    heading(console, "What the probes do (on against off, in turn)")
    if found.reason:
        line(console, found.reason)
    rows: list[Row] = []
    for effect in found.effects:
        change, low, high = (f"{100 * part:+.1f} %" for part in (effect.change, *effect.ci95))
        rows.append((effect.metric, change, f"{low} .. {high}", f"{100 * effect.detectable:.1f} %"))
    if rows:
        print_table(console, ("change", "95 % interval", "would be seen from"), rows)
    line(console, f"{found.on} intervals on, {found.off} off, {found.rounds} rounds of four slices", "dim")


def _probe_cost(analysis: Analysis, console: Console) -> None:
    cost = analysis.probe_cost
    if cost:
        calls = f"{cost.calls:.{0 if cost.calls >= 10 else 1}f}"
        said = f"{calls} calls with a probe per interval, {cost.pair_ns:.0f} ns each"
        line(console, f"{said}: {percent(cost.share)} of the intervals' time", "dim")


def _remarks(analysis: Analysis, console: Console) -> None:
    loss = analysis.trace.loss
    remarks = list(analysis.trace.notes)
    if loss.get("dropped"):
        remarks.append(f"{loss['dropped']} of {loss['written']} records were dropped")
    if remarks:
        heading(console, "Remarks")
    for remark in remarks:
        line(console, remark)
