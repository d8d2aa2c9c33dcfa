"""`vprof targets check`: where entries apply, which alternatives the program has, what is for other versions."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from vprof.target.target import Target

SOURCE = """
struct job { long id; };
static struct job *pool_take(struct job *job) { return job; }
static int serve(struct job *job) { return job->id == 1; }
int worker_main(void) {
  struct job only = {1}, *job = pool_take(&only);
  return serve(job);
}
int main(void) { return !worker_main(); }
"""

DESCRIPTOR = """
name = "pool"
roots = ["worker_main"]
[source]
kind = "tree"
path = "."
version = "8.0.36-1"
[build]
steps = ["{cc} {source}/pool.c -o pool"]
programs = ["pool"]
[run]
command = "{build}/pool"
[[queue]]
role = "dequeue"
function = ["Worker::main(int)", "worker_main", "main"]
call = "pool_take"
task = "return"
[[interval]]
event = "begin"
function = "serve"
id = "job->id"
versions = ">=8.0,<8.4"
[[interval]]
event = "begin"
function = "serve_connection"
id = "connection->id"
versions = ">=8.4"
"""


def check(tmp_path: Path, descriptor: str, *options: str) -> subprocess.CompletedProcess[str]:
    """Builds the program and checks its descriptor."""
    folder = tmp_path / "pool"
    folder.mkdir()
    (folder / "target.toml").write_text(descriptor)
    (folder / "pool.c").write_text(SOURCE)
    Target.load(str(folder), tmp_path / "work").build(print)
    vprof = Path(sys.executable).with_name("vprof")
    command = [vprof, "targets", "check", folder, "--dir", tmp_path / "work", *options]
    return subprocess.run(command, capture_output=True, text=True)


def test_alternatives_that_the_program_has_and_entries_left_out_are_listed(tmp_path: Path) -> None:
    done = check(tmp_path, DESCRIPTOR)
    assert done.returncode == 0, done.stderr
    assert [" ".join(line.replace(str(tmp_path), "").split()) for line in done.stdout.splitlines()] == [
        "interval begin serve /pool/pool.c:4",
        "queue dequeue worker_main, call of pool_take /pool/pool.c:5",
        "root worker_main /pool/pool.c:5",
        "interval begin serve_connection not for 8.0.36-1: versions >=8.4",
    ]


def test_the_same_as_json(tmp_path: Path) -> None:
    done = check(tmp_path, DESCRIPTOR, "--format", "json")
    said = json.loads(done.stdout)
    place = str(tmp_path / "pool/pool.c")
    assert said["entries"][-2] == {
        "entry": "queue dequeue",
        "function": "worker_main",
        "call": "pool_take",
        "places": [f"{place}:5"],
    }
    assert said["left_out"] == [
        {"entry": "interval begin", "function": "serve_connection", "why": "not for 8.0.36-1: versions >=8.4"}
    ]


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (
            ('call = "pool_take"', 'call = "pool_get"'),
            "no call of 'pool_get' is written in 'worker_main' or 'main'; near misses: pool_take",
        ),
        (
            ('"worker_main", "main"]', '"worker_loop"]'),
            "no function 'Worker::main(int)' or 'worker_loop' is defined; near misses: worker_main",
        ),
        (("8.0.36-1", "8.4"), "no function 'serve_connection' is defined"),
    ],
    ids=["call", "function", "version"],
)
def test_an_entry_that_applies_nowhere_is_one_line(tmp_path: Path, change: tuple[str, str], complaint: str) -> None:
    done = check(tmp_path, DESCRIPTOR.replace(*change))
    assert done.returncode == 2
    assert complaint in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_program_that_another_compiler_linked_is_an_error(tmp_path: Path) -> None:
    """Its entries apply, but no probe could be on: httpd's modules were like that, linked by Debian's libtool."""
    alone = '"{cc} -fPIC -c {source}/pool.c -o pool.o", "clang-19 -shared pool.o -o pool"'
    done = check(tmp_path, DESCRIPTOR.replace('"{cc} {source}/pool.c -o pool"', alone))
    assert done.returncode == 1
    assert "build/pool was linked without vprof-cc" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_module_that_vprof_cc_linked_is_a_program_too(tmp_path: Path) -> None:
    module = '"{cc} -fPIC -c {source}/pool.c -o pool.o", "{cc} -shared pool.o -o pool"'
    done = check(tmp_path, DESCRIPTOR.replace('"{cc} {source}/pool.c -o pool"', module))
    assert done.returncode == 0, done.stderr


KNOB = """
[[knob]]
name = "workers"
kind = "whole"
values = [1, 2]
load_option = "--workers {value}"
restart = true
trades = "memory"
governs = ["pool_take", "[queue]", "GOVERNED"]
"""


def test_what_a_knob_governs_is_shown_with_where_it_is(tmp_path: Path) -> None:
    done = check(tmp_path, DESCRIPTOR + KNOB.replace("GOVERNED", "serve"))
    assert done.returncode == 0, done.stderr
    rows = [line.split(maxsplit=3)[2:] for line in done.stdout.splitlines() if line.startswith("knob workers ")]
    assert [row[0] for row in rows] == ["pool_take", "[queue]", "serve"]
    assert rows[0][1].endswith("pool.c:3") and rows[1][1] == "a node of reports"


def test_what_a_knob_governs_and_nobody_has_is_an_error_with_near_misses(tmp_path: Path) -> None:
    done = check(tmp_path, DESCRIPTOR + KNOB.replace("GOVERNED", "pool_tale"))
    assert done.returncode == 2
    assert "[[knob]] workers: no function or node 'pool_tale'; near misses: pool_take" in done.stderr
