"""`vprof instrument --source DIR -- BUILD COMMAND`: the user brings the tree and says how it is built."""

import subprocess
import sys
from pathlib import Path

import pytest

BARE = """
name = "pool"
roots = ["serve"]
[build]
programs = ["pool"]
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
WITH_STEPS = BARE.replace("[build]", '[build]\nsteps = ["{cc} {source}/pool.c -o pool"]')
NOTHING = BARE.replace("[build]", "").replace('programs = ["pool"]', "")
SOURCE = """
static volatile long sum;
static void serve(long number) { for (long i = 0; i < 1000 * number; ++i) sum += i; }
int main(void) { for (long number = 1; number < 100; ++number) serve(number); return 0; }
"""


class Place:
    """A descriptor, a tree of the user and a work folder."""

    def __init__(self, folder: Path, descriptor: str) -> None:
        self.target, self.tree, self.work = folder / "pool", folder / "mine", folder / "work"
        self.target.mkdir()
        self.tree.mkdir()
        (self.target / "target.toml").write_text(descriptor)
        (self.tree / "pool.c").write_text(SOURCE)

    def vprof(self, verb: str, *options: str | Path) -> subprocess.CompletedProcess[str]:
        command = [Path(sys.executable).with_name("vprof"), *verb.split(), "--target", self.target, "--dir", self.work]
        return subprocess.run([*command, *options], capture_output=True, text=True, cwd=self.tree.parent)

    def instrument(self, *options: str | Path) -> subprocess.CompletedProcess[str]:
        return self.vprof("instrument", *options)

    def files(self) -> list[str]:
        return sorted(path.name for path in self.tree.iterdir())


def fails(done: subprocess.CompletedProcess[str], said: str, status: int = 2) -> None:
    assert done.returncode == status
    assert said in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_the_build_command_runs_in_the_tree_with_the_instrumenting_compiler(tmp_path: Path) -> None:
    place = Place(tmp_path, BARE)
    (place.tree / "Makefile").write_text("pool: pool.c\n")
    done = place.instrument("--source", place.tree, "--", "make")
    assert done.returncode == 0, done.stderr
    assert "matched   2 descriptor entries, all of them" in done.stdout
    assert (place.tree / "pool").exists()
    assert (place.tree / "pool.c").read_text() == SOURCE


def test_a_build_in_the_work_folder_leaves_the_tree_alone(tmp_path: Path) -> None:
    place = Place(tmp_path, BARE)
    build = "mkdir {build}/bin; $CC pool.c -o {build}/bin/pool"
    done = place.instrument("--source", place.tree, "--", "sh", "-c", build)
    assert done.returncode == 0, done.stderr
    assert place.files() == ["pool.c"]


def test_later_commands_know_what_was_built(tmp_path: Path) -> None:
    """A target without [run] has no command of its own: the words behind `--` are the command."""
    place = Place(tmp_path, BARE)
    assert place.instrument("--source", "mine", "--", "sh", "-c", "$CC pool.c -o pool").returncode == 0
    recorded = place.vprof("record", "-o", tmp_path / "run.trace", "--", place.tree / "pool")
    assert recorded.returncode == 0, recorded.stderr
    vprof = Path(sys.executable).with_name("vprof")
    analyzed = subprocess.run([vprof, "analyze", tmp_path / "run.trace"], capture_output=True, text=True)
    assert "99 intervals" in analyzed.stdout
    check = [vprof, "targets", "check", place.target, "--dir", place.work]
    checked = subprocess.run(check, capture_output=True, text=True)
    assert f"{place.tree}/pool.c:3" in checked.stdout


def test_the_steps_of_the_descriptor_build_the_tree_of_the_user(tmp_path: Path) -> None:
    place = Place(tmp_path, WITH_STEPS)
    done = place.instrument("--source", place.tree)
    assert done.returncode == 0, done.stderr
    assert (place.work / "build/pool").exists()
    assert place.files() == ["pool.c"]


def test_what_a_changed_descriptor_may_leave_stale_is_said(tmp_path: Path) -> None:
    place = Place(tmp_path, BARE)
    build = ("--source", place.tree, "--", "sh", "-c", "$CC pool.c -o pool")
    said = "files that are not compiled again keep old probes"
    assert said not in place.instrument(*build).stderr
    assert said not in place.instrument(*build).stderr
    (place.target / "target.toml").write_text(BARE.replace("[build]", 'probe = ["main"]\n[build]'))
    assert said in place.instrument(*build).stderr


def test_the_version_of_the_tree_chooses_entries(tmp_path: Path) -> None:
    place = Place(tmp_path, WITH_STEPS + '[[sync]]\nrole = "acquire"\nfunction = "f"\nobject = "l"\nversions = ">=9"\n')
    fails(place.instrument("--source", place.tree), "[[sync]]: versions needs the program's version")
    assert place.instrument("--source", place.tree, "--source-version", "8.4").returncode == 0
    fails(place.instrument("--source", place.tree, "--source-version", "9.1"), "no function 'f' is defined")


@pytest.mark.parametrize(
    ("descriptor", "options", "said"),
    [
        (BARE, [], "there is no [source]: give --source DIR"),
        (BARE, ["--source", "mine"], "there is no [build] steps: give --source DIR -- BUILD COMMAND"),
        (BARE, ["--", "make"], "a build command is for your own tree: give --source DIR"),
        (BARE, ["--source-version", "1"], "--source-version is of your own tree: give --source DIR"),
        (BARE, ["--source", "mine", "--", "true"], "the build command left no 'pool' in"),
        (BARE, ["--source", "mine", "--", "sh", "-c", "mkdir {build}/b; touch {build}/pool {build}/b/pool"], "several"),
        (BARE, ["--source", "mine", "--", "sh", "-c", "${CC} pool.c"], "cannot fill in 'sh -c"),
        (NOTHING, ["--source", "mine", "--", "true"], "[build] programs is missing"),
    ],
    ids=["source", "steps", "command", "version", "nothing", "several", "braces", "programs"],
)
def test_what_is_missing_is_one_line(tmp_path: Path, descriptor: str, options: list[str], said: str) -> None:
    fails(Place(tmp_path, descriptor).instrument(*options), said)


@pytest.mark.parametrize(
    ("command", "said", "status"),
    [("false", "the build failed", 1), ("not-there", "not-there: No such file or directory", 2)],
)
def test_a_build_command_that_fails_is_one_line(tmp_path: Path, command: str, said: str, status: int) -> None:
    place = Place(tmp_path, BARE)
    fails(place.instrument("--source", place.tree, "--", command), said, status)


@pytest.mark.parametrize(
    ("printed", "said"),
    [
        (
            r"CMake Error at a.cmake:4 (MESSAGE):\n  libfmt is not found\n\n\nSee also x.log.\n",
            "CMake: libfmt is not found",
        ),
        (r"CMake Error: no generator\nConfiguring incomplete\n", "CMake Error: no generator"),
        (r"configure: error: no curses\nmake: nothing to do\n", "configure: error: no curses"),
    ],
    ids=["below", "behind", "configure"],
)
def test_the_line_that_says_why_a_build_failed(tmp_path: Path, printed: str, said: str) -> None:
    place = Place(tmp_path, BARE)
    (place.tree / "build.sh").write_text(f"printf '{printed}'\nexit 1\n")
    fails(place.instrument("--source", place.tree, "--", "sh", "build.sh"), f"the build failed: {said}", 1)


def test_folders_of_the_user_are_not_emptied(tmp_path: Path) -> None:
    place = Place(tmp_path, WITH_STEPS)
    place.work = place.tree
    fails(place.instrument("--source", place.tree), "cannot be the source and the work folder")
    assert place.files() == ["pool.c"]


def test_a_folder_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    done = Place(tmp_path, BARE).instrument("--source", tmp_path / "gone")
    assert done.returncode == 2
    assert "does not exist" in done.stderr


def test_a_target_without_a_command_needs_one_to_record(tmp_path: Path) -> None:
    place = Place(tmp_path, WITH_STEPS)
    assert place.instrument("--source", place.tree).returncode == 0
    fails(place.vprof("record"), "there is no [run] or [server]: give a command after `--`")


def test_a_drill_does_not_rebuild_by_the_command_of_the_user(tmp_path: Path) -> None:
    place = Place(tmp_path, BARE)
    assert place.instrument("--source", place.tree, "--", "sh", "-c", "$CC pool.c -o pool").returncode == 0
    fails(place.vprof("drill --rebuild --auto", "--", place.tree / "pool"), "--rebuild builds by a descriptor's steps")


def test_a_damaged_note_of_the_tree_is_one_line_and_a_new_build_mends_it(tmp_path: Path) -> None:
    place = Place(tmp_path, WITH_STEPS)
    assert place.instrument("--source", place.tree).returncode == 0
    (place.work / "choices.json").write_text('{"user": {"folder": "/a/tree"')
    fails(place.vprof("record", "-o", tmp_path / "run.trace"), "choices.json: damaged: run `vprof instrument` again")
    assert place.instrument("--source", place.tree).returncode == 0
