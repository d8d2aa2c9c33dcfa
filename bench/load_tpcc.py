#!/usr/bin/env python3
"""Is TPC-C as `vprof load` runs it steady and consistent: 1, 4 and 16 warehouses, on PostgreSQL and MariaDB.

    python bench/load_tpcc.py --runs 3 --seconds 60 --results load_tpcc.jsonl [--only postgres] [--warehouses 1,4]
                              [--folder DIR]

For each server and number of warehouses it starts the server below DIR (else the system's temporary folder; 16
warehouses take 8 GB), fills the tables, measures what they can do in a closed loop, and then loads them with 60 % of
that in an open loop, several times. The data is checked after each run. Makes the runs that the results file does not
have yet; prints the tables of all, and writes them beside the results as Markdown, and a page for each server, of its
newest run: load_tpcc-postgres.html. An hour: a run is 75 s, filling 16 warehouses several minutes.

Both servers have 1 GB for pages, and commit to the disk. PostgreSQL makes a checkpoint each 30 s, spread over a third
of them, and its log says when: `--overlay`. MariaDB: innodb_flushes.py.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from innodb_flushes import flush_all, watched
from load_parts import SERVERS, RealServer, head, keep, kept, parser_of, row, show, spread

from vprof.report.load import load_json
from vprof.report.page.html import LOAD, render
from vprof.report.page.load import load_data
from vprof.report.units import percent
from vprof.workload.driver import Driver, Run, Where, given
from vprof.workload.result import Asked, Result, measure, result_of

WORKLOAD, MAIN_TYPE = "tpcc", "new_order"
SETTINGS = {
    "postgres": [
        "deadlock_timeout=1s",
        "shared_buffers=1GB",
        "max_wal_size=4GB",
        "log_checkpoints=on",
        "checkpoint_timeout=30s",
        "checkpoint_completion_target=0.3",
    ],
    "mysql": ["innodb-buffer-pool-size=1G"],
}
LOADED = 0.6
"""Of the closed loop's throughput."""
CLOSED = 0
"""The number of the closed loop's run; the open loop's begin with 1."""
TIMES = {"p50": "p50_ns", "p99": "p99_ns", "p99.9": "p999_ns", "max": "max_ns"}


@dataclass(frozen=True)
class Kept:
    """A run. `rate` asked for, None: a closed loop. `types` and `pauses` as in the report's JSON (vprof-load/1), that
    of all transactions first; `floor`, `lateness`: p99.9 in ns. `broken`: conditions that do not hold."""

    server: str
    warehouses: int
    number: int
    clients: int
    seconds: float
    rate: float | None
    reached: bool | None
    types: list[dict[str, Any]]
    pauses: list[dict[str, Any]]
    floor: float
    lateness: float
    broken: list[str]
    cut_short: str
    first_error: str
    driver_cpu: float
    load: float

    def of_type(self, name: str) -> dict[str, Any]:
        """{} if there was none of this type."""
        return next((row for row in self.types if row["type"] == name), {})

    @property
    def per_s(self) -> float:
        return float(self.of_type("all")["throughput_per_s"])

    @property
    def new_orders(self) -> float:
        """A minute."""
        return 60 * float(self.of_type(MAIN_TYPE).get("throughput_per_s", 0))

    def wrong(self) -> list[str]:
        """What did not go as it should."""
        gone = self.of_type("all")["gave_up"] + self.of_type("all")["failed"]
        said = [self.cut_short, f"{gone} gave up or failed ({self.first_error})" if gone else ""]
        return [*self.broken, *filter(None, said), *(["the rate was not reached"] if self.reached is False else [])]


def loaded(server: RealServer, asked: Asked, folder: Path) -> Result:
    """The run, with what may have held it up."""
    pauses, latencies = folder / "flushing.csv", folder / "latencies"
    watching = watched(server.socket, pauses) if server.on == "mysql" else nullcontext()
    with watching:
        found = measure(Driver(), asked, latencies, [], check=True)
    overlay = pauses if server.on == "mysql" else server.log
    run = Run(found.run, found.cut_short)
    return result_of(run, latencies, [overlay], found.floor, found.broken, found.remarks)


def of_result(asked: Asked, number: int, result: Result) -> Kept:
    report = load_json(result)
    keys = ("type", "count", "throughput_per_s", *TIMES.values(), "gave_up", "failed", "unfinished", "retries")
    of_pause = ("source", "label", "count", "share_of_run", "tail", "held_up", "by_chance", "explained", "p")
    return Kept(
        server=asked.where.on,
        warehouses=asked.scale or 1,
        number=number,
        clients=asked.clients,
        seconds=report["seconds"],
        rate=asked.rate,
        reached=report["reached"],
        types=[{key: row[key] for key in keys} for row in (report["all"], *report["types"])],
        pauses=[{key: row[key] for key in of_pause} for row in report["pauses"]],
        floor=report["floor"]["p999_ns"],
        lateness=report["lateness"]["p999_ns"],
        broken=report["check"]["broken"] if report["check"] else ["not checked"],
        cut_short=report["cut_short"],
        first_error=report["driver"]["first_error"] or "",
        driver_cpu=report["driver"]["cpu_ns"] / 1e9 / report["seconds"],
        load=round(os.getloadavg()[0], 1),
    )


@contextmanager
def filled(on: str, warehouses: int, below: Path | None) -> Iterator[tuple[RealServer, Where]]:
    """What filling has written is on the disk, so that no run waits for it."""
    with SERVERS[on](SETTINGS[on], below) as server:
        where = Where(on, str(server.socket), "vprof", "vprof")
        Driver().setup(WORKLOAD, where, given(scale=warehouses), print)
        if on == "mysql":
            flush_all(server.socket)
        else:
            subprocess.run(["psql", "-q", "-h", server.socket, "-U", "vprof", "-c", "CHECKPOINT", "vprof"], check=True)
        yield server, where


