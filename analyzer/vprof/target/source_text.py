"""What the text of a tree defines and calls, without building it: `vprof targets check --source`.

    files that name a function of the descriptor -> tree-sitter -> functions with braces, their calls -> units

A unit here says what `.vprof_meta` would say of names, places and entries (program/metadata.py); it has no sites. Text
is not what a compiler sees: macros are not expanded, all sides of an #if count (but of those that open a brace the
first alone), which overload is meant and whether an expression compiles is not known.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from fnmatch import fnmatch
from pathlib import Path

import tree_sitter_cpp
from tree_sitter import Language, Node, Parser, Query, QueryCursor

from vprof.errors import UsageError
from vprof.program.metadata import Function, Symbol, Unit
from vprof.target import entries
from vprof.target.descriptor import Descriptor
from vprof.target.entries import Entry

_SUFFIXES = {".c", ".cc", ".cpp", ".cxx", ".c++", ".h", ".hh", ".hpp", ".hxx", ".inl", ".ic", ".ipp", ".i"}
_LANGUAGE = Language(tree_sitter_cpp.language())
_CALLS = Query(_LANGUAGE, "(call_expression function: (_) @called)")
_DECLARATORS = Query(_LANGUAGE, "(function_declarator) @declarator")
_DIRECTIVE = re.compile(rb"^[ \t]*#(?:[^\n\\]|\\\r?\n|\\.)*", re.MULTILINE)
_CONDITION = re.compile(rb"[ \t]*#[ \t]*(if|el|endif)")
_COMMENT = rb"//[^\n]*|/\*(?:[^*]|\*(?!/))*\*/"
_BODY = re.compile(rb"(?:\s|const|noexcept|override|final|&|" + _COMMENT + rb")*(?::[^;{}]*)?\{")
"""What may stand between a function's parameters and its brace; initialisers of a constructor count as its braces."""
_ARGUMENTS = re.compile(r"<[^<>]*>")
_MACROS = re.compile(r"^(?:[A-Z][A-Z0-9_]*\s+)+(?=[A-Za-z_~])")
"""Words before a function's name that are none of the language: a calling convention, as `APR_THREAD_FUNC`."""
_SCOPES = ("namespace_definition", "class_specifier", "struct_specifier")
_MARGIN = 4096
"""Bytes behind a declarator that are looked at for its brace."""


def read_tree(tree: Path, descriptor: Descriptor) -> list[Unit]:
    """The files that name one of the descriptor's functions, each as a unit. Raises UsageError if there is no file."""
    wanted = {entries.last_name(name) for name in _functions(descriptor)}
    calls = {name for rows in descriptor.entries.values() for row in rows for name in entries.names(row, "call")}
    named = re.compile(rb"\b(?:" + b"|".join(re.escape(name).encode() for name in sorted(wanted)) + rb")\b")
    files = [path for path in sorted(tree.rglob("*")) if path.suffix.lower() in _SUFFIXES and path.is_file()]
    if not files:
        raise UsageError(f"{tree}: no C or C++ source is there")
    parser = Parser(_LANGUAGE)
    units = []
    for path in files:
        try:
            text = path.read_bytes()
        except OSError as error:
            raise UsageError(f"{path}: {error.strerror}") from None
        if named.search(text):
            units.append(_unit(path, _functions_of(parser, text, path, calls), descriptor))
    return units


def _functions(descriptor: Descriptor) -> Iterator[str]:
    yield from descriptor.roots
    for rows in descriptor.entries.values():
        for row in rows:
            yield from entries.names(row, "function")


def _functions_of(parser: Parser, text: bytes, path: Path, calls: set[str]) -> list[Function]:
    """The functions that a file defines."""
    text = without_directives(text)
    root = parser.parse(text).root_node
    defined = [
        node
        for node in QueryCursor(_DECLARATORS).captures(root).get("declarator", [])
        if _BODY.match(text[node.end_byte : node.end_byte + _MARGIN])
    ]
    if not defined:  # it declares or calls
        return []
    defined.sort(key=lambda node: node.start_byte)
    called = QueryCursor(_CALLS).captures(root).get("called", [])
    by_end = [*(node.start_byte for node in defined[1:]), len(text)]
    return [
        _function(node, path, _called_between(called, node.end_byte, end, calls))
        for node, end in zip(defined, by_end, strict=True)
    ]


