"""Which functions a factor switches on next."""

import numpy as np

from vprof.factors import Factor
from vprof.model import Program
from vprof.planner import expansions, next_functions

NAMES = ["main", "parse", "run", "read", "write", "memcpy"]
MAIN, PARSE, RUN, READ, WRITE, MEMCPY = range(6)
CALLS = [[PARSE, RUN], [READ], [READ, WRITE], [MEMCPY], [MEMCPY], []]


def program(on: set[int]) -> Program:
    flags = np.array([f in on for f in range(len(NAMES))])
    has_site = np.array([name != "memcpy" for name in NAMES])
    height = np.array([3, 2, 2, 1, 1, 0], np.int32)
    return Program(NAMES, [""] * len(NAMES), CALLS, height, 3, flags, flags, has_site)


def factor(*functions: int) -> Factor:
    kind = "variance" if len(functions) == 1 else "covariance"
    return Factor(kind, [NAMES[f] for f in functions], [], list(functions), [], 1.0, 1.0, 0, 1, 1.0)


PSEUDO = Factor("variance", ["[queue]"], [], [], [], 1.0, 1.0, 0, 1, 1.0)


def test_a_variance_factor_switches_on_the_function_s_children() -> None:
    grow = expansions(program({MAIN}), [factor(MAIN)])
    assert [(e.factor, e.function, e.children) for e in grow] == [("main", MAIN, [PARSE, RUN])]


def test_a_covariance_factor_switches_on_the_children_of_both() -> None:
    grow = expansions(program({MAIN, PARSE, RUN}), [factor(PARSE, RUN)])
    assert [(e.function, e.children) for e in grow] == [(PARSE, [READ]), (RUN, [READ, WRITE])]
    assert next_functions(grow) == [READ, WRITE]


def test_only_children_that_are_off_are_proposed() -> None:
    assert next_functions(expansions(program({MAIN, RUN, READ}), [factor(RUN)])) == [WRITE]


def test_leaves_pseudo_nodes_and_functions_without_a_site_are_end_points() -> None:
    assert expansions(program({READ}), [factor(MEMCPY), PSEUDO, factor(READ)]) == []


def test_what_was_expanded_or_accepted_is_not_proposed_again() -> None:
    """So the drill-down ends, which the printed loop does not."""
    assert expansions(program({MAIN}), [factor(MAIN)], done={MAIN}) == []
    assert len(expansions(program({MAIN}), [factor(MAIN), factor(MAIN)])) == 1
