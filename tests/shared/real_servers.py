"""PostgreSQL and MariaDB as Debian has them, started for tests and studies: below a folder of their own, without TCP.

Neither runs as root, so that root's tests run them as nobody. Where a server is not installed its tests are skipped.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from patience import PATIENCE_SECONDS, wait_for

CHECKOUT = Path(__file__).parents[2]
USER = "nobody" if os.geteuid() == 0 else None


@dataclass
class RealServer:
    on: str
    socket: Path
    log: Path
    process: subprocess.Popen[bytes]

    @property
    def where(self) -> list[object]:
        return ["--on", self.on, "--socket", self.socket, "--user", "vprof", "--database", "vprof"]


def run(*command: object, input: str | None = None) -> None:
    done = subprocess.run(
        list(map(str, command)),
        input=input,
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
        cwd="/",
        **_account(),
    )
    assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"


def _account() -> dict[str, Any]:
    return {"user": USER, "group": "nogroup", "extra_groups": []} if USER else {}


@contextmanager
def _folder(below: Path | None) -> Iterator[Path]:
    """Where the server's account may write; sockets below it have short paths."""
    folder = Path(tempfile.mkdtemp(prefix="vprof-", dir=below)).resolve()
    try:
        if USER:
            shutil.chown(folder, USER)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _serving(command: Sequence[object], log: Path, ready: str) -> Iterator[subprocess.Popen[bytes]]:
    with log.open("wb") as out:
        process = subprocess.Popen(
            list(map(str, command)), stdin=subprocess.DEVNULL, stdout=out, stderr=out, cwd="/", **_account()
        )
    try:
        wait_for(lambda: ready in log.read_text() or process.poll() is not None, f"{command[0]} serves")
        assert process.poll() is None, log.read_text()
        yield process
    finally:
        process.terminate()
        process.wait(PATIENCE_SECONDS)


def _postgres_programs(folder: Path) -> Path:
    """Those installed, or from the package that `make setup` has fetched and not installed."""
    try:
        installed = subprocess.run(["pg_config", "--bindir"], capture_output=True, text=True).stdout.strip()
    except FileNotFoundError:
        installed = ""
    if installed and (Path(installed) / "postgres").is_file():
        return Path(installed)
    for package in sorted((CHECKOUT / ".stamps").glob("postgresql-*.deb")):
        run("dpkg-deb", "-x", package, folder / "package")
        return next((folder / "package").glob("usr/lib/postgresql/*/bin"))
    raise RuntimeError("no server of PostgreSQL: make test-quick fetches one")


@contextmanager
def postgres(settings: Sequence[str] = (), below: Path | None = None) -> Iterator[RealServer]:
    """`settings`: its own, each as name=value. `below`: a folder for its data, else the system's temporary one."""
    with _folder(below) as folder:
        programs = _postgres_programs(folder)
        run(programs / "initdb", "-D", folder / "data", "-U", "vprof", "-A", "trust", "--no-sync")
        run(programs / "postgres", "--single", "-D", folder / "data", "postgres", input="CREATE DATABASE vprof\n")
        options = [f"--{setting}" for setting in ("listen_addresses=", "deadlock_timeout=20ms", *settings)]
        command = [programs / "postgres", "-D", folder / "data", "-k", folder, *options]
        log = folder / "log"
        with _serving(command, log, "ready to accept connections") as process:
            yield RealServer("postgres", folder, log, process)


@contextmanager
def mariadb(settings: Sequence[str] = (), below: Path | None = None) -> Iterator[RealServer]:
    """`settings` and `below` as of postgres."""
    program = shutil.which("mariadbd", path=os.environ.get("PATH", "") + ":/usr/sbin")
    if not program:
        raise RuntimeError("no server of MariaDB: make setup installs one")
    with _folder(below) as folder:
        data, socket, init = folder / "data", folder / "socket", folder / "init.sql"
        init.write_text("CREATE DATABASE vprof;\nCREATE USER vprof;\nGRANT ALL ON *.* TO vprof;\n")
        init.chmod(0o644)
        options = ["--auth-root-authentication-method=normal", "--skip-test-db"]  # with it comes a user without a name
        # A server that starts deletes what others have in the same folder for temporary tables.
        run("env", f"TMPDIR={folder}", "mariadb-install-db", "--no-defaults", f"--datadir={data}", *options)
        command = [program, "--no-defaults", f"--datadir={data}", f"--socket={socket}", "--skip-networking"]
        command += [f"--tmpdir={folder}"]
        command += [f"--init-file={init}", *(f"--{setting}" for setting in settings)]
        log = folder / "log"
        with _serving(command, log, "ready for connections") as process:
            yield RealServer("mysql", socket, log, process)
