"""What to run: the file that `vprof reorder --verify` reads (docs/reorder-verify.md)."""

from __future__ import annotations

import random
import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vprof.errors import UsageError
from vprof.shapes import TEXT, Shape, list_of, number, table_of, whole

_MOST = 100_000
_WHOLE = whole(-(2**62), 2**62)
_NAMED = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True)
class Load:
    """How many connections call the transaction at once, how long, how often on each side."""

    clients: int = 8
    seconds: float = 10
    rounds: int = 5


@dataclass(frozen=True)
class Plan:
    """`folder`: where the file is, which `link` starts from. `server`: where it is, in the words of its client library.
    `call`: an expression of C in which `{name}` stands for an input. `inputs`: the values of each, or the first and the
    last whole number."""

    folder: Path
    server: str
    database: str
    call: str
    inputs: dict[str, list[Any] | tuple[int, int]]
    link: tuple[str, ...] = ()
    ignore: frozenset[str] = frozenset()
    runs: int = 100
    seed: int = 1
    load: Load | None = None

    def calls(self, count: int) -> list[str]:
        """So many, with inputs drawn at random; the same ones each time."""
        drawn = random.Random(self.seed)
        return [_NAMED.sub(lambda found: self._draw(found, drawn), self.call) for _ in range(count)]

    def _draw(self, found: re.Match[str], drawn: random.Random) -> str:
        values = self.inputs.get(found[1])
        if values is None:  # braces of C
            return found[0]
        return str(drawn.randint(*values) if isinstance(values, tuple) else drawn.choice(values))


def _range_or_list(value: Any) -> str:
    if isinstance(value, dict):
        wrong = table_of({"from": _WHOLE, "to": _WHOLE}).wrong(value)
        return wrong or (" ends before it begins" if value["from"] > value["to"] else "")
    if isinstance(value, list) and value and all(type(one) in (str, int, float) for one in value):
        return ""
    return " is neither a list of texts or numbers nor { from = ..., to = ... }"


_LOAD = {"clients": whole(1, 1000), "seconds": number(0.1, 86400), "rounds": whole(1, 1000)}
_MUST = {"server": TEXT, "database": TEXT, "call": TEXT}
_MAY = {
    "inputs": Shape(lambda value: "" if isinstance(value, dict) else " is not a table"),
    "link": list_of(TEXT),
    "ignore": list_of(TEXT),
    "runs": whole(1, _MOST),
    "seed": _WHOLE,
    "load": table_of({}, _LOAD),
}


def load(path: Path) -> Plan:
    """Raises UsageError if there is no such file, or something in it is wrong."""
    try:
        raw = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as e:
        raise UsageError(f"cannot read {path}: {e.strerror}") from e
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as e:
        raise UsageError(f"{path}: {e}") from e
    if wrong := table_of(_MUST, _MAY).wrong(raw) or _unknown(raw):
        raise UsageError(f"{path}{wrong}")
    inputs = raw.get("inputs", {})
    for name, value in inputs.items():
        if wrong := _range_or_list(value):
            raise UsageError(f"{path}: the input {name}{wrong}")
        if f"{{{name}}}" not in raw["call"]:
            raise UsageError(f"{path}: the call has no {{{name}}}, which is one of its inputs")
    drawn = {name: (one["from"], one["to"]) if isinstance(one, dict) else one for name, one in inputs.items()}
    return Plan(
        folder=path.resolve().parent,
        server=raw["server"],
        database=raw["database"],
        call=raw["call"],
        inputs=drawn,
        link=tuple(raw.get("link", ())),
        ignore=frozenset(raw.get("ignore", ())),
        runs=raw.get("runs", Plan.runs),
        seed=raw.get("seed", Plan.seed),
        load=Load(**raw["load"]) if "load" in raw else None,
    )


def _unknown(raw: dict[str, Any]) -> str:
    for table, known in ((raw, {*_MUST, *_MAY}), (raw.get("load", {}), {*_LOAD})):
        if strange := set(table) - known:
            return f": nobody knows the key {min(strange)}: it may have {', '.join(sorted(known))}"
    return ""
