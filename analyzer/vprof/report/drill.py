"""A drill-down as text: steps as they happen, candidates to choose from, findings, and the history of a file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from vprof.drill.budget import FEWEST, MOST_STEPS, PATIENCE, Budget
from vprof.drill.findings import Finding
from vprof.drill.loop import CHOSEN, LIMIT_BUDGET, LIMIT_STEPS, Candidate, Drill, Measured, Step
from vprof.drill.wait_paths import Seen
from vprof.drill.wakers import Unmeasured
from vprof.report import aborted
from vprof.report.units import duration, percent
from vprof.tables.kinds import MEANINGS
from vprof.variance.probe_cost import MOSTLY
from vprof.whatif.prediction import Tried

_MOST_CANDIDATES = 9
_MOST_NAMES = 12
_MOST_FRAMES = 8
_APART = 0.05
"""From this share on it is said."""


def print_plan(budget: Budget) -> None:
    """What the time will go to, before the first step."""
    step = budget.step_seconds
    within = f" of {budget.seconds:.0f} s" if budget.seconds else ""
    print(
        f"plan: up to {budget.steps} steps of {step:.3g} s ({PATIENCE * step:.3g} s while the shares are uncertain); "
        f"{budget.kept:.3g} s{within} kept for the confirmation",
        flush=True,
    )


def say_if_too_few(budget: Budget, intervals: int, seconds: float) -> None:
    """On standard error, if intervals end so rarely that no share can be sure in the end, and what would help."""
    expected = budget.expected(intervals, seconds)
    if expected >= FEWEST:
        return
    needed = FEWEST * seconds / intervals if intervals else 0.0
    longer = f", a longer drill-down ({_longer(budget, needed)})" if needed else ""
    click.echo(
        f"vprof: {intervals / seconds:.2g} intervals end in a second: the longest confirmation has about {expected}, "
        f"and no share is sure below {FEWEST}. What helps: more load{longer}, or an interval that ends more often",
        err=True,
    )


def _longer(budget: Budget, needed: float) -> str:
    """The option with which a confirmation may take so many seconds."""
    if budget.seconds:
        return f"--budget {2.5 * needed:.0f}s"
    return f"--step-seconds {needed / MOST_STEPS / PATIENCE:.0f}"


def print_step(step: Step) -> None:
    """One line of what was measured, one per decision; printed as the steps happen."""
    print(
        f"step {step.number}: {step.intervals} intervals, mean {duration(step.mean_ns)}, "
        f"sd {duration(step.stddev_ns)}, p99 {duration(step.p99_ns)}; {len(step.plan)} functions on, "
        f"{step.calls:.0f} calls per interval, {100 * step.distortion:.1f} % of their time",
        flush=True,
    )
    for why, names in _left_out(step):
        print(f"  left off, as {why}: {_some(names)}", flush=True)
    for function, children in step.expanded.items():
        print(f"  {function} -> {_some(children)}", flush=True)
    for word, names in (("accepted", step.accepted), ("skipped", step.skipped), ("off again", step.dropped)):
        if names:
            print(f"  {word}: {_some(names)}", flush=True)


def _left_out(of: Step | Measured) -> list[tuple[str, list[str]]]:
    """Why functions were, and which."""
    costly = [name for name in of.left_out if name not in of.unkept]
    reasons = [
        ("their probes would cost too much (--max-distortion)", costly),
        ("they are called so often that records are lost, or take minutes to read", of.unkept),
    ]
    return [(why, names) for why, names in reasons if names]


def _some(names: list[str]) -> str:
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    return ", ".join(names[:_MOST_NAMES]) + more


def print_candidates(measured: Measured) -> None:
    """What there is to choose from after a step, numbered; on standard error, as questions are."""
    summary = measured.analysis.summary
    click.echo(
        f"step {measured.number}: {summary.count} intervals, mean {duration(summary.mean_ns)}, "
        f"sd {duration(summary.stddev_ns)}, p99 {duration(summary.p99_ns)}; {len(measured.plan)} functions on",
        err=True,
    )
    for why, names in _left_out(measured):
        click.echo(f"  left off, as {why}: {_some(names)}", err=True)
    if measured.analysis.no_ranking:
        click.echo(f"  {measured.analysis.no_ranking}", err=True)
    intervals = {ranked.factor.name: ranked.ci95 for ranked in measured.analysis.factors}
    for number, candidate in enumerate(measured.candidates[:_MOST_CANDIDATES], 1):
        click.echo(f"  {number}  {_candidate(candidate, intervals.get(candidate.factor.name))}", err=True)


def _candidate(candidate: Candidate, interval: tuple[float, float] | None) -> str:
    factor = candidate.factor
    if isinstance(factor, Unmeasured):
        below = sum(map(len, candidate.children.values()))
        what = f"{factor.name}  threads waited for while nothing of theirs was on: {_some(factor.threads)}"
        return f"{percent(factor.share):>6} {'':<16} {what}  {below} functions to switch on"
    if isinstance(factor, Seen):
        below = sum(map(len, candidate.children.values()))
        what = f"{factor.name}  where the intervals wait, by their call stacks"
        return f"{percent(factor.share):>6} {'':<16} {what}  {below} functions to switch on"
    share = f"{percent(factor.share):>6} {_interval(interval):<16}"
    count = len({child for names in candidate.children.values() for child in names})
    place = f"  {factor.sites[0]}" if len(factor.sites) == 1 else ""
    return f"{share} {factor.name}{place}  " + (f"{count} below it to switch on" if count else "end point")


def print_end(drill: Drill) -> None:
    """Why the drill-down went no further."""
    last = drill.done[-1]
    left = f"{_some(list(last.expanded))} not looked into" if last.expanded else "nothing was left to look into"
    said = {
        LIMIT_STEPS: f"stopped after {last.number} steps (--max-steps): {left}",
        LIMIT_BUDGET: f"stopped after {last.number} steps (--budget): {left}",
        CHOSEN: "stopped here as asked",
    }
    reason = said.get(drill.ended) or f"done: {last.no_ranking or 'every factor above the threshold is an end point'}"
    print(f"{reason}; confirming, {drill.confirmation_seconds():.1f} s and as long without probes", flush=True)


def finding_json(
    finding: Finding, explained: float = 1.0, unseen: Mapping[str, list[str]] | None = None
) -> dict[str, Any]:
    """`explained`: of the confirmation: the variance without waits for a CPU, by all of it. `unseen`: by function what
    the compiler expanded in it (program/expanded.py)."""
    factor = finding.factor
    return {
        "functions": factor.functions,
        "kind": factor.kind,
        "sites": factor.sites,
        "share": factor.share,
        "share_of_rest": factor.share / (explained or 1.0),
        "ci95": finding.interval,
        "ci95_reason": finding.no_interval,
        "explored_share": finding.explored_share,
        "seen_twice": finding.seen_twice,
        "moments": finding.moments,
        "few_intervals": finding.few_intervals,
        "confirmed": finding.confirmed,
        "path": finding.path,
        "waiting": finding.waiting,
        "wakers": [{"function": name, "share": share} for name, share in finding.wakers],
        "inherent": finding.inherent,
        "is_inherent": finding.is_inherent,
        "probes": finding.probes,
        "missing": finding.missing,
        "is_small": finding.is_small,
        "is_steady": finding.is_steady,
        "spread": finding.spread,
        "host_spread": finding.host_spread,
        "explains": finding.explains,
        "unfollowed": finding.unfollowed,
        "expanded": sorted({name for function in factor.functions for name in (unseen or {}).get(function, [])}),
    }


def gain_json(tried: Tried) -> dict[str, Any]:
    """What would be gained: ratios, then by now, of some figures; {} and `why_not` where that is not known."""
    ratios = {name: tried.outcome[name].ratio for name in ("variance", "p99", "mean")} if tried.outcome else {}
    return {"changes": [change.text for change in tried.changes], "ratios": ratios, "why_not": tried.why_not}


def print_findings(outcome: dict[str, Any]) -> None:
    """The answer of the drill-down, from what its file holds of the confirmation: what that says of each finding; and
    how much of the variance is in none, as waiting for a CPU or as the client's time."""
    findings, cpu_wait = outcome["findings"], outcome.get("cpu_wait", {})
    client = outcome.get("client_time", 0.0)
    for sentence in aborted.sentences(outcome.get("confirmation", {}).get("intervals", {})):
        print(sentence)
    _print_cpu_wait(cpu_wait, outcome.get("cpu_place"))
    if client >= _APART:
        print(f"the client's time: {client:.0%} of the variance ([gap]), in no finding")
    if not findings:
        print("findings: none, no function holds enough of the variance")
        return
    print("findings (on fresh data, all probes on together; intervals hold for all at once):")
    for rank, finding in enumerate(findings, 1):
        verdict = _verdict(finding)
        name = finding["functions"][0] if finding["kind"] == "variance" else f"({','.join(finding['functions'])})"
        share = f"{finding['share']:.0%} of the variance {_interval(finding['ci95'])}".rstrip()
        if max(sum(cpu_wait.values()), client) >= _APART and (rest := finding.get("share_of_rest")):
            share += f", {rest:.0%} of the rest"
        print(f"  {rank}. {name}  {share}, {verdict}")
        for line in _details(finding):
            print(f"     {line}")


