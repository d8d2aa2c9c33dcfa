"""minidb's log in several files: who commits finds a free one, and whenever the program is killed, what a client was
told of is there again, in its order."""

from __future__ import annotations

import shutil
import struct
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import pytest
from minidb_parts import SOURCE, answers, linked
from patience import PATIENCE_SECONDS, wait_for

RECORD = struct.Struct("<QQQqq16sQ")
"""LSN, transaction, account (of a commit: how many changes), balance before and after, kind, checksum."""
ROWS = 100
MASK, PRIME, BASIS = 2**64 - 1, 1099511628211, 14695981039346656037


@dataclass(frozen=True)
class Record:
    lsn: int
    account: int
    before: int
    after: int
    kind: bytes


@pytest.fixture(scope="module")
def minidb(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("minidb")
    subprocess.run(["make", "-s", "-C", SOURCE, "-j2", "CC=clang-19", f"OUT={folder}"], check=True)
    return folder / "minidb"


def whole_records(file: Path) -> Iterator[Record]:
    """In the order of the file, up to the first that is torn."""
    data = file.read_bytes()
    for at in range(0, len(data) - RECORD.size + 1, RECORD.size):
        lsn, _, account, before, after, kind, checksum = RECORD.unpack_from(data, at)
        found = BASIS
        for byte in data[at : at + RECORD.size - 8]:
            found = (found ^ byte) * PRIME & MASK
        if lsn and found != checksum:
            return
        if lsn:
            yield Record(lsn, account, before, after, kind.rstrip(b"\0"))


def committed(folder: Path) -> tuple[list[Record], set[int]]:
    """The changes of all files by LSN, and the LSNs of the commits."""
    changes: list[Record] = []
    commits: set[int] = set()
    for file in folder.glob("log.*"):
        pending: list[Record] = []
        for record in whole_records(file):
            if record.kind != b"commit":
                pending.append(record)
                continue
            assert len(pending) >= record.account
            changes += pending[-record.account :]
            commits.add(record.lsn)
            pending = []
    return sorted(changes, key=lambda one: one.lsn), commits


def balances_of(changes: list[Record]) -> dict[int, int]:
    """By account. Each change begins where the last one of its account ended."""
    found: dict[int, int] = {}
    for change in changes:
        assert found.get(change.account, 0) == change.before, f"LSN {change.lsn}"
        found[change.account] = change.after
    return found


def recovered(minidb: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    command = [minidb, "--recover", "--rows", str(ROWS), "--log-dir", folder]
    return subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=False)


def said_of(changes: list[Record], commits: set[int]) -> dict[str, str]:
    """What --recover should print, but for the last LSN."""
    balances = balances_of(changes)
    checksum = 0
    for row in range(ROWS):
        checksum = (checksum ^ (balances.get(1000 + 7 * row, 0) & MASK)) * PRIME & MASK
    return {
        "transactions": str(len(commits)),
        "changes": str(len(changes)),
        "balances": str(sum(balances.values())),
        "checksum": f"{checksum:x}",
    }


def killed_in_mid_run(minidb: Path, folder: Path, logs: int, seed: int) -> None:
    """When it has told its clients of some commits more."""
    options = ["--seconds", 600, "--rows", ROWS, "--pathology", "lock", "--clients", 12, "--workers", 12]
    files = ["--logs", logs, "--log-dir", folder, "--replies", folder / "replies"]
    replies = folder / "replies"
    before = replies.stat().st_size if replies.exists() else 0
    command = [str(word) for word in (minidb, *options, *files, "--seed", seed)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        try:
            wait_for(lambda: replies.exists() and replies.stat().st_size > before + 8 * 150)
            time.sleep(0.001 * (seed * 37 % 20))
        finally:
            process.kill()


@pytest.mark.parametrize("logs", [(1, 1), (2, 2, 2), (3, 1, 2)])
def test_what_clients_were_told_of_survives_kills_in_its_order(minidb: Path, tmp_path: Path, logs: tuple[int]) -> None:
    """Killed, started again, also with more or fewer logs, and killed again."""
    for seed, count in enumerate(logs, 1):
        killed_in_mid_run(minidb, tmp_path, count, seed)
        changes, commits = committed(tmp_path)
        told = {lsn for (lsn,) in struct.iter_unpack("<Q", (tmp_path / "replies").read_bytes())}
        assert len(told) >= 150 * seed
        assert told <= commits
        done = recovered(minidb, tmp_path)
        assert (done.returncode, done.stderr) == (0, "")
        printed = dict(line.split() for line in done.stdout.splitlines())
        assert int(printed.pop("lsn")) >= max(commits)
        assert printed == said_of(changes, commits)
    used = [file for file in tmp_path.glob("log.*") if any(whole_records(file))]
    assert len(used) == max(logs)


def test_rows_are_chained_through_several_logs(minidb: Path, tmp_path: Path) -> None:
    """Else the order of recovery would not be tested: changes of one row lie in both files, in turn."""
    killed_in_mid_run(minidb, tmp_path, 2, 5)
    where = {change.lsn: file.name for file in tmp_path.glob("log.*") for change in whole_records(file)}
    hot = [where[change.lsn] for change in committed(tmp_path)[0] if change.account == 1000]
    assert sum(a != b for a, b in pairwise(hot)) > 5


def test_a_torn_end_is_cut_off(minidb: Path, tmp_path: Path) -> None:
    killed_in_mid_run(minidb, tmp_path, 1, 1)
    data = (tmp_path / "log.0").read_bytes()
    for number, lost in enumerate([1, 63, 64, 65, 700, 1024, 1500, 4000, len(data)]):
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / "log.0").write_bytes(data[: len(data) - lost])
        expected = said_of(*committed(folder))
        for _ in range(2):
            done = recovered(minidb, folder)
            assert done.returncode == 0, done.stderr
            printed = dict(line.split() for line in done.stdout.splitlines())
            assert {name: printed[name] for name in expected} == expected
        assert (folder / "log.0").stat().st_size % 1024 == 0


def test_a_log_with_a_gap_is_an_error(minidb: Path, tmp_path: Path) -> None:
    """One of two files has lost its first half: later changes build on what is not there."""
    killed_in_mid_run(minidb, tmp_path, 2, 3)
    shutil.copy(tmp_path / "log.0", tmp_path / "kept")
    data = (tmp_path / "kept").read_bytes()
    (tmp_path / "log.0").write_bytes(data[len(data) // 2048 * 1024 :])
    done = recovered(minidb, tmp_path)
    assert done.returncode == 1
    assert done.stderr.startswith("minidb: the log does not fit the table at LSN ")
    assert len(done.stderr.splitlines()) == 1


def test_a_committer_takes_a_free_log_else_the_one_with_fewer_waiters(tmp_path: Path) -> None:
    program = linked(tmp_path, "log_steps")
    steps = [
        *("busy 0", "busy 1", "commit", "commit", "commit", "commit", "commit"),
        *("idle 0", "flushed", "busy 0", "commit", "commit", "commit", "idle 1", "busy 1", "commit", "idle 0"),
        *("idle 1", "flushed"),
    ]
    said = answers(program, 2, steps="\n".join(steps))
    assert said[:5] == ["0", "1", "0", "1", "0"]
    assert said[5] == "6 0", "three commits with a change each"
    assert said[6:9] == ["0", "0", "0"], "free; one waiter against two; of as many the first"
    assert said[9:] == ["1", "12 6"]
