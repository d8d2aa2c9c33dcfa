"""The functions of a file as vprof-units reads them: statements and expressions with their places in the text."""

from __future__ import annotations

import json
import shlex
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

from vprof.errors import UsageError
from vprof.installed import native

Expression = dict[str, Any]
"""As instrumenter/units/Expressions.h describes it."""

_C = {".c", ".h"}


@dataclass(frozen=True)
class Variable:
    """`local`: dies with its function, and no other function can name it. `text`: the literal it always holds."""

    name: str
    local: bool
    parameter: bool
    reference: bool
    volatile: bool
    destructor: bool
    text: str | None


@dataclass(frozen=True, eq=False)
class Statement:
    """As instrumenter/units/Statements.h describes it; bytes [begin, end) of the text, unless not `placed`."""

    kind: str
    begin: int
    end: int
    line: int
    placed: bool
    mentions: frozenset[int]
    raw: dict[str, Any]

    @staticmethod
    def of(raw: dict[str, Any]) -> Statement:
        where = (raw["begin"], raw["end"], raw["line"], raw["place"])
        return Statement(raw["kind"], *where, frozenset(raw["mentions"]), raw)

    @cached_property
    def inner(self) -> tuple[Statement, ...]:
        """The statements in it, in the order of the text."""
        several = [Statement.of(child) for child in self.raw.get("children", ())]
        keys = ("first", "then", "else", "body", "inner")
        return tuple(several or [Statement.of(self.raw[key]) for key in keys if key in self.raw])

    def part(self, key: str) -> Statement | None:
        """The one called `then`, `else`, `body`, `first` or `inner`."""
        return next((one for one in self.inner if one.raw is self.raw.get(key)), None)

    @property
    def expressions(self) -> Iterator[Expression]:
        """Its own, not those of the statements in it."""
        if "condition" in self.raw:
            yield self.raw["condition"]["value"]
        for key in ("value", "step"):
            if key in self.raw:
                yield self.raw[key]
        for one in self.raw.get("declares", ()):
            yield from one.get("sizes", ())
            if "value" in one:
                yield one["value"]

    def all(self) -> Iterator[Statement]:
        """It and all in it."""
        yield self
        for one in self.inner:
            yield from one.all()


@dataclass(frozen=True)
class Function:
    name: str
    line: int
    parameters: tuple[int, ...]
    body: Statement


@dataclass(frozen=True)
class Program:
    """`text`: the file's bytes. `directives`: where lines begin that the preprocessor reads. `lines`: the numbers that
    the lines of the text go by, None: 1, 2, 3, ..."""

    text: bytes
    functions: tuple[Function, ...]
    variables: tuple[Variable, ...]
    directives: tuple[int, ...]
    lines: Sequence[int] | None = None

    def line(self, at: int) -> int:
        """The number that a line goes by, counted from 0."""
        return self.lines[at] if self.lines else at + 1

    def function(self, name: str) -> Function:
        """Raises UsageError if there is none of this name, or several."""
        found = [one for one in self.functions if one.name == name]
        if len(found) == 1:
            return found[0]
        if found:
            raise UsageError(f"the file defines {name} {len(found)} times: give them names of their own")
        known = ", ".join(sorted(one.name for one in self.functions)) or "none"
        raise UsageError(f"the file defines no function {name}: it has {known}")


def read(
    file: Path, options: Sequence[str] = (), text: bytes | None = None, lines: Sequence[int] | None = None
) -> Program:
    """The program in `file`, or in `text` if it stood there. `options`: the compiler's, instead of those that
    compile_commands.json has for the file. `lines`: the numbers that the lines of `text` go by.

    Raises UsageError if there is no such file, or it does not compile.
    """
    try:
        original = file.read_bytes()
    except OSError as e:
        raise UsageError(f"cannot read {file}: {e.strerror}") from e
    command, folder = command_of(file.resolve(), options)
    if text is None:
        return _parse(original, command, folder, file, lines)
    with NamedTemporaryFile(suffix=file.suffix) as copy:
        copy.write(text)
        copy.flush()
        instead = ["-Xclang", "-remap-file", "-Xclang", f"{file.resolve()};{copy.name}"]
        return _parse(text, [*command, *instead], folder, file, lines)


def command_of(file: Path, options: Sequence[str]) -> tuple[list[str], Path]:
    """The compiler's command for the file, and where to run it."""
    compiler = "clang" if file.suffix in _C else "clang++"
    if options:
        return [compiler, *options, str(file)], Path.cwd()
    database = next((path for one in file.parents if (path := one / "compile_commands.json").is_file()), None)
    if database:
        try:
            entries = json.loads(database.read_text(encoding="utf-8"))
            for entry in entries:
                folder = Path(entry["directory"])
                if (folder / entry["file"]).resolve() == file:
                    words = entry["arguments"] if "arguments" in entry else shlex.split(entry["command"])
                    return list(words), folder
        except (OSError, ValueError, KeyError, TypeError) as e:
            raise UsageError(f"{database} is no compilation database: {e}") from e
    return [compiler, str(file)], Path.cwd()


def _parse(text: bytes, command: list[str], folder: Path, file: Path, lines: Sequence[int] | None) -> Program:
    done = subprocess.run(
        [str(native("lib/vprof/vprof-units")), *command], cwd=folder, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise UsageError(f"{file} does not compile: {done.stdout.strip() or done.stderr.strip()}")

    def renumbered(node: dict[str, Any]) -> dict[str, Any]:
        if lines and node.get("line"):
            node["line"] = lines[node["line"] - 1]
        return node

    found = json.loads(done.stdout, object_hook=renumbered)
    functions = tuple(
        Function(one["name"], one["line"], tuple(one["parameters"]), Statement.of(one["body"]))
        for one in found["functions"]
    )
    variables = tuple(Variable(**{"text": None, **one}) for one in found["variables"])
    return Program(text, functions, variables, tuple(found["directives"]), lines)
