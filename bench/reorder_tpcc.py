#!/usr/bin/env python3
"""What does the order that `vprof reorder` finds gain TPC-C's payment and new-order, on PostgreSQL or MariaDB.

    python bench/reorder_tpcc.py --plan
    python bench/reorder_tpcc.py --results reorder_tpcc.jsonl [--server mysql] [--warehouses 1,4,16]
                                 [--clients 8,16,32] [--rounds 3] [--seconds 15] [--unflushed] [--folder DIR]

For each number of warehouses it fills the tables; runs the driver as it is, and takes the standard deviation of each
statement's time for its conflict index; has `vprof reorder` write payment.c and new_order.c anew by these, in a copy of
workloads/; builds this copy; and runs both drivers in turn, a closed loop of payments alone, of new orders alone, and
of the whole mix. Each round has a seed of its own. The data is checked after the last one. Makes the runs that the
results file does not have yet, and prints the tables of all, also as Markdown beside it. `--plan` says how long it
takes. The index and the patch stay beside the results: reorder_tpcc-4.json, reorder_tpcc-4-payment.patch, of MariaDB
reorder_tpcc-mysql-4.json.

The server commits to the disk, but for --unflushed, and runs read committed, or repeatable read, as it does by default:
each of these two transactions reads only rows that it has locked, that nobody changes (items, names), or whose changes
it does not need to see at one time.
The paper (QURO, VLDB 2016) reports up to 6.53 times the throughput for payments alone, 2.23 for new orders, and 1.74
for the standard mix, on 128 processors, where no commit waits for the disk.
"""

from __future__ import annotations

import argparse
import difflib
import json
import os
import re
import shutil
import subprocess
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from math import sqrt
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from load_parts import SERVERS, head, keep, kept, parser_of, ratio, row, show
from load_tpcc import SETTINGS

from vprof.compare.judgement import Measured, judge, sentence
from vprof.compare.run_metrics import MeasuredRun, measure
from vprof.transaction.clients import known_calls
from vprof.transaction.index import Index
from vprof.transaction.reordering import reorder
from vprof.workload.driver import Driver, Where, given
from vprof.workload.latency_file import LatencyFile
from vprof.workload.tally import latency_ns, timed

WORKLOADS = Path(__file__).parents[1] / "workloads"
TRANSACTIONS = ("payment", "new_order")
LOADS = {"payment": "payment=100", "new_order": "new_order=100", "mix": None}
SIDES = ("original", "reordered")
OF_PAPER = {"payment": 6.53, "new_order": 2.23, "mix": 1.74}
UNFLUSHED = {"postgres": "fsync=off", "mysql": "innodb-flush-log-at-trx-commit=0"}
"""A study's setting, never an advice."""
SLOWER, NAMED = 1.1, 3
"""Of the statements that take so many times what they did, so many are named: those with which most time is lost, if
that is a hundredth of all statements' time."""
FILL_MINUTES = 0.5
"""Of a warehouse, with indexes."""
INCLUDES = (".", "db", "driver", "../annotations")


@dataclass(frozen=True)
class Ran:
    """`queries`: by text, how often, and the mean in us. `broken`: conditions that the data break, None: not asked."""

    warehouses: int
    clients: int
    load: str
    side: str
    round: int
    count: int
    metrics: dict[str, float | None]
    retries: int
    queries: dict[str, tuple[int, float]]
    broken: list[str] | None = None
    server: str = "postgres"
    flushed: bool = True

    @property
    def key(self) -> tuple[object, ...]:
        return (self.server, self.flushed, self.warehouses, self.clients, self.load, self.side, self.round)


@dataclass(frozen=True)
class Text:
    """A statement's time in us."""

    count: int
    mean: float
    deviation: float


def driver_of(workloads: Path, prefix: Path) -> Path:
    """Builds it below `prefix`, as make setup does, with query_times.c around its statements."""
    program = prefix / "lib/vprof/vprof-load-driver"
    if program.exists():
        return prefix
    program.parent.mkdir(parents=True, exist_ok=True)
    wrapped = [f"-Wl,--wrap=db_{kind}_values" for kind in ("execute", "one", "query")]
    sources = sorted(path for path in workloads.rglob("*.c") if path.parent.name != "stub")
    flags = subprocess.run(["pkg-config", "--cflags", "--libs", "libpq", "libmariadb"], capture_output=True, text=True)
    own = [*(f"-I{workloads / one}" for one in INCLUDES), f"-I{WORKLOADS / '../annotations'}", "-pthread"]
    command = ["cc", "-std=gnu11", "-O2", *own, *wrapped, *sources, Path(__file__).with_name("query_times.c")]
    subprocess.run([*map(str, command), *flags.stdout.split(), "-lm", "-o", str(program)], check=True)
    return prefix


def index_of(source: str, measured: dict[str, Text]) -> dict[int, float]:
    """By the line of each statement's call: the standard deviation of its time."""
    found = {}
    for call in re.finditer(r"\bdb_(?:execute|one|query)\(", source):
        literals = re.match(r'[^"]*((?:"(?:[^"\\]|\\.)*"\s*)+)', source[call.end() :])
        assert literals
        text = "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', literals[1]))
        if text in measured:
            found[source.count("\n", 0, call.start()) + 1] = measured[text].deviation
    return found


