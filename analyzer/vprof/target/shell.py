"""What only a shell understands, in commands that none reads: build steps, commands of a server, commands after `--`.

A finding is a mistake for certain: characters in quotes or after a backslash are never one, nor are those that programs
are given as they stand (`-DX=a;b`, `http://host/?a=1&b=2`, `--filter=Queue.*`, `pkg >= 3`, make's `$(CURDIR)`, the
linker's `$ORIGIN`, the `;` and the patterns of find).
"""

from __future__ import annotations

import re
import subprocess
from typing import Any

from vprof.errors import UsageError

_QUOTED = re.compile(r"'[^']*'|\"(?:[^\"\\]|\\.)*\"|\\.", re.DOTALL)
_OPERATOR = re.compile(r"\|\|?|&&?|;|\d?(?:>>?|<<?)(?!=)")
"""As a word begins: `|`, `&&`, `2>&1`, `>log`; versions are compared by `>=`."""
_ENDS = re.compile(r"[^\s|&;](;|&&?|\|\|?)$")
"""As a word ends: `make;`."""
_EXPANDED = re.compile(r"\$(?!\([A-Z0-9_]+\)|ORIGIN\b|LIB\b|PLATFORM\b)(?:\w*[A-Za-z_]\w*|\(\S*|\{\S*)|`\S*")
_AFTER_DOLLARS = re.compile(r"\$\$")
_GLOB = re.compile(r"[*?]|\[[^\]]+\]")
_OF_FILES = {
    *("ar", "cat", "cc", "chmod", "chown", "clang", "clang++", "cp", "g++", "gcc", "install", "ln", "mv", "rm", "tar"),
    *("touch", "{cc}", "{cxx}"),
}
"""Programs whose words, but for options, are files: a pattern among them was meant for a shell."""
_BUILTINS = {
    *(
        "cd",
        "export",
        "source",
        ".",
        "set",
        "unset",
        "alias",
        "ulimit",
        "umask",
        "eval",
        "exec",
        "trap",
        "pushd",
        "popd",
    ),
    *("if", "for", "while", "case", "until", "("),
}
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")


def check(command: str, where: str) -> None:
    """Raises UsageError, whose line begins with `where` and names the command, if it needs a shell."""
    found = needs_shell(command)
    if found:
        what, mend = found
        raise UsageError(f"{where}, '{command}': {what} needs a shell, and none reads this: write {mend}")


def needs_shell(command: str) -> tuple[str, str] | None:
    """What in a command is for a shell alone, and what to write instead; None: nothing is."""
    words = _QUOTED.sub("Q", command).split()
    in_shell = "sh -c '...'"
    if not words:
        return None
    first = words[0]
    if first in _BUILTINS:
        return f"'{first}'", f"{in_shell} around all that it is for" + (" (or make -C DIR)" if first == "cd" else "")
    if _ASSIGNMENT.match(first):
        return f"'{first}' before a command", f"env {first} ..., or {in_shell}"
    for word in words:
        if operator := _operator(word, first):
            return f"'{operator}'", f"{in_shell}, or separate steps" if operator in ("&&", ";") else in_shell
        if expanded := _EXPANDED.search(_AFTER_DOLLARS.sub("", word)):
            return f"'{expanded[0]}'", in_shell
        if word == "~" or word.startswith("~/"):
            return f"'{word}'", f"{in_shell}, or the whole path"
    patterns = [word for word in words[1:] if _GLOB.search(word) and not word.startswith("-") and "=" not in word]
    if patterns and first.rpartition("/")[2] in _OF_FILES:
        return f"the pattern '{patterns[0]}'", in_shell
    return None


def not_found(program: str, why: str = "not found") -> UsageError:
    """The error for a program that is not there. If its name has blanks, several words were given as one."""
    if len(program.split()) < 2:
        return UsageError(f"{program}: {why}")
    mend = f"write sh -c '{program}'" if needs_shell(program) else f"give the words apart, or sh -c '{program}'"
    return UsageError(f"'{program}' is no program: {mend}")


def popen(command: list[str], **options: Any) -> subprocess.Popen[bytes]:
    """As subprocess.Popen. Raises UsageError if the program is not there, or may not be executed."""
    try:
        return subprocess.Popen(command, **options)
    except FileNotFoundError:
        raise not_found(command[0]) from None
    except PermissionError:
        raise UsageError(f"{command[0]}: not executable") from None


def _operator(word: str, program: str) -> str:
    """The operator that a word is, begins or ends with; "" for none."""
    if word == ";" and program.rpartition("/")[2] == "find":
        return ""
    if begins := _OPERATOR.match(word):
        return begins[0]
    ends = _ENDS.search(word)
    return ends[1] if ends else ""
