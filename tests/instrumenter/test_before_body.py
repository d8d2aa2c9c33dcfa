"""Probes before bodies (VPROF_PROBES=entry, light): programs do the same, and the same calls are recorded.

The golden rewrites are compiled with them, and run dormant and with all probes on. One program has what a frame between
caller and body could break; its calls are compared one by one with those of probes in bodies.
"""

from __future__ import annotations

import bisect
import json
import re
import shutil
import struct
from itertools import product
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile
from test_rewrites import REWRITES, compiled, input_of
from workshop import EVERY_COMPILER, HERE, PREFIX, Workshop

from vprof.program.elf import read_program
from vprof.program.expanded import expanded_below, expanded_in, expanded_in_others
from vprof.trace.reading import load_binary

RECORD = (PREFIX / "bin/vprof", "record", "--sites", "all", "-o", "run.trace", "--")
Calls = list[list[tuple[str, int]]]


@compiled(REWRITES)
def test_a_golden_rewrite_prints_the_same(folder: Path, shop: Workshop) -> None:
    shutil.copytree(folder, shop.path, dirs_exist_ok=True)
    source = input_of(folder)
    cxx = source.suffix == ".cpp"
    plain, wrapper = (shop.plain_cxx, shop.cxx) if cxx else (shop.plain, shop.cc)
    given = folder / "options"
    options = given.read_text().split() if given.exists() else [f"-std={'c++17' if cxx else 'gnu11'}"]
    env = {"VPROF_DESCRIPTOR": "descriptor.json"} if (folder / "descriptor.json").exists() else {}

    plain(*options, source.name, "-pthread", "-o", "plain")
    expected = shop.run("./plain").stdout
    for level, probes in ("-O0", "entry"), ("-O2", "entry"), ("-O2", "light"):
        wrapper(*options, level, source.name, "-pthread", "-o", "program", VPROF_PROBES=probes, **env)
        assert {unit["status"] for unit in shop.units("program")} == {"instrumented"}
        assert shop.run("./program").stdout == expected
        done = shop.run(*RECORD, "./program", check=False)
        assert done.stdout == expected
        assert " 0 dropped" in done.stderr or "no function whose probe was on returned" in done.stderr  # all expanded


@pytest.fixture(scope="module")
def by_clang(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Calls]:
    """What `before_body.cpp` prints, and its calls, with probes in bodies."""
    shop = Workshop(tmp_path_factory.mktemp("bodies"), "clang")
    return recorded(shop, "-O1", "body")


def recorded(shop: Workshop, options: str, probes: str) -> tuple[str, Calls]:
    words = [*options.split(), "-fno-optimize-sibling-calls", "-pthread", HERE / "before_body.cpp"]
    shop.cxx(*words, "-o", "program", VPROF_PROBES=probes)
    printed = shop.run("./program").stdout
    assert shop.run(*RECORD, "./program").stdout == printed
    return printed, calls_of(shop)


def calls_of(shop: Workshop) -> Calls:
    """Calls by thread, each with its depth, in order."""
    trace = load_binary(shop.path / "run.trace")
    assert trace.loss["dropped"] == 0
    rows = trace.invocations
    threads: dict[int, list[tuple[str, int]]] = {}
    for thread, function, depth in zip(rows.thread, rows.function, rows.depth, strict=True):
        threads.setdefault(int(thread), []).append((trace.program.functions[function], int(depth)))
    return sorted(threads.values())


LINKERS = pytest.mark.parametrize(
    ("linker", "family"),
    [("bfd", "clang"), ("gold", "clang"), ("lld", "clang"), ("bfd", "gcc"), ("gold", "gcc")],  # gcc finds no lld here
    indirect=["family"],
)
BUILDS = [
    "-O0",
    "-O2",
    "-O3 -fno-omit-frame-pointer -fcf-protection=full -fPIC",
    "-Os -static -g",
    "-O1 -fuse-ld=gold -ffunction-sections -Wl,--gc-sections -masm=intel",
    "-O2 -no-pie -mno-red-zone -fstack-protector-all",
]


@pytest.mark.parametrize("options", [*BUILDS, "-O2 -fuse-ld=lld -ffunction-sections -Wl,--gc-sections,--icf=all"])
def test_the_same_calls_as_with_probes_in_bodies(options: str, shop: Workshop, by_clang: tuple[str, Calls]) -> None:
    assert recorded(shop, options, "entry") == by_clang


