"""What of the driver needs a real server: db.h, and the errors that only a database has."""

import subprocess
from pathlib import Path

import pytest
from load_runs import Driver
from real_servers import CHECKOUT, RealServer


@pytest.fixture(scope="module")
def db_check(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """db_check.c, with the sanitizers that find what is freed too early or never."""
    built = tmp_path_factory.mktemp("db") / "db_check"
    libraries = subprocess.run(
        ["pkg-config", "--cflags", "--libs", "libpq", "libmariadb"], capture_output=True, text=True, check=True
    )
    sources = [CHECKOUT / "tests/workloads/db_check.c", *sorted((CHECKOUT / "workloads/db").glob("*.c"))]
    options = ["-g", "-fsanitize=address,undefined", "-fno-sanitize-recover", f"-I{CHECKOUT / 'workloads/db'}"]
    subprocess.run(["clang-19", *options, *sources, *libraries.stdout.split(), "-o", built], check=True)
    return built


def test_the_layer_below_the_workloads(db_check: Path, server: RealServer) -> None:
    done = subprocess.run([db_check, server.on, server.socket, "vprof", "vprof"], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_noop(driver: Driver, server: RealServer) -> None:
    assert driver.call("setup", "noop", *server.where).returncode == 0
    ended = driver.run("noop", server.where, "--clients", 2, "--seconds", 1, "--isolation", "serializable")
    assert ended.code == 0 and ended.latencies and ended.result["first_error"] is None
    assert ended.result["server"].startswith({"postgres": "PostgreSQL ", "mysql": "MariaDB "}[server.on])
    assert ended.result["isolation"] == "serializable" and len(ended.latencies.transactions()) > 100
    assert driver.call("check", "noop", *server.where).returncode == 0


def test_a_wrong_database_is_one_line(driver: Driver, server: RealServer) -> None:
    ended = driver.run("noop", [*server.where, "--database", "nonesuch"], "--clients", 1, "--seconds", 1)
    assert ended.code == 1 and "nonesuch" in ended.errors and ended.errors.count("\n") == 1
