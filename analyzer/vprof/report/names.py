"""Long C++ names where a line has little room: what a function is called stays, the scopes around it go first."""

from __future__ import annotations

import re

_GONE = "…::"
_OUTERMOST = re.compile(rf"(?<![\w:>)])(?:{_GONE})?(?:\(anonymous namespace\)|\(lambda[^()]*\)|\w+(?:<[^<>]*>)?)::")
"""The outermost scope of a qualified name, with the mark of those that went before."""


def without_scopes(text: str, width: int) -> str:
    """The text with as many outermost scopes replaced by one `…` as it takes to fit, the longest ones first.

    It is still longer than `width` characters if it would be without any scope.
    """
    while len(text) > width:
        scopes = list(_OUTERMOST.finditer(text))
        if not scopes:
            break
        longest = max(scopes, key=lambda scope: len(scope[0]))
        text = text[: longest.start()] + _GONE + text[longest.end() :]
    return text
