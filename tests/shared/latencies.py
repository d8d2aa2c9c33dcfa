"""Files of latencies as `vprof-load-driver` writes them, and its JSON, by hand (workloads/README.md)."""

from pathlib import Path
from typing import Any

import numpy as np

from vprof.workload.driver import SCHEMA
from vprof.workload.latency_file import HEADER, LATENESS, MAGIC, RECORD, VERSION

MS, S = 10**6, 10**9
BEGIN, BEGIN_REALTIME = 5000 * S, 1_700_000_000 * S


def records(
    intended: Any, latency: Any, type_: Any = 0, outcome: Any = 0, tries: Any = 1, start: Any = None
) -> "np.ndarray[Any, Any]":
    """Times in ns from BEGIN; scalars are for all."""
    intended = np.asarray(intended, np.int64)
    rows = np.zeros(len(intended), RECORD)
    rows["intended"] = BEGIN + intended
    rows["start"] = rows["intended"] if start is None else BEGIN + np.asarray(start, np.int64)
    rows["end"] = rows["intended"] + np.asarray(latency, np.int64)
    rows["type"], rows["outcome"], rows["tries"] = type_, outcome, tries
    return rows


def lateness(at: Any, late: Any, types: int = 1) -> "np.ndarray[Any, Any]":
    """The thread that wakes, behind so many types of transactions."""
    rows = records(at, late, type_=types)
    rows["start"] = rows["end"]
    return rows


def write(path: Path, *parts: "np.ndarray[Any, Any]", types: tuple[str, ...] = ("t",), rest: bytes = b"") -> Path:
    """`rest`: a partial record behind them."""
    names = b"".join(name.encode() + b"\0" for name in (*types, LATENESS))
    names += b"\0" * (-len(names) % 8)
    head = HEADER.pack(MAGIC, VERSION, RECORD.itemsize, len(types) + 1, len(names), BEGIN)
    path.write_bytes(head + names + b"".join(part.tobytes() for part in parts) + rest)
    return path


def run_json(seconds: float = 10.0, types: tuple[str, ...] = ("t",), **more: Any) -> dict[str, Any]:
    """What the driver prints at the end of a run."""
    return {
        "schema": SCHEMA,
        "workload": "ycsb",
        "server": "stub 1.0",
        "on": "stub",
        "clients": 4,
        "scale": 1,
        "seed": 1,
        "isolation": None,
        "rate": None,
        "arrivals": None,
        "think_ms": None,
        "warmup_s": 0.0,
        "seconds": seconds,
        "types": [*types, LATENESS],
        "begin_ns": BEGIN,
        "end_ns": BEGIN + int(seconds * S),
        "begin_realtime_ns": BEGIN_REALTIME,
        "cpu_ns": int(seconds * S / 10),
        "retries": 0,
        "lost_connections": 0,
        "first_error": None,
        "interrupted": False,
        "peak_rss_kb": 9000,
        **more,
    }
