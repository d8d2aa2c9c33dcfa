"""What reaches a terminal: text that cannot steer it, whatever names a program, a trace or a file has.

    text -> printable()  =  the same text, control characters and what turns the direction of writing as escapes

`guard` puts it before standard output and standard error, so all that is printed passes it; `console` is the one way
around, for colours: there each text passes it before it is coloured.
"""

from __future__ import annotations

import codecs
import io
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO, cast

from vprof.errors import UsageError

if TYPE_CHECKING:
    from rich.console import Console

_INVISIBLE = (
    "\\x00-\\x08\\x0b-\\x1f\\x7f-\\x9f"  # C0 but tab and line feed, DEL, C1
    "\\xad\\u061c\\u180e\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f\\ufeff\\ufff9-\\ufffb"  # directions, no width
    "\\ud800-\\udfff\\U000e0000-\\U000e0fff"  # halves of characters, tags
)
_STEERING = re.compile(f"[{_INVISIBLE}]")


def printable(text: str) -> str:
    """Control and invisible characters but tab and line feed as escapes, such as \\x1b or \\u202e."""
    return _STEERING.sub(_escape, text)


def write_report(report: str, output: Path | None) -> None:
    """To standard output, or printable to a file. Raises UsageError if that cannot be written."""
    if output is None:
        sys.stdout.write(report)
    else:
        write_file(printable(report), output)


def write_file(text: str, output: Path) -> None:
    """Raises UsageError if it cannot be written."""
    try:
        output.write_text(text, encoding="utf-8")
    except OSError as e:
        raise UsageError(f"cannot write {output}: {e.strerror}") from e


def one_line(text: str) -> str:
    """The same without tabs and line feeds."""
    return printable(text).replace("\t", "\\t").replace("\n", "\\n")


def _escape(found: re.Match[str]) -> str:
    return found[0].encode("unicode_escape").decode("ascii")


_sharing: list[io.TextIOWrapper] = []
"""Streams that share a buffer, which each would close if it went away: those replaced, and those in their place."""


class Printed(io.TextIOWrapper):
    """A text file or stream that takes nothing else."""

    def write(self, text: str) -> int:
        return super().write(printable(text))


class _Coloured:
    """A guarded stream as the console writes to it, whose escape sequences are its own."""

    def __init__(self, stream: Printed) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        return io.TextIOWrapper.write(self._stream, text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def guard() -> None:
    """Nothing that this process prints steers a terminal from now on. May be called again."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if isinstance(stream, io.TextIOWrapper) and not isinstance(stream, Printed):
            setattr(sys, name, _guarded(stream))


def _guarded(stream: io.TextIOWrapper) -> Printed:
    """What the encoding lacks is written as an escape, too; where it has letters only, in UTF-8, as click does."""
    stream.flush()
    encoding = "utf-8" if codecs.lookup(stream.encoding).name == "ascii" else stream.encoding
    guarded = Printed(
        stream.buffer, encoding, "backslashreplace", line_buffering=stream.line_buffering, write_through=True
    )
    _sharing.extend((stream, guarded))
    return guarded


@contextmanager
def stages() -> Iterator[Callable[[str], Callable[[float], None]]]:
    """Shows on a terminal how far the work is, one stage after the other: stage("reading")(0.5). Elsewhere nothing is
    shown, nor imported for it."""
    if not sys.stderr.isatty():
        yield lambda stage: lambda done: None
        return
    from rich.progress import Progress

    terminal = console(stderr=True)
    with Progress(console=terminal, transient=True, disable=not terminal.is_terminal) as bar:

        def begin(stage: str) -> Callable[[float], None]:
            for task in bar.task_ids:
                bar.remove_task(task)
            now = bar.add_task(stage, total=1.0)
            return lambda done: bar.update(now, completed=done)

        yield begin


def console(file: TextIO | None = None, stderr: bool = False, **options: Any) -> Console:
    """Rich's console on standard output, standard error or a file: coloured on a terminal, its texts printable."""
    from rich.console import Console, ConsoleOptions, RenderableType
    from rich.segment import Segment
    from rich.text import Text

    class Screen(Console):
        def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Any:
            if isinstance(renderable, Text) and _STEERING.search(renderable.plain):
                renderable = renderable.copy()
                renderable.plain = printable(renderable.plain)
            for segment in super().render(renderable, options):
                yield segment if segment.control else Segment(printable(segment.text), segment.style)

    stream = file or (sys.stderr if stderr else sys.stdout)
    if isinstance(stream, Printed):
        stream = cast(TextIO, _Coloured(stream))
    return Screen(file=stream, stderr=stderr, emoji=False, **options)
