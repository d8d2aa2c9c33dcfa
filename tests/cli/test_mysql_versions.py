"""targets/mysql for MySQL 5.7 to 9: its entries in a program of ours with MySQL's names; trees of other versions."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from vprof.commands import targets
from vprof.errors import UsageError
from vprof.installed import target_file
from vprof.target import descriptor as descriptors
from vprof.target.build_choices import BuildChoices, UserSource
from vprof.target.target import Target

SERVER = Path(__file__).parents[1] / "programs" / "mysql_names" / "server.cpp"
ROUNDS = 20
OLD, NEW, NEWEST, MARIADB = "5.7.44", "8.0.39", "9.7.2", "10.11.18"
STANDARD = {OLD: "c++03", NEW: "c++17", NEWEST: "c++20"}
ONLY = {OLD: ["sql/conn_handler", "libmysqld"], NEW: ["sql/conn_handler", "sql/dd"], MARIADB: ["storage/maria"]}
"""What trees of the version have besides sql/sql_parse.cc."""


def vprof(verb: str, *options: object) -> subprocess.CompletedProcess[str]:
    command = [str(Path(sys.executable).with_name("vprof")), *verb.split(), *map(str, options)]
    return subprocess.run(command, capture_output=True, text=True)


def said(done: subprocess.CompletedProcess[str]) -> Any:
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def tree(folder: Path, version: str) -> Path:
    for name in ("sql", *ONLY[version]):
        (folder / name).mkdir(parents=True, exist_ok=True)
    old = "#define OLD\n" if version == OLD else ""
    (folder / "sql" / "sql_parse.cc").write_text(old + SERVER.read_text())
    return folder


def add_what_cures_change(tree: Path, version: str) -> None:
    descriptor = of_version(version)
    for cure in descriptor.cures.values():
        for edit in cure.edits if descriptors.for_version(cure, version, descriptor.file) else ():
            (tree / edit.file).parent.mkdir(parents=True, exist_ok=True)
            with (tree / edit.file).open("a") as file:
                file.write(edit.anchor + "\n")


def of_version(version: str) -> descriptors.Descriptor:
    return descriptors.load(target_file("mysql"), BuildChoices(UserSource(Path(), version, [])))


def instrument(folder: Path, version: str, *options: str) -> tuple[Path, list[str]]:
    """The program, built from a tree by a command of the user's, and what `--source` takes for that."""
    mine = tree(folder / "mine", NEW if version == NEWEST else version)
    add_what_cures_change(mine, version)
    [program] = of_version(version).build["programs"]
    flags = f"-std={STANDARD[version]} -O1 -pthread -include {{annotations}}/load_types.h -o {{build}}/{program}"
    build = f"mkdir -p $(dirname {{build}}/{program}) && {{cxx}} {flags} sql/sql_parse.cc"
    of_tree = ["--source", str(mine), "--source-version", version, "--dir", str(folder / "work"), *options]
    built = said(vprof("instrument --target mysql", *of_tree, "--format", "json", "--", "sh", "-c", build))
    assert built["unchanged"] == 0
    return folder / "work" / "build" / program, of_tree


def places(rows: list[dict[str, Any]]) -> set[tuple[str, ...]]:
    return {
        (row["entry"], row["function"], row.get("call", ""), row.get("at", ""), place)
        for row in rows
        for place in row["places"]
    }


@pytest.mark.parametrize("version", [OLD, NEW, NEWEST])
@pytest.mark.parametrize(("kind", "intervals"), [([], 5), (["--interval", "statement"], 4)])
def test_the_text_has_the_entries_that_the_build_has(
    tmp_path: Path, version: str, kind: list[str], intervals: int
) -> None:
    _, of_tree = instrument(tmp_path, version, *kind)
    by_text = said(vprof("targets check mysql", *of_tree, "--format", "json"))["entries"]
    built = Target.load("mysql", tmp_path / "work")
    assert places(by_text) == places([*targets.places(built, built.units()), *targets.cured(built)])
    titles = [title for title, *_ in places(by_text)]
    assert sum(title.startswith("interval") for title in titles) == intervals
    assert sum(title.startswith("sync") for title in titles) == (5 if version == OLD else 6)  # rows: two or three


