"""The statements of a schema: its text without comments, cut where a client program would cut it.

What stands in `/*! ... */` is no comment: dumps have their views and triggers there. But what only a version far from
now reads are words for the client program. `DELIMITER` says what ends a statement from there on. Else a semicolon does,
unless it stands in quotes, in `$$ ... $$`, or in a trigger that has a BEGIN without its END.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from sqlglot.dialects.dialect import Dialect

_ALWAYS = r"""
    (?P<comment> /\*(?!M?!(?!999999)).*?\*/ | {line}[^\n]* )
  | (?P<marks> /\*M?!\d* | \*/ )
  | ^[ \t]*delimiter[ \t]+(?P<delimiter>\S+)[^\n]*
  | (?P<kept> {quoted} | \w+ | . )"""
_BACKSLASHES = r"""'(?:[^'\\]|\\.|'')*' | "(?:[^"\\]|\\.|"")*" | `[^`]*`"""
_DOLLARS = r"""'(?:[^']|'')*' | "[^"]*" | \$(?P<tag>\w*)\$.*?\$(?P=tag)\$"""
_FLAGS = re.DOTALL | re.MULTILINE | re.IGNORECASE | re.VERBOSE


def statements(text: str, dialect: str, is_open: Callable[[str], bool]) -> Iterator[str]:
    """`is_open`: whether a statement goes on behind a semicolon."""
    pieces, held, delimiter, at = _pieces(dialect), "", ";", 0
    while at < len(text):
        if text.startswith(delimiter, at) and not (delimiter == ";" and is_open(held.strip())):
            yield from filter(None, [held.strip()])
            held, at = "", at + len(delimiter)
            continue
        found = pieces.match(text, at)
        assert found, "the pattern takes any character"
        at = found.end()
        held += found["kept"] or " "
        if found["delimiter"]:
            yield from filter(None, [held.strip()])
            held, delimiter = "", found["delimiter"]
    yield from filter(None, [held.strip()])


def _pieces(dialect: str) -> re.Pattern[str]:
    """How quotes and comments look."""
    known = Dialect.get_or_raise(dialect or None).tokenizer_class
    line = r"(?: --(?=\s|$) | \# )" if "#" in known.COMMENTS else "--"
    quoted = _BACKSLASHES if "\\" in known.STRING_ESCAPES else _DOLLARS
    return re.compile(_ALWAYS.format(line=line, quoted=quoted), _FLAGS)
