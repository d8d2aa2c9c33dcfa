"""How tests of this folder run `vprof reorder` on a source."""

from __future__ import annotations

import re

from click.testing import CliRunner, Result

from vprof.cli import root

INCLUDES = ["-I/usr/include/postgresql", "-I/usr/include/mariadb"]
_MARK = re.compile(r"/\* index (\S+) \*/")


def reorder(*words: object) -> Result:
    return CliRunner().invoke(root, ["reorder", *map(str, words), "--", *INCLUDES])


def index_of(text: str) -> dict[int, float]:
    """`/* index N */` stands at the lines of queries that have one."""
    lines = enumerate(text.splitlines(), 1)
    return {number: float(mark[1]) for number, line in lines if (mark := _MARK.search(line))}