def _print_cpu_wait(shares: dict[str, float], place: dict[str, Any] | None) -> None:
    total = sum(shares.values())
    if total < _APART:
        return
    kinds = ", ".join(f"{kind} {share:.0%}" for kind, share in sorted(shares.items(), key=lambda row: -row[1]))
    print(f"waiting for a CPU: {total:.0%} of the variance ({kinds}), in no finding: others used")
    print("  the CPUs, or the program has more to run than there are; the rest is the variance without it")
    if place and place["thread"]:
        print(f"  {place['share']:.0%} of it: {' > '.join(_ends(place['path']))}: the intervals wait for thread")
        print(f"  {place['thread']}, which has no CPU meanwhile: look at its priority, its CPUs, who takes them")
    elif place:
        print(f"  {place['share']:.0%} of it: {' > '.join(_ends(place['path']))}")


def _verdict(finding: dict[str, Any]) -> str:
    if finding["confirmed"]:
        events = finding.get("moments")
        by = f": most of the excess in {events[0]} of {events[1]} slow moments" if events else ""
        return f"confirmed{by}" + ("; inherent: types of intervals differ by it" if finding.get("is_inherent") else "")
    if finding.get("few_intervals"):
        return f"{'seen twice, ' * finding.get('seen_twice', False)}not confirmed: {finding['ci95_reason']}"
    if finding.get("missing"):
        return "not confirmed: it is not known what this time was"
    if finding.get("is_small"):
        return (
            "not confirmed: beside so much waiting for a CPU, such a share may be an after-effect (caches, stolen time)"
        )
    if finding.get("is_steady"):
        spread = f"{finding['spread']:.0%} of its mean"
        where = f"here ({here:.0%})" if (here := finding.get("host_spread")) else "on a shared machine"
        return f"not confirmed: it varies by {spread}, as constant work does {where}"
    if finding.get("seen_twice") and (events := finding.get("moments")):
        return f"seen twice, not confirmed: most of the excess in {events[0]} of {events[1]} slow moments"
    return f"not confirmed: {finding['explored_share']:.0%} while exploring"


