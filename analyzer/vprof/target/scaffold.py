"""The text of a first descriptor: what is known of programs, what is guessed as comments, what only the user can say.

programs -> units -> Suggestions -> target.toml
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from vprof.errors import UsageError, VprofError
from vprof.installed import target_names
from vprof.program.elf import read_program
from vprof.target.source_root import in_build, source_root
from vprof.target.suggestions import Suggestion, Suggestions

MOST = 20
"""Suggestions of a kind; the likeliest come first, and how many more there were is said."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")
_EXPRESSION = {"sync": "object", "queue": "task"}

_HEAD = """\
# A descriptor to begin with, from `vprof targets new {command}`.
# Comments with a place are guesses from the call graph: take the # off what is right, delete the rest. What is
# written in CAPITALS only you can fill in. All keys: annotations/README.md; the way from here: docs/your-server.md.
#   vprof instrument --target ./{name} && vprof targets check ./{name} && vprof drill --target ./{name}
name = {quoted}
summary = "WHAT IT IS"
include = ["pthread", "futex", "io"]  # whose waits vprof sees by itself

# Where the drill-down starts: the functions that one request executes; it finds those that they call."""

_BUILD = """
# How it is built: in a copy, by vprof's compilers. Add what your build needs.{doubt}
[source]
kind = "tree"
path = {source}

[build]
steps = [{steps}]
programs = [{programs}]

# How it runs: one command that makes its own load and ends.
[run]
command = {command}

# Or, instead of [run], a server and its load.
# [server]
# start = "{{build}}/PROGRAM OPTIONS"  # stays in the foreground
# ready = "COMMAND"  # succeeds as soon as the server can be asked
# stop = "COMMAND {{pid}}"  # [default: SIGTERM]
# [load]
# command = "CLIENT {{clients}} {{seconds}}"

# A request: where it begins, where it ends, and an ID, which is the same in all threads (C, over the function's
# parameters as they are at its entry, also for at = "exit"; 0: there is none). Where another thread goes on with it, or
# a thread with none (id = "0"): on_behalf."""

_INTERVAL = """\
# [[interval]]
# event = "begin"
# function = {function}
# id = "ID"
#
# [[interval]]
# event = "end"
# function = {function}
# at = "exit"
# id = "ID\""""


def folder_for(name: str) -> Path:
    """Where the descriptor of a new target goes: a folder here. Raises UsageError if it cannot, or is there."""
    if not _NAME.fullmatch(name):
        raise UsageError(f"'{name}' cannot be a target's name: give letters, digits, '_', '-' and '.'")
    if name in target_names():
        raise UsageError(f"vprof has a target '{name}': choose another name")
    if (Path(name) / "target.toml").exists():
        raise UsageError(f"{name}/target.toml exists: it stays as it is; choose another name")
    return Path(name)


def scaffold(name: str, programs: Sequence[Path]) -> str:
    """The text. Raises VprofError when a program was not built with vprof-cc."""
    units = [unit for program in programs for unit in read_program(program)]
    if not any(unit.functions for unit in units):
        raise VprofError(f"{programs[0]}: none of its units could be rewritten; `vprof sites {programs[0]}` says why")
    root = source_root(units)
    source = root.folder
    built = [in_build(program, source) for program in programs]
    found = Suggestions(units, programs)

    def shown(rows: list[Suggestion]) -> list[Suggestion]:
        return [replace(row, place=_below(source, row.place)) for row in rows]

    roots, queues, locks = (shown(rows) for rows in (found.roots(), found.queues(), found.locks()))
    candidates, why_not = found.requests()
    lines = [
        _HEAD.format(command=shlex.join([name, *map(str, programs)]), name=name, quoted=_quoted(name)),
        "roots = [",
        *_cut([[f"  # {_quoted(row.function)},  # {row.place}: {row.reason}"] for row in roots]),
        "]",
        *_listed("Accept and dispatch loops; a root may be what they call.", shown(found.loops())),
        *_listed("Threads and processes begin in these; a root may be what they call.", shown(found.threads())),
        *(f"# {line}" for line in found.untold_threads()),
        _BUILD.format(
            source=_quoted(str(source)),
            steps=", ".join(map(_quoted, root.steps)),
            doubt=f"\n# To check: {root.doubt}." if root.doubt else "",
            programs=", ".join(map(_quoted, built)),
            command=_quoted(f"{{build}}/{built[0]}"),
        ),
        *_intervals(shown(candidates), why_not, roots[0].function if roots else "FUNCTION"),
        "",
        "# Queues: where a TASK, by its address or a number, is put for another thread, and where it is taken.",
        *_entries("queue", [row for row in queues if row.likely]),
        *_listed("They tell or wait for another thread; a queue may be here, too.", _others(queues)),
        "",
        "# Primitives of its own: who waits for an OBJECT, and who releases it.",
        *_entries("sync", [row for row in locks if row.likely]),
        *_listed("They wrap locks that vprof sees; without an entry, too.", _others(locks)),
        *_listed(
            "No source: their time is their callers'; a wait in them is seen if made by what annotations/ lists.",
            shown(found.unseen()),
        ),
    ]
    return "\n".join(lines) + "\n"


def _intervals(candidates: Sequence[Suggestion], why_not: str, root: str) -> list[str]:
    """Of a program that dispatches events the candidates, or why there are none; of others the form of an entry."""
    if not candidates:
        lines = [f"# Events are waited for here, and where requests begin and end cannot be told: {why_not}."]
        return [*(lines if why_not else []), _INTERVAL.format(function=_quoted(root))]
    head = [
        "# Events are waited for here, so no function is a request: choose one begin, the likeliest stand first, and",
        "# the end of the same object. A request that is broken off (a client that leaves) must end, too:",
        '# event = "abort".',
    ]
    blocks = [
        [
            f"# [[interval]]  # {row.place}: {row.reason}",
            f'# event = "{row.role}"',
            f"# function = {_quoted(row.function)}",
            f"# id = {_quoted(row.id)}",
            "#",
        ]
        for row in candidates
    ]
    return head + [line for block in blocks for line in block][:-1]


def _entries(table: str, rows: Sequence[Suggestion]) -> list[str]:
    """Entries to take the # off."""
    key = _EXPRESSION[table]
    return _cut(
        [
            [
                f"# [[{table}]]  # {row.place}: {row.reason}",
                f'# role = "{row.role}"',
                f"# function = {_quoted(row.function)}",
                f'# {key} = "{key.upper()}"',
                "#",
            ]
            for row in rows
        ]
    )


def _listed(title: str, rows: Sequence[Suggestion]) -> list[str]:
    """What is only to be read."""
    lines = _cut([[f"#   {row.function} ({row.place}): {row.reason}"] for row in rows])
    return ["", f"# {title}", *lines] if rows else []


def _cut(blocks: Sequence[list[str]]) -> list[str]:
    left_out = len(blocks) - MOST
    more = [f"# ... and {left_out} more, less likely"] if left_out > 0 else []
    return [line for block in blocks[:MOST] for line in block] + more if blocks else ["# (none found)"]


def _others(rows: Sequence[Suggestion]) -> list[Suggestion]:
    return [row for row in rows if not row.likely]


def _below(source: Path, place: str) -> str:
    """A place as seen from the source; other files stay as they are."""
    file, _, line = place.rpartition(":")
    path = Path(file).resolve()
    return f"{path.relative_to(source)}:{line}" if path.is_relative_to(source) else place


def _quoted(text: str) -> str:
    """As a TOML string."""
    return json.dumps(text, ensure_ascii=False)
