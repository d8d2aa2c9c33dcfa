"""Descriptors: what is accepted, and the one line a mistake gets."""

import json
from pathlib import Path

import pytest

from vprof import descriptor as descriptors
from vprof.errors import UsageError
from vprof.paths import target_file, target_names

GOOD = """
name = "toy"
roots = ["serve"]
exclude = ["hash_*"]
[source]
kind = "tree"
path = "src"
[build]
steps = ["make CC={cc} OUT={build}"]
programs = ["toy"]
[run]
command = "{build}/toy"
[[interval]]
event = "begin"
function = "txn_begin"
id = "txn->id"
[[sync]]
role = "release"
function = "latch_set"
object = "latch"
"""


def write(tmp_path: Path, text: str) -> Path:
    folder = tmp_path / "toy"
    folder.mkdir(exist_ok=True)
    file = folder / "target.toml"
    file.write_text(text)
    return file


def test_entries_reach_the_rewriter_unchanged(tmp_path: Path) -> None:
    descriptor = descriptors.load(write(tmp_path, GOOD))
    raw = json.loads(descriptor.rewriter_json())
    assert raw["interval"] == [{"event": "begin", "function": "txn_begin", "id": "txn->id"}]
    assert raw["sync"] == [{"role": "release", "function": "latch_set", "object": "latch"}]
    assert raw["exclude"] == ["hash_*"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (('event = "begin"', 'event = "start"'), "event = 'start' must be one of begin, end, abort, on_behalf"),
        (
            ('event = "begin"', 'event = "abort"\ntype = "txn->name"'),
            "number 1: type is only for event = begin and end",
        ),
        (('id = "txn->id"', ""), "[[interval]] number 1: 'id' is missing"),
        (("[[interval]]", "[interval]"), "write [[interval]], with two brackets"),
        (("[[sync]]", "[[synch]]"), "unknown key 'synch', did you mean 'sync'?"),
        (('name = "toy"', 'name = "other"'), "is not the folder's name 'toy'"),
        (('roots = ["serve"]', 'roots = "serve"'), "roots must be a list of strings"),
        (('roots = ["serve"]', 'include = ["nothing"]'), "there is no nothing.toml in annotations/"),
        (('path = "src"', 'pfad = "src"'), "[source] has no key 'pfad'"),
        (('name = "toy"', "name = "), "not valid TOML"),
    ],
)
def test_a_mistake_is_one_line_with_its_place(tmp_path: Path, change: tuple[str, str], message: str) -> None:
    file = write(tmp_path, GOOD.replace(*change))
    with pytest.raises(UsageError) as error:
        descriptors.load(file)
    assert message in str(error.value)
    assert str(file) in str(error.value)
    assert "\n" not in str(error.value)


SERVED = GOOD.replace(
    '[run]\ncommand = "{build}/toy"',
    """[server]
user = "nobody"
environment = { TOYHOST = "{server}" }
setup = ["{install}/toy-init {server}"]
start = "{install}/toyd"
ready = "{install}/toy-ping"
stop = "{install}/toy-stop"
[load]
command = "{install}/toy-load {seconds} {clients}"
clients = 4""",
)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("[load]", "[load]\nclient = 1"), "[load] has no key 'client'"),
        (('ready = "{install}/toy-ping"', ""), "[server] 'ready' is missing"),
        (('"{install}/toyd"', "7"), "[server] start must be a string"),
        (('["{install}/toy-init {server}"]', "[7]"), "[server] setup must be a list of strings"),
        (('"{server}" }', "7 }"), "[server] environment must be a table of strings"),
        (("[load]", "[run]"), "[run] has no key 'clients'"),
        (("[[interval]]", '[run]\ncommand = "x"\n[[interval]]'), "give either [run], or [server] and [load]"),
        (('kind = "tree"', 'kind = "git"'), "[source] kind = 'git' must be one of tree, debian"),
        (('kind = "tree"', 'kind = "debian"'), "[source] path is not for kind = 'debian'"),
        (('path = "src"', ""), "[source] 'path' is missing"),
    ],
)
def test_a_mistake_about_a_server_is_one_line(tmp_path: Path, change: tuple[str, str], message: str) -> None:
    file = write(tmp_path, SERVED.replace(*change))
    with pytest.raises(UsageError) as error:
        descriptors.load(file)
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_a_server_and_its_load(tmp_path: Path) -> None:
    descriptor = descriptors.load(write(tmp_path, SERVED))
    assert descriptor.server["user"] == "nobody"
    assert descriptor.load["clients"] == 4
    assert not descriptor.run


def test_an_entry_that_matches_nothing_names_near_misses(tmp_path: Path) -> None:
    descriptor = descriptors.load(write(tmp_path, GOOD))
    lines = descriptors.unmatched(descriptor, {"interval/0"}, {"serve", "latch_sets", "txn_begin"})
    assert len(lines) == 1
    assert "no function 'latch_set' is defined; near misses: latch_sets" in lines[0]


def test_a_root_that_does_not_exist_is_reported(tmp_path: Path) -> None:
    descriptor = descriptors.load(write(tmp_path, GOOD))
    lines = descriptors.unmatched(descriptor, {"interval/0", "sync/0"}, {"server", "txn_begin"})
    assert lines == [f"{descriptor.file}: roots: no function 'serve' is defined; near misses: server"]


@pytest.mark.parametrize("name", target_names())
def test_every_target_of_the_house_loads(name: str) -> None:
    descriptor = descriptors.load(target_file(name))
    assert descriptor.name == name
    assert descriptor.roots
    assert descriptor.summary