def _details(finding: dict[str, Any]) -> list[str]:
    lines = [" > ".join(_ends(finding["path"]))] if finding["path"] else []
    lines += [f"it {MEANINGS[name]}" for name in finding.get("explains") or [] if name in MEANINGS]
    if len(finding["sites"]) > 1:
        lines.append(f"called at {_some(finding['sites'])}")
    if finding["waiting"] >= 0.05:
        on = ", ".join(f"{row['function']} {row['share']:.0%}" for row in finding["wakers"])
        lines.append(f"waiting: {finding['waiting']:.0%} of it" + (f", meanwhile {on}" if on else ""))
    if (finding["inherent"] or 0) >= 0.05:
        lines.append(f"differs between types of intervals: {finding['inherent']:.0%} of it")
    if finding.get("unfollowed"):
        where = _some(finding["unfollowed"])
        lines.append(f"part of it is what it calls through pointers at {where}: no callee is known there")
    if finding.get("expanded"):
        lines.append(
            f"expanded in it, so that their calls are not seen: {_some(finding['expanded'])} (to see them, name "
            "functions in `probe` and build again)"
        )
    if (finding.get("probes") or 0) >= MOSTLY:
        lines.append(f"mostly the cost of probes: {finding['probes']:.0%} of its time")
    for key, change in (("gain", "always the same"), ("gain_without", "no time")):
        if ratios := (finding.get(key) or {}).get("ratios"):
            lines.append(f"if it took {change}, predicted: {_gain(ratios)} (vprof whatif)")
    if finding["ci95_reason"] and not finding.get("few_intervals"):
        lines.append(f"no interval: {finding['ci95_reason']}")
    return lines + (finding.get("missing") or [])


def _gain(ratios: dict[str, float | None]) -> str:
    """ "variance 40 % less, p99 2.3 times as much"; what is not defined is left out."""
    return ", ".join(f"{name} {_changed(ratio)}" for name, ratio in ratios.items() if ratio is not None)


def _changed(ratio: float) -> str:
    if ratio >= 2:
        return f"{ratio:.3g} times as much"
    return f"{abs(ratio - 1):.0%} {'more' if ratio > 1 else 'less'}"


def _ends(path: list[str]) -> list[str]:
    """A path that crosses several waits is long: where it begins, and where it arrives."""
    return path if len(path) <= _MOST_FRAMES else [*path[:3], "...", *path[-(_MOST_FRAMES - 3) :]]


def _interval(interval: tuple[float, float] | None) -> str:
    return f"[{percent(interval[0])}, {percent(interval[1])}]" if interval else ""
