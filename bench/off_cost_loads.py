"""The programs of off_cost.py, each built twice from one source: by clang, and by vprof-cc.

    PostgreSQL 15    point selects of one client, `pgbench -S`; instructions are its backend's, CPU times the server's
    LevelDB 1.23     its db_bench
    jsoncpp 1.9.5    off_cost_json.cpp

Everything lies below `.vprof/` of the current folder; PostgreSQL and LevelDB are what `vprof instrument` builds there.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "targets"))

from plain_build import built_plain

from vprof.installed import native
from vprof.target.fetch import fetch
from vprof.target.server import Server
from vprof.target.target import Target

HERE = Path(__file__).resolve().parent


@dataclass(frozen=True)
class Client:
    """Who asks a server for its operations."""

    server: Server
    command: Callable[[int], list[str]]  # asks for so many operations
    asked: str  # the server's function that is called once for each


@dataclass(frozen=True)
class Load:
    """`counted`, `timed`: operations of the two runs whose difference is what an operation costs."""

    name: str
    plain: Path
    probed: Path
    counted: tuple[int, int]
    timed: tuple[int, int]
    options: Callable[[int], list[str]]  # of a run of so many operations
    client: Client | None = None  # the program is a server


def leveldb() -> list[Load]:
    target = Target.load("leveldb")
    target.build(_nobody_listens)
    plain = built_plain(target)
    work = "fillrandom,readrandom,compact,readrandom,readseq"
    database = ["--value_size=1000", "--write_buffer_size=100000000", f"--benchmarks={work}"]

    def options(count: int) -> list[str]:
        return [f"--db={target.folder / 'off_cost.db'}", f"--num={count}", *database]

    return [Load("LevelDB", plain.programs()[0], target.programs()[0], (3000, 7000), (2000, 50_000), options)]


def jsoncpp() -> list[Load]:
    folder = Path(".vprof/jsoncpp").resolve()
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "fetch.log").open("w") as log:
        fetch("libjsoncpp", ">=1.9.5,<1.10", folder / "source", folder / "apt", log)
    parts = [*sorted((folder / "source/src/lib_json").glob("*.cpp")), HERE / "off_cost_json.cpp"]
    for name, compiler in (("plain", "clang++-19"), ("probed", native("bin/vprof-c++"))):
        options = ["-O2", f"-I{folder}/source/include", "-o", folder / name]
        subprocess.run(list(map(str, [compiler, *options, *parts])), check=True, cwd=folder)
    return [Load("jsoncpp", folder / "plain", folder / "probed", (20, 60), (20, 1500), lambda count: [str(count)])]


def postgres() -> list[Load]:
    target = Target.load("postgres")
    target.build(_nobody_listens)
    plain = built_plain(target)
    server = Server.of(target)
    programs = [built.folder / "install/bin/postgres" for built in (plain, target)]
    settings = ["listen_addresses=", "shared_buffers=256MB", "autovacuum=off"]
    backend = ["-D", str(server.folder / "data"), "-k", str(server.folder), *(f"--{setting}" for setting in settings)]

    def point_selects(count: int) -> list[str]:
        return [str(plain.folder / "install/bin/pgbench"), "-n", "-S", "-c", "1", "-t", str(count), "--random-seed=1"]

    client = Client(server, point_selects, "exec_simple_query")
    return [Load("PostgreSQL", *programs, (100, 500), (100, 20_000), lambda _count: backend, client)]


LOADS = {"postgres": postgres, "leveldb": leveldb, "jsoncpp": jsoncpp}


def _nobody_listens(_step: str) -> None:
    return
