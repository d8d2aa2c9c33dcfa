"""The whole way from two texts and a plan to what was found."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from vprof.errors import UsageError
from vprof.transaction.client_program import ClientProgram
from vprof.verify import by_psycopg, by_pymysql
from vprof.verify.alone import SIDES, Alone, alike
from vprof.verify.build import Building, build
from vprof.verify.plan import Plan
from vprof.verify.under_load import Loaded, under_load


@dataclass(frozen=True)
class Verified:
    """`loaded`: None if it was not asked for, or the two are not alike."""

    alone: Alone
    loaded: Loaded | None

    @property
    def alike(self) -> bool:
        return self.alone.difference is None


_COPIES = {"psycopg": by_psycopg.copies, "pymysql": by_pymysql.copies}
_STRING = re.compile(r'"(?:[^"\\\n]|\\.)*"')


def verify(
    file: Path, before: bytes, after: bytes, plan: Plan, client: ClientProgram, options: Sequence[str]
) -> Verified:
    """Two texts of a file. `options`: of the compiler. UsageError if one does not build, or the server refuses."""
    if client.driver not in _COPIES:
        raise UsageError(f"--verify copies databases by {' or '.join(_COPIES)}, not by {client.driver}")
    if client.names_databases:
        _check_names(before.decode("utf-8", "replace"), plan.database)
    with TemporaryDirectory(prefix="vprof-") as name:
        folder = Path(name)
        building = Building(file, plan.calls(plan.runs), plan, client, options)
        programs = [build(building, text, side, folder) for side, text in zip(SIDES, (before, after), strict=True)]
        copies = partial(_COPIES[client.driver], plan, client)
        with copies(SIDES) as two:
            alone = alike(programs, building.calls, two, plan.ignore)
        loaded = under_load(programs, copies, plan.load, folder) if plan.load and not alone.difference else None
        return Verified(alone, loaded)


def _check_names(text: str, database: str) -> None:
    """SQL that names the database would change it, and no copy."""
    name = re.escape(database)
    named = re.compile(rf"\buse\s+`?{name}\b|(?<![\w$.`])(?:`{name}`|{name})\s*\.\s*[`\w]", re.IGNORECASE)
    for number, line in enumerate(text.splitlines(), 1):
        if any(named.search(string) for string in _STRING.findall(line)):
            raise UsageError(f"line {number} names the database {database}, and would change it instead of a copy")