def without_directives(text: bytes) -> bytes:
    """Directives are blanked: between the halves of an `if` they end all parsing. So are the other sides of a condition
    whose first side opens more braces than it closes, or closes more."""
    parts: list[bytes] = []
    open_braces: list[int] = [0]  # of the side in which we are, for each condition around
    blanked: list[bool] = [False]
    done = 0
    for directive in _DIRECTIVE.finditer(text):
        side = text[done : directive.start()]
        parts += [_blank(side) if any(blanked) else side, _blank(directive[0])]
        open_braces[-1] += 0 if any(blanked) else side.count(b"{") - side.count(b"}")
        done = directive.end()
        kind = _CONDITION.match(directive[0])
        if kind and kind[1] == b"if":
            open_braces.append(0)
            blanked.append(False)
        elif kind and len(blanked) > 1:
            blanked[-1] = kind[1] == b"el" and (blanked[-1] or open_braces[-1] != 0)
            if kind[1] == b"endif":
                blanked.pop()
                inside = open_braces.pop()
                open_braces[-1] += inside
    return b"".join([*parts, text[done:]])


def _blank(text: bytes) -> bytes:
    return re.sub(rb"[^\r\n]", b" ", text)


def _function(node: Node, path: Path, called: list[tuple[str, int]]) -> Function:
    name = _qualified(node)
    line = node.start_point.row + 1
    return Function(f"{path}:{node.start_byte}", name, str(path), line, None, "text", False, called, [])


def _called_between(called: list[Node], begin: int, end: int, wanted: set[str]) -> list[tuple[str, int]]:
    """Calls up to the next function. The text of `a->b()` does not say whose `b`: it stands for every wanted one."""
    found = []
    for node in called:
        if begin <= node.start_byte < end:
            name = plain_name(node)
            same = [full for full in wanted if entries.last_name(full) == entries.last_name(name)]
            found += [(full, node.start_point.row + 1) for full in same or [name]]
    return found


def _qualified(node: Node) -> str:
    """The name of a function_declarator with the scopes around it, as the rewriter writes it: what has no name is
    `(anonymous namespace)` or `(anonymous)`, an inline namespace is left out, a function around it is `outer()`."""
    inner = node.child_by_field_name("declarator") or node
    scopes = [plain_name(inner)]
    above = node.parent
    while above is not None:
        if above.type in _SCOPES and above.child_by_field_name("body"):
            scopes.append(_scope(above))
        outer = declarator_of(above) if above.type == "function_definition" else None
        if outer and outer != node:
            scopes.append(f"{_qualified(outer)}()")
            break
        above = above.parent
    return "::".join(scope for scope in reversed(scopes) if scope)


def _scope(node: Node) -> str:
    """The name of a namespace or class; "" for what names leave out."""
    if node.type == "namespace_definition" and any(child.type == "inline" for child in node.children):
        return ""
    named = node.child_by_field_name("name")
    if named:
        return plain_name(named)
    return "(anonymous namespace)" if node.type == "namespace_definition" else "(anonymous)"


def declarator_of(definition: Node) -> Node | None:
    """The function_declarator of a definition, below those of what it returns."""
    node = definition.child_by_field_name("declarator")
    while node is not None and node.type != "function_declarator":
        node = node.child_by_field_name("declarator") or next(iter(node.named_children), None)
    return node


def plain_name(node: Node) -> str:
    """A name without template arguments and blanks; of a member its last part."""
    if node.type == "field_expression":
        node = node.child_by_field_name("field") or node
    text = _MACROS.sub("", (node.text or b"").decode("utf-8", "replace"))
    while (shorter := _ARGUMENTS.sub("", text)) != text:
        text = shorter
    return "".join(text.split()).removeprefix("::")


def _unit(path: Path, functions: list[Function], descriptor: Descriptor) -> Unit:
    matched = [
        f"{table}/{position}"
        for table, rows in descriptor.entries.items()
        for position, entry in enumerate(rows)
        if _applies(entry, path, functions)
    ]
    names = sorted({name for function in functions for name, _ in function.calls})
    symbols = [Symbol(name, name, False) for name in names]
    return Unit(
        unit=str(path),
        language=path.suffix,
        status="text",
        reason="",
        switch_addr=0,
        switch_count=0,
        functions=functions,
        symbols=symbols,
        taken=[],
        matched=matched,
        ignore_for_height=[],
    )


def _applies(entry: Entry, path: Path, functions: Iterable[Function]) -> bool:
    calls = entries.names(entry, "call")
    return ("file" not in entry or fnmatch(str(path.absolute()), entry["file"])) and any(
        entries.is_name(name, function.name)
        and (not calls or any(entries.is_name(call, called) for call in calls for called, _ in function.calls))
        for name in entries.names(entry, "function")
        for function in functions
    )
