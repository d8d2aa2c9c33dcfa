"""The reports of `vprof load`: the answer first, then types, the floor, pauses; or JSON, schema `vprof-load/1`
(analyzer/SCHEMA.md)."""

from __future__ import annotations

import json
from typing import Any

from rich.console import Console
from rich.text import Text

from vprof.report.tables import PLAIN_WIDTH, Row, heading, line, print_table, to_terminal, to_text
from vprof.report.units import duration, percent
from vprof.terminal import one_line
from vprof.workload.explained import Explained
from vprof.workload.latency_file import FAILED, GAVE_UP, OUTCOMES
from vprof.workload.pauses import MACHINE
from vprof.workload.result import Result
from vprof.workload.tally import TAIL, Tally

SCHEMA = "vprof-load/1"
ALL = "all"
QUANTILES = {"p50_ns": 0.5, "p95_ns": 0.95, "p99_ns": 0.99, "p999_ns": 0.999}
_OF_RUN = ("workload", "on", "server", "clients", "scale", "seed", "isolation", "rate", "arrivals", "think_ms")
_OF_DRIVER = ("cpu_ns", "peak_rss_kb", "retries", "lost_connections", "first_error")
_TOO_MUCH_CPU = 0.5
_FEW_FOR_P99 = 100


def print_load(result: Result) -> None:
    """The report on standard output."""
    to_terminal(lambda console: _show(result, console))


def render(result: Result, width: int = PLAIN_WIDTH) -> str:
    """The report as text without colour."""
    return to_text(lambda console: _show(result, console), width)


def render_json(result: Result) -> str:
    return json.dumps(load_json(result), indent=1) + "\n"


def sentence(result: Result) -> str:
    """What came out, in one line; first of all, what did not go as asked."""
    report, name = result.run, result.run["workload"]
    row = tally_json(result.seen.all, result.seconds)
    tail = f"p99 {_time(row['p99_ns'])}, p99.9 {_time(row['p999_ns'])}"
    rate = f"{row['throughput_per_s']:,.1f} transactions a second"
    how = _loop(report)
    if result.cut_short:
        return (
            f"{name} was cut short after {result.seconds:.1f} s ({result.cut_short}): {rate}, {tail} until then ({how})"
        )
    if result.reached is False:
        return (
            f"{name} did not reach the {report['rate']:,g} transactions a second asked for: {rate}, "
            f"{_time(result.behind_ns)} behind and {result.unfinished:,} unfinished at the end; {tail} ({how})"
        )
    asked = "" if report["rate"] is None else f", {report['rate']:,g}/s asked for"
    stopped = f", interrupted after {result.seconds:.1f} s" if report["interrupted"] else ""
    return f"{name}: {rate}, {tail} ({how}{asked}{stopped})"


def _loop(report: dict[str, Any]) -> str:
    clients = f"{report['clients']} client{'s' * (report['clients'] != 1)}"
    if report["rate"] is not None:
        return f"open loop, {report['arrivals'] or 'poisson'}, {clients}"
    think = f", {report['think_ms']:g} ms of thinking" if report["think_ms"] else ""
    return f"closed loop, {clients}{think}"


def load_json(result: Result) -> dict[str, Any]:
    """The report as plain data, schema `vprof-load/1`."""
    report, seconds = result.run, result.seconds
    types = [{"type": name, **tally_json(one, seconds)} for name, one in result.seen.by_type.items() if one.count]
    return {
        "schema": SCHEMA,
        "sentence": sentence(result),
        **{key: report[key] for key in _OF_RUN},
        "warmup_s": report["warmup_s"],
        "seconds": seconds,
        "begun_ns": report["begin_realtime_ns"],
        "interrupted": report["interrupted"],
        "cut_short": result.cut_short,
        "reached": result.reached,
        "behind_ns": result.behind_ns,
        "all": {"type": ALL, **tally_json(result.seen.all, seconds)},
        "types": types,
        "floor": _noise_json(result.floor.all) if result.floor else None,
        "lateness": _noise_json(result.seen.lateness),
        "pauses": [_explained_json(one, seconds) for one in result.explained],
        "check": None if result.broken is None else {"passed": not result.broken, "broken": result.broken},
        "driver": {key: report[key] for key in _OF_DRIVER},
        "remarks": remarks(result),
    }