@pytest.mark.parametrize("family", ["gcc"], indirect=True)
@pytest.mark.parametrize("options", BUILDS)
def test_the_same_calls_by_gcc(options: str, shop: Workshop) -> None:
    """Which chooses itself which operand comes first."""
    assert recorded(shop, options, "entry") == recorded(shop, options, "body")


@pytest.mark.parametrize("options", ["-O0", "-O2 -fno-inline", "-O3 -fno-inline -fPIC"])
@EVERY_COMPILER
def test_light_sees_each_call_where_none_is_expanded(options: str, shop: Workshop) -> None:
    assert recorded(shop, options, "light") == recorded(shop, options, "body")


@EVERY_COMPILER
def test_a_destructor_lasts_until_its_parts_are_destroyed(shop: Workshop) -> None:
    """A probe in its body ends with the body; gcc's destructors have no other."""
    shop.write(
        a_cpp="""\
        #define KEPT __attribute__((noinline))
        static int sum;
        struct Part { KEPT ~Part() { ++sum; } };
        struct Whole { Part part; KEPT ~Whole() { sum += 2; } };
        int main() { { Whole whole; } return sum - 3; }
        """
    )
    depth = {}
    for probes in "body", "light":
        shop.cxx("-O1", "a.cpp", "-o", "program", VPROF_PROBES=probes)
        shop.run(*RECORD, "./program")
        [calls] = calls_of(shop)
        depth[probes] = dict(calls)
    assert depth["body"] == {"main": 0, "Whole::~Whole": 1, "Part::~Part": 1}
    inside = 1 if shop.family == "gcc" else 2
    assert depth["light"] == {"main": 0, "Whole::~Whole": 1, "Part::~Part": inside}


@EVERY_COMPILER
def test_light_leaves_to_the_compiler_what_it_expands(shop: Workshop) -> None:
    """Also a call of itself that becomes a loop; but not what may take long, nor what `probe` asks for."""
    shop.write(
        a_c="""\
        #define MIX(n) n ^= n >> 3, n *= n + 5, n ^= n >> 7, n += n * 3, n ^= n >> 11, n *= n + 7, n ^= n >> 5
        static int once(int n) { MIX(n); MIX(n); MIX(n); return n; }
        static int kept(int n) { MIX(n); MIX(n); return n; }
        static int longer(int n) { for (int i = 0; i < n; ++i) MIX(n); return n; }
        __attribute__((noinline)) int down(int n, int sum) {
          for (int i = 0; i < n; ++i) sum ^= sum >> (i & 3);
          return n ? down(n - 1, sum * 3 + n) : sum;
        }
        volatile int sink;
        int main(int argc, char **argv) {
          return sink = once(argc) + kept(argc) + longer(argc) + down(argc + 8, 0), 0 & (long)argv;
        }
        """,
        descriptor_json=json.dumps({"probe": ["k*"]}),
    )
    seen = {}
    for probes in "body", "entry", "light":
        env = {"VPROF_DESCRIPTOR": "descriptor.json", "VPROF_PROBES": probes}
        shop.cc("-O2", "a.c", "-o", "program", **env)
        shop.run(*RECORD, "./program")
        [calls] = calls_of(shop)
        seen[probes] = [name for name, _ in calls]
    assert sorted(seen["body"]) == sorted(seen["entry"]) == sorted(["main", "once", "kept", "longer", *["down"] * 10])
    assert sorted(seen["light"]) == ["down", "kept", "longer", "main"]
    unseen = expanded_below([shop.path / "program", shop.path / "gone"], ["main", "kept"])
    assert [*unseen] == ["main"]
    assert {"once"} <= {*unseen["main"]} <= {"once", "down"}  # gcc expands some of its calls of itself
    assert expanded_in_others([shop.path / "program"], "once") == ["main"]
    assert expanded_in_others([shop.path / "program"], "down") in ([], ["main"])


IN_BODY = {"seven", "nine", "by_value", "variable", "caller", "vector", "arrow", "Counted", "result_and_six"}
IN_BODY |= {"~Left", "~Both", "~Of", "~Freed"}
"""Arguments on the stack (one is where the result goes), a look for the caller, a vector, no place for the attribute, a
constructor; destructors of which the compiler makes others that do more."""

