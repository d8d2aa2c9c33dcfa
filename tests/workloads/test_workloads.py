"""Each workload on real servers: setup, a short run in which all types occur, and what must hold afterwards."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from load_runs import COMMITTED, FAILED, GAVE_UP, ROLLED_BACK, UNFINISHED, Driver
from real_servers import CHECKOUT, RealServer

ALL_OF_YCSB = "read=40,update=30,insert=10,scan=10,read_modify_write=10"
WORKLOADS = {
    "ycsb": ["--mix", ALL_OF_YCSB],
    "zipf_locks": ["--mix", "update=1,lock=1", "--scale", "1"],
    "tatp": [],
}
"""With options of the run; more workloads are one line each."""


def scale_of(workload: str) -> list[str]:
    return ["--scale", "1"] if workload == "zipf_locks" else []


def set_up(driver: Driver, workload: str, server: RealServer) -> None:
    done = driver.call("setup", workload, *server.where, *scale_of(workload))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def check(driver: Driver, workload: str, server: RealServer) -> subprocess.CompletedProcess[str]:
    return driver.call("check", workload, *server.where, *scale_of(workload))


@pytest.mark.parametrize("workload", WORKLOADS)
def test_a_workload(workload: str, driver: Driver, server: RealServer) -> None:
    """Twice: setup replaces what is there."""
    for _ in range(2):
        set_up(driver, workload, server)
        ended = driver.run(workload, server.where, "--clients", 6, "--seconds", 2, *WORKLOADS[workload])
        assert ended.code == 0 and ended.latencies and ended.result["first_error"] is None, ended.errors
        for name in ended.latencies.names[:-1]:
            outcomes = np.bincount(ended.latencies.of(name)["outcome"], minlength=5)
            assert outcomes[COMMITTED] > 0 == outcomes[FAILED] + outcomes[UNFINISHED], name
    done = check(driver, workload, server)
    assert done.returncode == 0 and done.stdout and not done.stderr
    assert all(line.startswith("ok ") for line in done.stdout.splitlines())


@pytest.mark.parametrize(
    ("workload", "loss"),
    [
        ("ycsb", "DELETE FROM usertable WHERE ycsb_key = 'user000000000007'"),
        ("zipf_locks", "DELETE FROM zipf_locks WHERE id = 7"),
        ("tatp", "UPDATE subscriber SET sub_nbr = '7' WHERE s_id = 7"),
    ],
)
def test_check_finds_what_is_wrong(
    workload: str, loss: str, driver: Driver, server: RealServer, execute: Callable[[RealServer, str], None]
) -> None:
    set_up(driver, workload, server)
    execute(server, loss)
    done = check(driver, workload, server)
    assert done.returncode == 4 and sum(line.startswith("FAILED ") for line in done.stdout.splitlines()) == 1


@pytest.mark.parametrize("workload", WORKLOADS)
def test_a_database_of_another_scale_is_refused(workload: str, driver: Driver, server: RealServer) -> None:
    set_up(driver, workload, server)
    ended = driver.run(workload, server.where, "--clients", 1, "--seconds", 1, "--scale", 2)
    assert ended.code == 1 and ended.errors.count("\n") == 1
    assert f"not of this --scale (1000 instead of 2000): run setup {workload}" in ended.errors


def test_deadlocks_are_repeated_and_counted(driver: Driver, server: RealServer) -> None:
    """Eight clients lock five of few rows in any order."""
    set_up(driver, "zipf_locks", server)
    options = ["--scale", 1, "--theta", 2, "--writes", 1, "--mix", "lock=1", "--seconds", 3]
    ended = driver.run("zipf_locks", server.where, "--clients", 8, *options)
    assert ended.code == 0 and ended.latencies and ended.result["first_error"] is None
    records = ended.latencies.transactions()
    assert ended.result["retries"] == (records["tries"] - 1).sum() > 0
    again = driver.run("zipf_locks", server.where, "--clients", 8, *options, "--tries", 1)
    assert again.latencies and again.result["retries"] == 0 and set(again.latencies.transactions()["tries"]) == {1}
    assert set(again.latencies.transactions()["outcome"]) == {COMMITTED, GAVE_UP}


def test_shares_of_tatp(driver: Driver, server: RealServer) -> None:
    """Five eighths of all inputs find access information: each subscriber has 1 to 4 of 4 kinds."""
    set_up(driver, "tatp", server)
    ended = driver.run("tatp", server.where, "--clients", 4, "--seconds", 3)
    assert ended.latencies
    records = ended.latencies.transactions()
    shares = np.bincount(records["type"]) / len(records)
    assert shares == pytest.approx(np.array([35, 10, 35, 2, 14, 2, 2]) / 100, abs=0.03)
    found = ended.latencies.of("get_access_data")["outcome"]
    assert set(found) == {COMMITTED, ROLLED_BACK} and (found == COMMITTED).mean() == pytest.approx(0.625, abs=0.06)


@pytest.fixture
def execute(tmp_path: Path) -> Callable[[RealServer, str], None]:
    """Runs a statement through a program of db.h."""
    source, built = tmp_path / "execute.c", tmp_path / "execute"
    source.write_text("""
#include <string.h>
#include "db.h"
int main(int argc, char **argv) {
  char error[100];
  struct db_address address = {strcmp(argv[1], "mysql") ? DB_POSTGRES : DB_MYSQL, argv[2], "vprof", "vprof"};
  struct db *db = db_open(&address, error, sizeof error);
  return argc != 4 || !db || db_run(db, argv[3]) != DB_OK;
}
""")
    command = ["pkg-config", "--cflags", "--libs", "libpq", "libmariadb"]
    libraries = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    folder = CHECKOUT / "workloads/db"
    subprocess.run(["cc", f"-I{folder}", source, *sorted(folder.glob("*.c")), *libraries, "-o", built], check=True)

    def execute(server: RealServer, sql: str) -> None:
        subprocess.run([built, server.on, server.socket, sql], check=True)

    return execute
