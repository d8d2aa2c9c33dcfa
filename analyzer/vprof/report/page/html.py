"""Writes a page: template, styles and scripts of assets/ in one file, the data as JSON between them.

Guaranteed: the file asks for nothing (its content security policy forbids it), and runs no script but those of
assets/, whose digests the policy names. Texts of the traced program reach the page as JSON, in which `<`, `>` and `&`
are escaped, or through Jinja's autoescape; scripts show them as text.
"""

from __future__ import annotations

import base64
import hashlib
import json
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader
from markupsafe import Markup

from vprof.report.units import duration

LIBRARY, LICENCE = "vendor/d3-7.9.2.min.js", "vendor/d3-LICENSE"
_SHARED = ("basics.js", "tooltip.js", "theme.js", "permalink.js", "tables.js", "latency.js")
_FLAME = "flame.js"


@dataclass(frozen=True)
class Page:
    """The files of assets/ that make it."""

    template: str
    styles: tuple[str, ...]
    scripts: tuple[str, ...]


_OF_REPORT = ("factors.js", "gains.js", "tree.js", "paths.js", "page.js")
REPORT = Page("page.html.jinja", ("page.css",), (*_SHARED, _FLAME, *_OF_REPORT))
DIFF = Page(
    "diff.html.jinja",
    ("page.css", "diff.css"),
    (*_SHARED, _FLAME, "ratios.js", "diff_latency.js", "diff_flame.js", "diff.js"),
)
_OF_LOAD = ("load_charts.js", "load_tables.js", "load.js")
TUNE = Page("tune.html.jinja", ("page.css", "diff.css", "tune.css"), (*_SHARED, "ratios.js", "tune.js"))
LOAD = Page("load.html.jinja", ("page.css", "load.css"), (*_SHARED, *_OF_LOAD))
_UNSAFE = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"})


def render(data: dict[str, Any], page: Page = REPORT) -> str:
    """`data` of `page_data`; of `diff_data`, `load_data` or `tune_data` for the page of a diff, a load or a sweep."""
    library = f"\n/* {_asset(LICENCE).strip()} */{_asset(LIBRARY)}"
    scripts = [library, *(_asset(name) for name in page.scripts)]
    style = "".join(map(_asset, page.styles))
    environment = Environment(
        loader=PackageLoader("vprof.report.page", "assets"), autoescape=True, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["duration"] = lambda ns: duration(ns).replace(" us", " µs")
    return environment.get_template(page.template).render(
        data=data,
        json=Markup(json.dumps(data, allow_nan=False, separators=(",", ":")).translate(_UNSAFE)),
        style=Markup(style),
        scripts=[Markup(script) for script in scripts],
        policy=f"default-src 'none'; style-src {_digest(style)}; script-src {' '.join(map(_digest, scripts))}",
    )


def _asset(name: str) -> str:
    return "\n" + (files("vprof.report.page") / "assets" / name).read_text(encoding="utf-8").strip() + "\n"


def _digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
