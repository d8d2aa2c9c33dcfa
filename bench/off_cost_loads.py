"""The programs of off_cost.py, each built twice from one source: by clang, and by vprof-cc.

    PostgreSQL 15    a single-user backend (clients and their waits would disturb the figures) that reads statements
    LevelDB 1.23     its db_bench
    jsoncpp 1.9.5    off_cost_json.cpp

Everything lies below `.vprof/` of the current folder; PostgreSQL and LevelDB are what `vprof instrument` builds there.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from vprof.paths import native
from vprof.server import Account, Server
from vprof.source import fetch
from vprof.target import Target

HERE = Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "targets/postgres"))

PLAIN = {"cc": "clang-19", "cxx": "clang++-19"}


@dataclass(frozen=True)
class Load:
    """`counted`, `timed`: operations of the two runs whose difference is what an operation costs."""

    name: str
    plain: Path
    probed: Path
    counted: tuple[int, int]
    timed: tuple[int, int]
    options: Callable[[int], list[str]]  # of a run of so many operations
    input: Callable[[int], str] = field(default=lambda _count: "")
    account: Account = field(default=Account())


def leveldb() -> list[Load]:
    target = Target.load("leveldb")
    target.build(_nobody_listens)
    plain = _built_plain(target)
    work = "fillrandom,readrandom,compact,readrandom,readseq"
    database = ["--value_size=1000", "--write_buffer_size=100000000", f"--benchmarks={work}"]

    def options(count: int) -> list[str]:
        return [f"--db={target.folder / 'off_cost.db'}", f"--num={count}", *database]

    return [Load("LevelDB", plain.programs()[0], target.programs()[0], (3000, 7000), (2000, 50_000), options)]


def jsoncpp() -> list[Load]:
    folder = Path(".vprof/jsoncpp").resolve()
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "fetch.log").open("w") as log:
        fetch("libjsoncpp", "1.9.5-4", folder / "source", folder / "apt", log)
    parts = [*sorted((folder / "source/src/lib_json").glob("*.cpp")), HERE / "off_cost_json.cpp"]
    for name, compiler in (("plain", PLAIN["cxx"]), ("probed", native("bin/vprof-c++"))):
        options = ["-O2", f"-I{folder}/source/include", "-o", folder / name]
        subprocess.run(list(map(str, [compiler, *options, *parts])), check=True, cwd=folder)
    return [Load("jsoncpp", folder / "plain", folder / "probed", (20, 60), (20, 1500), lambda count: [str(count)])]


def postgres() -> list[Load]:
    target = Target.load("postgres")
    target.build(_nobody_listens)
    plain = _built_plain(target)
    server = Server.of(target)
    programs = [built.folder / "install/bin/postgres" for built in (plain, target)]
    backend = ["--single", "-D", str(server.folder / "data"), "-c", "shared_buffers=256MB", "postgres"]
    return [
        Load(name, *programs, counted, timed, lambda _count: backend, partial(_statements, script), server.account)
        for name, script, counted, timed in (
            ("PostgreSQL, point select", point_select, (100, 500), (100, 20_000)),
            ("PostgreSQL, TPC-B", tpc_b, (20, 100), (20, 2000)),
        )
    ]


LOADS = {"postgres": postgres, "leveldb": leveldb, "jsoncpp": jsoncpp}


def _built_plain(target: Target) -> Target:
    """From the same source with the same steps, below `plain/` of the target's folder."""
    plain = Target(target.descriptor, target.folder / "plain")
    plain.build_dir.mkdir(parents=True, exist_ok=True)
    with (plain.folder / "build.log").open("wb") as log:
        for step in target.descriptor.build["steps"]:
            command = plain.filled(step, source=str(target.source_dir), **PLAIN)
            subprocess.run(command, cwd=plain.build_dir, stdout=log, stderr=subprocess.STDOUT, check=True)
    return plain


def _nobody_listens(_step: str) -> None:
    return


def _statements(script: Callable[[int], str], count: int) -> str:
    return "".join(map(script, range(count)))


def point_select(number: int) -> str:
    return f"SELECT abalance FROM pgbench_accounts WHERE aid = {_account(number)};\n"


def tpc_b(number: int) -> str:
    """The statements of pgbench's default script."""
    account, teller, branch = _account(number), number % 100 + 1, number % 10 + 1
    return (
        "BEGIN;\n"
        f"UPDATE pgbench_accounts SET abalance = abalance + 7 WHERE aid = {account};\n"
        f"SELECT abalance FROM pgbench_accounts WHERE aid = {account};\n"
        f"UPDATE pgbench_tellers SET tbalance = tbalance + 7 WHERE tid = {teller};\n"
        f"UPDATE pgbench_branches SET bbalance = bbalance + 7 WHERE bid = {branch};\n"
        "INSERT INTO pgbench_history (tid, bid, aid, delta, mtime) "
        f"VALUES ({teller}, {branch}, {account}, 7, CURRENT_TIMESTAMP);\n"
        "END;\n"
    )


def _account(number: int) -> int:
    return number * 7919 % 1_000_000 + 1
