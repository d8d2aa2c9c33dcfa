"""What a change would gain, in a sentence."""

import pytest

from vprof.report.gain_words import sentence
from vprof.whatif.changes import parse_all
from vprof.whatif.outcome import Figure, Outcome

Ends = tuple[float, float]


def outcome(variance: float | None, p99: tuple[float, float], ci95: Ends | None = None) -> Outcome:
    figures = [
        Figure("mean", 4e6, 3e6, 0.75, None),
        Figure("variance", 1e12, None, variance, ci95),
        Figure("p99", *p99, p99[1] / p99[0], None),
    ]
    return Outcome(figures, "")


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        (["spin=0.5"], "Halving `spin`"),
        (["spin=0"], "Removing `spin`"),
        (["spin=0.3"], "Making `spin` take 0.3 times as long"),
        (["spin=constant"], "Making every call of `spin` take the mean of all"),
        (["[disk]=median"], "Making every [disk] take the median of all"),
        (["spin=-200us"], "Taking 200 us from every call of `spin`"),
        (["[sched]=+1ms"], "Adding 1 ms to every [sched]"),
        (["a=0.5", "b=0.5", "c=0"], "Halving `a` and `b` and removing `c`"),
        (["a=0", "[disk]=0", "b=2"], "Removing `a`, removing [disk] and doubling `b`"),
    ],
)
def test_what_is_changed(changes: list[str], what: str) -> None:
    said = sentence(parse_all(changes), outcome(0.25, (12.1e6, 7e6), (0.21, 0.3)))
    assert said == f"{what} would cut the variance to 0.25 of what it is and p99 from 12.1 to 7 ms."


@pytest.mark.parametrize(
    ("variance", "p99", "comes"),
    [
        (0.25, (12.1e6, 7e5), "cut the variance to 0.25 of what it is and p99 from 12.1 ms to 700 us"),
        (0.0123, (12e6, 12e6), "cut the variance to 0.012 of what it is and leave p99 as it is"),
        (1.5, (12e6, 13e6), "raise the variance to 1.50 times what it is and p99 from 12 to 13 ms"),
        (1.5, (12e6, 11e6), "raise the variance to 1.50 times what it is and cut p99 from 12 to 11 ms"),
        (1.0, (12e6, 12e6), "leave the variance and p99 as they are"),
        (None, (12e6, 11e6), "cut the mean from 4 to 3 ms and p99 from 12 to 11 ms"),
    ],
)
def test_what_comes_of_it(variance: float | None, p99: tuple[float, float], comes: str) -> None:
    assert sentence(parse_all(["f=0.5"]), outcome(variance, p99)) == f"Halving `f` would {comes}."
