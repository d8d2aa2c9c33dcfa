#!/usr/bin/env python3
"""The first sentence of the page of each trace, by this vprof and by that of another checkout, side by side; and which
part of the blocked time is of waits that nobody is known to have ended.

python bench/headlines.py --before ../old *.trace       (those that headline_traces.py makes, or others)
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from headline_traces import root

ANSWER = re.compile(r'"answer": ?("(?:[^"\\]|\\.)*")')
CERTAINTY = re.compile(r'"certainty": ?("(?:[^"\\]|\\.)*")')
VPROF = [sys.executable, "-c", "from vprof.cli import main; main()"]


def headline(trace: Path, checkout: Path) -> str:
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "page.html"
        environment = {**os.environ, "PYTHONPATH": str(checkout / "analyzer")}
        command = [*VPROF, "report", str(trace), *root(trace.stem), "-o", str(page)]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            return done.stderr.strip().splitlines()[-1]
        text = page.read_text(encoding="utf-8")
    found = [json.loads(match[1]) for match in (ANSWER.search(text), CERTAINTY.search(text)) if match]
    return " ".join(filter(None, found)).replace("|", "/")


def nameless(trace: Path) -> str:
    """The part of the blocked time whose waits nobody is known to have ended."""
    command = [*VPROF, "analyze", str(trace), *root(trace.stem), "--format", "json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if not done.stdout:
        return "-"
    blocked = json.loads(done.stdout)["blocked_ns"]
    return f"{blocked.get('unknown', 0) / max(1, sum(blocked.values())):.1%}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--before", type=Path, required=True, metavar="CHECKOUT")
    parser.add_argument("traces", type=Path, nargs="+")
    options = parser.parse_args()
    print("| trace | before | now | waits without a name |\n|---|---|---|---|")
    for trace in options.traces:
        before, now = (headline(trace, checkout) for checkout in (options.before, Path(__file__).parents[1]))
        print(f"| {trace.stem} | {before} | {now} | {nameless(trace)} |", flush=True)


if __name__ == "__main__":
    main()