def reordered(measured: dict[str, Text], prefix: Path, results: Path) -> Path:
    """The prefix of the driver whose transactions are in their new order."""
    copy = prefix / "workloads"
    if not copy.exists():
        shutil.copytree(WORKLOADS, copy)
        for name in TRANSACTIONS:
            file = copy / f"tpcc/{name}.c"
            calls = known_calls([WORKLOADS / "db/calls.toml", WORKLOADS / "tpcc/calls.toml"])
            index = Index(index_of(file.read_text(encoding="utf-8"), measured))
            options = ["-std=gnu11", *(f"-I{WORKLOADS / one}" for one in INCLUDES)]
            found = reorder(file, f"tpcc_{name}", index, calls, None, options, undone=True)
            file.write_bytes(found.after)
            texts = [one.decode().splitlines(True) for one in (found.before, found.after)]
            patch = "".join(difflib.unified_diff(*texts, f"a/tpcc/{name}.c", f"b/tpcc/{name}.c"))
            results.with_name(f"{results.stem}-{prefix.name}-{name}.patch").write_text(patch, encoding="utf-8")
            print(f"{name}: {', '.join(str(unit) for unit in found.solution.order if '(' in str(unit))}", flush=True)
    return driver_of(copy, prefix)


@contextmanager
def set_to(name: str, value: Path) -> Iterator[None]:
    before = os.environ.get(name)
    os.environ[name] = str(value)
    try:
        yield
    finally:
        if before is None:
            del os.environ[name]
        else:
            os.environ[name] = before


def run(prefix: Path, where: Where, options: list[str]) -> tuple[dict[str, Any], MeasuredRun, dict[str, Text]]:
    """What the driver says, the latencies of all transactions that ended, and its statements. KeyboardInterrupt if it
    was interrupted."""
    with TemporaryDirectory(prefix="reorder_tpcc-") as name:
        latencies, times = Path(name) / "latencies", Path(name) / "times"
        with set_to("VPROF_PREFIX", prefix), set_to("QUERY_TIMES", times):
            report = Driver().run("tpcc", where, options, latencies).report
        if report["interrupted"]:
            raise KeyboardInterrupt
        file = LatencyFile.open(latencies)
        rows = np.concatenate([chunk[(chunk["type"] != file.lateness) & timed(chunk)] for chunk in file.chunks()])
        rows = rows[np.argsort(rows["intended"], kind="stable")]
        none = np.zeros(0, np.int64)
        measured = MeasuredRun(latencies, rows["intended"].astype(np.int64), latency_ns(rows), none, {}, [], [])
        return report, measured, texts_of(times.read_text(encoding="utf-8"))


def texts_of(lines: str) -> dict[str, Text]:
    found = {}
    for line in lines.splitlines():
        count, us, us2, text = line.split("\t", 3)
        n, mean = int(count), float(us) / int(count)
        found[text] = Text(n, mean, sqrt(max(0.0, float(us2) / n - mean * mean)))
    return found


def measured_index(file: Path, prefix: Path, where: Where, options: list[str]) -> dict[str, Text]:
    """Of the driver as it is, with the whole mix; kept in a file."""
    if not file.exists():
        _, _, texts = run(prefix, where, options)
        file.write_text(json.dumps({text: asdict(one) for text, one in texts.items()}, indent=1), encoding="utf-8")
    return {text: Text(**one) for text, one in json.loads(file.read_text(encoding="utf-8")).items()}


def wanted(options: argparse.Namespace, warehouses: int) -> list[tuple[str, bool, int, int, str, str, int]]:
    """Sides begin in turn."""
    return [
        (options.server, not options.unflushed, warehouses, clients, load, side, number)
        for clients in options.clients
        for load in LOADS
        for number in range(options.rounds)
        for side in (SIDES if number % 2 == 0 else SIDES[::-1])
    ]


def missing(options: argparse.Namespace, warehouses: int, have: list[Ran]) -> Iterator[Ran]:
    """Makes the runs that are not there yet."""
    left = [key for key in wanted(options, warehouses) if key not in {ran.key for ran in have}]
    if not left:
        return
    below = options.results.resolve().with_suffix("")
    original = driver_of(WORKLOADS, below / "original")
    name = str(warehouses) if options.server == "postgres" else f"{options.server}-{warehouses}"
    settings = [*SETTINGS[options.server], *([UNFLUSHED[options.server]] if options.unflushed else [])]
    index = options.results.with_name(f"{options.results.stem}-{name}.json")
    with SERVERS[options.server](settings, options.folder) as server:
        where = Where(options.server, str(server.socket), "vprof", "vprof")
        with set_to("VPROF_PREFIX", original):
            Driver().setup("tpcc", where, given(scale=warehouses), print)
        usual = {"scale": warehouses, "warmup": options.warmup, "seconds": options.seconds}
        texts = measured_index(index, original, where, given(**usual, clients=options.clients[0], seed=2))
        prefixes = {"original": original, "reordered": reordered(texts, below / name, options.results)}
        for key in left:
            _, flushed, _, clients, load, side, number = key
            mix = {"mix": LOADS[load]} if LOADS[load] else {}
            words = given(**usual, clients=clients, seed=3 + number, **mix)
            report, measured, queries = run(prefixes[side], where, words)
            broken = None
            if key == left[-1]:
                with set_to("VPROF_PREFIX", original):
                    broken = Driver().check("tpcc", where, given(scale=warehouses))
            means = {text: (one.count, one.mean) for text, one in queries.items()}
            ran = (measured.count, measure(measured), report["retries"], means, broken)
            yield Ran(*key[2:], *ran, server=options.server, flushed=flushed)