POINTED = {"pointed", "bump"}
"""Static, or a template, with a pointer: -O3 may pass what is behind it instead."""


@pytest.mark.parametrize(
    ("options", "more"),
    [
        ("-O2", set()),
        ("-O3", POINTED),
        ("-O2 -flto", None),
        ("-O2 -fsanitize=address", None),
        ("-O2 -fpatchable-function-entry=2", None),
        ("-O2 -mcmodel=large", None),
        ("-O2 -pg", None),
        ("-O2 -mllvm -inline-threshold=100", None),
    ],
)
def test_which_functions_are_wrapped(options: str, more: set[str] | None, shop: Workshop) -> None:
    """`more` are those that keep their probe in the body besides; None: all do."""
    source = HERE / "before_body.cpp"
    shop.cxx(*options.split(), "--emit-tree", "tree", "-c", source, "-o", "program.o", VPROF_PROBES="entry")
    text = (shop.path / f"tree{source}").read_text()
    name = r"((?:~|operator )?\w+)\([^()]*\)"
    wrapped = set(re.findall(name + r"[^(){};]*__VPROF_WRAPPED", text))
    probed = set(re.findall(name + r"[^{};]*\{ __VPROF_PROBE", text))
    assert len(wrapped | probed) == 53
    assert probed == IN_BODY | more if more is not None else not wrapped


UNCERTAIN = ["-flto", "-fsanitize=address", "-fpatchable-function-entry=2", "-pg", "-fwhole-program", "-S"]


@EVERY_COMPILER
def test_a_drill_down_goes_on_below_what_is_expanded(shop: Workshop) -> None:
    """`middle` has no body of its own: what it calls is called by `outer`."""
    shop.write(
        a_c="""\
        __attribute__((noinline)) int inner(int n) { for (int i = 0; i < n; ++i) n ^= n >> (i & 7); return n; }
        static int middle(int n) { return inner(n) ^ inner(n - 1) ^ inner(n - 2) ^ inner(n - 3) ^ inner(n - 4); }
        __attribute__((noinline)) int outer(int n) { for (int i = 0; i < n; ++i) n ^= middle(n - i); return n; }
        int main(int argc, char **argv) { (void)argv; return outer(argc + 4) & 0; }
        """
    )
    shop.cc("-O2", "a.c", "-o", "program", VPROF_PROBES="light")
    units = read_program(shop.path / "program")
    found = expanded_in(shop.path / "program", units)
    assert [name for id_ in found.only for name in re.findall(r"@F@(\w+)", id_)] == ["middle"]
    assert expanded_below([shop.path / "program"], ["outer", "inner"]) == {"outer": ["middle"]}
    shop.run(*RECORD, "./program")
    program = load_binary(shop.path / "run.trace").program
    calls = {name: {program.functions[c] for c in program.calls[f]} for f, name in enumerate(program.functions)}
    assert calls["outer"] == {"middle", "inner"}
    (shop.path / "program").rename(shop.path / "moved")  # then nothing is known of copies
    assert load_binary(shop.path / "run.trace").program.functions == program.functions


def test_a_root_whose_calls_are_expanded_is_told(shop: Workshop) -> None:
    """Nobody would see an interval begin."""
    shop.write(
        a_c="""\
        volatile int sink;
        static void serve(int n) { sink ^= n >> 3; sink *= n + 5; sink ^= n >> 7; sink += n * 3; sink ^= n >> 11; }
        int main(int argc, char **argv) { for (int i = 0; argc < 2 || argv[1][i]; i += argc - 1) serve(i); return 0; }
        """
    )
    shop.cc("-O2", "a.c", "-o", "program", VPROF_PROBES="light")
    told = "serve is expanded in main, where its calls are not seen: to see them, name it in `roots` of a descriptor"
    shop.run(*RECORD, "./program", "1234")
    done = shop.run(PREFIX / "bin/vprof", "analyze", "run.trace", "--root", "serve", check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"vprof: no call of serve was recorded: {told}")
    drill = ("drill", "--auto", "--step-seconds", "0.1", "--budget", "1s", "--root", "serve", "--dir", "drill")
    done = shop.run(PREFIX / "bin/vprof", *drill, "--", "./program", check=False)
    assert done.returncode == 2
    assert "vprof: waiting for the first call of serve that returns" in done.stderr
    assert done.stderr.count(told) == 2


