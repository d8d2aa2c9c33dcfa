"""Bad input: one line with the cause and the mend on standard error, the documented exit code, nothing lost."""

import subprocess
import sys
from pathlib import Path

import pytest
from patience import PATIENCE_SECONDS


def vprof(*arguments: object, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", "from vprof.cli import main; main()", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, cwd=cwd, timeout=PATIENCE_SECONDS)


def assert_one_line(done: subprocess.CompletedProcess[str], exit_code: int, *words: str) -> None:
    assert done.returncode == exit_code, done.stderr
    assert done.stdout == ""
    assert len(done.stderr.splitlines()) == 1, done.stderr
    assert done.stderr.startswith("vprof: ")
    for word in words:
        assert word in done.stderr


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", ["empty"]),
        (b"\x7fELF\x02\x01\x01" + bytes(200), ["not a vprof trace"]),
        (b"hello\n", ["not a vprof trace"]),
        (b"{]", ["JSON"]),
        (b"{}", ["intervals"]),
    ],
)
def test_a_foreign_file_is_refused(tmp_path: Path, content: bytes, words: list[str]) -> None:
    file = tmp_path / "run.trace"
    file.write_bytes(content)
    assert_one_line(vprof("analyze", file), 1, str(file), *words)
    assert file.read_bytes() == content


def test_a_missing_trace(tmp_path: Path) -> None:
    assert_one_line(vprof("analyze", tmp_path / "no.trace"), 1, "no.trace", "No such file")


def test_an_unwritable_output_directory(tmp_path: Path) -> None:
    done = vprof("record", "--sites", "all", "-o", tmp_path / "missing" / "run.trace", "--", "true")
    assert_one_line(done, 1, "missing")


def test_a_program_that_does_not_exist(tmp_path: Path) -> None:
    done = vprof("record", "--sites", "all", "-o", tmp_path / "run.trace", "--", "./no-such-program")
    assert_one_line(done, 2, "no-such-program", "not found")


def test_a_program_without_probes_is_diagnosed(tmp_path: Path) -> None:
    done = vprof("record", "--sites", "all", "-o", tmp_path / "run.trace", "--", "true")
    assert_one_line(done, 1, "no records", "CC=vprof-cc")


def test_nothing_to_run() -> None:
    assert_one_line(vprof("record", "--sites", "all"), 2, "give a command after `--`")


def test_an_unknown_target_names_the_known() -> None:
    assert_one_line(vprof("instrument", "--target", "minidbs"), 2, "minidbs", "minidb")


def test_an_unknown_verb() -> None:
    assert_one_line(vprof("analyse"), 2, "analyse")


def test_help_of_every_verb_has_an_example() -> None:
    verbs = [line.split()[0] for line in vprof("--help").stdout.split("Commands:")[1].splitlines() if line.strip()]
    assert {"analyze", "drill", "instrument", "record", "sites"} <= set(verbs)
    for verb in verbs:
        assert f"vprof {verb} " in vprof(verb, "--help").stdout.split("Example")[1]
