"""The answer of a run in one sentence, and how sure it is; a second sentence names a function if the first has none."""

from __future__ import annotations

from vprof.path.path_tree import display_names
from vprof.report import apart
from vprof.report.units import percent
from vprof.tables.kinds import L_BODY, MEANINGS
from vprof.tables.model import NONE
from vprof.variance.analysis import Analysis, RankedFactor
from vprof.variance.factors import Factor


def headline(analysis: Analysis) -> dict[str, str]:
    """`answer`: what makes latency vary most, or why that cannot be said; `certainty`: of the answer, "" if there is
    none."""
    if analysis.no_ranking:
        return {"answer": f"No ranking: {analysis.no_ranking}.", "certainty": ""}
    if not analysis.factors:
        answer = f"No function holds {percent(analysis.least_share)} of the variance of latency."
        return {"answer": _with_what_is_apart(analysis, answer), "certainty": ""}
    best = analysis.factors[0]
    answer = f"{_subject(analysis, best)} {percent(best.factor.share)} of the variance of latency."
    if apart.leads(analysis) and apart.sentences(analysis) and best.factor.functions[0] not in MEANINGS:
        answer = f"Of functions, {answer}"
    answer += _who_calls_it(analysis, best.factor) + _first_function(analysis.factors)
    return {"answer": _with_what_is_apart(analysis, answer), "certainty": _certainty(best)}


def _with_what_is_apart(analysis: Analysis, answer: str) -> str:
    """What holds more stands first."""
    said = " ".join(f"{sentence}." for sentence in apart.sentences(analysis))
    if not said:
        return answer
    return f"{said} {answer}" if apart.leads(analysis) else f"{answer} {said}"


def _subject(analysis: Analysis, best: RankedFactor) -> str:
    functions = best.factor.functions
    if best.factor.kind == "covariance":
        return f"{functions[0]} and {functions[1]} take their time together: this holds"
    how = next((other for other in best.explains if other in MEANINGS), functions[0])
    meaning = MEANINGS.get(how)
    if caller := _who_calls_the_c_library(analysis, best.factor):
        return f"{caller} (in {functions[0]}) makes latency vary most: it holds"
    name = f"{functions[0]} ({meaning})" if meaning else functions[0]
    return f"{name} makes latency vary most: it holds"


def _who_calls_the_c_library(analysis: Analysis, factor: Factor) -> str:
    """The program's function around the heaviest place of a function of the C library, which nobody can mend; "" if
    the factor is no such function."""
    paths, program = analysis.tree.paths, analysis.trace.program
    x = max((a for a, _ in factor.instances), key=lambda node: abs(analysis.tree.share[node]), default=0)
    if paths.function[x] == NONE or not program.is_of_the_c_library(paths.function[x]):
        return ""
    x = _own_function(analysis, x)
    return display_names(analysis.trace)[paths.function[x]] if x > 0 else ""


def _own_function(analysis: Analysis, x: int) -> int:
    """The node itself or the innermost one around it that is a function of the program; 0: none."""
    paths, program = analysis.tree.paths, analysis.trace.program
    while x > 0 and (paths.function[x] == NONE or program.is_of_the_c_library(paths.function[x])):
        x = int(paths.parent[x])
    return x


_MOST_OF_IT, _ALL = 2 / 3, 0.9995


def _who_calls_it(analysis: Analysis, factor: Factor) -> str:
    """A helper that everybody calls says nothing by itself: the two functions above it, or the one, where most of the
    factor lies; "" if there is none, or the factor is no function's."""
    if factor.kind == "covariance" or factor.functions[0] in MEANINGS:
        return ""
    for depth in (2, 1):
        shares: dict[tuple[int, ...], float] = {}
        for x, _ in factor.instances:
            callers = tuple(_callers(analysis, _own_function(analysis, x))[:depth])
            shares[callers] = shares.get(callers, 0.0) + float(analysis.tree.share[x])
        callers = max(shares, key=lambda way: shares[way])
        part = shares[callers] / (sum(shares.values()) or 1.0)
        if callers and part >= _MOST_OF_IT:
            way = " > ".join(display_names(analysis.trace)[function] for function in reversed(callers))
            return f" {'All' if part > _ALL else percent(part)} of that lies below {way}."
    return ""


def _callers(analysis: Analysis, x: int) -> list[int]:
    """The functions of the program above a node's, innermost first, to where its thread begins."""
    paths, found = analysis.tree.paths, [int(analysis.tree.paths.function[x])]
    while x > 0 and paths.pseudo[x] in (NONE, L_BODY):
        if paths.function[x] not in (NONE, found[-1]):
            found.append(int(paths.function[x]))
        x = int(paths.parent[x])
    return found[1:]


def _first_function(factors: list[RankedFactor]) -> str:
    """What to look at where the best factor is no function's: time of a client, of a queue, of the machine."""
    if factors[0].factor.functions[-1] not in MEANINGS:
        return ""
    for one in factors[1:]:
        if one.factor.functions[0] not in MEANINGS and one.factor.kind != "covariance":
            return f" Of functions, {one.factor.functions[0]} holds most: {percent(one.factor.share)}."
    return ""


def _certainty(best: RankedFactor) -> str:
    if not best.ci95:
        return f"No error bar: {best.ci95_reason}."
    low, high = map(percent, best.ci95)
    first = f"; ranked first in {percent(best.first)} of the resamples" if best.first is not None else ""
    return f"95 % interval {low} to {high}{first}."
