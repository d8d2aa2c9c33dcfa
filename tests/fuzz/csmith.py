"""csmith's programs, made fair: every function has ENTER, and every program ends.

One in twelve would run for ever, or make more calls than a log holds: loops end, and jumps are not made, when so many
calls and rounds were made (`fuzz_spent`). All is written into lines that exist: they keep their numbers.
"""

from __future__ import annotations

import random
import re
import shutil
import signal
import subprocess
import tempfile

_HEADERS = "/usr/include/csmith"
FLAGS = ["-I" + _HEADERS]
_FUEL = 20_000
_MAKE_SECONDS = 20
_CHOICES = [
    "argc",
    "arrays",
    "bitfields",
    "comma-operators",
    "compound-assignment",
    "consts",
    "divs",
    "embedded-assigns",
    "pre-incr-operator",
    "post-decr-operator",
    "unary-plus-operator",
    "jumps",
    "longlong",
    "int8",
    "uint8",
    "inline-function",
    "muls",
    "packed-struct",
    "pointers",
    "structs",
    "unions",
    "volatiles",
    "volatile-pointers",
    "const-pointers",
]
_PRELUDE = """\
#include "fuzz.h"
#define CSMITH_ENTER(line) FUZZ_ENTER(line, 0)
#define CSMITH_ROUND if (fuzz_round()) break;
#define CSMITH_JUMP if (fuzz_round()) {} else
"""


class UnusableError(Exception):
    """The seed gives no program: the generator takes too long, or crashes."""


def text(rng: random.Random, seed: int) -> str:
    """The program of a seed, its options chosen by `rng`. Raises UnusableError."""
    return _PRELUDE + _fair(_generated(rng, seed), len(_PRELUDE.splitlines()))


def _generated(rng: random.Random, seed: int) -> str:
    if not shutil.which("csmith"):
        raise FileNotFoundError("csmith is not installed: apt-get install csmith")
    options = [f"--{'no-' if rng.random() < 0.15 else ''}{choice}" for choice in _CHOICES]
    sizes = [
        "--max-funcs",
        str(rng.randint(2, 14)),
        "--max-block-depth",
        str(rng.randint(2, 4)),
        "--max-expr-complexity",
        str(rng.randint(3, 10)),
    ]
    limited = ["prlimit", f"--cpu={_MAKE_SECONDS}"]
    command = [*limited, "csmith", "--seed", str(seed), "--concise", "--quiet", *options, *sizes]
    try:
        with tempfile.TemporaryDirectory() as folder:  # it writes a file platform.info
            done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    except subprocess.CalledProcessError as error:
        if error.returncode == -signal.SIGXCPU:
            raise UnusableError(f"csmith makes no program in {_MAKE_SECONDS} s of CPU") from None
        raise UnusableError(f"csmith ends with exit code {error.returncode}") from None
    return done.stdout


def _fair(program: str, lines_before: int) -> str:
    """A function's braces are on the line behind its head, as a loop's are; ENTER has the line of the head."""
    lines = program.split("\n")
    for number, line in enumerate(lines):
        head = lines[number - 1]
        if re.match(r"\{ ?(/\*.*)?$", line) and re.match(r"\S.*\bfunc_\d+\(", head):
            lines[number] = f"{{ CSMITH_ENTER({lines_before + number})" + line[1:]
        elif re.match(r" *\{ ?(/\*.*)?$", line) and re.match(r" *for \((?![ijklm] = )", head):
            # Loops of `i`, `j` and so on fill arrays: they have to end by themselves, and do.
            lines[number] = line.replace("{", "{ CSMITH_ROUND", 1)
        elif re.match(r" *goto \w+;", line):
            lines[number] = line.replace("goto", "CSMITH_JUMP goto", 1)
        elif line == "    func_1();":
            lines[number] = f"    fuzz_refuel({_FUEL}); func_1();"
    return "\n".join(lines)
