"""How tests run `vprof reorder --verify` on a transaction `pay` of one client library or the other."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from click.testing import Result
from reordered import index_of, reorder

OWN = """#include <stdio.h>
int next(int *value) { return (*value)++; }
int show(int value) { return printf("%d\\n", value) ? value : 0; }
"""
LIE = """[[call]]
function = ["next"]
arguments = ["in"]
[[call]]
function = ["show"]
"""


def verified(
    folder: Path, text: str, usual: Mapping[str, str], more: str, calls: str = LIE, options: tuple[object, ...] = ()
) -> Result:
    """`usual`: keys of verify.toml; `more`: lines of it, those given twice in place of the usual ones."""
    keys = {"call": "'pay(conn, {value})'", "link": "['own.c']", "ignore": "['a.at']", "runs": "5", **usual}
    lines = [f"{key} = {value}" for key, value in keys.items() if f"{key} =" not in more.split("[load]")[0]]
    inputs = "" if "[inputs]" in more else "[inputs]\nvalue = { from = 1, to = 9 }\n"
    (folder / "verify.toml").write_text("\n".join([*lines, more, inputs]))
    (folder / "t.c").write_text(text)
    (folder / "own.c").write_text(OWN)
    (folder / "calls.toml").write_text(calls)
    (folder / "index.json").write_text(json.dumps(index_of(text)))
    words = ["--index", folder / "index.json", "--calls", folder / "calls.toml", "--verify", folder / "verify.toml"]
    return reorder(folder / "t.c", "--function", "pay", *words, *options)
