"""Names of programs and users' labels, made harmless to look at: of bounded length, without invisible characters.

They may be megabytes long, hold control characters, or turn the direction of the text around them (U+202E). What HTML
takes for markup is not the matter here: that is escaped where the page is written (html.py).
"""

from __future__ import annotations

from typing import Any

from vprof.terminal import one_line

MOST_CHARACTERS = 400
_HEAD, _TAIL = 250, 120
_NAME, _NAME_HEAD, _NAME_TAIL = 110, 70, 30


def plain(text: str) -> str:
    """Invisible characters as escapes such as \\u202e; the middle of a long text is left out and counted."""
    if len(text) > MOST_CHARACTERS:
        left_out = len(text) - _HEAD - _TAIL
        text = f"{text[:_HEAD]} … {left_out} characters … {text[-_TAIL:]}"
    return one_line(text)


def short_name(name: str) -> str:
    """A name for a sentence, that there is room for another one beside it."""
    return name if len(name) <= _NAME else f"{name[:_NAME_HEAD]}…{name[-_NAME_TAIL:]}"


def all_plain(data: Any) -> Any:
    """JSON-like data with every text in it made plain, keys too. Not recursive: trees may be deep."""
    root: list[Any] = [data]
    work: list[Any] = [root]
    while work:
        holder = work.pop()
        if isinstance(holder, dict):
            items: list[tuple[Any, Any]] = [(plain(key), value) for key, value in holder.items()]
            holder.clear()
        else:
            items = list(enumerate(holder))
        for key, value in items:
            holder[key] = _copied(value)
            if isinstance(holder[key], dict | list):
                work.append(holder[key])
    return root[0]


def _copied(value: Any) -> Any:
    if isinstance(value, str):
        return plain(value)
    if isinstance(value, dict):
        return dict(value)
    return list(value) if isinstance(value, list | tuple) else value
