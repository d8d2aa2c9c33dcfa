"""Which functions a factor switches on next."""

from dataclasses import replace

import numpy as np
from hand import hand_trace

from vprof.tables.model import Program
from vprof.variance.analysis import analyze
from vprof.variance.factors import Factor
from vprof.variance.planner import expansions, further, naive_cost, next_functions, outermost_functions

NAMES = ["main", "parse", "run", "read", "write", "memcpy"]
MAIN, PARSE, RUN, READ, WRITE, MEMCPY = range(6)
CALLS = [[PARSE, RUN], [READ], [READ, WRITE], [MEMCPY], [MEMCPY], []]


def program(on: set[int]) -> Program:
    flags = np.array([f in on for f in range(len(NAMES))])
    has_site = np.array([name != "memcpy" for name in NAMES])
    height = np.array([3, 2, 2, 1, 1, 0], np.int32)
    return Program(
        functions=NAMES,
        definitions=[""] * len(NAMES),
        calls=CALLS,
        height=height,
        root_height=3,
        on=flags,
        complete=flags,
        switchable=has_site,
    )


def factor(*functions: int) -> Factor:
    kind = "variance" if len(functions) == 1 else "covariance"
    return Factor(
        kind=kind,
        functions=[NAMES[f] for f in functions],
        sites=[],
        expandable=list(functions),
        instances=[],
        contribution_ns2=1.0,
        share=1.0,
        height=0,
        specificity=1,
        score=1.0,
    )


PSEUDO = replace(factor(MAIN), functions=["[queue]"], expandable=[])


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


def test_a_step_looks_ahead_by_whole_functions_as_far_as_there_is_room() -> None:
    grown = program({MAIN})
    assert further(grown, [PARSE, RUN], 9) == [READ, WRITE]
    # parse's only callee fits into one; run has another one then.
    assert further(grown, [PARSE, RUN], 1) == [READ]
    assert further(grown, [RUN], 1) == []
    assert further(grown, [PARSE, RUN], 9, over=[READ]) == [WRITE]
    assert further(program({MAIN, READ, WRITE}), [PARSE, RUN], 9) == []


def test_it_looks_through_functions_without_a_site_and_out_of_circles() -> None:
    # main -> memcpy (no site) -> read -> main
    circle = [[MEMCPY], [], [], [MAIN, MEMCPY], [], [READ, MEMCPY]]
    assert further(replace(program(set()), calls=circle), [MAIN], 9) == [READ]


def test_decomposing_everything_takes_every_call_path() -> None:
    """main, parse, run, their read twice and write once, and memcpy below each of these."""
    assert naive_cost(program(set()), [MAIN]) == 9
    assert naive_cost(program(set()), [PARSE, RUN]) == 8


def test_the_cost_is_exact_however_large_and_leaves_out_what_a_pointer_may_call() -> None:
    layers = [[2 * k + 2, 2 * k + 3] for k in range(300) for _ in range(2)] + [[], []]
    n = len(layers)
    flags = np.zeros(n, np.bool_)
    with_candidates = [[*callees, 0] for callees in layers]
    deep = Program(
        functions=[f"f{k}" for k in range(n)],
        definitions=[""] * n,
        calls=with_candidates,
        height=flags.astype(np.int32),
        root_height=0,
        on=flags,
        complete=flags,
    )
    assert naive_cost(replace(deep, call_graph=layers), [0]) == 2**301 - 1
    assert naive_cost(deep, [0]) == 1


def test_the_outermost_functions_are_where_intervals_begin() -> None:
    trace = hand_trace({"A": (1, 0, 1, 9)}, "1 A 0 9 exec", "1 f 0 4\n1 g@f:1 1 3\n1 h 5 8")
    tree = analyze(trace).tree.paths
    assert [trace.program.functions[f] for f in outermost_functions(tree)] == ["f", "h"]
