"""`vprof instrument --interval KIND`: a descriptor that knows more than one kind of interval."""

import subprocess
import sys
from pathlib import Path

DESCRIPTOR = """
name = "pool"
roots = ["serve"]
[source]
kind = "tree"
path = "."
[build]
steps = ["{cc} {source}/pool.c -o pool"]
programs = ["pool"]
[run]
command = "{build}/pool"
[[interval]]
event = "begin"
function = "serve"
id = "number"
[[interval]]
event = "end"
function = "serve"
at = "exit"
id = "number"
[[interval]]
kind = "half"
event = "begin"
function = "half"
id = "number"
[[interval]]
kind = "half"
event = "end"
function = "half"
at = "exit"
id = "number"
"""
SOURCE = """
static volatile long sum;
static void half(long number) { for (long i = 0; i < 500 * number; ++i) sum += i; }
static void serve(long number) { half(2 * number); half(2 * number + 1); }
int main(void) { for (long number = 1; number < 100; ++number) serve(number); return 0; }
"""


def vprof(verb: str, *options: str | Path) -> subprocess.CompletedProcess[str]:
    command = [Path(sys.executable).with_name("vprof"), *verb.split(), *options]
    return subprocess.run(command, capture_output=True, text=True)


def pool(tmp_path: Path) -> Path:
    folder = tmp_path / "pool"
    folder.mkdir()
    (folder / "target.toml").write_text(DESCRIPTOR)
    (folder / "pool.c").write_text(SOURCE)
    return folder


def recorded(target: Path, work: Path, trace: Path) -> str:
    done = vprof("record", "--target", target, "--dir", work, "-o", trace)
    assert done.returncode == 0, done.stderr
    return vprof("analyze", trace).stdout


def test_the_chosen_kind_is_recorded_until_another_is_built(tmp_path: Path) -> None:
    target, work = pool(tmp_path), tmp_path / "work"
    build = ("instrument", "--target", target, "--dir", work)
    assert vprof(*build).returncode == 0
    assert "99 intervals" in recorded(target, work, tmp_path / "usual.trace")
    done = vprof(*build, "--interval", "half")
    assert done.returncode == 0, done.stderr
    assert "198 intervals" in recorded(target, work, tmp_path / "half.trace")
    assert vprof(*build).returncode == 0
    assert "99 intervals" in recorded(target, work, tmp_path / "again.trace")


def test_check_says_which_entries_belong_to_the_other_kind(tmp_path: Path) -> None:
    target = pool(tmp_path)
    usual = vprof("targets check", target, "--source", target)
    assert usual.returncode == 0, usual.stderr
    assert [line.split() for line in usual.stdout.splitlines()[-2:]] == [
        ["interval", event, "half", "with", "--interval", "half"] for event in ("begin", "end")
    ]
    half = vprof("targets check", target, "--source", target, "--interval", "half")
    assert [line.split() for line in half.stdout.splitlines()[-2:]] == [
        ["interval", event, "serve", "without", "--interval"] for event in ("begin", "end")
    ]


def test_a_kind_that_the_descriptor_does_not_know_is_one_line(tmp_path: Path) -> None:
    done = vprof("instrument", "--target", pool(tmp_path), "--dir", tmp_path / "work", "--interval", "third")
    assert done.returncode == 2
    assert done.stderr.endswith("no [[interval]] has kind = 'third'; known: half\n")
