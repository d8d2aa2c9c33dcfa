"""Types of transactions: what `vprof load` says before a BEGIN, and nothing else that is written in a statement."""

from collections import Counter
from pathlib import Path

import pytest
from build_cache import Built
from test_postgres import analyzed

from vprof.workload.latency_file import COMMITTED, LatencyFile

TYPES = ["new_order", "payment", "order_status", "delivery", "stock_level"]
CLIENTS = 4


def counts(report: dict) -> dict[str, int]:
    return {row["type"]: row["count"] for row in report["by_type"]["types"]}


def committed(path: Path) -> Counter[str]:
    """By type, as the clients saw it."""
    file = LatencyFile.open(path)
    of = [file.types[number] for rows in file.chunks() for number in rows["type"][rows["outcome"] == COMMITTED]]
    return Counter(of)


def test_transactions_of_tpcc_have_their_names(postgres: Built, tmp_path: Path) -> None:
    trace = tmp_path / "run.trace"
    load = ["--load", "tpcc", "--warehouses", 1, "--clients", CLIENTS]
    mix = ",".join(f"{name}=1" for name in TYPES)
    done = postgres.vprof(
        "record", "--target", "postgres", *load, "--seconds", 8, "-o", trace, "--", "--mix", mix, timeout=600
    )
    assert done.returncode == 0, done.stderr
    seen = committed(postgres.target.folder / "server-tpcc/latencies")
    found = counts(analyzed(postgres, trace, "--by-type"))
    assert set(found) <= {*TYPES, "only reads", "writes"}
    assert {name: found.get(name, 0) for name in TYPES} == {
        name: pytest.approx(seen[name], rel=0.02, abs=CLIENTS) for name in TYPES
    }
    others = sum(count for name, count in found.items() if name not in TYPES)
    assert min(seen[name] for name in TYPES) > 10 and others < 0.1 * sum(seen.values())


def test_what_users_write_in_comments_gets_into_no_trace(postgres: Built, tmp_path: Path) -> None:
    script = postgres.folder / "script.sql"
    script.write_text("/* payment of Xylothrax */ BEGIN;\nSELECT pg_advisory_xact_lock(1);\nEND;\n")
    trace = tmp_path / "run.trace"
    done = postgres.vprof("record", "--target", "postgres", "--seconds", 2, "-o", trace, "--", "-f", script)
    assert done.returncode == 0, done.stderr
    found = counts(analyzed(postgres, trace, "--by-type"))
    assert found["only reads"] > 10 and set(found) <= {"only reads", "writes"}
    assert b"Xylothrax" not in trace.read_bytes()
