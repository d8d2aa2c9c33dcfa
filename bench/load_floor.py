#!/usr/bin/env python3
"""What does `vprof-load-driver` itself cost, beside pgbench and sysbench: a prepared SELECT 1 over a Unix socket.

    python bench/load_floor.py --rounds 5 --seconds 10 --results load_floor.jsonl [--only postgres] [--folder DIR]

Starts PostgreSQL and MariaDB as Debian has them, each in turn, below DIR (else the system's temporary folder). With 1
and 8 clients in a closed loop, each tool asks as fast as it gets answers; the tools take turns, and each round begins
with another one. Makes the runs that the results file does not have yet, prints the table of all, and writes it beside
the results as Markdown. 12 minutes with 5 rounds of 10 s.

CPU is that of the tool's process, user and system (getrusage), by request, its start included: runs of a second or two
are too short, and a machine that does something else shows nothing. That of the server is not in it. The driver
writes each latency to a file, so that pgbench is there twice: alone, and with `-l`, which does the same. sysbench's
percentiles are those of its histogram (steps of 1.8 %). The goal is 1.2 times the CPU of each other tool.
"""

from __future__ import annotations

import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
from load_parts import SERVERS, RealServer, head, keep, kept, parser_of, row, show, spread

from vprof.installed import LOAD_DRIVER, native
from vprof.workload.latency_file import COMMITTED, LatencyFile

GOAL = 1.2
OURS = "vprof"
CLIENTS = (1, 8)
EVENT = """
function thread_init()
  connection = sysbench.sql.driver():connect()
  statement = connection:prepare("SELECT 1")
end
function event() statement:execute() end
function thread_done()
  statement:close()
  connection:disconnect()
end
"""


@dataclass(frozen=True)
class Run:
    """One tool's run. Times are us, `cpu_us` by request; None: the tool does not say. `load`: of the machine."""

    server: str
    clients: int
    tool: str
    number: int
    requests: int
    per_s: float
    p50_us: float | None
    p999_us: float | None
    max_us: float | None
    cpu_us: float
    load: float


@dataclass(frozen=True)
class Answer:
    """What a tool says: requests, requests a second, latencies in us (none: it does not say), the maximum."""

    requests: int
    per_s: float
    latencies_us: npt.NDArray[np.float64]
    max_us: float | None = None


@dataclass(frozen=True)
class Tool:
    """`command` and `answer` get the server, the clients, the seconds, and a folder of their own."""

    command: Callable[[RealServer, int, float, Path], list[object]]
    answer: Callable[[str, Path], Answer]


def driver_command(server: RealServer, clients: int, seconds: float, folder: Path) -> list[object]:
    options = [f"--clients={clients}", f"--seconds={seconds}", "--warmup=0", f"--latencies={folder / 'latencies'}"]
    return [native(LOAD_DRIVER), "run", "noop", *server.where, *options]


def driver_answer(printed: str, folder: Path) -> Answer:
    report = json.loads(printed)
    parts = []
    for chunk in LatencyFile.open(folder / "latencies").chunks():
        mine = chunk[chunk["type"] == 0]
        assert (mine["outcome"] == COMMITTED).all(), report
        parts.append((mine["end"] - mine["start"]) / 1e3)
    latencies = np.concatenate(parts)
    return Answer(len(latencies), len(latencies) * 1e9 / (report["end_ns"] - report["begin_ns"]), latencies)


def pgbench(log: bool) -> Tool:
    def command(server: RealServer, clients: int, seconds: float, folder: Path) -> list[object]:
        # What stands in /usr/bin is a script that looks for the program.
        programs = Path(subprocess.run(["pg_config", "--bindir"], capture_output=True, text=True).stdout.strip())
        script = folder / "select.sql"
        script.write_text("SELECT 1;\n")
        options = ["-n", "-M", "prepared", "-f", script, "-c", clients, "-j", clients, "-T", max(1, round(seconds))]
        logged = ["-l", f"--log-prefix={folder / 'log'}"] if log else []
        return [programs / "pgbench", *options, *logged, "-h", server.socket, "-U", "vprof", "vprof"]

    def answer(printed: str, folder: Path) -> Answer:
        parts = [np.loadtxt(file, usecols=2, ndmin=1) for file in folder.glob("log.*")]
        return Answer(
            int(number(r"transactions actually processed: (\d+)", printed)),
            number(r"tps = ([\d.]+) \(without", printed),
            np.concatenate(parts) if parts else np.zeros(0),
        )

    return Tool(command, answer)


def sysbench_command(server: RealServer, clients: int, seconds: float, folder: Path) -> list[object]:
    script = folder / "select.lua"
    script.write_text(EVENT)
    of_server = {
        "postgres": ["--db-driver=pgsql", f"--pgsql-host={server.socket}", "--pgsql-user=vprof", "--pgsql-db=vprof"],
        "mysql": ["--db-driver=mysql", f"--mysql-socket={server.socket}", "--mysql-user=vprof", "--mysql-db=vprof"],
    }
    options = [f"--threads={clients}", f"--time={max(1, round(seconds))}", "--percentile=99", "--histogram=on"]
    return ["sysbench", *of_server[server.on], *options, script, "run"]


