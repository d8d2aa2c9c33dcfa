"""What the files of a program write: calls with their arguments, what variables are made of, and the functions around.

    files of units, parsed when first asked for -> Written: callee, arguments, the function around

The call graph (program/callgraph.py) has no arguments; its text has. Macros are not expanded.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import tree_sitter_cpp
from tree_sitter import Language, Node, Parser, Query, QueryCursor

from vprof.target.source_text import declarator_of, plain_name, without_directives

_LANGUAGE = Language(tree_sitter_cpp.language())
_WRITTEN = Query(
    _LANGUAGE,
    """
    (call_expression function: (_) @callee arguments: (argument_list) @arguments) @call
    (new_expression type: (_) @callee arguments: (argument_list) @arguments) @call
    (compound_literal_expression type: (_) @callee value: (initializer_list) @arguments) @call
    (declaration type: (_) @callee declarator: (init_declarator value: (argument_list) @arguments)) @call
    (declaration type: (_) @callee declarator: (init_declarator value: (initializer_list) @arguments)) @call
    (declaration type: (_) @callee declarator: (function_declarator parameters: (parameter_list) @arguments)) @call
    (field_initializer (field_identifier) @callee (argument_list) @arguments) @call
    """,
)


@dataclass(frozen=True)
class Around:
    """The function that a call is written in: its name as the text gives it, where it stands, its parameters' names."""

    name: str
    line: int
    parameters: tuple[str, ...]


@dataclass(frozen=True)
class Written:
    """A call, or a variable or member with what it is made of. `callee` is without template arguments and, of a method,
    the last name; `object` is what a method is called on."""

    callee: str
    object: str
    arguments: tuple[Node, ...]
    file: str
    around: Around


class Texts:
    """Files of a program. What cannot be read is as if it were empty."""

    def __init__(self, files: Iterable[str]) -> None:
        self._files = sorted(set(files))
        self._parsed: dict[str, list[Written]] = {}

    @cached_property
    def texts(self) -> dict[str, bytes]:
        """By file."""
        return {file: _read(file) for file in self._files}

    def calls(self, pattern: re.Pattern[bytes]) -> Iterator[Written]:
        """The calls in all files in which the pattern is found; who asks chooses among them."""
        for file, text in self.texts.items():
            if pattern.search(text):
                if file not in self._parsed:
                    self._parsed[file] = list(_written(file, text))
                yield from self._parsed[file]


def called(names: Iterable[str]) -> re.Pattern[bytes]:
    """What files look like that call one of these functions."""
    return re.compile(rb"\b(?:" + b"|".join(re.escape(name.encode()) for name in sorted(names)) + rb")\s*[(<]")


def _read(file: str) -> bytes:
    try:
        return Path(file).read_bytes()
    except OSError:
        return b""


def _written(file: str, text: bytes) -> Iterator[Written]:
    root = Parser(_LANGUAGE).parse(without_directives(text)).root_node
    known: dict[int, Around] = {}
    for _, captured in QueryCursor(_WRITTEN).matches(root):
        [callee], [arguments], [call] = captured["callee"], captured["arguments"], captured["call"]
        value = callee.child_by_field_name("argument") if callee.type == "field_expression" else None
        given = tuple(child for child in arguments.named_children if child.type != "comment")
        yield Written(plain_name(callee), plain_name(value) if value else "", given, file, _around(call, known))


def _around(node: Node, known: dict[int, Around]) -> Around:
    above = node.parent
    while above is not None and above.type != "function_definition":
        above = above.parent
    if above is None:
        return Around("", 0, ())
    if above.id not in known:
        declarator = declarator_of(above)
        known[above.id] = _described(declarator) if declarator else Around("", 0, ())
    return known[above.id]


def _described(declarator: Node) -> Around:
    inner = declarator.child_by_field_name("declarator") or declarator
    parameters = declarator.child_by_field_name("parameters")
    names = [_variable(child) for child in parameters.named_children] if parameters else []
    return Around(plain_name(inner), declarator.start_point.row + 1, tuple(names))


def _variable(node: Node) -> str:
    """The name of a parameter, `f` in `void *(*f)(void *)`; "" if it has none."""
    inner: Node | None = node.child_by_field_name("declarator")
    while inner is not None and inner.type != "identifier":
        inner = inner.child_by_field_name("declarator") or next(iter(inner.named_children), None)
    return (inner.text or b"").decode() if inner else ""
