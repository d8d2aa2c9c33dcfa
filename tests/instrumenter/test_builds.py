"""vprof-c++ under what build systems do: precompiled headers, unity builds, sanitizers, dialects, modules."""

from __future__ import annotations

import subprocess

import pytest
from workshop import EVERY_COMPILER, IN_BODIES, PREFIX, Workshop

CMAKELISTS = """\
cmake_minimum_required(VERSION 3.16)
project(parts LANGUAGES C CXX)
set(CMAKE_CXX_STANDARD 17)
add_library(parts STATIC one.cpp two.cpp plain.c)
target_precompile_headers(parts PRIVATE parts.h)
set_target_properties(parts PROPERTIES UNITY_BUILD ${UNITY})
add_executable(program main.cpp)
target_link_libraries(program parts)
"""
PARTS_H = """\
#pragma once
#include <stdio.h>
#ifdef __cplusplus
#include <vector>
inline int in_header(int n) { while (n > 9) n /= 2; return n; }
extern "C" int plain(int n);
int one(int n);
int two(int n);
#endif
"""
PARTS = {
    "one_cpp": '#include "parts.h"\nstatic int local(int n) { std::vector<int> v(n, 1); return v.back(); }\n'
    "int one(int n) { return local(n) + in_header(n); }\n",
    "two_cpp": '#include "parts.h"\nint two(int n) { return one(n) + plain(n); }\n',
    "plain_c": '#include "parts.h"\nint plain(int n) { puts("plain"); return n; }\n',
    "main_cpp": '#include "parts.h"\nint main() { printf("%d\\n", two(3)); }\n',
}


@EVERY_COMPILER
@pytest.mark.parametrize("unity", ["OFF", "ON"])
def test_cmake_with_precompiled_headers_and_unity(shop: Workshop, unity: str) -> None:
    shop.write(parts_h=PARTS_H, **PARTS)
    (shop.path / "CMakeLists.txt").write_text(CMAKELISTS)
    compilers = [f"-DCMAKE_C_COMPILER={PREFIX}/bin/vprof-cc", f"-DCMAKE_CXX_COMPILER={PREFIX}/bin/vprof-c++"]
    shop.run("cmake", "-G", "Ninja", "-S", ".", "-B", "out", f"-DUNITY={unity}", *compilers)
    shop.run("cmake", "--build", "out", "--parallel", "2")
    assert shop.run("out/program").stdout == "plain\n7\n"
    units = shop.units("out/program")
    assert {unit["status"] for unit in units} == {"instrumented"}
    functions = {f["name"]: f["left"] for unit in units for f in unit["functions"]}
    assert {name for name, left in functions.items() if left is None} >= {"one", "two", "local", "plain", "main"}
    assert "No work" in shop.run("cmake", "--build", "out").stdout or "no work" in shop.run("ninja", "-C", "out").stdout


THREADED = """\
#include <cstdio>
#include <stdexcept>
#include <thread>
#include <vector>
static int work(int n) { std::vector<int> v(static_cast<unsigned>(n), 1); return v[0] + n; }
int main() {
  int result = 0;
  std::thread([&] { result = work(3); }).join();
  try {
    throw std::runtime_error("x");
  } catch (const std::exception &e) {
    result += work(static_cast<int>(e.what()[0]));
  }
  std::printf("%d\\n", result);
  return 0;
}
"""


@EVERY_COMPILER
@pytest.mark.parametrize("sanitizer", ["address,undefined", "thread"])
def test_sanitizers_have_nothing_to_say(shop: Workshop, sanitizer: str) -> None:
    shop.write(t_cpp=THREADED)
    shop.cxx("-std=c++17", "-g", "-O1", f"-fsanitize={sanitizer}", "-pthread", "t.cpp", "-o", "t")
    done = shop.run("./t")
    assert (done.stdout, done.stderr) == ("125\n", "")
    assert shop.unit("t")["status"] == "instrumented"


@IN_BODIES
@EVERY_COMPILER
@pytest.mark.parametrize(
    "options", ["-std=c++98", "-std=c++11", "-std=gnu++14", "-std=c++20 -fno-rtti", "-std=c++2b -fno-exceptions"]
)
def test_dialects(shop: Workshop, options: str) -> None:
    shop.write(d_cpp='#include <stdio.h>\nstruct S { S() { puts("S"); } ~S() { puts("~S"); } };\nint main() { S s; }\n')
    assert shop.cxx(*shop.every_warning, *options.split(), "-c", "d.cpp").stderr == ""
    assert shop.calls("d.o") == "main\n  S::S\n  S::~S\n"