def missing(on: str, warehouses: int, options: argparse.Namespace, have: list[Kept]) -> Iterator[Kept]:
    """Makes the runs of one row that are not there yet, each with other inputs. KeyboardInterrupt: one is not over."""
    mine = {one.number: one for one in have if (one.server, one.warehouses) == (on, warehouses)}
    wanted = [number for number in range(options.runs + 1) if number not in mine]
    if not wanted:
        return
    page = options.results.with_name(f"{options.results.stem}-{on}.html")
    with filled(on, warehouses, options.folder) as (server, where):
        for number in wanted:
            asked = Asked(
                workload=WORKLOAD,
                where=where,
                clients=options.clients,
                seconds=options.seconds,
                warmup=options.warmup,
                rate=None if number == CLOSED else round(LOADED * mine[CLOSED].per_s, 1),
                scale=warehouses,
                seed=number + 2,  # 1 filled the tables
            )
            with tempfile.TemporaryDirectory(prefix="load_tpcc-", dir=options.folder) as folder:
                result = loaded(server, asked, Path(folder))
            if result.run["interrupted"] or (result.broken is None and not result.cut_short):
                raise KeyboardInterrupt
            if number != CLOSED:
                page.write_text(render(load_data(result), LOAD), encoding="utf-8")
            mine[number] = of_result(asked, number, result)
            yield mine[number]


def tables(runs: list[Kept]) -> str:
    of_open = ("tx/s", "new orders/min", "of the closed loop's", "reached", "consistent", "retries")
    of_both = ("closed: tx/s", "new orders/min", "open: asked for", "n", *of_open, "driver's CPUs", "load")
    of_times = [f"{loop}: {name}" for loop in ("closed", "open") for name in TIMES]
    rates, latencies = head("server, warehouses", *of_both), head("server, warehouses", "type", *of_times)
    of_pause = ("pauses", "n", "of the run", "tail held up", "by chance", "explained", "p")
    pauses = head("server, warehouses, run", *of_pause)
    for on, warehouses in dict.fromkeys((run.server, run.warehouses) for run in runs):
        mine, name = [run for run in runs if (run.server, run.warehouses) == (on, warehouses)], f"{on}, {warehouses}"
        closed, *opened = sorted(mine, key=lambda run: run.number)
        rates.append(rates_row(name, closed, opened))
        for kind in [one["type"] for one in closed.types]:
            latencies.append(row(name, kind, *times([closed], kind), *times(opened, kind)))
        pauses += [pause_row(f"{name}, {run.number}", pause) for run in opened for pause in run.pauses]
    how = f"""Medians (minimum to maximum). Times in ms; those of the open loop count from the intended start. The p99.9
of transactions that do nothing was {spread(run.floor / 1e6 for run in runs)} ms, that of the lateness of a thread of
the driver {spread(run.lateness / 1e6 for run in runs)} ms."""
    wrong = [f"- {run.server}, {run.warehouses}, run {run.number}: {what}" for run in runs for what in run.wrong()]
    return "\n\n".join("\n".join(lines) for lines in (rates, latencies, pauses, [how], wrong) if lines)


def rates_row(name: str, closed: Kept, opened: list[Kept]) -> str:
    """How steady the open loop's runs are beside the closed loop's."""
    both = [closed, *opened]
    return row(
        name,
        f"{closed.per_s:,.0f}",
        f"{closed.new_orders:,.0f}",
        spread(run.rate for run in opened),
        len(opened),
        spread(run.per_s for run in opened),
        spread(run.new_orders for run in opened),
        spread(run.new_orders / closed.new_orders for run in opened if closed.new_orders),
        f"{sum(run.reached is True for run in opened)} of {len(opened)}",
        f"{sum(not run.broken for run in both)} of {len(both)}",
        spread(run.of_type("all")["retries"] for run in both),
        spread(run.driver_cpu for run in both),
        spread(run.load for run in both),
    )


def times(runs: list[Kept], kind: str) -> list[str]:
    rows = [found for run in runs if (found := run.of_type(kind))]
    return [spread(one[key] / 1e6 for one in rows if one[key] is not None) for key in TIMES.values()]


def pause_row(name: str, pause: dict[str, Any]) -> str:
    share, chance, explained = (percent(pause[key]) for key in ("share_of_run", "by_chance", "explained"))
    held_up = f"{pause['held_up']} of {pause['tail']}"
    what = f"{pause['source']}: {pause['label']}"
    return row(name, what, pause["count"], share, held_up, chance, explained, f"{pause['p']:.2g}")


def main() -> None:
    parser = parser_of(__doc__, "load_tpcc.jsonl")
    parser.add_argument("--runs", type=int, default=3, help="of the open loop")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--warmup", type=float, default=10)
    parser.add_argument("--clients", type=int, default=min(8, 4 * (os.cpu_count() or 1)))
    parser.add_argument("--warehouses", default="1,4,16")
    options = parser.parse_args()
    runs = kept(options.results, Kept)
    for on in SERVERS:
        for warehouses in map(int, options.warehouses.split(",") if options.only in (None, on) else []):
            for run in missing(on, warehouses, options, runs):
                print(f"{on} {warehouses} run {run.number}: {run.per_s:,.0f}/s {run.wrong()}", flush=True)
                runs.append(run)
                keep(options.results, run)
    show(options.results, tables(runs))


if __name__ == "__main__":
    main()
