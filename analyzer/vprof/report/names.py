"""Long C++ names where a line has little room: what a function is called stays, the scopes around it go first."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence

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


def told_apart(texts: Sequence[str], width: int) -> list[str]:
    """The texts as `without_scopes` shortens them; those that would look alike from where they differ on.

    Leading spaces stay.
    """
    short = [without_scopes(text, width) for text in texts]
    alike: dict[str, set[str]] = defaultdict(set)
    for text, shown in zip(texts, short, strict=True):
        alike[shown[:width]].add(text)
    return [
        _from_difference(text, alike[shown[:width]]) if len(alike[shown[:width]]) > 1 else shown
        for text, shown in zip(texts, short, strict=True)
    ]


def _from_difference(text: str, others: set[str]) -> str:
    indent = len(text) - len(text.lstrip())
    first, last = min(others), max(others)
    same = next((i for i, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), min(len(first), len(last)))
    word = max(indent, len(re.sub(r"\w+$", "", text[:same])))
    return text if word == indent else f"{text[:indent]}…{text[word:]}"