def tables(runs: list[Ran]) -> str:
    first = "server, warehouses, clients"
    names = (first, "load", "tx/s", "throughput", "mean", "variance", "p99", "verdict", "paper")
    rows, slower, said = head(*names), head(first, "load", "statement", "us", "us reordered"), []
    for key in dict.fromkeys(run.key[:5] for run in runs):
        sides = [[run for run in runs if run.key[:5] == key and run.side == side] for side in SIDES]
        if not all(sides):
            continue
        server, flushed, warehouses, clients, load = key
        name = f"{server}{'' if flushed else ' (no flush)'}, {warehouses}, {clients}"
        rows.append(of_load(name, str(load), sides))
        slower += of_queries(name, str(load), sides)
    for run in runs:
        said += [f"- {run.server}, {run.warehouses} warehouses: {what}" for what in run.broken or ()]
    how = "Ratios: reordered to original, with 95 % intervals over the runs, as `vprof diff` has them."
    lines = (rows, [how], slower if len(slower) > 2 else ["No statement became slower."], said)
    return "\n\n".join("\n".join(some) for some in lines if some)


def of_load(name: str, load: str, sides: list[list[Ran]]) -> str:
    before, after = (Measured([run.count for run in side], [run.metrics for run in side]) for side in sides)
    judged = judge(before, after, "throughput")
    changes = {change.metric.name: change for change in (judged.decides, *judged.others)}
    cells = [ratio(changes[metric]) for metric in ("throughput", "mean", "variance", "p99")]
    per_s = f"{changes['throughput'].before:,.0f}" if changes["throughput"].before else "-"
    return row(name, load, per_s, *cells, sentence(judged).split(":")[0], OF_PAPER[load] or "-")


def of_queries(name: str, load: str, sides: list[list[Ran]]) -> list[str]:
    """The statements with which a transaction loses most."""
    (before, _), (after, counts) = (mean_of([run.queries for run in side]) for side in sides)
    slower = [text for text in before.keys() & after.keys() if after[text] > SLOWER * before[text]]
    lost = {text: counts[text] * (after[text] - before[text]) for text in slower}
    whole = sum(counts[text] * after[text] for text in counts)
    first = sorted((text for text in slower if lost[text] > whole / 100), key=lambda text: -lost[text])[:NAMED]
    return [row(name, load, text[:60], f"{before[text]:,.0f}", f"{after[text]:,.0f}") for text in first]


def mean_of(runs: list[dict[str, tuple[int, float]]]) -> tuple[dict[str, float], dict[str, int]]:
    """By statement the mean over all calls of all runs, and how many they are."""
    counts: dict[str, int] = defaultdict(int)
    us: dict[str, float] = defaultdict(float)
    for queries in runs:
        for text, (count, mean) in queries.items():
            counts[text] += count
            us[text] += count * mean
    return {text: us[text] / counts[text] for text in counts}, counts


def plan(options: argparse.Namespace) -> str:
    each = len(wanted(options, 1)) + 1
    runs = each * (options.seconds + options.warmup + 1) / 60
    lines = [f"{w} warehouses: filling {FILL_MINUTES * w:.0f}, {each} runs {runs:.0f}" for w in options.warehouses]
    total = sum(FILL_MINUTES * w + runs for w in options.warehouses)
    return "\n".join(["minutes:", *lines, f"together {total:.0f}"])


def numbers(text: str) -> list[int]:
    return [int(one) for one in text.split(",")]


def main() -> None:
    parser = parser_of(__doc__, "reorder_tpcc.jsonl")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=15)
    parser.add_argument("--warmup", type=float, default=3)
    parser.add_argument("--clients", type=numbers, default=[8, 16, 32])
    parser.add_argument("--warehouses", type=numbers, default=[1, 4, 16])
    parser.add_argument("--server", choices=tuple(SERVERS), default="postgres")
    parser.add_argument("--unflushed", action="store_true", help="no commit waits for the disk, as in the paper")
    parser.add_argument("--plan", action="store_true", help="say how long it takes, and end")
    options = parser.parse_args()
    print(plan(options), flush=True)
    if options.plan:
        return
    runs = kept(options.results, Ran)
    for warehouses in options.warehouses:
        for ran in missing(options, warehouses, runs):
            print(f"{ran.key} {ran.metrics['throughput']:,.0f}/s", flush=True)
            runs.append(ran)
            keep(options.results, ran)
    show(options.results, tables(runs))


if __name__ == "__main__":
    main()
