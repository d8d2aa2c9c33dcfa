"""LevelDB's descriptor: db_bench counts writes, vprof gives seconds."""

import subprocess
from pathlib import Path

import pytest

from vprof.target.server import LONG_SECONDS
from vprof.target.target import Target


def arguments_of_db_bench(tmp_path: Path, seconds: int, *options: str) -> list[str]:
    """What the target's command hands to db_bench, here a script that prints it."""
    target = Target.load("leveldb", tmp_path / "a folder")
    target.build_dir.mkdir(parents=True)
    db_bench = target.build_dir / "db_bench"
    db_bench.write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
    db_bench.chmod(0o755)
    command = target.command(seconds, list(options))
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()


@pytest.mark.parametrize(("seconds", "rounds"), [(1, 1), (10, 1), (30, 3), (LONG_SECONDS, LONG_SECONDS // 10)])
def test_the_database_is_filled_and_overwritten_for_every_ten_seconds(
    tmp_path: Path, seconds: int, rounds: int
) -> None:
    (benchmarks,) = [a for a in arguments_of_db_bench(tmp_path, seconds) if a.startswith("--benchmarks=")]
    assert benchmarks.split("=")[1].split(",") == ["fillrandom"] + rounds * ["overwrite"]


def test_options_of_the_user_come_last_so_that_they_count(tmp_path: Path) -> None:
    given = arguments_of_db_bench(tmp_path, 10, "--threads=8", "--value_size=1000")
    assert given[-2:] == ["--threads=8", "--value_size=1000"]
    assert f"--db={tmp_path}/a folder/build/db" in given
