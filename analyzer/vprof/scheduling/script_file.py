"""Scripts from JSON: who wrote the file, a person or a program, is told in one line what is wrong with it.

    {"transactions": [{"id": "t1", "type": "pay", "born": 0, "steps": [["work", 100], ["lock", "row 7", "X"], ...]}],
     "clients": 8}

Times are whole ns. `clients`: so many begin at once, and where one ends, the next of the list begins. `rate`: so many a
second arrive, by chance. Neither: each begins when it was `born`. `traced`, if measured: {policy,
mean_ns, variance_ns2}.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from vprof.errors import UsageError
from vprof.scheduling.policies import policy_named
from vprof.scheduling.script import EXCLUSIVE, SHARED, Script, Traced
from vprof.shapes import ANYTHING, TEXT, Shape, list_of, number, optional, table_of, whole
from vprof.tables.columns import i64
from vprof.tables.model import NONE

_MOST_NS = 10**15
MODES = {"S": SHARED, "X": EXCLUSIVE}


def _wrong_step(step: Any) -> str:
    match step:
        case ["work", int(ns)] if not isinstance(ns, bool) and 0 <= ns <= _MOST_NS:
            return ""
        case ["lock", str(), "S" | "X"]:
            return ""
    return ' is neither ["work", NS] nor ["lock", OBJECT, "S" or "X"]'


_TRACED = table_of({"policy": TEXT, "mean_ns": number(0, 1e18), "variance_ns2": number(0, 1e36)})
_TRANSACTION = table_of(
    {"id": ANYTHING, "steps": list_of(Shape(_wrong_step))}, {"type": TEXT, "born": whole(0, _MOST_NS)}
)
_FILE = table_of(
    {"transactions": list_of(_TRANSACTION)},
    {"clients": optional(whole(1, 10**6)), "rate": optional(number(1e-9, 1e12)), "traced": optional(_TRACED)},
)


def read_script(path: Path, clients: int | None = None, rate: float | None = None) -> Script:
    """`clients` or `rate` are taken instead of the file's. Raises UsageError if the file is no script."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as e:
        raise UsageError(f"{path}: no script, since it is no JSON ({_said(e)})") from e
    if not isinstance(data, dict) or "transactions" not in data:
        raise UsageError(f'{path}: no script: it lacks "transactions"')
    if wrong := _FILE.wrong(data):
        raise UsageError(f"{path}{wrong if wrong.startswith(':') else f': {wrong}'}")
    try:
        return script_from(data, clients, rate)
    except UsageError as e:
        raise UsageError(f"{path}: {e}") from e


def _said(error: Exception) -> str:
    return "it is nested too deeply" if isinstance(error, RecursionError) else str(error).partition("\n")[0]


def script_from(data: dict[str, Any], clients: int | None = None, rate: float | None = None) -> Script:
    """REQUIRES: the data has the shape of a script. Raises UsageError for what shapes do not say."""
    if clients is None and rate is None:
        clients, rate = data.get("clients"), data.get("rate")
    if clients is not None and rate is not None:
        raise UsageError("clients and rate are different loads: give one")
    transactions = data["transactions"]
    if not transactions:
        raise UsageError("it has no transactions")
    _check_ids(transactions)
    if clients is None and rate is None:
        transactions = sorted(transactions, key=_birth)
    first, work, lock, objects = [0], [], [], dict[str, int]()
    for transaction in transactions:
        pending = 0
        for step in transaction["steps"]:
            if step[0] == "work":
                pending += step[1]
            else:
                work.append(pending)
                lock.append(2 * objects.setdefault(step[1], len(objects)) + MODES[step[2]])
                pending = 0
        work.append(pending)
        lock.append(NONE)
        first.append(len(work))
    born = i64([transaction["born"] for transaction in transactions]) if clients is None and rate is None else None
    return Script(
        i64(first), i64(work), i64(lock), len(objects), list(objects), born, clients, rate, _traced(data.get("traced"))
    )


def _check_ids(transactions: list[dict[str, Any]]) -> None:
    seen: set[str] = set()
    for one in transactions:
        name = json.dumps(one["id"])
        if name in seen:
            raise UsageError(f"two transactions have the id {name[:60]}")
        seen.add(name)


def _birth(transaction: dict[str, Any]) -> int:
    if "born" not in transaction:
        raise UsageError(
            f"{json.dumps(transaction['id'])[:60]} has no `born`: give each when it begins, or --clients, or --rate"
        )
    born: int = transaction["born"]
    return born


def _traced(found: dict[str, Any] | None) -> Traced | None:
    if not found:
        return None
    return Traced(policy_named(found["policy"]).name, float(found["mean_ns"]), float(found["variance_ns2"]))
