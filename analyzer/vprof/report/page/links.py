"""Links of a page to the sources: every function that it names, and the call sites of which the file is known.

    display name -> URL of the definition          "serve.c:17" -> URL of the call there

A call site has the last part of its file's name only. It is in the file of its caller, if that ends in the same name.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import PurePath
from typing import Any

import numpy as np

from vprof.path.path_tree import display_names
from vprof.report.page.sources import link
from vprof.tables.model import NONE
from vprof.variance.analysis import Analysis


def of_functions(analysis: Analysis, template: str, paths: Iterable[dict[str, Any]]) -> dict[str, str]:
    """Of all functions in the tree, and in these paths (vprof-path/1)."""
    if not template:
        return {}
    names, program = display_names(analysis.trace), analysis.trace.program
    wanted = {names[f] for f in np.unique(analysis.tree.paths.function).tolist() if f != NONE}
    wanted |= {name for path in paths for name in _named_in(path)}
    made = {
        name: link(template, place, function)
        for name, place, function in zip(names, program.definitions, program.functions, strict=True)
        if name in wanted
    }
    return {name: url for name, url in made.items() if url}


def of_sites(analysis: Analysis, template: str) -> dict[str, str]:
    """Of the call sites in the tree; without those that may be several places."""
    if not template:
        return {}
    trace, paths = analysis.trace, analysis.tree.paths
    found: dict[str, set[str]] = {}
    for x in np.flatnonzero(paths.call_site != NONE).tolist():
        site, caller = trace.call_sites[paths.call_site[x]], paths.function[paths.parent[x]]
        name, _, line = site.rpartition(":")
        if name and caller != NONE:
            file = trace.program.definitions[caller].rpartition(":")[0]
            known = PurePath(file).name == PurePath(name).name
            function = trace.program.functions[paths.function[x]]
            found.setdefault(site, set()).add(link(template, f"{file}:{line}", function) if known else "")
    return {site: url for site, urls in found.items() if len(urls) == 1 for url in urls if url}


def _named_in(path: dict[str, Any]) -> set[str]:
    names, work = set(), list(path["steps"])
    while work:
        step = work.pop()
        names |= {*step["stack"], step["ended_in"]}
        work += step["steps"]
    return names
