"""Seeds -> their programs: files, and how to compile them. The same seed gives the same program.

cxx     one unit or two and a header they share, from pieces/cxx; C++14, 17 or 20
c       one unit from pieces/c
csmith  Debian's csmith (csmith.py)

Ten programs of `cxx` and `c` are compiled together, for headers and the start of compilers are most of what one costs:
they share flags, headers and what runs before and after main, and the argument says which of them runs.
"""

from __future__ import annotations

import random
import re
from dataclasses import dataclass
from pathlib import Path

import csmith
from source import Grammar, Piece, Writer, pieces

HERE = Path(__file__).parent
LANGUAGES = ("cxx", "c", "csmith")
_TOGETHER = {"cxx": 10, "c": 10, "csmith": 1}
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
_NUMBERS = range(1, 1_000_000, 10_000)
"""Where the names of each program of a unit begin, so that they differ; likewise those of its second unit, and the
header's."""
_SECOND_UNIT, _HEADER_NUMBER = 5000, 1_000_000


@dataclass(frozen=True)
class Program:
    """`files` by name; `units` are compiled with `flags`, by the C++ compiler if `cxx`."""

    files: dict[str, str]
    units: list[str]
    flags: list[str]
    cxx: bool


def together(language: str, seed: int) -> range:
    """The seeds that are compiled with this one."""
    count = _TOGETHER[language]
    first = seed - (seed - 1) % count
    return range(first, first + count)


def program(language: str, seeds: range) -> Program:
    """`seeds` is what `together` gives. Run it with one of them as its argument."""
    rng = random.Random(f"{language} {seeds[0]}")
    return {"cxx": _cxx, "c": _c, "csmith": _csmith}[language](rng, seeds)


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


def _cxx(rng: random.Random, seeds: range) -> Program:
    standard = rng.choice([14, 17, 17, 17, 20])
    grammar = Grammar.of("cxx", standard)
    known = [piece for piece in pieces("cxx") if standard >= int(piece.notes.get("std", 14))]
    header = Writer(rng, grammar, header=True, number=_HEADER_NUMBER)
    for piece in rng.sample([piece for piece in known if "unit" not in piece.notes], rng.randint(1, 4)):
        header.add(piece)
    two_units = rng.random() < _TWO_UNITS
    a, b, declared = "", "", ""
    for seed, number in zip(seeds, _NUMBERS, strict=False):
        own = random.Random(f"cxx-{seed}")
        main = _part(own, grammar, known, header, number, once=True)
        if two_units:
            other = _part(own, grammar, known, header, number + _SECOND_UNIT, once=False)
            main.once.append(f"unit_b{seed}(__LINE__, $A)")
            declared += f"unsigned unit_b{seed}(unsigned at, unsigned a);\n"
            b += other.text() + _unit_b(other, seed)
        a += main.text() + _acts(main, seed, cxx=True)
    a += _main(seeds)
    files = {"cxx_base.h": (HERE / "cxx_base.h").read_text(), "fuzz.h": (HERE / "fuzz.h").read_text()}
    shared = header.text()
    files["shared.h"] = "#pragma once\n" + _includes(shared) + '#include "cxx_base.h"\n' + declared + shared
    files["a.cpp"] = "#include <cstdlib>\n" + _includes(a) + '#include "shared.h"\n' + a
    if two_units:
        files["b.cpp"] = _includes(b) + '#include "shared.h"\n' + b
    flags = [f"-std={rng.choice(['c', 'gnu'])}++{standard}", "-pthread", *_common_flags(rng)]
    return Program(files, sorted(name for name in files if name.endswith(".cpp")), flags, cxx=True)


def _part(rng: random.Random, grammar: Grammar, known: list[Piece], header: Writer, number: int, once: bool) -> Writer:
    writer = Writer(rng, grammar, calls=list(header.calls), number=number)
    for piece in rng.choices(known, k=rng.randint(1, 4)):
        if "once" not in piece.notes or (once and not writer.once):
            writer.add(piece)
    return writer


def _unit_b(writer: Writer, seed: int) -> str:
    body = f"unsigned unit_b{seed}(unsigned at, unsigned a) {{ ENTER(at) unsigned r = a; if (fuzz_spent()) return r;\n"
    return (
        body
        + "".join(writer.fill(f"  r += {call};\n", writer.fresh()) for call in writer.calls[-8:])
        + "  return r;\n}\n"
    )


def _acts(writer: Writer, seed: int, cxx: bool) -> str:
    """Acts, each with calls of its own, so that one that throws or spends its calls leaves the others theirs."""
    acts = []
    calls = [*writer.rng.sample(writer.calls, min(len(writer.calls), 14)), *writer.once]
    begin, end = (
        ("try { ", " } catch (const Base_fault &fault) { r ^= fault.code(); }")
        if cxx
        else ("", "\nout: __attribute__((unused));")
    )
    for number, call in enumerate(calls):
        head = f"static void act{seed}_{number}(void) {{ ENTER(0) unsigned a = $u, r = a; fuzz_refuel(120);"
        acts.append(writer.fill(f"{head}\n  {begin}r += {call};{end}\n  fuzz_check(r);\n}}\n", writer.fresh()))
    run = "\n".join(f"  act{seed}_{number}();" for number in range(len(acts)))
    return "".join(acts) + f"static void program{seed}(void) {{ ENTER(0)\n{run}\n}}\n"


def _main(seeds: range) -> str:
    cases = "\n".join(f"    case {seed}: program{seed}(); break;" for seed in seeds)
    return (
        f"int main(int argc, char **argv) {{ ENTER(0)\n  switch (atoi(argv[argc - 1])) {{\n{cases}\n  }}\n"
        '  printf("%u\\n", fuzz_checksum());\n  return fuzz_checksum() % 100;\n}\n'
    )


def _c(rng: random.Random, seeds: range) -> Program:
    known = pieces("c")
    text = ""
    for seed, number in zip(seeds, _NUMBERS, strict=False):
        own = random.Random(f"c-{seed}")
        writer = Writer(own, Grammar.of("c", 11), number=number)
        for piece in own.choices(known, k=own.randint(4, 9)):
            if "once" not in piece.notes or not writer.once:
                writer.add(piece)
        text += writer.text() + _acts(writer, seed, cxx=False)
    files = {
        "a.c": '#include "c_base.h"\n' + text + _main(seeds),
        "c_base.h": (HERE / "c_base.h").read_text(),
        "fuzz.h": (HERE / "fuzz.h").read_text(),
    }
    return Program(
        files,
        ["a.c"],
        [rng.choice(["-std=gnu99", "-std=gnu11", "-std=gnu17"]), "-pthread", *_common_flags(rng)],
        cxx=False,
    )


def _csmith(rng: random.Random, seeds: range) -> Program:
    files = {"a.c": csmith.text(rng, seeds[0]), "fuzz.h": (HERE / "fuzz.h").read_text()}
    return Program(files, ["a.c"], [*csmith.FLAGS, *_common_flags(rng)], cxx=False)