@pytest.mark.parametrize("family", ["gcc"], indirect=True)
@pytest.mark.parametrize("option", UNCERTAIN)
def test_what_gcc_may_pass_elsewhere_keeps_its_probe_in_the_body(option: str, shop: Workshop) -> None:
    source = HERE / "before_body.cpp"
    for probes in "light", "entry":
        shop.cxx("-O2", option, "--emit-tree", "tree", "-c", source, "-o", "program.o", VPROF_PROBES=probes)
        text = (shop.path / f"tree{source}").read_text()
        assert "__VPROF_PROBE" in text
        assert not {"__VPROF_EXPANDABLE", "__VPROF_WRAPPED", "__VPROF_PLACE"} & set(re.findall(r"\w+", text))


@pytest.mark.parametrize("family", ["gcc"], indirect=True)
def test_the_attribute_stands_where_gcc_takes_it(shop: Workshop) -> None:
    """Before the declaration, which a macro, `extern "C"`, `friend`, an attribute or `template` may begin."""
    shop.write(
        a_cpp="""\
        #define API __attribute__((visibility("default"))) int
        #define BOTH int made(int n) { for (int i = 0; i < n; ++i) n ^= i; return n; } int other
        API one(int n) { for (int i = 0; i < n; ++i) n ^= i; return n; }
        extern "C" int two(int n) { for (int i = 0; i < n; ++i) n ^= i; return n; }
        struct S { friend int three(S &, int n) { for (int i = 0; i < n; ++i) n ^= i; return n; } };
        [[gnu::noinline]] static int four(int n) { for (int i = 0; i < n; ++i) n ^= i; return n; }
        template <typename T> int five(int n) { for (T i = 0; i < n; ++i) n ^= i; return n; }
        struct R { template <typename T> int six(int n); };
        template <typename T> int R::six(int n) { for (T i = 0; i < n; ++i) n ^= i; return n; }
        BOTH(int n) { for (int i = 0; i < n; ++i) n ^= i; return n; }
        S s;
        int more() { return five<int>(2) + R().six<int>(2) + made(2) + other(2); }
        int main() { return one(2) + two(2) + three(s, 2) + four(2) + more(); }
        """
    )
    for probes in "body", "light":
        shop.cxx("-O2", "-fno-inline", "a.cpp", "-o", "program", VPROF_PROBES=probes)
        assert shop.run("./program", check=False).returncode == shop.run(*RECORD, "./program", check=False).returncode
        [calls] = calls_of(shop)
        wanted = {"one", "two", "three", "four", "five", "R::six", "other", "more", "main"}
        assert {name for name, _ in calls} == wanted
    assert {f["name"] for f in shop.unit("program")["functions"] if f.get("before_body")} == wanted - {"other"}


@EVERY_COMPILER
def test_a_function_that_the_descriptor_names_is_not_wrapped(shop: Workshop) -> None:
    """Somebody wants its calls also where it is expanded."""
    shop.write(
        a_c="int f(int n) { return n + 1; }\nint g(int n) { return n + 2; }\nint h(int n) { return n + 3; }\n",
        descriptor_json=json.dumps({"probe": ["f", "*"], "interval": [{"function": "g", "id": "n", "event": "begin"}]}),
    )
    env = {"VPROF_DESCRIPTOR": "descriptor.json", "VPROF_PROBES": "entry"}
    shop.cc("--emit-tree", "tree", "-c", "a.c", **env)
    lines = (shop.path / f"tree{shop.path}/a.c").read_text().splitlines()
    assert ["__VPROF_WRAPPED" in line for line in lines] == [False, False, True]


MODULE = """\
#define KEPT __attribute__((noinline))
KEPT int inner(int n) { return n * 3; }
KEPT int outer(int n) { return inner(n) + inner(n + 1); }
"""
LOADS = """\
#include <dlfcn.h>
#include <stdio.h>
int main(void) {
  int sum = 0;
  for (int i = 0; i < 3; i++) {
    void *module = dlopen("./module.so", RTLD_NOW);
    sum += ((int (*)(int))dlsym(module, "outer"))(i);
    dlclose(module);
  }
  printf("%d\\n", sum);
  return 0;
}
"""


