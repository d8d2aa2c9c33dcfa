"""Probes before bodies: where the compiler would expand each call of a function, the probe stays in the body.

The compiler is asked (`instrumenter/lib/Expansions.h`), and asking leaves nothing behind.
"""

from __future__ import annotations

import re

import pytest
from workshop import PREFIX, Workshop

SOURCE = """\
static int large(const int *v, int n) {
  int s = 0;
  for (int i = 0; i < n; i++) s += v[i] * v[i] + (v[i] ^ i) * (n - i) - (v[i] | n) + (s >> 3) * v[i] + (v[n - i] & s);
  return s;
}
static int small(int n) { return n * n % 7 + n / 3 + (n ^ 5) - n % 11 + (n << 2) + n * 9; }
int outer(const int *v, int n) { return large(v, n) + small(n); }
int many(const int *v, int n) { return large(v, n - 1) + outer(v, n) + small(n + 1); }
"""
METHODS = """\
class Reader {
 public:
  int read(int n);
  int seen(int n);

 private:
  int hidden(int n);
  __attribute__((noinline)) int kept(int n);
  virtual int chosen(int n);
  int state = 0;
};
int Reader::hidden(int n) { return n * n % 7 + n / 3 + (n ^ 5) - n % 11 + (n << 2) + n * state++; }
int Reader::kept(int n) { return n * n % 7 + n / 3 + (n ^ 5) - n % 11 + (n << 2) + n * state++; }
int Reader::chosen(int n) { return n * n % 7 + n / 3 + (n ^ 5) - n % 11 + (n << 2) + n * state++; }
int Reader::seen(int n) { return n * n % 7 + n / 3 + (n ^ 5) - n % 11 + (n << 2) + n * state++; }
int Reader::read(int n) { return hidden(n) + kept(n) + seen(n) + Reader::chosen(n); }
"""
EXPANDED = """\
--- !Passed
Pass:            inline
Name:            Inlined
Function:        outer
Args:
  - String:          ''''
  - Callee:          large
  - String:          ''' inlined into '''
  - Caller:          outer
...
"""
KEPT = EXPANDED.replace("Passed", "Missed").replace("Inlined", "TooCostly")


def before_bodies(text: str) -> set[str]:
    assert len(re.findall(r"__VPROF_P(?:ROBE|LACE)\w*\(", text)) == 4
    return set(re.findall(r"(\w+)\([^()]*\) __VPROF_WRAPPED", text))


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ("-O2", {"outer", "many"}),  # both others are expanded wherever they are called
        ("-O0 -O1 -fno-inline", {"outer", "many", "large", "small"}),
        ("-O2 -O0", {"outer", "many", "large"}),  # not asked: by the work that is expected
        ("-O2 -save-temps=obj", {"outer", "many", "large"}),  # neither
    ],
)
def test_the_compiler_is_asked_what_it_expands(options: str, expected: set[str], shop: Workshop) -> None:
    shop.write(a_c=SOURCE)
    shop.cc(*options.split(), "--emit-tree", "tree", "-c", "a.c", VPROF_PROBES="entry")
    assert before_bodies((shop.path / f"tree{shop.path}/a.c").read_text()) == expected


def test_a_private_method_is_of_its_unit(shop: Workshop) -> None:
    """Other units may call the others: there a probe in the body would cost more than the no-op."""
    shop.write(a_cpp=METHODS)
    shop.cxx("-O2", "--emit-tree", "tree", "-c", "a.cpp", VPROF_PROBES="entry")
    text = (shop.path / f"tree{shop.path}/a.cpp").read_text()
    assert set(re.findall(r"Reader::(\w+)\([^()]*\) __VPROF_WRAPPED", text)) == {"kept", "chosen", "seen", "read"}


@pytest.mark.parametrize(
    ("record", "expected"),
    [
        (EXPANDED, {"small"}),
        (KEPT, {"large", "small"}),
        (EXPANDED + KEPT, {"large", "small"}),  # some of its calls: by its expected work
        (EXPANDED.replace("Callee:          large", "Callee:          outer"), {"large", "small"}),  # it calls itself
        ("", {"large"}),  # this and what is damaged says nothing: by their expected work
        ("--- !Passed\nPass: [", {"large"}),
        (EXPANDED + EXPANDED[:70], {"large"}),
        (None, {"large"}),
    ],
)
def test_what_a_record_says(record: str | None, expected: set[str], shop: Workshop) -> None:
    """Of static functions. Whatever it is, the text is written; what is damaged says nothing."""
    shop.write(a_c=SOURCE)
    (shop.path / "out").mkdir()
    if record is not None:
        (shop.path / "record").write_text(record)
    library = PREFIX / "lib/vprof"
    prelude = str(library / "__vprof_prelude.h")
    files = ["--out", "out", "--prelude", prelude, "--object", "a.o", "--expansions", "record"]
    options = ["--descriptor", shop.environment["VPROF_DESCRIPTOR"], "--", "clang-19", "-O2", "-c", "a.c"]
    shop.run(library / "vprof-rewrite", "--before-body", *files, *options)
    names = (shop.path / "out/manifest").read_text().splitlines()
    text = (shop.path / names[names.index("a.c") + 1]).read_text()
    assert before_bodies(text) == expected | {"outer", "many"}


@pytest.mark.parametrize(
    "options", ["-MD", "-MMD -MF deps", "-MD -MT it", "-g -gsplit-dwarf", "-S", "-fsave-optimization-record"]
)
def test_asking_leaves_nothing_behind(options: str, shop: Workshop) -> None:
    """What other results say is what they say of the compile that makes the object."""
    shop.write(a_c='#include "a.h"\n' + SOURCE, a_h="")
    words = ["-O2", *(["-c"] if options != "-S" else []), *options.split(), "a.c"]

    def results() -> dict[str, str]:
        made = {path.name: path for path in shop.path.iterdir() if path.suffix not in {".c", ".h"}}
        texts = {name: path.read_text() if path.suffix in {".d", ""} else "" for name, path in made.items()}
        for path in made.values():
            path.unlink()
        return texts

    shop.cc(*words, VPROF_PROBES="body")
    expected = results()
    shop.cc(*words, VPROF_PROBES="entry")
    assert results() == expected
