"""A seed -> a program: its files and how to compile them. The same seed gives the same program.

cxx     one unit or two and a header they share, from pieces/cxx; C++14, 17 or 20
c       one unit from pieces/c
csmith  Debian's csmith, its functions with ENTER
"""

from __future__ import annotations

import random
import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from source import Grammar, Piece, Writer, pieces

HERE = Path(__file__).parent
LANGUAGES = ("cxx", "c", "csmith")
_CSMITH_HEADERS = "/usr/include/csmith"
_CSMITH_CHOICES = [
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


_HEADERS = {
    "algorithm": "count_if for_each max max_element sort transform",
    "array": "array",
    "cstddef": "size_t",
    "cstdint": "uintptr_t",
    "cstring": "memset",
    "exception": "current_exception exception_ptr rethrow_exception rethrow_if_nested throw_with_nested",
    "functional": "bind function less mem_fn",
    "map": "map",
    "memory": "make_unique unique_ptr",
    "numeric": "accumulate",
    "set": "set",
    "string": "string",
    "tuple": "apply get make_tuple tuple",
    "type_traits": "enable_if_t is_integral",
    "utility": "exchange forward make_pair move pair swap",
    "vector": "vector",
}
"""Which header has what, so that a program includes few: their parsing is most of what a seed costs."""


_TWO_UNITS = 0.3


class UnusableError(Exception):
    """The seed gives no program: the generator took too long."""


@dataclass(frozen=True)
class Program:
    """`files` by name; `units` are compiled with `flags`, by the C++ compiler if `cxx`."""

    files: dict[str, str]
    units: list[str]
    flags: list[str]
    cxx: bool


def program(language: str, seed: int) -> Program:
    rng = random.Random(f"{language}-{seed}")
    return {"cxx": _cxx, "c": _c, "csmith": _csmith}[language](rng, seed)


def _common_flags(rng: random.Random) -> list[str]:
    flags = [rng.choice(["-O0", "-O1", "-O2", "-O2", "-O3", "-Os"]), "-w"]
    flags += rng.choice(
        [[], [], ["-g"], ["-fPIC"], ["-fno-omit-frame-pointer"], ["-fno-inline"], ["-fstack-protector-all"]]
    )
    if rng.random() < 0.2:
        flags.append("-DFUZZ_ENTRIES")
    return flags


def _includes(text: str) -> str:
    used = set(re.findall(r"std::(\w+)", text))
    return "".join(f"#include <{header}>\n" for header, names in _HEADERS.items() if used & set(names.split()))


def _cxx(rng: random.Random, seed: int) -> Program:
    standard = rng.choice([14, 17, 17, 17, 20])
    grammar = Grammar.of("cxx", standard)
    known = [piece for piece in pieces("cxx") if standard >= int(piece.notes.get("std", 14))]
    header = Writer(rng, grammar, header=True, number=1000)
    for piece in rng.sample([piece for piece in known if "unit" not in piece.notes], rng.randint(0, 2)):
        header.add(piece)
    main = _unit(rng, grammar, known, header, 1)
    files = {"cxx_base.h": (HERE / "cxx_base.h").read_text(), "fuzz.h": (HERE / "fuzz.h").read_text()}
    declared = ""
    if rng.random() < _TWO_UNITS:
        other = _unit(rng, grammar, known, header, 5000)
        main.once.append("unit_b(__LINE__, $A)")
        declared = "unsigned unit_b(unsigned at, unsigned a);\n"
        b = other.text() + _unit_b(other)
        files["b.cpp"] = _includes(b) + '#include "shared.h"\n' + b
    shared, a = header.text(), main.text() + _main(main, cxx=True)
    files["shared.h"] = "#pragma once\n" + _includes(shared) + '#include "cxx_base.h"\n' + declared + shared
    files["a.cpp"] = _includes(a) + '#include "shared.h"\n' + a
    flags = [f"-std={rng.choice(['c', 'gnu'])}++{standard}", "-pthread", *_common_flags(rng)]
    return Program(files, sorted(name for name in files if name.endswith(".cpp")), flags, cxx=True)


def _unit(rng: random.Random, grammar: Grammar, known: list[Piece], header: Writer, number: int) -> Writer:
    writer = Writer(rng, grammar, calls=list(header.calls), number=number)
    for piece in rng.choices(known, k=rng.randint(1, 4)):
        if "once" not in piece.notes or (number == 1 and not writer.once):
            writer.add(piece)
    return writer


def _unit_b(writer: Writer) -> str:
    body = "unsigned unit_b(unsigned at, unsigned a) { ENTER(at) unsigned r = a; if (fuzz_spent()) return r;\n"
    return (
        body
        + "".join(writer.fill(f"  r += {call};\n", writer.fresh()) for call in writer.calls[-8:])
        + "  return r;\n}\n"
    )


def _main(writer: Writer, cxx: bool) -> str:
    """Acts, each with calls of its own, so that one that throws or spends its calls leaves the others theirs."""
    acts = []
    calls = [*writer.rng.sample(writer.calls, min(len(writer.calls), 14)), *writer.once]
    begin, end = (
        ("try { ", " } catch (const Base_fault &fault) { r ^= fault.code(); }")
        if cxx
        else ("", "\nout: __attribute__((unused));")
    )
    for number, call in enumerate(calls):
        head = f"static void act{number}(void) {{ ENTER(0) unsigned a = $u, r = a; fuzz_refuel(120);"
        acts.append(writer.fill(f"{head}\n  {begin}r += {call};{end}\n  fuzz_check(r);\n}}\n", writer.fresh()))
    run = "\n".join(f"  act{number}();" for number in range(len(acts)))
    return (
        "".join(acts)
        + f'int main() {{ ENTER(0)\n{run}\n  printf("%u\\n", fuzz_checksum());\n  return fuzz_checksum() % 100;\n}}\n'
    )


def _c(rng: random.Random, seed: int) -> Program:
    writer = Writer(rng, Grammar.of("c", 11), number=1)
    known = pieces("c")
    for piece in rng.choices(known, k=rng.randint(4, 9)):
        if "once" not in piece.notes or not writer.once:
            writer.add(piece)
    files = {
        "a.c": '#include "c_base.h"\n' + writer.text() + _main(writer, cxx=False),
        "c_base.h": (HERE / "c_base.h").read_text(),
        "fuzz.h": (HERE / "fuzz.h").read_text(),
    }
    return Program(
        files,
        ["a.c"],
        [rng.choice(["-std=gnu99", "-std=gnu11", "-std=gnu17"]), "-pthread", *_common_flags(rng)],
        cxx=False,
    )


def _csmith(rng: random.Random, seed: int) -> Program:
    """csmith's own program, every function with ENTER, which takes the line of the function's name."""
    if not shutil.which("csmith"):
        raise FileNotFoundError("csmith is not installed: apt-get install csmith")
    options = [f"--{'no-' if rng.random() < 0.15 else ''}{choice}" for choice in _CSMITH_CHOICES]
    sizes = [
        "--max-funcs",
        str(rng.randint(2, 14)),
        "--max-block-depth",
        str(rng.randint(2, 4)),
        "--max-expr-complexity",
        str(rng.randint(3, 10)),
    ]
    command = ["csmith", "--seed", str(seed), "--concise", "--quiet", *options, *sizes]
    try:
        with tempfile.TemporaryDirectory() as folder:  # it writes a file platform.info
            text = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=20, check=True).stdout
    except (subprocess.TimeoutExpired, subprocess.CalledProcessError) as error:
        raise UnusableError(f"csmith: {error}") from None
    lines = text.split("\n")
    for number, line in enumerate(lines):
        if re.fullmatch(r"\{ ?(/\*.*)?", line) and re.match(r"\S.*\bfunc_\d+\(", lines[number - 1]):
            lines[number] = f"{{ CSMITH_ENTER({number + 2})" + line[1:]
    enter = "#define CSMITH_ENTER(line) FUZZ_ENTER(line, 0)\n"
    files = {"a.c": '#include "fuzz.h"\n' + enter + "\n".join(lines), "fuzz.h": (HERE / "fuzz.h").read_text()}
    return Program(files, ["a.c"], ["-I" + _CSMITH_HEADERS, *_common_flags(rng)], cxx=False)
