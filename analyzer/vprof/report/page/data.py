"""What the page of a run shows, as plain data: the JSON reports as they are, and latencies for two charts.

| key | holds |
|---|---|
| `title`, `headline` | `headline`: {`answer`, `certainty`} |
| `aborted` | what was left out as aborted, and what was tried again, in sentences |
| `slowest` | where the slowest interval lost its time, "" if none is slower than the others |
| `analysis` | vprof-analysis/1: its trees cut by trees.py, its factors with `places` |
| `latency` | `histogram`, `points` of latency.py |
| `gains` | what changes of factors would gain (gains.py), or null |
| `explained` | by factor, vprof-explain/1 or null |
| `waits` | vprof-explain/1 of `[blocked]`, or null |
| `paths` | [{`label`, `lost`: where its time went, `path`: vprof-path/1}] |
| `links`, `site_links` | {function: URL}, {call site: URL} of links.py |
| `meanings` | of nodes that are no functions |
| `drill` | vprof-drill/1 without its confirmation, or null |
| `run` | [[what, value]] |
| `missing` | {key: why it is empty} |
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from vprof import __version__
from vprof.errors import TraceError, VprofError
from vprof.jobs.tasks import Jobs
from vprof.path.chosen import paths_of
from vprof.path.exemplars import exemplars
from vprof.path.interval_path import IntervalPath
from vprof.path.path_tree import display_names
from vprof.report import aborted, origins, recorded
from vprof.report.explain import explanation_json
from vprof.report.json import analysis_json, intervals_json
from vprof.report.page import gains, latency, links, slow, sources, trees
from vprof.report.page.headline import headline
from vprof.report.page.plain import all_plain
from vprof.report.path import path_json
from vprof.tables.kinds import LANES, MEANINGS
from vprof.tables.naming import without_place
from vprof.trace.origins import since_first_begin
from vprof.trace.remote import size_of
from vprof.variance.analysis import Analysis, AnalysisOptions
from vprof.variance.excess import excesses
from vprof.variance.explain import Explanation, explain_all
from vprof.variance.origins import HOST
from vprof.variance.stream import analyze_files

_EXPLAINED = 10
_OF_FACTORS = 3
"""Factors whose exemplars are shown."""
_STEPS = 3000
"""Steps of a path that can still be drawn."""


@dataclass(frozen=True)
class PageSource:
    """What the page is made of: traces of one program and plan, and the file of a drill-down, if there is one.
    `source_link`: a template of links to places of functions (sources.py), "" for none."""

    traces: list[Path]
    root: str | None = None
    drill: dict[str, Any] | None = None
    title: str = ""
    source_link: str = ""


@dataclass
class _Found:
    """What could be had beside the analysis; `missing` says why the rest could not."""

    explained: list[dict[str, Any] | None] = field(default_factory=list)
    waits: dict[str, Any] | None = None
    gains: dict[str, Any] | None = None
    paths: list[dict[str, Any]] = field(default_factory=list)
    missing: dict[str, str] = field(default_factory=dict)
    slowest: str = ""


def page_data(source: PageSource, options: AnalysisOptions, jobs: Jobs | None = None) -> dict[str, Any]:
    """Raises VprofError as `vprof analyze` does: no such file, no trace, no interval."""
    options = replace(options, by_type=True, by=(HOST,))
    analysis = analyze_files(source.traces, source.root, options, jobs)
    found = _single_times(analysis)
    found.gains, why_not = gains.gains(analysis)
    if why_not:
        found.missing["gains"] = why_not
    data: dict[str, Any] = {
        "title": source.title or ", ".join(path.name for path in source.traces),
        "headline": headline(analysis),
        "aborted": aborted.sentences(intervals_json(analysis)),
        "slowest": found.slowest,
        "meanings": MEANINGS,
        "lanes": LANES,
        "analysis": _analysis(analysis, source.source_link),
        "latency": {
            "histogram": latency.histogram(analysis.tree.latency_ns),
            "points": latency.points(analysis.trace),
        },
        "gains": found.gains,
        "explained": found.explained,
        "waits": found.waits,
        "paths": found.paths,
        "hosts": origins.sentences(analysis.by_host) if analysis.by_host else [],
        "links": links.of_functions(analysis, source.source_link, (one["path"] for one in found.paths)),
        "site_links": links.of_sites(analysis, source.source_link),
        "drill": source.drill,
        "run": _run(source, sum(map(_size, source.traces)), analysis),
        "missing": found.missing,
    }
    plain: dict[str, Any] = all_plain(data)
    return plain


def _size(path: Path) -> int:
    try:
        return size_of(path)
    except (OSError, TraceError):
        return 0  # reading it says what is wrong


def _analysis(analysis: Analysis, source_link: str) -> dict[str, Any]:
    report = analysis_json(analysis)
    report["tree"] = trees.pruned(report["tree"])
    for row in report.get("by_type", {}).get("types", ()):
        if "tree" in row:
            row["tree"] = trees.pruned(row["tree"])
    program = analysis.trace.program
    place = dict(zip(display_names(analysis.trace), program.definitions, strict=True))
    modules = [module for one in analysis.trace.recorded for module in one.modules]
    folders = sources.built_in(modules, program.definitions)
    for factor in report["factors"]:
        places = [(name, place.get(name, "")) for name in factor["functions"]]
        factor["places"] = [at for _, at in places]
        factor["links"] = [sources.link(source_link, at, without_place(name)) for name, at in places]
        factor["source"] = [sources.first_lines(at, _begun(analysis), folders) for _, at in places]
    return report


def _begun(analysis: Analysis) -> int | None:
    """When the first recording began, in ns since 1970; None: the traces do not say."""
    return min((one.begun_ns for one in analysis.trace.recorded if one.begun_ns is not None), default=None)


def _single_times(analysis: Analysis) -> _Found:
    found = _Found()
    wanted = exemplars(analysis.trace)
    if analysis.no_ranking:
        found.missing = dict.fromkeys(("explained", "waits"), analysis.no_ranking)
    else:
        names = ["|".join(ranked.factor.functions) for ranked in analysis.factors[:_EXPLAINED]]
        *found.explained, found.waits = map(_explained, explain_all(analysis, [*names, "[blocked]"]))
        for name, explained in list(zip(names, found.explained, strict=True))[:_OF_FACTORS]:
            typical: list[dict[str, Any]] = explained["exemplars"] if explained else []
            for one in typical:
                wanted.setdefault(one["interval"], f"{one['which']} in {name}")
        if not found.waits:
            found.missing["waits"] = "no interval waited for a thread, or its waits do not vary"
    lost = excesses(analysis, wanted)
    slowest = lost.get(next(iter(wanted)))
    found.slowest = slow.sentence(analysis, slowest) if slowest else ""
    said = {sid: slow.where(analysis, one) for sid, one in lost.items()}
    found.paths = _labelled(paths_of(analysis.times.parts.sources, analysis.trace, wanted), wanted, said)
    return found


def _explained(found: Explanation | VprofError) -> dict[str, Any] | None:
    """None: nothing of that name, or it explains nothing."""
    return None if isinstance(found, VprofError) else explanation_json(found)


def _labelled(paths: Iterable[IntervalPath], wanted: dict[str, str], lost: dict[str, str]) -> list[dict[str, Any]]:
    """Those that can be drawn. `wanted`: why each is shown, `lost`: where its time went, by its interval."""
    labelled: list[dict[str, Any]] = [
        {"label": wanted[path.interval], "lost": lost.get(path.interval, ""), "path": path_json(path)} for path in paths
    ]
    return [one for one in labelled if _steps(one["path"]["steps"]) <= _STEPS]


def _steps(steps: list[dict[str, Any]]) -> int:
    count, work = 0, list(steps)
    while work:
        step = work.pop()
        count += 1
        work += step["steps"]
    return count


def _run(source: PageSource, size: int, analysis: Analysis) -> list[list[str]]:
    """The settings by which the figures came about."""
    o, trace = analysis.options, analysis.trace
    on = int(np.count_nonzero(trace.program.on))
    iv = trace.intervals
    since = since_first_begin(trace, np.arange(len(iv.begin)))
    seconds = int((since + iv.end - iv.begin).max()) / 1e9
    return [
        *recorded.rows(trace.recorded),
        ["traces", ", ".join(str(path) for path in source.traces)],
        ["size of the traces", f"{size:,} bytes"],
        ["intervals", f"calls of {source.root}" if source.root else "annotated"],
        ["from the first begin to the last end", f"{seconds:.3f} s"],
        ["threads", str(len(trace.threads))],
        ["functions on", f"{on} of {len(trace.program.functions)} known"],
        [
            "factors",
            f"at most {o.k} of at least {o.min_share:g} of the variance, specificity exponent {o.specificity_exp}",
        ],
        ["waits for a CPU", "apart from the functions" if o.cpu_apart else "count in the functions that waited"],
        ["the client's time", "apart from the functions" if o.client_apart else "counts like a function's"],
        ["waits", "count where they are waited (--own)" if o.own else "are looked into: what the waker did counts"],
        *([["built from", ", ".join(trace.built_from)]] if trace.built_from else []),
        ["analyzed with", f"vprof {__version__}"],
    ]