@EVERY_COMPILER
def test_libraries_come_and_go(shop: Workshop) -> None:
    shop.write(module_c=MODULE, loads_c=LOADS)
    env = {"VPROF_PROBES": "entry"}
    shop.cc("-O1", "-fPIC", "-shared", "-fno-optimize-sibling-calls", "module.c", "-o", "module.so", **env)
    shop.cc("-O1", "loads.c", "-o", "program", **env)
    assert shop.run(*RECORD, "./program").stdout == "27\n"
    assert calls_of(shop) == [[("main", 0), *3 * [("outer", 1), ("inner", 2), ("inner", 2)]]]


def test_a_text_that_cannot_be_written_is_told(shop: Workshop) -> None:
    """The program has no descriptor left when its functions would be wrapped, after it has joined the session."""
    limited = """\
#include <sys/resource.h>
__attribute__((constructor(101), no_instrument_function)) static void none_left(void) {
  const struct rlimit limit = {3, 3};
  setrlimit(RLIMIT_NOFILE, &limit);
}
int main(void) { return outer(2) - 15; }
"""
    shop.write(a_c=MODULE + limited)
    shop.cc("-O1", "a.c", "-o", "program", VPROF_PROBES="entry")
    told = shop.run(*RECORD, "./program", check=False).stderr
    assert "3 functions are not recorded: their probes stand before bodies, where a breakpoint is" in told


@pytest.mark.parametrize(("version", "before"), [("12", True), ("13", False)])
def test_with_other_compilers_probes_stand_in_bodies(version: str, before: bool, shop: Workshop) -> None:
    """What they make of arguments was not tried."""
    real = shop.path / "gcc"
    told = f'exec sh -c "gcc -E -dM -x c /dev/null | sed s/__GNUC__.12/__GNUC__\\\\ {version}/"'
    real.write_text(f'#!/bin/sh\nfor word; do if [ "$word" = -dM ]; then {told}; fi; done\nexec gcc "$@"\n')
    real.chmod(0o755)
    shop.write(a_c=MODULE)
    shop.cc("-O1", "--emit-tree", "tree", "-c", "a.c", VPROF_REAL_CC=str(real))
    assert ("__VPROF_PLACE(" in (shop.path / f"tree{shop.path}/a.c").read_text()) == before


def test_the_place_of_probes_is_one_of_three(shop: Workshop) -> None:
    shop.write(a_c=MODULE)
    failed = shop.cc("-c", "a.c", check=False, VPROF_PROBES="exit")
    assert failed.returncode == 1
    assert failed.stderr == "vprof-cc: VPROF_PROBES is neither entry nor light nor body: exit\n"


@LINKERS
def test_unused_functions_are_dropped(linker: str, shop: Workshop) -> None:
    """Also those that only an unused function needs, which is defined nowhere."""
    shop.write(
        a_c=MODULE
        + "int missing(int);\nint unused(int n) { return missing(n); }\nint main(void) { return outer(2) - 15; }\n"
    )
    options = ["-O1", "-ffunction-sections", f"-fuse-ld={linker}", "-Wl,--gc-sections"]
    shop.cc(*options, "a.c", "-o", "program", VPROF_PROBES="entry")
    shop.run(*RECORD, "./program")
    assert calls_of(shop) == [[("main", 0), ("outer", 1), ("inner", 2), ("inner", 2)]]


STEPS = """\
#include <signal.h>
#include <stdio.h>
#include <unwind.h>
#define PLAIN __attribute__((noinline, no_instrument_function))
static int steps, lost;
int called(int n);
PLAIN static int steps_through(int n);
PLAIN static _Unwind_Reason_Code look(struct _Unwind_Context *context, void *found) {
  int before = 0;
  void *place = (char *)_Unwind_GetIPInfo(context, &before) - !before;
  *(int *)found |= _Unwind_FindEnclosingFunction(place) == (void *)steps_through;
  return _URC_NO_REASON;
}
PLAIN static void step(int number) {
  int found = 0;
  (void)number;
  _Unwind_Backtrace(look, &found);
  ++steps;
  lost += !found;
}
PLAIN static int steps_through(int n) {
  __asm__ volatile("pushf; orq $0x100, (%%rsp); popf" ::: "cc", "memory");
  n = called(n);
  __asm__ volatile("pushf; andq $~0x100, (%%rsp); popf" ::: "cc", "memory");
  return n;
}
PLAIN int main(void) {
  called(1);
  signal(SIGTRAP, step);
  int n = steps_through(3);
  printf("%d: %d lost of %s\\n", n, lost, steps > 60 ? "many" : "few");
  return 0;
}
"""


