"""`vprof instrument --cure NAME`: a change of the program's source, in a copy, switched while it runs."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from vprof.errors import UsageError, VprofError
from vprof.installed import target_file, target_names
from vprof.target import cured_tree, cures
from vprof.target import descriptor as descriptors
from vprof.target.build_choices import BuildChoices
from vprof.target.target import Target

POOL = """\
#include <stdio.h>
#include "order.h"

static void serve(long number) { printf("%ld ", number); }

int main(void) {
  long waiting[] = {3, 1, 2};
  order(waiting, 3);
  for (int i = 0; i < 3; ++i) serve(waiting[i]);
  return 0;
}
"""
ORDER = """\
#pragma once
#include <stdlib.h>
/* Who asked first is served first. */
static inline void order(long *waiting, int count) {
  (void)waiting; (void)count;
}
"""
CMAKE = """\
cmake_minimum_required(VERSION 3.20)
project(pool C)
add_executable(pool pool.c)
"""
DESCRIPTOR = """
name = "pool"
roots = ["serve"]
[source]
kind = "tree"
path = "src"
version = "2.1"
[build]
steps = ["cmake -G Ninja -S {source} -B . -DCMAKE_C_COMPILER={cc}", "ninja"]
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
"""
CURES = """
[[cure]]
name = "eldest"
summary = "the smallest number first"
trades = "a little time to sort"
license = "MIT"
governs = ["serve"]
edits = "cures/eldest.toml"
versions = ">=2,<3"
[cure.switch]
name = "pool_eldest"
values = ["0", "1"]
environment = "POOL_ELDEST={value}"
restart = true
[[cure]]
name = "ends"
summary = "the line is ended"
trades = "nothing"
license = "MIT"
governs = ["main"]
edits = "cures/ends.toml"
"""
ELDEST = """
[[edit]]
file = "order.h"
after = "/* Who asked first is served first. */"
insert = '''
static int eldest(const void *a, const void *b) { return (int)(*(const long *)a - *(const long *)b); }
'''
[[edit]]
file = "order.h"
before = "  (void)waiting; (void)count;"
insert = '''
  const char *on = getenv("POOL_ELDEST");
  if (on && *on == '1') qsort(waiting, count, sizeof *waiting, eldest);
'''
"""
ENDS = """
[[edit]]
file = "pool.c"
before = "  return 0;"
insert = '  puts("");'
"""


class Place:
    """A target with a source and cures, and a work folder."""

    def __init__(self, folder: Path) -> None:
        self.target, self.work = folder / "pool", folder / "work"
        self.source = self.target / "src"
        self.source.mkdir(parents=True)
        (self.target / "cures").mkdir()
        self.write(DESCRIPTOR + CURES)
        for name, text in (("eldest", ELDEST), ("ends", ENDS)):
            (self.target / f"cures/{name}.toml").write_text(text)
        for name, text in (("pool.c", POOL), ("order.h", ORDER), ("CMakeLists.txt", CMAKE)):
            (self.source / name).write_text(text)

    def write(self, descriptor: str) -> None:
        (self.target / "target.toml").write_text(descriptor)

    def vprof(self, verb: str, *words: str | Path) -> subprocess.CompletedProcess[str]:
        command = [Path(sys.executable).with_name("vprof"), *verb.split(), "--dir", self.work, *words]
        return subprocess.run(command, capture_output=True, text=True, cwd=self.target.parent)

    def instrument(self, *options: str | Path) -> subprocess.CompletedProcess[str]:
        return self.vprof("instrument", "--target", self.target, *options)

    def load(self, *names: str) -> Target:
        return Target.of(str(self.target), self.work, BuildChoices(cures=names))

    def serves(self, **environment: str) -> str:
        program = self.work / "build/pool"
        return subprocess.run([program], capture_output=True, text=True, env=os.environ | environment).stdout

    def files(self) -> dict[str, str]:
        return {str(path.relative_to(self.source)): path.read_text() for path in self.source.rglob("*")}


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def fails(done: subprocess.CompletedProcess[str], said: str) -> None:
    assert done.returncode == 2
    assert said in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_copy_of_the_source_is_changed_and_the_program_switches(place: Place) -> None:
    before = place.files()
    done = place.instrument("--cure", "eldest")
    assert done.returncode == 0, done.stderr
    assert "pool: built from pool 2.1 with eldest in" in done.stdout
    assert [line.strip() for line in done.stdout.splitlines()[-4:]] == [
        "cure      eldest: the smallest number first",
        "trades: a little time to sort",
        "off until: POOL_ELDEST=1",
        "licence of the changed work: MIT",
    ]
    assert place.serves() == "3 1 2 "
    assert place.serves(POOL_ELDEST="1") == "1 2 3 "
    assert place.files() == before


def test_later_commands_know_the_cure_and_its_switch_is_a_knob(place: Place) -> None:
    said = json.loads(place.instrument("--cure", "eldest", "--format", "json").stdout)
    assert (said["cures"], said["built_from"]) == (["eldest"], "pool 2.1 with eldest")
    descriptor = Target.load(str(place.target), place.work).descriptor
    assert descriptor.knobs["pool_eldest"].values == ("0", "1")
    assert descriptor.knobs["pool_eldest"].governs == ("serve",)
    assert place.vprof("record", "--target", place.target, "-o", place.work / "run.trace").returncode == 0
    assert "pool_eldest" not in place.load().descriptor.knobs


def test_a_switch_that_was_not_built_in_is_no_knob(place: Place) -> None:
    assert place.instrument("--cure", "ends").returncode == 0
    listed = place.vprof("tune", "--target", place.target, "--list")
    assert listed.stdout.splitlines() == ["pool_eldest: not in this build, comes with --cure eldest of instrument"]
    fails(
        place.vprof("tune", "--target", place.target, "--knob", "pool_eldest=0,1"),
        "there is no knob 'pool_eldest' in this build: it comes with --cure eldest of instrument",
    )


def test_two_cures_are_one_build_and_without_them_it_is_as_ever(place: Place) -> None:
    assert place.instrument("--cure", "ends", "--cure", "eldest").returncode == 0
    assert place.serves(POOL_ELDEST="1") == "1 2 3 \n"
    assert (place.work / "cured/pool.c").exists()
    done = place.instrument()
    assert done.returncode == 0
    assert "\ncure " not in done.stdout
    assert place.serves(POOL_ELDEST="1") == "3 1 2 "
    assert not (place.work / "cured").exists()


def test_what_is_up_to_date_is_not_made_again(place: Place) -> None:
    assert place.instrument("--cure", "eldest").returncode == 0
    made = (place.work / "build/pool").stat().st_mtime_ns
    assert place.instrument("--cure", "eldest").returncode == 0
    assert (place.work / "build/pool").stat().st_mtime_ns == made
    (place.source / "pool.c").write_text(POOL.replace("{3, 1, 2}", "{9, 7, 8}"))
    assert place.instrument("--cure", "eldest").returncode == 0
    assert place.serves(POOL_ELDEST="1") == "7 8 9 "


def test_other_edits_are_another_build(place: Place) -> None:
    assert place.instrument("--cure", "ends").returncode == 0
    (place.target / "cures/ends.toml").write_text(ENDS.replace('""', '"end"'))
    assert place.instrument("--cure", "ends").returncode == 0
    assert place.serves() == "3 1 2 end\n"


def test_a_command_of_the_user_builds_the_copy(place: Place, tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    place.source.rename(mine)
    build = ["--source", mine, "--source-version", "2.5", "--", "sh", "-c", "$CC pool.c -o pool"]
    done = place.instrument("--cure", "ends", *build)
    assert done.returncode == 0, done.stderr
    ran = subprocess.run([place.work / "cured/pool"], capture_output=True, text=True)
    assert ran.stdout == "3 1 2 \n"
    assert sorted(path.name for path in mine.iterdir()) == ["CMakeLists.txt", "order.h", "pool.c"]
    assert place.vprof("targets check", place.target).returncode == 0


def test_a_source_without_the_anchor_is_an_error(place: Place) -> None:
    (place.source / "order.h").write_text(ORDER.replace("Who asked first", "Whoever asked first"))
    said = "cure eldest: order.h has no line '/* Who asked first is served first. */', after which it inserts"
    fails(place.instrument("--cure", "eldest"), said)
    assert not (place.work / "build").exists()
    assert place.instrument().returncode == 0
    fails(place.vprof("targets check", place.target), said)


def test_a_source_with_two_anchors_is_an_error(place: Place) -> None:
    with (place.source / "pool.c").open("a") as file:
        file.write("int other(void) {\n  return 0;\n}\n")
    fails(
        place.instrument("--cure", "ends"),
        "cure ends: pool.c has 2 lines 'return 0;', before one of which it inserts",
    )


def test_a_file_that_is_gone_is_an_error(place: Place) -> None:
    (place.source / "order.h").rename(place.source / "sort.h")
    fails(place.instrument("--cure", "eldest"), "cure eldest: order.h: No such file or directory")


def test_an_unknown_cure_lists_those_that_there_are(place: Place) -> None:
    file = place.target / "target.toml"
    fails(place.instrument("--cure", "x"), f"there is no cure 'x': {file} has eldest, ends")
    fails(place.instrument("--cure", "elder"), "there is no cure 'elder': did you mean 'eldest'?")
    place.write(DESCRIPTOR)
    fails(place.instrument("--cure", "eldest"), f"there is no cure 'eldest': {file} has no [[cure]]")


def test_a_cure_for_other_versions_is_an_error_and_is_left_out_of_checks(place: Place) -> None:
    place.write((DESCRIPTOR + CURES).replace('version = "2.1"', 'version = "3.0"'))
    fails(place.instrument("--cure", "eldest"), "cure eldest is not for 3.0: versions >=2,<3")
    assert place.instrument("--cure", "ends").returncode == 0
    (place.source / "order.h").unlink()
    checked = place.vprof("targets check", place.target)
    assert checked.returncode == 0, checked.stderr
    assert "not for 3.0: versions >=2,<3" in checked.stdout


def test_checks_say_where_cures_insert_and_what_they_govern(place: Place) -> None:
    assert place.instrument().returncode == 0
    said = place.vprof("targets check", place.target).stdout
    rows = [" ".join(line.split()) for line in said.splitlines() if line.startswith("cure")]
    source = place.source
    assert rows == [
        f"cure eldest serve {source}/pool.c:4",
        f"cure ends main {source}/pool.c:6",
        "cure eldest inserts order.h:3",
        "cure eldest inserts order.h:5",
        "cure ends inserts pool.c:10",
    ]
    place.write((DESCRIPTOR + CURES).replace('governs = ["main"]', 'governs = ["mane"]'))
    fails(place.vprof("targets check", place.target), "[[cure]] ends: no function or node 'mane'; near misses: main")


def test_a_tree_that_is_not_built_is_checked_for_anchors(place: Place) -> None:
    check = ("targets check", place.target, "--source", place.source, "--source-version", "2.2")
    assert "order.h:3" in place.vprof(*check).stdout
    (place.source / "pool.c").write_text(POOL.replace("  return 0;", "  return !1;"))
    fails(place.vprof(*check), "cure ends: pool.c has no line 'return 0;', before which it inserts")


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('trades = "nothing"', "", "[[cure]] number 2: 'trades' is missing"),
        ('trades = "nothing"', 'trades = " "', "[[cure]] number 2: trades must be a text"),
        ('license = "MIT"\ngoverns = ["main"]', 'governs = ["main"]', "[[cure]] number 2: 'license' is missing"),
        ('governs = ["main"]', "governs = []", "governs must be a list of texts, with one at least"),
        ('name = "ends"', 'name = "eldest"', "[[cure]] number 2: there is another cure 'eldest'"),
        ('name = "ends"', 'name = "ends"\ncosts = "2"', "[[cure]] number 2 has no key 'costs'; known: name"),
        ("cures/ends.toml", "cures/end.toml", "No such file or directory"),
        ('versions = ">=2,<3"', 'versions = "2.x"', "is not a range such as"),
        ('values = ["0", "1"]', 'values = ["0", "1", "2"]', "switch: values must be two: off, on"),
        ('environment = "POOL_ELDEST={value}"', "", "switch: give one of server_option, load_option, environment"),
        ('name = "pool_eldest"', 'name = "pool_eldest"\nkind = "whole"', "switch has no key 'kind'"),
        ("[[cure]]", "[cure]", "write [[cure]], with two brackets"),
    ],
)
def test_a_wrong_table_is_one_line(place: Place, old: str, new: str, said: str) -> None:
    text = CURES.replace(old, new) if old != "[[cure]]" else CURES.partition('[[cure]]\nname = "ends"')[0]
    place.write(DESCRIPTOR + text.replace("[[cure]]", "[cure]") if old == "[[cure]]" else DESCRIPTOR + text)
    with pytest.raises(UsageError) as error:
        descriptors.load(place.target / "target.toml")
    assert said in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("edits", "said"),
    [
        ("edit = 1", "write [[edit]], with two brackets, and nothing else"),
        ("", "write [[edit]], with two brackets, and nothing else"),
        ("[[edit", "not valid TOML"),
        (ENDS.replace("before", "over"), "[[edit]] number 1: give one of before, after"),
        (ENDS.replace("before", 'after = "x"\nbefore'), "[[edit]] number 1: give one of before, after"),
        (ENDS.replace("pool.c", "../pool.c"), "file must be a path in the source"),
        (ENDS.replace("pool.c", "/pool.c"), "file must be a path in the source"),
        (ENDS + "line = 3", "[[edit]] number 1 has no key 'line'"),
        (ENDS.replace("insert", "inserts"), "[[edit]] number 1: insert must be a text"),
        (ENDS.replace('"  return 0;"', '" "'), "[[edit]] number 1: before must be a text"),
    ],
)
def test_wrong_edits_are_one_line(place: Place, edits: str, said: str) -> None:
    (place.target / "cures/ends.toml").write_text(edits)
    with pytest.raises(UsageError) as error:
        descriptors.load(place.target / "target.toml")
    assert said in str(error.value)
    assert str(place.target / "cures/ends.toml") in str(error.value)


def test_our_cures_keep_of_the_program_one_line_for_each_edit_and_are_off_at_first() -> None:
    found = [cure for name in target_names() for cure in descriptors.load(target_file(name)).cures.values()]
    assert {"vats", "lazy-lru"} <= {cure.name for cure in found}
    for cure in found:
        assert all("\n" not in edit.anchor for edit in cure.edits), cure.name
        assert cure.switch and cure.switch.values[0] in ("OFF", "0"), cure.name


def test_a_switch_is_no_other_knob(place: Place) -> None:
    knob = CURES.partition("[cure.switch]")[2].partition("[[cure]]")[0]
    more = f'[[knob]]\n{knob}kind = "choice"\ntrades = "nothing"\ngoverns = ["serve"]\n'
    place.write(DESCRIPTOR + CURES + more)
    assert "pool_eldest" in place.load().descriptor.knobs
    with pytest.raises(UsageError, match=r"\[\[cure\]\] eldest: switch: there is another knob 'pool_eldest'"):
        place.load("eldest")


def test_all_else_of_a_source_is_copied_as_it_is(place: Place, tmp_path: Path) -> None:
    """Text in another encoding, with other ends of lines; links, rights, times; not our own work in it."""
    odd = "/* Gr\xfc\xdfe */\r\n  return 0;\n".encode("latin-1")
    (place.source / "pool.c").write_bytes(odd)
    (place.source / "run.sh").write_text("#!/bin/sh\n")
    (place.source / "run.sh").chmod(0o755)
    (place.source / "deep").mkdir()
    (place.source / "deep/link").symlink_to("../order.h")
    (place.source / "folder").symlink_to("deep")
    work = place.source / ".vprof"
    (work / "kept").mkdir(parents=True)
    edited = cures.edited(place.source, place.load("ends").descriptor.chosen_cures)
    tree = work / "cured"
    cured_tree.update(place.source, tree, edited, work)
    assert (tree / "pool.c").read_bytes() == odd.replace(b"  return", b'  puts("");\n  return')
    assert (tree / "run.sh").stat().st_mode & 0o777 == 0o755
    assert (tree / "order.h").stat().st_mtime_ns == (place.source / "order.h").stat().st_mtime_ns
    assert (tree / "deep/link").readlink() == Path("../order.h")
    assert (tree / "folder").readlink() == Path("deep")
    assert not (tree / ".vprof").exists()


def test_links_lead_into_the_copy_or_to_what_is_not_in_the_source(place: Place, tmp_path: Path) -> None:
    (place.source / "near").symlink_to(place.source / "order.h")
    (place.source / "far").symlink_to("../cures")
    tree = place.work / "cured"
    cured_tree.update(place.source, tree, {}, place.work)
    assert (tree / "near").readlink() == tree / "order.h"
    assert (tree / "far").readlink() == place.target / "cures"


def test_what_lies_behind_a_link_is_not_changed(place: Place, tmp_path: Path) -> None:
    place.source.rename(tmp_path / "mine")
    place.source.mkdir()
    (place.source / "part").symlink_to(tmp_path / "mine")
    (place.target / "cures/ends.toml").write_text(ENDS.replace("pool.c", "./part//pool.c"))
    done = place.instrument("--cure", "ends")
    assert (done.returncode, done.stderr) == (
        1,
        "vprof: cannot change part/pool.c in a copy of the source: it lies behind a link\n",
    )
    assert (tmp_path / "mine/pool.c").read_text() == POOL


def test_what_the_source_lost_is_removed_and_what_a_build_made_stays(place: Place) -> None:
    tree = place.work / "cured"
    (place.source / "old.h").touch()
    cured_tree.update(place.source, tree, {}, place.work)
    (tree / "pool.o").touch()
    (place.source / "old.h").unlink()
    (place.source / "order.h").write_text("/* new */\n")
    cured_tree.update(place.source, tree, {}, place.work)
    assert sorted(path.name for path in tree.iterdir()) == ["CMakeLists.txt", "order.h", "pool.c", "pool.o"]
    assert (tree / "order.h").read_text() == "/* new */\n"


def test_a_source_that_cannot_be_copied_is_one_line(place: Place) -> None:
    place.work.mkdir()
    (place.work / "cured").write_text("no folder")
    with pytest.raises(VprofError, match=r"cannot copy the source: .*cured"):
        cured_tree.update(place.source, place.work / "cured", {}, place.work)
