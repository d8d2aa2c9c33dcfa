"""Factors before and after: matched by name, left out where not all runs measured them."""

from pytest import approx

from vprof.compare.diff_factors import Contributions, FactorChange, compare_factors


def run(variance: float, off: str = "", reason: str = "", **contributions: float) -> Contributions:
    of = {("variance", (name,)): ns2 for name, ns2 in contributions.items()}
    return Contributions(variance, of, frozenset(off.split()), reason)


def compared(before: list[Contributions], after: list[Contributions]) -> dict[str, FactorChange]:
    return {f.functions[0]: f for f in compare_factors(before, after, 0.05)[0]}


def test_changes_are_parts_of_the_variance_before() -> None:
    before = [run(100, f=60, g=v) for v in (10, 20, 30)]
    after = [run(50, f=v, g=20) for v in (9, 10, 11)]
    found = compared(before, after)
    f, g = found["f"], found["g"]
    assert (f.before, f.after, f.change, f.before_ns2, f.after_ns2) == approx((0.6, 0.1, -0.5, 60, 10))
    assert (g.before, g.after, g.before_ns2, g.after_ns2) == approx((0.2, 0.2, 20, 20))
    assert (f.found, g.found) == ("lost", "")
    assert list(found) == ["f", "g"], "the greatest change first"


def test_a_new_function_gained_and_small_ones_are_not_shown() -> None:
    before = [run(100, old=v, small=1) for v in (49, 50, 51)]
    after = [run(100, new=v, small=2) for v in (49, 50, 51)]
    found = compared(before, after)
    assert {name: f.found for name, f in found.items()} == {"new": "gained", "old": "lost"}


def test_what_was_off_in_one_run_is_not_compared() -> None:
    before = [run(100, f=50, g=50) for _ in range(3)]
    after = [run(100, f=50, g=50), run(100, f=50, off="g"), run(100, f=50, g=50)]
    factors, reason, remarks = compare_factors(before, after, 0.05)
    assert ([f.functions for f in factors], reason) == ([["f"]], "")
    assert remarks == ["1 factor not compared: not switched on in every run"]


def test_few_runs_have_no_interval() -> None:
    f = compared([run(100, f=50)], [run(50, f=20)])["f"]
    assert (f.change, f.ci95, f.found) == (-0.3, None, "")


def test_a_run_without_a_ranking_says_why() -> None:
    assert compare_factors([run(100, f=50)], [run(0, reason="no variance")], 0.05) == ([], "no variance", [])