def tally_json(tally: Tally, seconds: float) -> dict[str, Any]:
    """Null where nothing was timed."""
    moments, timed = tally.moments, tally.moments.count > 0
    quantiles = dict(zip(QUANTILES, tally.quantiles.at(*QUANTILES.values()), strict=True))
    return {
        "count": tally.count,
        "throughput_per_s": tally.answered / seconds,
        "mean_ns": moments.mean if timed else None,
        "variance_ns2": moments.variance if timed else None,
        "cv": moments.cv,
        "l2_ns": moments.l2 if timed else None,
        **quantiles,
        "max_ns": moments.maximum if timed else None,
        **dict(zip(OUTCOMES, tally.outcomes.tolist(), strict=True)),
        "retries": tally.retries,
    }


def _noise_json(tally: Tally) -> dict[str, Any]:
    p50, p99, p999 = tally.quantiles.at(0.5, 0.99, 0.999)
    most = tally.moments.maximum if tally.moments.count else None
    return {"count": tally.moments.count, "p50_ns": p50, "p99_ns": p99, "p999_ns": p999, "max_ns": most}


def _explained_json(one: Explained, seconds: float) -> dict[str, Any]:
    slowest = one.slowest
    return {
        "source": one.pauses.source,
        "label": one.pauses.label,
        "count": len(one.pauses.start_ns),
        "total_ns": one.pauses.total_ns,
        "longest_ns": int((one.pauses.end_ns - one.pauses.start_ns).max()),
        "share_of_run": one.pauses.total_ns / 1e9 / seconds,
        "tail": one.tail,
        "held_up": one.held_up,
        "by_chance": one.by_chance,
        "explained": one.explained,
        "p": one.p,
        "without_p99_ns": one.without_p99_ns,
        "without_p999_ns": one.without_p999_ns,
        "without_max_ns": one.without_max_ns,
        "slowest": {
            "latency_ns": slowest.latency_ns,
            "held_up": slowest.held_up,
            "overlap_ns": slowest.overlap_ns,
            "by_chance": slowest.by_chance,
        },
    }


def remarks(result: Result) -> list[str]:
    """What a reader of the figures must know."""
    run, whole = result.run, result.seen.all
    found = list(result.remarks)
    if result.broken:
        found.append(f"the data is not consistent after the run: {'; '.join(result.broken)}")
    gone = int(whole.outcomes[GAVE_UP] + whole.outcomes[FAILED])
    if gone:
        why = f" ({run['first_error']})" if run["first_error"] else ""
        found.append(f"{gone:,} transactions gave up or failed{why}: they are in no latency")
    if result.unfinished * TAIL > whole.moments.count:
        found.append(
            f"{result.unfinished:,} transactions were unfinished at the end: they count with the time that they had "
            "waited, so high percentiles are lower bounds"
        )
    if whole.moments.count < TAIL:
        below = " and p99" if whole.moments.count < _FEW_FOR_P99 else ""
        found.append(
            f"only {whole.moments.count:,} transactions were timed: p99.9{below} is about the slowest: run longer"
        )
    if run["lost_connections"] and not result.cut_short:
        found.append(f"{run['lost_connections']:,} connections were lost and made anew")
    busy = run["cpu_ns"] / 1e9 / result.seconds
    if busy > _TOO_MUCH_CPU:
        found.append(f"the driver itself used {busy:.1f} CPUs: run it on another machine, or with fewer clients")
    return found


