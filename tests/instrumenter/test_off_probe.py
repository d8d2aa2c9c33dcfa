"""The off path of a probe in the assembly: a byte test at entry, one at exit, a stack slot, nothing else."""

from __future__ import annotations

import re
from collections import Counter

import pytest
from workshop import EVERY_COMPILER, IN_BODIES, Workshop

FUNCTIONS = """\
int g(int, int), h(int, int);
int twice(int a, int b) { return g(b, a) * 2; }
int kept(int a, int b) { return g(a, b) + b; }
int early(int a) { if (a) return g(a, a); return a; }
void nothing(void) { g(1, 2); h(3, 4); }
void numbered(void) { g(1, 2); h(3, 4); g(5, 6); }
"""
TESTS = Counter({"cmpb $1": 1, "je": 1, "cmpb $0": 1, "jne": 1})
STACK = ("pushq", "popq", "subq", "addq")


def hot_path(assembly: str, function: str) -> list[str]:
    """Instructions from the function's label to its first return, jumps not taken."""
    body = assembly[assembly.index(f"\n{function}:") :]
    lines = (line.split("#")[0].strip() for line in body.splitlines()[2:])
    instructions = [line for line in lines if line and not line.startswith(".") and not line.endswith(":")]
    return instructions[: next(i for i, text in enumerate(instructions) if text in ("ret", "retq")) + 1]


def shapes(instructions: list[str]) -> Counter[str]:
    """Operations without stack adjustment and without moves between registers, which the arguments of the cold call may
    cause; byte tests with what they compare to."""
    kept = [i for i in instructions if not i.startswith(STACK) and not re.match(r"mov\w\s+%\w+, %\w+$", i)]
    return Counter(re.sub(r"^(cmpb)\s+(\$\d).*", r"\1 \2", i) if i.startswith("cmpb") else i.split()[0] for i in kept)


@IN_BODIES
@EVERY_COMPILER
@pytest.mark.parametrize("function", ["twice", "kept", "early", "nothing", "numbered"])
def test_off_probe_adds_two_byte_tests(shop: Workshop, function: str, family: str) -> None:
    """And one store for each call that has a number."""
    shop.write(f_c=FUNCTIONS)
    options = ["-O2", "-fno-optimize-sibling-calls", "-S", "f.c", "-o"]
    shop.plain(*options, "plain.s")
    shop.cc(*options, "f.s")
    plain = hot_path((shop.path / "plain.s").read_text(), function)
    instrumented = hot_path((shop.path / "f.s").read_text(), function)
    store = {"movw": 2} if family == "clang" else {"movw": 2, "movl": 2}  # gcc stores no 16-bit constants
    numbers = Counter(store if function == "numbered" else {})
    assert shapes(instrumented) - shapes(plain) == TESTS + numbers
    stack = [sum(i.startswith(STACK) for i in path) for path in (plain, instrumented)]
    assert stack[1] - stack[0] <= 2, "the stack slot of the frame's address"