@pytest.fixture(scope="module", params=[OLD, NEW])
def trace(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("mysql")
    program, _ = instrument(folder, request.param)
    done = vprof("record --sites all", "-o", folder / "run.trace", "--", program, ROUNDS)
    assert done.returncode == 0, done.stderr
    return folder / "run.trace"


def test_prepared_statements_have_their_type_and_may_roll_back(trace: Path) -> None:
    report = said(vprof("analyze", trace, "--by-type", "--format", "json"))
    assert {one["type"]: one["count"] for one in report["by_type"]["types"]} == {"new_order": ROUNDS, "select": ROUNDS}
    assert report["intervals"]["excluded"] == {"aborted": 2 * ROUNDS}


def test_waits_are_called_by_what_they_are_for(trace: Path) -> None:
    """All sleep on one condition variable; who wakes may have to wait for its mutex, too."""
    report = said(vprof("analyze", trace, "--waits", "--format", "json"))
    asleep = [one for one in report["waited_for"]["objects"] if one["object_class"] == "condition variable"]
    names = {one["name"]: one["waits"] for one in asleep if one["name"]}
    assert names == {"shop/orders.PRIMARY page 4": 2 * ROUNDS, "binary log": ROUNDS, "redo log": 2 * ROUNDS}


@pytest.mark.parametrize("verb", ["instrument --target mysql", "targets check mysql"])
@pytest.mark.parametrize(
    ("of", "taken_for", "lacks"),
    [
        (MARIADB, NEWEST, "sql/conn_handler"),
        (MARIADB, OLD, "sql/conn_handler"),
        (NEW, MARIADB, "storage/maria"),
        (NEW, OLD, "libmysqld"),
        (OLD, NEW, "sql/dd"),
        (OLD, MARIADB, "storage/maria"),
    ],
)
def test_a_tree_of_another_version_is_refused_at_once(
    tmp_path: Path, verb: str, of: str, taken_for: str, lacks: str
) -> None:
    mine = tree(tmp_path / "mine", of)
    done = vprof(verb, "--source", mine, "--source-version", taken_for, "--dir", tmp_path / "work")
    assert done.returncode == 2
    assert done.stderr == f"vprof: {mine} is no source of mysql {taken_for}: it has no {lacks}\n"


@pytest.mark.parametrize(
    ("version", "log"),
    [
        (OLD, {"innodb_log_file_size": "48M"}),
        ("8.0.28", {"innodb_log_file_size": "48M"}),
        (NEW, {"innodb_redo_log_capacity": "100M"}),
        (NEWEST, {"innodb_redo_log_capacity": "100M"}),
        (MARIADB, {"innodb_log_file_size": "96M"}),
    ],
)
def test_knobs_are_those_of_the_version(version: str, log: dict[str, str]) -> None:
    knobs = of_version(version).knobs
    assert {name: knob.default for name, knob in knobs.items() if "log_file" in name or "redo" in name} == log
    governed = knobs["innodb_flush_log_at_trx_commit"].governs
    assert ("group_commit_lock::acquire" in governed) == (version == MARIADB)


def test_two_knobs_of_one_name_must_be_for_different_versions(tmp_path: Path) -> None:
    shutil.copytree(target_file("mysql").parent, tmp_path / "mysql")
    file = tmp_path / "mysql" / "target.toml"
    text = file.read_text()
    file.write_text(text.replace('name = "innodb_redo_log_capacity"', 'name = "innodb_log_file_size"'))
    assert "innodb_log_file_size" in descriptors.load(file, BuildChoices(UserSource(tmp_path, NEW, []))).knobs
    file.write_text(file.read_text().replace('"<8.0.30"', '"<8.1"'))
    with pytest.raises(UsageError, match=r"\[\[knob\]\] innodb_log_file_size: two are for one version"):
        descriptors.load(file, BuildChoices(UserSource(tmp_path, NEW, [])))
