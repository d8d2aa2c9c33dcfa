#!/usr/bin/env python3
"""The first sentence of the page of each trace, by this vprof and by that of another checkout, side by side.

python bench/headlines.py --before ../old *.trace
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

ANSWER = re.compile(r'"answer": ?("(?:[^"\\]|\\.)*")')
CERTAINTY = re.compile(r'"certainty": ?("(?:[^"\\]|\\.)*")')
VPROF = [sys.executable, "-c", "from vprof.cli import main; main()"]


def headline(trace: Path, checkout: Path) -> str:
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "page.html"
        environment = {**os.environ, "PYTHONPATH": str(checkout / "analyzer")}
        command = [*VPROF, "report", str(trace), "-o", str(page)]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            return done.stderr.strip().splitlines()[-1]
        text = page.read_text(encoding="utf-8")
    found = [json.loads(match[1]) for match in (ANSWER.search(text), CERTAINTY.search(text)) if match]
    return " ".join(filter(None, found)).replace("|", "/")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--before", type=Path, required=True, metavar="CHECKOUT")
    parser.add_argument("traces", type=Path, nargs="+")
    options = parser.parse_args()
    print("| trace | before | now |\n|---|---|---|")
    for trace in options.traces:
        here = Path(__file__).parents[1]
        print(f"| {trace.stem} | {headline(trace, options.before)} | {headline(trace, here)} |", flush=True)


if __name__ == "__main__":
    main()