def sysbench_answer(printed: str, _folder: Path) -> Answer:
    rows = re.findall(r"^ *([\d.]+) \|\** +(\d+)$", printed, re.MULTILINE)
    requests = int(number(r"total number of events: +(\d+)", printed))
    return Answer(
        requests,
        requests / number(r"total time: +([\d.]+)s", printed),
        np.repeat([1e3 * float(ms) for ms, _ in rows], [int(count) for _, count in rows]),
        1e3 * number(r"max: +([\d.]+)", printed),
    )


def number(pattern: str, text: str) -> float:
    found = re.search(pattern, text)
    assert found, text
    return float(found[1])


SYSBENCH = Tool(sysbench_command, sysbench_answer)
DRIVER = Tool(driver_command, driver_answer)
TOOLS = {
    "postgres": {OURS: DRIVER, "pgbench": pgbench(False), "pgbench -l": pgbench(True), "sysbench": SYSBENCH},
    "mysql": {OURS: DRIVER, "sysbench": SYSBENCH},
}


def measured(server: RealServer, clients: int, name: str, number: int, seconds: float) -> Run:
    tool = TOOLS[server.on][name]
    with tempfile.TemporaryDirectory(prefix="load_floor-") as made:
        folder = Path(made)
        out = folder / "out"
        with out.open("wb") as file:
            command = list(map(str, tool.command(server, clients, seconds, folder)))
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT)
            _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            sys.exit(f"{command[0]} failed: {out.read_text()}")
        answer = tool.answer(out.read_text(), folder)
    p50 = p999 = most = None
    if len(answer.latencies_us):
        p50, p999 = np.quantile(answer.latencies_us, [0.5, 0.999], method="inverted_cdf").tolist()
        most = float(answer.latencies_us.max()) if answer.max_us is None else answer.max_us
    cpu_us = 1e6 * (used.ru_utime + used.ru_stime) / answer.requests
    load = round(os.getloadavg()[0], 1)
    return Run(server.on, clients, name, number, answer.requests, answer.per_s, p50, p999, most, cpu_us, load)


def missing(on: str, rounds: int, have: list[Run]) -> list[tuple[int, str, int]]:
    """(clients, tool, round) of the runs that are not there yet, in the order in which they are made."""
    made = {(run.clients, run.tool, run.number) for run in have if run.server == on}
    names = list(TOOLS[on])
    turns = [(number, names[number % len(names) :] + names[: number % len(names)]) for number in range(rounds)]
    wanted = [(clients, name, number) for number, turn in turns for clients in CLIENTS for name in turn]
    return [one for one in wanted if one not in made]


def table(runs: list[Run]) -> str:
    lines = head("server, clients", "tool", "n", "requests/s", "p50 us", "p99.9 us", "max us", "CPU us a request")
    verdicts = []
    for on, clients in dict.fromkeys((run.server, run.clients) for run in runs):
        by_tool = {name: [run for run in runs if key(run) == (on, clients, name)] for name in TOOLS[on]}
        for name, mine in by_tool.items():
            speed, cpu = spread(run.per_s for run in mine), spread(run.cpu_us for run in mine)
            p50, p999 = spread(run.p50_us for run in mine), spread(run.p999_us for run in mine)
            most = spread(run.max_us for run in mine)
            lines.append(row(f"{on}, {clients}", name, len(mine), speed, p50, p999, most, cpu))
        verdicts += [verdict(on, clients, name, by_tool[OURS], by_tool[name]) for name in by_tool if name != OURS]
    how = f"Medians (minimum to maximum); the machine's load was {spread(run.load for run in runs)}."
    return "\n".join([*lines, "", how, "", *filter(None, verdicts)])


def key(run: Run) -> tuple[str, int, str]:
    return run.server, run.clients, run.tool


def verdict(on: str, clients: int, name: str, ours: list[Run], theirs: list[Run]) -> str:
    """Ours divided by theirs, of the same round."""
    pairs = [(one, other) for one in ours for other in theirs if one.number == other.number]
    if not pairs:
        return ""
    cpu = [one.cpu_us / other.cpu_us for one, other in pairs]
    speed = [one.per_s / other.per_s for one, other in pairs]
    met = "met" if statistics.median(cpu) <= GOAL else "**missed**"
    return f"- {on}, clients: {clients}, vprof / {name}: CPU {spread(cpu)} ({met}), requests/s {spread(speed)}"


def main() -> None:
    parser = parser_of(__doc__, "load_floor.jsonl")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=10)
    given = parser.parse_args()
    runs = kept(given.results, Run)
    for on, serving in SERVERS.items():
        wanted = missing(on, given.rounds, runs) if given.only in (None, on) else []
        if not wanted:
            continue
        with serving(below=given.folder) as server:
            for clients, name, number in wanted:
                run = measured(server, clients, name, number, given.seconds)
                print(f"{on} {clients} {name}: {run.per_s:,.0f}/s, CPU {run.cpu_us:.1f} us", flush=True)
                runs.append(run)
                keep(given.results, run)
    show(given.results, table(runs))


if __name__ == "__main__":
    main()
