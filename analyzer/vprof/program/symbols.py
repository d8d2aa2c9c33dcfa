"""Demangled names of the linker's symbols -> names as unit metadata have them (instrumenter/UNIT_METADATA.md "Names"):
qualified, without parameters, template arguments and return type."""

from __future__ import annotations

import re
from functools import lru_cache

_OPERATOR = re.compile(r"operator\s*(?:\(\)|\[\]|<=>|<<=|>>=|->\*|->|<<|>>|<=|>=|<|>)")
_NAMELESS = "(anonymous namespace)"
_CLOSES = {"(": ")", "<": ">"}


@lru_cache(maxsize=1 << 16)
def plain_name(symbol: str) -> str:
    """`int ns::f<long>(int) const [clone .cold]` -> `ns::f`; `worker.part.0` -> `worker`. A lambda's is that of the
    function around it, which is what has a name."""
    if "(" not in symbol and " " not in symbol:
        return symbol.partition(".")[0] or symbol
    name = _without_arguments(symbol.partition("::{lambda")[0])
    words = re.split(r" (?![^(]*\))", name)
    named = next((i for i, word in enumerate(words) if word.rpartition("::")[2].startswith("operator")), len(words) - 1)
    return " ".join(words[named:]).rstrip()


def _without_arguments(symbol: str) -> str:
    """Up to the parameters; what is in angle brackets, and in the parentheses of a function around it, is left out."""
    kept, at = "", 0
    while at < len(symbol):
        if symbol.startswith(_NAMELESS, at):
            kept, at = kept + _NAMELESS, at + len(_NAMELESS)
        elif (operator := _OPERATOR.match(symbol, at)) and not kept[-1:].isalnum():
            kept, at = kept + operator[0], operator.end()
        elif symbol[at] in _CLOSES:
            end = _end_of_group(symbol, at)
            is_around = symbol.startswith(("::", " const::"), end)
            if symbol[at] == "(" and not is_around:
                return kept
            kept, at = kept + ("()" if symbol[at] == "(" else ""), end
            at += len(" const") if symbol.startswith(" const::", at) else 0
        else:
            kept, at = kept + symbol[at], at + 1
    return kept


def _end_of_group(symbol: str, at: int) -> int:
    """Behind the parenthesis or bracket that closes the one at `at`."""
    depth = 0
    for i in range(at, len(symbol)):
        arrow = symbol[i] == ">" and symbol[i - 1] == "-"
        depth += (symbol[i] in "(<") - (symbol[i] in ")>" and not arrow)
        if depth == 0:
            return i + 1
    return len(symbol)
