"""What a change would gain, in one plain sentence: "Halving `spin` would cut the variance to 0.25 of what it is"."""

from __future__ import annotations

from collections.abc import Sequence

from vprof.report.units import duration
from vprof.whatif.changes import NODES, Change
from vprof.whatif.outcome import Figure, Outcome

LEAST_GAIN = 5e-4
"""A ratio that is no further from 1 changes nothing that anybody would see."""


def sentence(changes: Sequence[Change], outcome: Outcome) -> str:
    """REQUIRES: there are changes."""
    words = _what(changes)
    return f"{words[0].upper()}{words[1:]} would {_results(outcome)}."


def _what(changes: Sequence[Change]) -> str:
    """Those that are changed alike are named together."""
    alike: dict[tuple[str, float, bool], list[str]] = {}
    for change in changes:
        is_node = change.name in NODES
        alike.setdefault((change.rule, change.value, is_node), []).append(
            change.name if is_node else f"`{change.name}`"
        )
    return _listed([_done(rule, value, is_node, names) for (rule, value, is_node), names in alike.items()])


def _done(rule: str, value: float, is_node: bool, names: list[str]) -> str:
    all_of = _listed(names)
    every = f"every {all_of}" if is_node else f"every call of {all_of}"
    if rule == "more":
        amount = duration(abs(value))
        return f"taking {amount} from {every}" if value < 0 else f"adding {amount} to {every}"
    if rule != "times":
        return f"making {every} take the {'mean' if rule == 'constant' else 'median'} of all"
    known = {0.0: f"removing {all_of}", 0.5: f"halving {all_of}", 1.0: f"keeping {all_of}", 2.0: f"doubling {all_of}"}
    return known.get(value, f"making {all_of} take {value:g} times as long")


def _results(outcome: Outcome) -> str:
    """Variance and p99; where nothing varies, the mean."""
    figures = [outcome[name] for name in ("variance", "p99") if outcome[name].ratio is not None]
    if outcome["variance"].ratio is None:
        figures.insert(0, outcome["mean"])
    alike: dict[str, list[str]] = {}
    for figure in figures:
        verb = _verb(figure)
        alike.setdefault(verb, []).append(_to(figure) if verb != "leave" else _called(figure))
    ends = {"leave": " as it is", "cut": "", "raise": ""}
    parts = [
        f"{verb} {_listed(words)}{' as they are' if verb == 'leave' and len(words) > 1 else ends[verb]}"
        for verb, words in alike.items()
    ]
    return " and ".join(parts)


def _verb(figure: Figure) -> str:
    ratio = 1.0 if figure.ratio is None else figure.ratio
    return "leave" if abs(ratio - 1) < LEAST_GAIN else "cut" if ratio < 1 else "raise"


def _called(figure: Figure) -> str:
    return figure.name if figure.name == "p99" else f"the {figure.name}"


def _to(figure: Figure) -> str:
    """Of the variance, of which nobody knows the figure, the ratio. Without its interval, which is narrow beside the
    model's error (whatif/model.py)."""
    if figure.name == "variance":
        ratio = figure.ratio or 0.0
        return f"the variance to {_ratio(ratio)} {'times' if ratio > 1 else 'of'} what it is"
    assert figure.now is not None and figure.then is not None
    return f"{_called(figure)} from {_span(figure.now, figure.then)}"


def _span(now: float, then: float) -> str:
    """Two durations; the unit once where both have it."""
    (first, unit), (second, other) = duration(now).split(), duration(then).split()
    return f"{first} to {second} {unit}" if unit == other else f"{first} {unit} to {second} {other}"


def _ratio(value: float) -> str:
    """Two digits that say something: 0.012, 0.25, 1.50, 14.6."""
    return f"{value:.2g}" if value < 0.1 else f"{value:.2f}" if value < 10 else f"{value:.3g}"


def _listed(words: list[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
