"""What studies of loads share: servers, the file of results, cells of tables."""

from __future__ import annotations

import argparse
import json
import signal
import statistics
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypeVar

from vprof.compare.judgement import Change

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "shared"))
sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "workloads"))

from real_servers import RealServer as RealServer
from real_servers import mariadb, postgres

SERVERS = {"postgres": postgres, "mysql": mariadb}
R = TypeVar("R")


def parser_of(doc: str | None, results: str) -> argparse.ArgumentParser:
    """With the options of both. From here on SIGTERM ends in order, too: a server ends with its study."""
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--results", type=Path, default=Path(results))
    parser.add_argument("--only", choices=tuple(SERVERS))
    parser.add_argument("--folder", type=Path, help="where the servers keep their data")
    return parser


def kept(file: Path, kind: Callable[..., R]) -> list[R]:
    """The runs that were made before."""
    text = file.read_text(encoding="utf-8") if file.exists() else ""
    return [kind(**json.loads(line)) for line in text.splitlines()]


def keep(file: Path, run: Any) -> None:
    with file.open("a", encoding="utf-8") as out:
        out.write(json.dumps(asdict(run)) + "\n")


def show(file: Path, text: str) -> None:
    """Prints the tables, and writes them beside the results."""
    file.with_suffix(".md").write_text(text + "\n", encoding="utf-8")
    print(text)


def row(*cells: object) -> str:
    return f"| {' | '.join(map(str, cells))} |"


def head(*names: str) -> list[str]:
    return [row(*names), "|---" * len(names) + "|"]


def ratio(change: Change) -> str:
    """With its 95 % interval."""
    if change.ratio is None:
        return "-"
    around = f" ({change.ci95[0]:.2f} .. {change.ci95[1]:.2f})" if change.ci95 else ""
    return f"{change.ratio:.2f}{around}"


def spread(values: Iterable[float | None]) -> str:
    """Median (minimum to maximum)."""
    known = [value for value in values if value is not None]
    return _of_known(known) if known else "-"


def _of_known(values: Sequence[float]) -> str:
    middle = statistics.median(values)
    digits = 0 if middle >= 100 else 1 if middle >= 10 else 2
    around = f" ({min(values):,.{digits}f} to {max(values):,.{digits}f})" if len(values) > 1 else ""
    return f"{middle:,.{digits}f}{around}"
