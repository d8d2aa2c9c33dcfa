"""A drill-down as text and as JSON (schema `vprof-drill/1`)."""

from __future__ import annotations

from typing import Any

from vprof.analysis import Analysis
from vprof.drill import Drill, Finding, Step
from vprof.report.json import analysis_json


def print_step(step: Step) -> None:
    """One line of what was measured, one per expansion; printed as the steps happen."""
    summary = step.summary
    print(
        f"step {step.number}: {summary.count} intervals, mean {summary.mean_ns / 1e6:.3f} ms, "
        f"sd {summary.stddev_ns / 1e6:.3f} ms, {len(step.plan)} functions on",
        flush=True,
    )
    for function, children in step.expanded.items():
        print(f"  {function} -> {', '.join(children)}", flush=True)
    if step.dropped:
        print(f"  off again: {', '.join(step.dropped)}", flush=True)


def print_end(drill: Drill) -> None:
    """Why the drill-down went no further: nothing left to expand, or no steps left."""
    last = drill.done[-1]
    if last.expanded:
        print(f"stopped after {last.number} steps (--max-steps): {', '.join(last.expanded)} not looked into")
    else:
        reason = last.no_ranking or "every factor above the threshold is an end point"
        print(f"done: {reason}; confirming", flush=True)


def print_findings(findings: list[Finding]) -> None:
    """The answer of the drill-down: what the confirmation says of each finding."""
    if not findings:
        print("findings: none, no function holds enough of the variance")
        return
    print("findings (on fresh data, all probes on together):")
    for rank, finding in enumerate(findings, 1):
        factor = finding.ranked.factor
        verdict = "confirmed" if finding.confirmed else f"not confirmed: {finding.explored_share:.0%} while exploring"
        print(f"  {rank}. {factor.name}  {factor.share:.0%} of the variance, {verdict}")


def as_json(steps: list[Step], fresh: Analysis, findings: list[Finding]) -> dict[str, Any]:
    """`steps` as measured, `confirmation` as `vprof-analysis/1`, `findings` best first."""
    return {
        "schema": "vprof-drill/1",
        "steps": [
            {
                "number": step.number,
                "on": sorted(step.plan),
                "intervals": step.summary.count,
                "variance_ns2": step.summary.variance_ns2,
                "no_ranking": step.no_ranking,
                "expanded": step.expanded,
                "dropped": step.dropped,
            }
            for step in steps
        ],
        "confirmation": analysis_json(fresh),
        "findings": [
            {
                "functions": finding.ranked.factor.functions,
                "kind": finding.ranked.factor.kind,
                "share": finding.ranked.factor.share,
                "ci95": finding.ranked.ci95,
                "explored_share": finding.explored_share,
                "confirmed": finding.confirmed,
            }
            for finding in findings
        ],
    }
