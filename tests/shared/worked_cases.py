"""The worked cases of tests/cases that are traces; the others are of something else, as a lock manager's queues."""

import json
from pathlib import Path

CASES = Path(__file__).parents[1] / "cases"
TRACES = [case for case in sorted(CASES.glob("*.json")) if "intervals" in json.loads(case.read_text())]
