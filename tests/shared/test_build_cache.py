"""The cache of builds: made once, again when what determines it changes; the runtime is always the installed one."""

import os
import shutil
import threading
from pathlib import Path

import pytest
from build_cache import Built, built, cache_folder
from kept_builds import installed as installed

DESCRIPTOR = """
name = "toy"
roots = ["main"]
[source]
kind = "tree"
path = "."
[build]
steps = ["sh -c 'echo made >> ../../../made'", "{cc} {source}/toy.c -o toy"]
programs = ["toy"]
[run]
command = "{build}/toy"
"""


@pytest.fixture
def toy(tmp_path: Path) -> Path:
    folder = tmp_path / "toy"
    folder.mkdir()
    (folder / "target.toml").write_text(DESCRIPTOR)
    (folder / "toy.c").write_text("int main(void) { return 0; }\n")
    return folder


@pytest.fixture
def tools(tmp_path: Path, installed: Path) -> Path:
    """A copy of the installed tools that a test may change."""
    for part in ("bin/vprof-cc", "bin/vprof-c++"):
        (tmp_path / "tools" / part).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(installed / part, tmp_path / "tools" / part)
    shutil.copytree(installed / "lib/vprof", tmp_path / "tools/lib/vprof")
    return tmp_path / "tools"


def use(toy: Path, tools: Path, *cures: str) -> Built:
    with built(str(toy), toy.parent / "cache", tools, print, cures) as found:
        return found


def times_made(found: Built) -> int:
    return len((found.folder / "made").read_text().splitlines())


def test_a_build_is_made_once(toy: Path, tools: Path) -> None:
    first = use(toy, tools)
    assert use(toy, tools) == first
    assert times_made(first) == 1


def test_other_steps_are_another_build(toy: Path, tools: Path) -> None:
    first = use(toy, tools)
    (toy / "target.toml").write_text(DESCRIPTOR.replace("echo made", "echo made anew"))
    assert use(toy, tools).folder != first.folder


def test_a_cure_is_another_build_and_no_part_of_those_without_it(toy: Path, tools: Path) -> None:
    def with_cure(number: int) -> None:
        (toy / "cures/status.toml").write_text(edit.replace("1", str(number)))

    edit = '[[edit]]\nfile = "toy.c"\nbefore = "int main(void) { return 0; }"\ninsert = "int number = 1;"\n'
    cure = 'name = "status"\nsummary = "a number"\ntrades = "nothing"\nlicense = "MIT"\n'
    (toy / "cures").mkdir()
    with_cure(1)
    (toy / "target.toml").write_text(f'{DESCRIPTOR}[[cure]]\n{cure}governs = ["main"]\nedits = "cures/status.toml"\n')
    plain, cured = use(toy, tools), use(toy, tools, "status")
    assert "int number = 1;" in (cured.target.source_dir / "toy.c").read_text()
    assert cured.folder != plain.folder
    with_cure(2)
    assert use(toy, tools) == plain
    assert use(toy, tools, "status").folder != cured.folder


def test_another_rewriter_is_another_build(toy: Path, tools: Path) -> None:
    first = use(toy, tools)
    with (tools / "lib/vprof/vprof-rewrite").open("ab") as rewriter:
        rewriter.write(b"changed")
    assert use(toy, tools).folder != first.folder


def test_a_kept_build_gets_the_runtime_that_is_installed_now(toy: Path, tools: Path) -> None:
    first = use(toy, tools)
    with (tools / "lib/vprof/libvprof.so").open("ab") as runtime:
        runtime.write(b"changed")
    second = use(toy, tools)
    assert second == first
    assert times_made(second) == 1
    assert (second.prefix / "lib/vprof/libvprof.so").read_bytes().endswith(b"changed")


def test_a_build_that_was_interrupted_starts_afresh(toy: Path, tools: Path) -> None:
    found = use(toy, tools)
    (found.folder / "complete").unlink()
    (found.folder / "left").touch()
    use(toy, tools)
    assert times_made(found) == 1
    assert not (found.folder / "left").exists()


def test_two_builds_are_kept_the_latest_used(toy: Path, tools: Path) -> None:
    def with_steps(text: str) -> Path:
        (toy / "target.toml").write_text(DESCRIPTOR.replace("echo made", f"echo {text}"))
        return use(toy, tools).folder

    first, second = with_steps("first"), with_steps("second")
    os.utime(second / "complete", (0, 0))
    assert with_steps("first") == first
    third = with_steps("third")
    assert {folder for folder in (first, second, third) if folder.exists()} == {first, third}


def test_a_second_run_waits_for_the_first(toy: Path, tools: Path) -> None:
    said: list[str] = []
    waits = threading.Event()

    def say(line: str) -> None:
        said.append(line)
        waits.set()

    def second() -> None:
        with built(str(toy), toy.parent / "cache", tools, say):
            said.append("second has it")

    with built(str(toy), toy.parent / "cache", tools, print):
        thread = threading.Thread(target=second)
        thread.start()
        assert waits.wait(60)
        said.append("first still has it")
    thread.join(60)
    assert said == ["waiting for another run of these tests", "first still has it", "second has it"]


def test_one_run_may_use_builds_of_two_targets(toy: Path, tools: Path) -> None:
    """It waited for itself."""
    other = toy.with_name("other")
    shutil.copytree(toy, other)
    (other / "target.toml").write_text(DESCRIPTOR.replace('"toy"', '"other"', 1))
    waits: list[str] = []
    cache = toy.parent / "cache"
    with built(str(toy), cache, tools, print), built(str(other), cache, tools, waits.append) as found:
        assert found.target.programs()[0].exists()
    assert not any("waiting" in line for line in waits)


def test_where_the_cache_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("VPROF_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert cache_folder() == tmp_path / "vprof"
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert cache_folder() == Path("/var/cache/vprof")
    monkeypatch.setenv("VPROF_CACHE", str(tmp_path / "mine"))
    assert cache_folder() == tmp_path / "mine"


def test_a_build_below_make_is_a_build_of_its_own(toy: Path, tools: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MAKELEVEL", "1")
    monkeypatch.setenv("MAKEFLAGS", "n")
    (toy / "target.toml").write_text(DESCRIPTOR.replace("echo made", "echo level:$MAKELEVEL flags:$MAKEFLAGS"))
    assert (use(toy, tools).folder / "made").read_text() == "level: flags:\n"