def test_the_stack_can_be_walked_at_every_instruction(shop: Workshop) -> None:
    """By a handler of a signal that comes there: in the stub, in the code behind it and in the runtime."""
    shop.write(steps_c=STEPS, called_c="int called(int n) { return 5 * n; }\n")
    options = ["-O1", "-mno-red-zone", "-fno-optimize-sibling-calls"]
    shop.cc(*options, "steps.c", "called.c", "-lgcc_s", "-o", "program", VPROF_PROBES="entry")
    assert shop.run("./program").stdout == "15: 0 lost of few\n"
    assert shop.run(*RECORD, "./program").stdout == "15: 0 lost of many\n"


SHARED = """\
#define KEPT __attribute__((noinline))
KEPT inline int shared(int n) { return n * 3; }
template <class T> KEPT T of_template(T n) { return n + 1; }
struct S { virtual int method(int n) { return n * 2; } };
int other(int n);
"""


@LINKERS
def test_of_copies_in_several_units_one_is_kept(linker: str, shop: Workshop) -> None:
    other = (
        'int other(int n) { S s, *p = &s; __asm__("" : "+r"(p)); return shared(n) + of_template(n) + p->method(n); }\n'
    )
    shop.write(shared_h=SHARED, a_cpp='#include "shared.h"\n' + other)
    shop.write(b_cpp='#include "shared.h"\nint main() { return shared(1) + of_template(2) + other(3) - 25; }\n')
    options = ["-O1", "-fno-optimize-sibling-calls", f"-fuse-ld={linker}", "-Wl,--fatal-warnings"]
    shop.cxx(*options, "b.cpp", "a.cpp", "-o", "program", VPROF_PROBES="entry")
    shop.run("./program")
    shop.run(*RECORD, "./program")
    inside = [("shared", 2), ("of_template", 2), ("S::method", 2)]
    assert calls_of(shop) == [[("main", 0), ("shared", 1), ("of_template", 1), ("other", 1), *inside]]


@EVERY_COMPILER
def test_the_first_place_of_a_function_is_its_own(shop: Workshop) -> None:
    """As the runtime supposes, also where clang makes loops of recursion and expands what it can."""
    for level, probes in product(("-O1", "-O2", "-Os"), ("entry", "light")):
        shop.cxx(level, "-pthread", HERE / "before_body.cpp", "-o", "program", VPROF_PROBES=probes)
        names = first_places(shop.path / "program", shop.site_names("program"))
        assert len(names) > 20
        assert [pair for pair in names if mangled(pair[1]) not in pair[0]] == []


def mangled(name: str) -> str:
    """What the linker's name of a function has at least."""
    last = name.rpartition("::")[2]
    return "dl" if last == "operator delete" else last.lstrip("~")


def first_places(program: Path, names: dict[int, str]) -> list[tuple[str, str]]:
    """The functions that begin with a no-op: as the linker calls them, and whose place is their first."""
    with program.open("rb") as file:
        elf = ELFFile(file)
        text, places, switches = (elf.get_section_by_name(name) for name in (".text", "vprof_places", "vprof_switch"))
        symbols = elf.get_section_by_name(".symtab").iter_symbols()
        functions = {s["st_value"]: s for s in symbols if s["st_info"]["type"] == "STT_FUNC" and s["st_size"]}
        code, records = text.data(), places.data()
        begins = sorted(functions)
        first: dict[int, tuple[int, int]] = {}
        for offset in range(16, len(records), 16):
            place, site = (places["sh_addr"] + offset + at + distance for at, distance in pairs(records, offset))
            begin = begins[bisect.bisect_right(begins, place) - 1]
            first[begin] = min(first.get(begin, (place, site)), (place, site))
        no_op = bytes.fromhex("0f1f440008")
        return [
            (functions[begin].name, names[site - switches["sh_addr"]])
            for begin, (_, site) in first.items()
            if code[begin - text["sh_addr"] : begin - text["sh_addr"] + len(no_op)] == no_op
        ]


def pairs(records: bytes, offset: int) -> list[tuple[int, int]]:
    """Where the first two fields of a record are, and what they say."""
    return list(zip((0, 4), struct.unpack_from("<ii", records, offset), strict=True))
