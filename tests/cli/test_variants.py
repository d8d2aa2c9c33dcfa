"""`[[variant]]`: a descriptor whose commands differ by the version of the program; trees that are none of it."""

import subprocess
import sys
from pathlib import Path

import pytest

from vprof.errors import UsageError
from vprof.target import descriptor as descriptors
from vprof.target.build_choices import BuildChoices, UserSource

TWO = """
name = "toy"
[source]
kind = "debian"
package = "toy"
version = ">=10,<11"
[build]
needs = ["toy.c"]
steps = ["ninja toyd"]
programs = ["toyd"]
[server]
user = "nobody"
start = "{build}/toyd"
ready = "true"
[load]
command = "load"
[[knob]]
name = "pool"
kind = "size"
values = ["1M"]
versions = ">=10"
server_option = "--pool={value}"
restart = true
trades = "memory"
governs = ["read"]
[[variant]]
versions = "<9"
[variant.build]
programs = ["bin/mytoy"]
[variant.server]
setup = ["{build}/bin/mytoy --initialize"]
start = "{build}/bin/mytoy"
"""


def write(folder: Path, text: str = TWO) -> Path:
    file = folder / "toy" / "target.toml"
    file.parent.mkdir(exist_ok=True)
    file.write_text(text)
    return file


def choices(folder: Path, version: str | None, *command: str) -> BuildChoices:
    return BuildChoices(UserSource(folder, version, list(command)))


def test_the_variant_for_the_version_replaces_keys_and_keeps_the_others(tmp_path: Path) -> None:
    file = write(tmp_path)
    usual = descriptors.load(file)
    assert (
        usual.build["programs"] == ["toyd"]
        and usual.server["start"] == "{build}/toyd"
        and list(usual.knobs) == ["pool"]
    )
    old = descriptors.load(file, choices(tmp_path, "8.0.36"))
    assert old.build == {"needs": ["toy.c"], "steps": ["ninja toyd"], "programs": ["bin/mytoy"]}
    assert old.server == {
        "user": "nobody",
        "setup": ["{build}/bin/mytoy --initialize"],
        "start": "{build}/bin/mytoy",
        "ready": "true",
    }
    assert old.load == usual.load and old.knobs == {}
    assert descriptors.load(file, choices(tmp_path, "9.1")).server == usual.server


def test_the_command_of_the_user_comes_before_the_steps_of_a_variant(tmp_path: Path) -> None:
    file = write(tmp_path, TWO.replace("[variant.build]", '[variant.build]\nsteps = ["make"]'))
    assert descriptors.load(file, choices(tmp_path, "8.0")).build["steps"] == ["make"]
    assert descriptors.load(file, choices(tmp_path, "8.0", "./mine")).build["steps"] == ["./mine"]


def test_without_a_version_of_the_tree_it_is_asked_for(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"\[\[variant\]\]: versions needs the program's version: .*--source-version"):
        descriptors.load(write(tmp_path), choices(tmp_path, None))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (('versions = "<9"', ""), "number 1: versions is missing: a range such as '>=8.0,<8.4'"),
        (('versions = "<9"', 'versions = "old"'), "number 1: versions = 'old' is not a range"),
        (("[variant.server]", "[variant.sever]"), "number 1 has no key 'sever'; known: versions, build, run"),
        (("[variant.server]", "[variant.workloads]"), "number 1: there is no [workloads] that it changes"),
        (('start = "{build}/bin/mytoy"', "port = 1"), "[server] has no key 'port'"),
        (("[[variant]]", "[variant]"), "write [[variant]], with two brackets"),
        (('versions = ">=10"', 'versions = "ten"'), "[[knob]] number 1: versions = 'ten' is not a range"),
    ],
)
def test_a_mistake_is_one_line(tmp_path: Path, change: tuple[str, str], message: str) -> None:
    with pytest.raises(UsageError) as caught:
        descriptors.load(write(tmp_path, TWO.replace(*change)))
    assert message in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize("verb", ["instrument --target", "targets check"])
def test_a_tree_of_another_program_is_refused_at_once(tmp_path: Path, verb: str) -> None:
    (tmp_path / "other").mkdir()
    words = [*verb.split(), write(tmp_path).parent, "--source", tmp_path / "other", "--source-version", "8.0"]
    done = subprocess.run(
        [Path(sys.executable).with_name("vprof"), *words, "--dir", tmp_path / "work"], capture_output=True, text=True
    )
    assert (done.returncode, done.stderr.strip()) == (
        2,
        f"vprof: {tmp_path / 'other'} is no source of toy 8.0: it has no toy.c",
    )
