"""Functions in scopes without a name: `targets check --source` finds them by the names that a build gives."""

import subprocess
import sys
from pathlib import Path

import pytest

from vprof.program.elf import read_program

VPROF = Path(sys.executable).with_name("vprof")

SOURCE = """\
namespace db {
namespace {
int take(int job) { return job + 1; }
namespace deep { struct Latch { int wait(int n) { return n > 2 ? n : wait(n + 1); } }; }
}
static int put(int job) { return take(job) + deep::Latch().wait(0); }
inline namespace v1 { int get(int n) { return n * put(n); } }
}
namespace { struct Queue { int pop(int n) { struct In { int go(int m) { return m + 2; } }; return In().go(n); } }; }
namespace a::b { namespace { int c(int n) { return n + Queue().pop(n); } } }
extern "C" { int plain(int n) { return a::b::c(n); } }
int main() { return db::get(3) + plain(1); }
"""
NAMES = {
    "db::(anonymous namespace)::take": 3,
    "db::(anonymous namespace)::deep::Latch::wait": 4,
    "db::put": 6,
    "db::get": 7,
    "(anonymous namespace)::Queue::pop": 9,
    "(anonymous namespace)::Queue::pop()::In::go": 9,
    "a::b::(anonymous namespace)::c": 10,
    "plain": 11,
    "main": 12,
}


def check(folder: Path, *functions: str) -> subprocess.CompletedProcess[str]:
    """Of a descriptor with an entry for each of these functions."""
    target = folder / "pool"
    target.mkdir()
    entries = "".join(f'[[sync]]\nrole = "acquire"\nfunction = "{name}"\nobject = "1"\n' for name in functions)
    (target / "target.toml").write_text(f'name = "pool"\nroots = ["main"]\n[build]\nprograms = ["pool"]\n{entries}')
    command = [VPROF, "targets", "check", target, "--source", folder]
    return subprocess.run(command, capture_output=True, text=True, cwd=folder)


def test_the_text_gives_functions_the_names_that_the_rewriter_gives_them(tmp_path: Path) -> None:
    (tmp_path / "pool.cc").write_text(SOURCE)
    build = [VPROF.with_name("vprof-c++"), "pool.cc", "-o", "built"]
    assert subprocess.run(build, cwd=tmp_path, capture_output=True).returncode == 0
    built = {function.name: function.line for unit in read_program(tmp_path / "built") for function in unit.functions}
    assert built == NAMES
    done = check(tmp_path, *NAMES, "db::(anonymous namespace)::take(int)")
    assert done.returncode == 0, done.stderr
    found = {line[24:].rpartition(" ")[0].strip(): int(line.rpartition(":")[2]) for line in done.stdout.splitlines()}
    assert found == {**NAMES, "db::(anonymous namespace)::take(int)": 3}


@pytest.mark.parametrize(
    ("wrong", "near"),
    [
        ("db::take", "db::(anonymous namespace)::take"),
        ("take", "db::(anonymous namespace)::take"),
        ("db::{anonymous}::take", "db::(anonymous namespace)::take"),
        ("db::(anonymous namespace)::Latch::wait", "db::(anonymous namespace)::deep::Latch::wait"),
        ("db::v1::get", "db::get"),
        ("db::(anonymous namespace)::put", "db::put"),
    ],
)
def test_a_name_with_other_scopes_is_missing_and_the_right_one_is_the_first_near_miss(
    tmp_path: Path, wrong: str, near: str
) -> None:
    (tmp_path / "pool.cc").write_text(SOURCE)
    done = check(tmp_path, wrong)
    assert done.returncode == 2
    assert f"no function '{wrong}' is defined; near misses: {near}" in done.stderr
