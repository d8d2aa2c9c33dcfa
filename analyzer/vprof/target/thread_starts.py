"""Which functions threads and processes begin with: those that are handed to what makes one, and no other callback.

    calls of pthread_create, std::thread, ... in the text -> their argument -> a function, or a parameter of a wrapper
    -> calls of the wrapper -> ...

A function that was put into a structure before is not found; `untold` are the places where that is so.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable

from tree_sitter import Node

from vprof.program.metadata import Function
from vprof.target.entries import last_name
from vprof.target.source_text import plain_name
from vprof.target.written_calls import Texts, Written, called

POSITION = {"pthread_create": 2, "thrd_create": 1, "clone": 0, "std::async": 1}
"""Which argument a thread begins with, counted from 0."""
FORKS = {"fork", "vfork", "_Fork"}
_CLASSES = ("std::thread", "std::jthread", "boost::thread")
_USING = re.compile(rb"\busing\s+(?:namespace\s+std|std::j?thread)\s*;")
_HELD = re.compile(rb"\b(?:std|boost)::j?thread\b(?:\s*\[\d*\])?\s*>*\s*(\w+)\s*[;{=,(\[]")
"""Variables and members that are threads, or containers or pointers of them."""
_ADDS = {"emplace_back", "push_back", "emplace"}
_MAKES = re.compile(r"(?:thread.*(?:create|new|start|spawn|begin))|(?:(?:create|new|start|spawn|begin).*thread)", re.I)
"""Names of functions of libraries that make threads, as apr_thread_create, uv_thread_create, g_thread_new."""
_C_LIBRARY = ("pthread_", "thrd_")
_CXX = re.compile(rb"\b(?:std|boost)::(?:j?thread|async)\b|using\s+namespace\s+std\b")
_MOST_ROUNDS = 4
"""A wrapper of a wrapper of ... is looked through so often."""


class ThreadStarts:
    """`found`: definition ("file:line") -> why a thread or process begins there. `untold`: functions that make a thread
    of what the text there does not name. `wrap`: names of functions that fork and call what they are given."""

    def __init__(self, functions: Iterable[Function], foreign: Iterable[str], texts: Texts) -> None:
        """`foreign`: names of functions that the program calls and does not define."""
        self.found: dict[str, str] = {}
        self.untold: set[str] = set()
        self.wrap: set[str] = set()
        self._named: dict[str, list[Function]] = defaultdict(list)
        self._lambdas: dict[tuple[str, int], Function] = {}
        for function in {(f.file, f.line, f.name): f for f in functions}.values():
            self._named[last_name(function.name)].append(function)
            if "lambda@" in function.name:
                self._lambdas[function.file, function.line] = function
        self._texts = texts
        self._threads = {m[1].decode() for text in self._texts.texts.values() for m in _HELD.finditer(text)}
        foreign = set(foreign)
        own = {name for name in foreign if "::" not in name and not name.startswith(_C_LIBRARY)}
        self._makers = {name for name in own if _MAKES.search(name)}
        self._c = {name for name in (*POSITION, *FORKS) if name in foreign}
        self._search()

    def _search(self) -> None:
        wrappers: dict[tuple[str, int], str] = {}
        c, cxx = self._texts.calls(called({*self._c, *self._makers})), self._texts.calls(_CXX)
        for call in {id(call): call for call in (*c, *cxx)}.values():
            for at in self._positions(call):
                self._follow(call, at, call.callee, wrappers)
            if last_name(call.callee) in call.around.parameters:
                self._forked(call, wrappers)
        done: set[tuple[str, int]] = set()
        for _ in range(_MOST_ROUNDS):
            new = {key: via for key, via in wrappers.items() if key not in done}
            done |= new.keys()
            for call in list(self._texts.calls(called({name for name, _ in new}))) if new else []:
                for (name, at), via in new.items():
                    if last_name(call.callee) == name and call.around.name:
                        self._follow(call, at, f"{name}, which calls {via.removesuffix(',')},", wrappers)

    def _positions(self, call: Written) -> list[int]:
        """Which arguments a thread may begin with; none for other calls."""
        name = call.callee
        if name in POSITION:
            return [POSITION[name], 0] if name == "std::async" else [POSITION[name]]
        if name in self._makers:
            return list(range(len(call.arguments)))
        bare = name in ("thread", "jthread") and _USING.search(self._texts.texts[call.file])
        added = name in _ADDS and last_name(call.object.replace("->", "::").replace(".", "::")) in self._threads
        made = name in ("std::make_unique", "std::make_shared") or name == "reset"
        of_thread = made and bool(call.arguments) and self._makes_thread(call)
        return [0] if name in _CLASSES or bare or added or of_thread or name in self._threads else []

    def _makes_thread(self, call: Written) -> bool:
        parent = call.arguments[0].parent
        whole = parent.parent if parent else None
        return bool(whole and re.match(rb"std::make_\w+\s*<\s*(?:std|boost)::j?thread\s*>", whole.text or b""))

    def _forked(self, call: Written, wrappers: dict[tuple[str, int], str]) -> None:
        """A function that forks and calls its parameter: in the new process, most likely."""
        name = call.around.name
        if FORKS & self._c & self._called_in(call):
            self.wrap.add(name)
            wrappers.setdefault((last_name(name), call.around.parameters.index(last_name(call.callee))), "fork")

    def _called_in(self, call: Written) -> set[str]:
        """What the function around a call calls."""
        same = (other for other in self._texts.calls(called(FORKS)) if other.file == call.file)
        return {other.callee for other in same if other.around == call.around}

    def _follow(self, call: Written, at: int, via: str, wrappers: dict[tuple[str, int], str]) -> None:
        if at >= len(call.arguments):
            return
        node = _meant(call.arguments[at])
        name = plain_name(node)
        if node.type == "lambda_expression":
            function = self._lambdas.get((call.file, node.start_point.row + 1))
        elif name in call.around.parameters:
            wrappers.setdefault((last_name(call.around.name), call.around.parameters.index(name)), via)
            return
        else:
            function = self._function(name, call)
        if function:
            place = f"{function.file}:{function.line}"
            self.found.setdefault(
                place, f"begins a {_what(via)}: given to {via} in {call.around.name or 'no function'}"
            )
        elif via in POSITION and via != "std::async" and call.around.name:
            self.untold.add(call.around.name)

    def _function(self, name: str, call: Written) -> Function | None:
        """The function of this name, in the file of the call if there are several."""
        rows = [f for f in self._named.get(last_name(name), []) if f.name == name or f.name.endswith(f"::{name}")]
        here = [f for f in rows if f.file == call.file]
        return (here or rows or [None])[0]  # type: ignore[list-item]


def _what(via: str) -> str:
    return "process" if "fork" in via else "thread"


def _meant(node: Node) -> Node:
    """The argument without casts, `&`, parentheses and std::bind."""
    while True:
        inner: Node | None = None
        if node.type == "cast_expression":
            inner = node.child_by_field_name("value")
        elif node.type == "pointer_expression":
            inner = node.child_by_field_name("argument")
        elif node.type in ("parenthesized_expression", "parameter_declaration"):
            inner = next(iter(node.named_children), None)
        elif node.type == "call_expression":
            called, given = node.child_by_field_name("function"), node.child_by_field_name("arguments")
            if called and given and plain_name(called) in ("std::bind", "std::move", "boost::bind"):
                inner = next(iter(given.named_children), None)
        if inner is None:
            return node
        node = inner
