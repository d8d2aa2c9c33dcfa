"""vprof-cc as a compiler: modes, links, failures, and what it leaves behind."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess

import pytest
from patience import PATIENCE_SECONDS, wait_for
from workshop import EVERY_COMPILER, IN_BODIES, PREFIX, Workshop

MAIN = """\
#include <stdio.h>
int work(int n);
int main(void) { printf("%d\\n", work(3)); return 0; }
"""
WORK = """\
int work(int n) { int sum = 0; for (int i = 0; i <= n; i++) sum += i; return sum; }
"""
NESTED = """\
int main(void) {
  int one = 1;
  int nested(int x) { return x - one; }
  return nested(1);
}
"""


@pytest.fixture
def pair(shop: Workshop) -> Workshop:
    shop.write(main_c=MAIN, work_c=WORK)
    return shop


WAYS = ["-O0", "-O2", "-O3 -g", "-fPIC", "-fno-pie -no-pie", "-static", "-ffunction-sections -Wl,--gc-sections"]
WAYS_OF_CLANG = [*WAYS, "-flto -fuse-ld=lld", "-ffunction-sections -fuse-ld=lld -Wl,--gc-sections"]
WAYS_OF_GCC = [*WAYS, "-O2 -flto", "-O2 -flto -flto-partition=max", "-O1 -masm=intel", "-O2 -mavx512f"]


@pytest.mark.parametrize(
    ("family", "options"),
    [("clang", way) for way in WAYS_OF_CLANG] + [("gcc", way) for way in WAYS_OF_GCC],
    indirect=["family"],
)
def test_ways_to_compile_and_link(pair: Workshop, options: str) -> None:
    words = options.split()
    for name in ("main", "work"):
        pair.cc(*words, "-c", f"{name}.c")
    pair.cc(*words, "main.o", "work.o", "-o", "program")
    assert pair.run("./program").stdout == "6\n"
    # A static program has the sites of the C library's functions itself.
    of_libc = {"fsync", "read"} if "-static" in words else set()
    sites = set(pair.site_names("program").values())
    assert sites >= {"main", "work"} | of_libc
    assert of_libc or len(sites) == 2


@IN_BODIES
@EVERY_COMPILER
@pytest.mark.parametrize("options", ["-O0", "-O2", "-O2 -fPIC", "-O2 -fno-plt"])
def test_probes_are_called(pair: Workshop, options: str) -> None:
    pair.cc(*options.split(), "-c", "main.c", "work.c")
    assert pair.calls("main.o", "work.o") == "main\n  work\n"


@EVERY_COMPILER
def test_one_go_with_several_sources(pair: Workshop) -> None:
    pair.cc("-O2", "-MMD", "main.c", "work.c", "-o", "program", "-lm")
    assert pair.run("./program").stdout == "6\n"
    assert set(pair.site_names("program").values()) == {"main", "work"}
    assert {path.name for path in pair.path.iterdir()} == {"main.c", "work.c", "program", "program.d"}


@EVERY_COMPILER
def test_several_sources_to_objects(pair: Workshop) -> None:
    pair.cc("-c", "main.c", "work.c")
    assert (pair.path / "main.o").exists() and (pair.path / "work.o").exists()


@EVERY_COMPILER
def test_shared_library(pair: Workshop) -> None:
    pair.cc("-fPIC", "-shared", "work.c", "-o", "libwork.so")
    pair.cc("main.c", "-L.", "-lwork", "-Wl,-rpath,.", "-o", "program")
    assert pair.run("./program").stdout == "6\n"
    assert list(pair.site_names("libwork.so").values()) == ["work"]
    assert list(pair.site_names("program").values()) == ["main"]


@IN_BODIES
@EVERY_COMPILER
def test_relocatable_links_are_completed_later(pair: Workshop) -> None:
    pair.cc("-c", "main.c", "work.c")
    pair.cc("-r", "main.o", "work.o", "-o", "both.o")
    assert pair.calls("both.o") == "main\n  work\n"


@EVERY_COMPILER
def test_an_object_linked_without_the_wrapper_stays_dormant(pair: Workshop) -> None:
    pair.cc("-O2", "-c", "main.c", "work.c")
    pair.plain("main.o", "work.o", "-o", "program")
    assert pair.run("./program").stdout == "6\n"


def test_paths_with_spaces_and_response_files(pair: Workshop) -> None:
    (pair.path / "a b").mkdir()
    (pair.path / "a b/work er.c").write_text(WORK)
    pair.write(options_rsp='-O2 "a b/work er.c" main.c -o "a b/program"')
    pair.cc("@options.rsp")
    assert pair.run("a b/program").stdout == "6\n"
    assert set(pair.site_names("a b/program").values()) == {"main", "work"}


@IN_BODIES
@EVERY_COMPILER
def test_two_objects_of_one_source_have_switches_of_their_own(pair: Workshop) -> None:
    pair.cc("-c", "work.c", "-o", "one.o")
    pair.cc("-Dwork=other", "-c", "work.c", "-o", "two.o")
    pair.cc("-c", "main.c")
    assert pair.calls("main.o", "one.o", "two.o") == "main\n  work\n"


@EVERY_COMPILER
def test_builds_are_reproducible(pair: Workshop) -> None:
    pair.cc("-g", "-c", "work.c")
    first = (pair.path / "work.o").read_bytes()
    pair.cc("-g", "-c", "work.c")
    assert (pair.path / "work.o").read_bytes() == first


@pytest.mark.parametrize("family", ["gcc"], indirect=True)
def test_what_clang_cannot_parse_is_compiled_unchanged_and_counted(shop: Workshop) -> None:
    shop.write(nested_c=NESTED)
    done = shop.cc("-c", "nested.c")
    assert done.stderr == ""
    shop.cc("nested.o", "-o", "program")
    shop.run("./program")
    unit = shop.unit("program")
    assert (unit["status"], unit["count"], unit["unit"]) == ("unchanged", 0, str(shop.path / "nested.c"))
    assert unit["reason"] == "clang cannot parse it: nested.c:3: function definition is not allowed here"


def test_with_another_compiler_units_are_compiled_unchanged(pair: Workshop) -> None:
    pair.cc("-c", "work.c", VPROF_REAL_CC=pair.unknown_compiler())
    assert pair.unit("work.o")["reason"] == "the real compiler is neither clang nor gcc"


def test_a_launcher_of_the_real_compiler(pair: Workshop) -> None:
    launcher = pair.path / "launcher"
    launcher.write_text('#!/bin/sh\necho "$1" >> launched\nexec "$@"\n')
    launcher.chmod(0o755)
    pair.cc("-c", "work.c", VPROF_REAL_CC=f"{launcher} {pair.real} -m64")
    assert pair.unit("work.o")["status"] == "instrumented"
    assert set((pair.path / "launched").read_text().split()) == {pair.real}


@pytest.mark.parametrize("compiler", ["vprof-cc", "vprof-c++"])
def test_cxx_is_instrumented_by_both_drivers(shop: Workshop, compiler: str) -> None:
    shop.write(x_cpp="int f(int n) { while (n > 9) n /= 2; return n; }\nint main() { return f(0); }\n")
    shop.run(PREFIX / "bin" / compiler, "x.cpp", "-o", "program")
    shop.run("./program")
    unit = shop.unit("program")
    assert (unit["status"], unit["language"], unit["count"]) == ("instrumented", "c++", 2)


def test_lambdas_that_turn_out_to_be_constant_are_spared(shop: Workshop) -> None:
    """A lambda need not say constexpr: only a constant expression that calls it shows that a probe breaks it."""
    shop.write(
        x_cpp="constexpr auto sum = [](int n) { int s = 0; for (int i = 0; i <= n; i++) s += i; return s; };\n"
        "static_assert(sum(3) == 6);\n"
        "int main() { return sum(0); }\n"
    )
    done = shop.cxx("-std=c++17", "-Wall", "-c", "x.cpp")
    assert done.stderr == ""
    reasons = {f["name"]: f["left"] for f in shop.unit("x.o")["functions"]}
    assert reasons == {"lambda@1": "constexpr", "main": None}


def test_a_crash_of_the_rewriter_does_not_break_the_build(pair: Workshop) -> None:
    library = pair.path / "prefix/lib/vprof"
    library.mkdir(parents=True)
    (library / "vprof-rewrite").write_text("#!/bin/sh\nkill -SEGV $$\n")
    (library / "vprof-rewrite").chmod(0o755)
    (pair.path / "prefix/bin").mkdir()
    shutil.copy(PREFIX / "bin/vprof-cc", pair.path / "prefix/bin")
    done = pair.run("prefix/bin/vprof-cc", "-c", "work.c")
    assert done.stderr == ""
    assert pair.unit("work.o")["reason"] == "vprof-rewrite ended by signal 11"


def test_standard_input_is_compiled_unchanged_and_counted(pair: Workshop) -> None:
    pair.run("sh", "-c", f"{PREFIX}/bin/vprof-cc -xc - -c -o work.o <work.c")
    pair.cc("main.c", "work.o", "-o", "program")
    [unchanged] = [unit for unit in pair.units("program") if unit.get("reason")]
    assert unchanged["reason"] == "it is read from standard input"


def test_disabled_it_is_the_real_compiler(pair: Workshop) -> None:
    pair.cc("main.c", "work.c", "-o", "program", VPROF_DISABLE="1")
    assert pair.run("./program").stdout == "6\n"
    assert pair.units("program") == []


@pytest.mark.parametrize(
    "arguments", [["--version"], ["-E", "work.c"], ["-fsyntax-only", "work.c"], ["-dumpmachine"], ["-M", "work.c"]]
)
def test_passes_through_what_makes_no_object(pair: Workshop, arguments: list[str]) -> None:
    assert pair.cc(*arguments).stdout == pair.run("clang-19", *arguments).stdout


def test_its_help_says_what_it_adds_then_the_real_compiler_says_the_rest(pair: Workshop) -> None:
    own, _, rest = pair.cc("--help").stdout.partition("\n\n")
    assert own.startswith("vprof-cc: ") and "--emit-tree DIR" in own and "VPROF_REAL_CC" in own
    assert rest == pair.run("clang-19", "--help").stdout
    assert pair.cc("--help", VPROF_DISABLE="1").stdout == rest


def test_standard_input_is_compiled(pair: Workshop) -> None:
    done = subprocess.run(
        [PREFIX / "bin/vprof-cc", "-xc", "-", "-c", "-o", "x.o"], input=WORK, text=True, cwd=pair.path
    )
    assert done.returncode == 0 and (pair.path / "x.o").exists()


@IN_BODIES
@EVERY_COMPILER
def test_assembly_output_assembles(pair: Workshop) -> None:
    pair.cc("-O2", "-S", "main.c", "work.c")
    pair.plain("-c", "main.s", "work.s")
    assert pair.calls("main.o", "work.o") == "main\n  work\n"


@EVERY_COMPILER
def test_no_temporary_files_stay(pair: Workshop) -> None:
    scratch = pair.path / "scratch"
    scratch.mkdir()
    pair.cc("-c", "work.c", TMPDIR=str(scratch))
    pair.cc("work.o", "main.c", "-o", "program", TMPDIR=str(scratch))
    pair.write(bad_c="int f(void) { return undeclared; }\n")
    pair.cc("-c", "bad.c", check=False, TMPDIR=str(scratch))
    assert list(scratch.iterdir()) == []


def test_a_signal_ends_the_compiler_and_leaves_nothing(pair: Workshop) -> None:
    scratch = pair.path / "scratch"
    scratch.mkdir()
    slow = pair.path / "slow"
    slow.write_text("#!/bin/sh\ncase \"$*\" in *-dM*) echo '#define __clang__ 1';; *) exec sleep 6000;; esac\n")
    slow.chmod(0o755)
    env = {**os.environ, "TMPDIR": str(scratch), "VPROF_REAL_CC": str(slow)}
    child = subprocess.Popen([PREFIX / "bin/vprof-cc", "-c", "work.c"], cwd=pair.path, env=env)
    wait_for(lambda: list(scratch.glob("*/*/manifest")), "the rewritten file", every_seconds=0.02)
    child.send_signal(signal.SIGTERM)
    assert child.wait(timeout=PATIENCE_SECONDS) == -signal.SIGTERM
    assert list(scratch.iterdir()) == []


@pytest.mark.parametrize(
    ("source", "function", "complaint"),
    [
        (
            "struct s { int a; } f(void) { struct s s = {1}; return s; }",
            "f",
            "f returns neither a pointer nor a number",
        ),
        ("#define R return 1\nint f(void) { R; }", "f", "a return of f comes from a macro"),
        ("#define B {\nint f(void) B return 1; }", "f", "f cannot be rewritten (macro)"),
    ],
    ids=["struct", "macro return", "macro brace"],
)
def test_a_hook_that_cannot_be_placed_is_named(shop: Workshop, source: str, function: str, complaint: str) -> None:
    queue = [{"role": "dequeue", "function": function, "task": "return"}]
    shop.write(q_c=source + "\n", descriptor_json=json.dumps({"queue": queue}))
    done = shop.cc("-c", "q.c", check=False, VPROF_DESCRIPTOR="descriptor.json")
    assert (done.returncode, done.stderr) == (1, f"vprof-cc: descriptor: queue/0: {complaint}\n")


@pytest.mark.parametrize(
    ("entry", "complaint"),
    [
        (
            {"event": "begin", "function": "work", "id": "nn"},
            "interval/0: use of undeclared identifier 'nn' (work.c:1)",
        ),
        ({"event": "begin", "function": "work", "id": "*n"}, "interval/0: indirection requires pointer operand"),
        ({"event": "start", "function": "work", "id": "n"}, "interval/0: unknown event 'start'"),
        ({"event": "end", "function": "work"}, "interval/0: 'id' is missing"),
        ({"event": "end", "function": "work", "id": "n", "at": "middle"}, "interval/0: 'at' must be entry or exit"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_wrong_descriptor_fails_the_build_in_one_line(pair: Workshop, entry: dict[str, str], complaint: str) -> None:
    (pair.path / "descriptor.json").write_text(json.dumps({"interval": [entry]}))
    done = pair.cc("-c", "work.c", check=False, VPROF_DESCRIPTOR="descriptor.json")
    assert done.returncode == 1
    assert complaint in done.stderr and done.stderr.count("\n") == 1
    assert not (pair.path / "work.o").exists()
