"""The call graph for the terminal: a summary, or what is known of each function asked for (inspection.py)."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence
from typing import Any

from vprof.report.units import big, percent
from vprof.terminal import one_line

_MOST = 12
"""Functions of a list that are shown, and of roots; `--format json` has all."""
_ROOTS = 3
_WIDTH = 100
_LABEL = 11


def render(report: dict[str, Any]) -> str:
    """Lines for a report of `inspection.summarize` or `inspection.describe`."""
    if "summary" in report:
        return "\n".join([*map(one_line, _summary(report["summary"], report["roots"])), ""])
    return (
        "\n\n".join("\n".join(map(one_line, _function(function, report["roots"]))) for function in report["functions"])
        + "\n"
    )


def _summary(summary: dict[str, Any], roots: Sequence[str]) -> list[str]:
    group, units = summary["largest_group"], summary["units"]
    origin = f"from {_some(roots, _ROOTS)}" if roots else "in all"
    rows = [
        ("functions", f"{summary['functions']} defined, {summary['external']} without source"),
        ("sites", f"{summary['sites']}; left alone: {_counts(summary['left'])}"),
        *_expanded_row(summary.get("expanded")),
        ("calls", f"{summary['direct_calls']} direct, {summary['observed_calls']} more were observed at run time"),
        ("", f"{summary['indirect_calls']} places call a pointer, {summary['virtual_calls']} a virtual method"),
        ("reachable", f"{summary['reachable']} functions {origin}"),
        ("recursion", _group(group)),
        *([("paths", f"{big(summary['call_paths'])} {origin}: what decomposing everything costs")] if roots else []),
        ("units", f"{units['instrumented']} instrumented; compiled unchanged: {_counts(units['unchanged'])}"),
    ]
    lines = [line for label, text in rows for line in _row(label, text)]
    lines += ["", "highest functions"]
    lines += [f"{one['height']:6}  {one['name']}  {one['place']}".rstrip() for one in summary["highest"]]
    return lines + [f"warning: {warning}" for warning in summary["warnings"]]


def _expanded_row(expanded: dict[str, int] | None) -> list[tuple[str, str]]:
    if not expanded or not expanded["functions"]:
        return []
    count, everywhere = expanded["functions"], expanded["everywhere"]
    return [("", f"{count} are expanded in callers, {everywhere} of them wherever called: calls there are not seen")]


def _group(group: dict[str, Any]) -> str:
    if not group["size"]:
        return "no functions call each other"
    share = percent(group["share"])
    return f"at most {group['size']} functions call each other ({share} of the reachable): {_some(group['members'])}"


def _function(function: dict[str, Any], roots: Sequence[str]) -> list[str]:
    rows = [("probe", "yes" if function["site"] else f"none: {function['left']}")]
    if function.get("expanded"):
        callers = "caller" if function["expanded"] == 1 else "callers"
        rows.append(("", f"expanded in {function['expanded']} {callers}: calls there are not seen"))
    rows.append(("height", f"{function['height']}: {' > '.join(function['chain'])}"))
    if function["ignored"]:
        rows.append(("", "calls of it do not count for heights: an error, exit or interrupt function"))
    if function["group"]:
        rows.append(("recursion", f"{len(function['group'])} functions call each other: {_some(function['group'])}"))
    if function["comes_back"]:
        rows.append(("", f"calls that come back and do not count: {_some(function['comes_back'])}"))
    if function["unfollowed"]:
        rows.append(("pointers", f"no callee is known of the calls at {_some(function['unfollowed'])}"))
    below = f"{big(function['paths_below'])} below"
    if roots:
        rows.append(("paths", f"{big(function['paths_from_root'])} from {_some(roots, _ROOTS)}; {below}"))
    else:
        rows.append(("paths", below))
    place = function["place"] or "defined in no unit"
    return [
        f"{function['name']}  {place}",
        *("  " + line for label, text in rows for line in _row(label, text)),
        *_list("children (a drill switches them on)", function["children"], _child),
        *_list("callees", function["callees"], _edge),
        *_list("callers", function["callers"], _edge),
    ]


def _row(label: str, text: str) -> list[str]:
    space = " " * _LABEL
    return textwrap.wrap(
        text, _WIDTH, initial_indent=f"{label:<{_LABEL}}", subsequent_indent=space, break_long_words=False
    )


def _list(title: str, items: list[dict[str, Any]], line: Callable[[dict[str, Any]], str]) -> list[str]:
    """The first items; those that are certain come before those that a pointer or virtual call may mean."""
    if not items:
        return [f"  {title}: none"]
    certain = sorted(items, key=lambda item: item["how"] not in ("direct", "observed"))
    more = len(items) - _MOST
    return [
        f"  {title}: {len(items)}",
        *(f"    {line(item)}".rstrip() for item in certain[:_MOST]),
        *([f"    and {more} more (--format json has all)"] if more > 0 else []),
    ]


def _edge(item: dict[str, Any]) -> str:
    how = {
        "direct": "",
        "observed": " (observed)",
        "virtual": " (candidate, virtual)",
        "pointer": " (candidate by type)",
    }
    return f"{item['name']}{how[item['how']]}  {item['place']}"


def _child(item: dict[str, Any]) -> str:
    return _edge(item) + (f"  through {item['via']}" if item["via"] else "")


def _some(names: Sequence[str], most: int = _MOST) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def _counts(counts: dict[str, int]) -> str:
    return ", ".join(f"{count} {reason}" for reason, count in counts.items()) or "none"