def _show(result: Result, console: Console) -> None:
    console.print(Text(one_line(sentence(result))), style="bold", highlight=False, soft_wrap=True)
    for remark in remarks(result):
        line(console, remark, "yellow")
    _latencies(result, console)
    _outcomes(result, console)
    _noise(result, console)
    if result.explained:
        _pauses(result, console)
    if result.broken == []:
        line(console, "The data is consistent after the run.")


def _rows(result: Result) -> list[dict[str, Any]]:
    found = load_json(result)
    return [found["all"], *found["types"]] if len(found["types"]) > 1 else [found["all"]]


def _latencies(result: Result, console: Console) -> None:
    heading(console, "Latency, from the intended start" if result.run["rate"] is not None else "Latency")
    header = ("tx/s", "mean", "CV", "L2", "p50", "p95", "p99", "p99.9", "max")
    keys = ("l2_ns", *QUANTILES, "max_ns")
    rows: list[Row] = [
        (
            row["type"],
            f"{row['throughput_per_s']:,.1f}",
            _time(row["mean_ns"]),
            "-" if row["cv"] is None else f"{row['cv']:.2f}",
            *(_time(row[key]) for key in keys),
        )
        for row in _rows(result)
    ]
    print_table(console, header, rows)
    line(console, "CV: standard deviation / mean; L2: root of the mean of the squares", "dim")


def _outcomes(result: Result, console: Console) -> None:
    rows = _rows(result)
    if not any(row[key] for row in rows for key in (*OUTCOMES[1:], "retries")):
        return
    heading(console, "How transactions ended")
    header = ("committed", "rolled back", "gave up", "failed", "unfinished", "retries")
    print_table(console, header, [(row["type"], *(f"{row[key]:,}" for key in (*OUTCOMES, "retries"))) for row in rows])


def _noise(result: Result, console: Console) -> None:
    heading(console, "Floor: what the machine and the driver add")
    rows = [("lateness of a thread that wakes each ms", _noise_json(result.seen.lateness))]
    if result.floor:
        rows.insert(0, ("transactions that do nothing, before", _noise_json(result.floor.all)))
    keys = ("p50_ns", "p99_ns", "p999_ns", "max_ns")
    print_table(
        console, ("p50", "p99", "p99.9", "max"), [(name, *(_time(row[key]) for key in keys)) for name, row in rows]
    )


def _pauses(result: Result, console: Console) -> None:
    heading(console, "Pauses, and what of the tail (beyond p99.9) they explain")
    rows: list[Row] = [
        (
            pause_name(one),
            f"{len(one.pauses.start_ns):,}",
            duration(one.pauses.total_ns),
            percent(one.share),
            percent(one.by_chance),
            percent(one.explained),
            f"{one.p:.2g}",
            _time(one.without_p999_ns),
        )
        for one in result.explained
    ]
    print_table(console, ("number", "total", "held up", "by chance", "explained", "p", "p99.9 without"), rows)
    line(
        console,
        "held up: the share of the tail of which pauses cover half of what is beyond the median; by chance:",
        "dim",
    )
    line(
        console, "the share if they lay elsewhere in the run; explained: (held up - by chance) / (1 - by chance)", "dim"
    )
    for one in result.explained:
        line(console, slowest_text(one))


def pause_name(one: Explained) -> str:
    """Of its source and label."""
    source = "the machine" if one.pauses.source == MACHINE else one.pauses.source
    return f"{source}: {one.pauses.label}" if one.pauses.label else source


def slowest_text(one: Explained) -> str:
    """In one sentence."""
    slowest = one.slowest
    took, covered = duration(slowest.latency_ns), duration(slowest.overlap_ns)
    if not slowest.held_up:
        return f"{pause_name(one)}: not the cause of the slowest transaction ({took}), of which they cover {covered}"
    return (
        f"{pause_name(one)}: they cover {covered} of the slowest transaction ({took}); elsewhere in the run they would "
        f"hold it up with a probability of {percent(slowest.by_chance)}"
    )


def _time(ns: float | None) -> str:
    return "-" if ns is None else duration(ns)