@EVERY_COMPILER
def test_warnings_of_cxx_are_those_of_the_original(shop: Workshop) -> None:
    text = """\
#include <string>
struct Base { virtual int run() { return 1; } };
struct Derived : Base { int run() { int unused; std::string copy; return 2; } };
template <typename T> T shadow(T x) { for (int x = 0; x < 2; ++x) {} return x; }
static int never_called(int a) { auto f = [](int b) { int c; return 1; }; return f(a); }
[[nodiscard]] int important();
int main() { important(); Base *b = new Derived; delete b; switch (shadow(1)) { case 1: important(); case 2: ; } }
"""
    shop.write(w_cpp=text)
    options = ["-std=c++17", *shop.every_warning, "-c", "w.cpp"]
    plain = shop.plain_cxx(*options)
    assert "unused" in plain.stderr and "important" in plain.stderr
    assert shop.cxx(*options).stderr == plain.stderr
    assert shop.unit("w.o")["status"] == "instrumented"


@EVERY_COMPILER
def test_an_error_in_a_template_is_told_by_the_compiler(shop: Workshop) -> None:
    shop.write(e_cpp="template <typename T> int f(T x) { return x.none(); }\nint main() { return f(1); }\n")
    plain = shop.plain_cxx("-c", "e.cpp", check=False)
    failed = shop.cxx("-c", "e.cpp", check=False)
    assert (failed.returncode, failed.stderr) == (plain.returncode, plain.stderr)


def test_modules_are_compiled_unchanged_and_counted(shop: Workshop) -> None:
    shop.write(m_cpp='module;\n#include <cstdio>\nexport module m;\nexport int f() { return std::puts("f"); }\n')
    assert shop.cxx("-std=c++20", "-c", "m.cpp").stderr == ""
    assert shop.unit("m.o")["status"] == "unchanged"


def test_preprocessed_first_as_distributors_of_compilations_do(shop: Workshop) -> None:
    shop.write(
        p_cpp="#include <vector>\nint main() { std::vector<int> v(3); return static_cast<int>(v.size()) - 3; }\n"
    )
    (shop.path / "p.ii").write_text(shop.cxx("-E", "p.cpp").stdout)
    shop.cxx("p.ii", "-o", "p")
    shop.run("./p")
    assert shop.units("p") == [], "not counted, see UNIT_METADATA.md"


def test_several_languages_in_one_go_with_a_response_file(shop: Workshop) -> None:
    shop.write(
        a_cpp='extern "C" int b(int); extern "C" int c(); int main() { return b(1) + c() - 3; }\n',
        b_c="int b(int n) { while (n > 9) n /= 2; return n; }\n",
        c_s='.globl c\nc: movl $2, %eax\nret\n.section .note.GNU-stack,"",@progbits\n',
        all_rsp="-O1 a.cpp -x c b.c -x none c.s\n-o 'the program'",
    )
    shop.cxx("@all.rsp", "-lm")
    shop.run("./the program")
    languages = {unit["unit"].rsplit("/")[-1]: unit["language"] for unit in shop.units("the program")}
    assert languages == {"a.cpp": "c++", "b.c": "c"}


def test_a_launcher_in_front_and_parallel_compilations(shop: Workshop) -> None:
    launcher = shop.path / "launcher"
    launcher.write_text('#!/bin/sh\necho "$1" >> launched\nexec "$@"\n')
    launcher.chmod(0o755)
    for i in range(4):
        (shop.path / f"u{i}.cpp").write_text(f"int f{i}(int n) {{ while (n > 9) n /= 2; return n; }}\n")
    (shop.path / "Makefile").write_text("all: u0.o u1.o u2.o u3.o\n%.o: %.cpp\n\t$(CXX) -c $< -o $@\n")
    shop.run("make", "-j4", f"CXX=./launcher {PREFIX}/bin/vprof-c++")
    assert (shop.path / "launched").read_text().splitlines() == [f"{PREFIX}/bin/vprof-c++"] * 4
    assert all(shop.unit(f"u{i}.o")["count"] == 1 for i in range(4))


def test_standard_input_in_cxx(shop: Workshop) -> None:
    done = subprocess.run(
        [PREFIX / "bin/vprof-c++", "-xc++", "-", "-c", "-o", "x.o"], input="int x;", text=True, cwd=shop.path
    )
    assert done.returncode == 0 and (shop.path / "x.o").exists()
