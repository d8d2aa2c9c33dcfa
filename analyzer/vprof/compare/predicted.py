"""Did a prediction come true: what `vprof whatif` said of a change, beside what runs with it took.

    FILE of `vprof whatif --format json` -> Predicted;  + Diff -> Judged: figure by figure, inside or outside

The prediction's interval says how much chance there is in what was recorded, so it is widened by how far the model is
known to be off (whatif/model.py). What was measured has an interval of its own, over runs.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from vprof.compare.diff import Diff
from vprof.compare.judgement import Change
from vprof.errors import UsageError
from vprof.shapes import NUMBER, TEXT, Shape, list_of, optional, row_of, table_of
from vprof.whatif.model import JUDGED, MODEL_ERROR, REPLAY, WAYS

AS_PREDICTED, PERHAPS, BETTER, WORSE = "as predicted", "perhaps", "better than predicted", "worse than predicted"
_SCHEMA = "vprof-whatif/1"
_FIGURE = table_of({"ratio": optional(NUMBER), "ci95": optional(row_of(NUMBER, NUMBER))})
_WAY = Shape(lambda value: "" if value in WAYS else f" is not {' or '.join(WAYS)}")
_SHAPE = table_of(
    {"changes": list_of(TEXT), "model": TEXT, "figures": table_of(dict.fromkeys(JUDGED, _FIGURE))}, may={"way": _WAY}
)
_MEND = "write one with vprof whatif BEFORE... --change F=0.5 --format json -o FILE"

Ends = tuple[float, float]


@dataclass(frozen=True)
class Predicted:
    """Of each figure of JUDGED the ratio (then / now) and its 95 % interval, None where not known; `way`: how it was
    found."""

    file: Path
    changes: list[str]
    model: str
    way: str
    figures: dict[str, tuple[float | None, Ends | None]]


@dataclass(frozen=True)
class Came:
    """A figure: what was predicted, with its interval, and that one widened; what was measured. `found`: one of
    AS_PREDICTED, PERHAPS (only the interval of what was measured reaches what was predicted), BETTER, WORSE; "": one of
    both is not known."""

    metric: str
    predicted: float | None
    ci95: Ends | None
    widened: Ends | None
    measured: Change
    found: str


@dataclass(frozen=True)
class Judged:
    predicted: Predicted
    figures: list[Came]


def read(file: Path) -> Predicted:
    """Raises UsageError."""
    try:
        found = json.loads(file.read_bytes())
    except OSError as error:
        raise UsageError(f"{file}: {error.strerror}: {_MEND}") from None
    except (ValueError, RecursionError):
        raise UsageError(f"{file} is no prediction, since it is no JSON: {_MEND}") from None
    schema = found.get("schema") if isinstance(found, dict) else None
    if schema != _SCHEMA:
        what = f"its schema is {schema[:40]!r}" if isinstance(schema, str) else "it has no schema"
        raise UsageError(f"{file} is no prediction, since {what}, not {_SCHEMA}: {_MEND}")
    if wrong := _SHAPE.wrong(found):
        raise UsageError(f"{file}{wrong}, so it is no prediction: {_MEND}")
    if not found["changes"]:
        raise UsageError(f"{file} predicts no change, it was written without --change: {_MEND}")
    figures = {}
    for name in JUDGED:
        one = found["figures"][name]
        figures[name] = one["ratio"], (one["ci95"][0], one["ci95"][1]) if one["ci95"] else None
    return Predicted(file, found["changes"], found["model"], found.get("way", REPLAY), figures)


def judge(predicted: Predicted, result: Diff) -> Judged:
    measured = {change.metric.name: change for change in (result.decides, *result.others)}
    errors = MODEL_ERROR[predicted.way]
    came = [_came(name, *figure, measured[name], errors[name]) for name, figure in predicted.figures.items()]
    return Judged(predicted, came)


def _came(name: str, ratio: float | None, ci95: Ends | None, measured: Change, error: Ends) -> Came:
    if ratio is None:
        return Came(name, None, None, None, measured, "")
    low, high = ci95 or (ratio, ratio)
    widened = max(low - error[0], 0.0), high + error[1]
    return Came(name, ratio, ci95, widened, measured, _found(widened, measured))


def _found(widened: Ends, measured: Change) -> str:
    """Of these figures less is better."""
    if measured.ratio is None:
        return ""
    low, high = widened
    if low <= measured.ratio <= high:
        return AS_PREDICTED
    if measured.ci95 and measured.ci95[0] <= high and measured.ci95[1] >= low:
        return PERHAPS
    return BETTER if measured.ratio < low else WORSE
