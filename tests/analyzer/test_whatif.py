"""Replays: the worked case, nothing changed on whatever traces there are, and changed scripts against a simulation."""

import json
import random
from collections import Counter, defaultdict
from pathlib import Path
from statistics import mean, median
from typing import Any

import numpy as np
import pytest
from histories import lock_convoy, random_history, worker_pool
from hypothesis import given
from hypothesis import strategies as st
from properties import LOT, examples, lots, named
from schedules import Schedule
from scripts import Key, Run, random_scripts, scaled
from worked_cases import TRACES

from vprof.errors import UsageError
from vprof.tables.model import Trace
from vprof.trace.json_trace import load_json, trace_from_dict
from vprof.trace.sources import Loaded
from vprof.trace.window import WHOLE
from vprof.variance.analysis import AnalysisOptions, analyze
from vprof.whatif.changes import ALIKE, parse, resolve
from vprof.whatif.model import REPLAY, USUAL, Model
from vprof.whatif.prediction import DRIFTED, Found, Prediction, Replays, load
from vprof.whatif.retimed import Clock, retimed
from vprof.whatif.scales import Totals
from vprof.whatif.windows import Looks, Replay, look

REPLAYS = {case.stem: json.loads(case.read_text()).get("expected_replay", []) for case in TRACES}
FORMS = {"times": lambda value: str(value), "constant": lambda value: "constant"}


def predicted(trace: Trace, *changes: str, model: Model = USUAL, factors: bool = False) -> dict[str, float]:
    found = prediction(trace, *changes, model=model, factors=factors)
    return dict(zip(found.ids, found.predicted_ns.tolist(), strict=True))


def prediction(trace: Trace, *changes: str, model: Model = USUAL, factors: bool = False) -> Prediction:
    return Replays(load([Loaded(trace)], AnalysisOptions()), model).predict(
        [parse(change) for change in changes], factors
    )


@pytest.mark.parametrize(("case", "k"), [(case, k) for case, rows in REPLAYS.items() for k in range(len(rows))])
def test_worked_cases(case: str, k: int) -> None:
    expected = REPLAYS[case][k]
    changes = [f"{f}={FORMS[how](value)}" for f, rule in expected["change"].items() for how, value in rule.items()]
    trace = load_json(next(path for path in TRACES if path.stem == case))
    assert predicted(trace, *changes, factors=True) == expected["latency"]


@pytest.mark.parametrize("case", TRACES, ids=lambda case: case.stem)
def test_without_a_change_nothing_moves(case: Path) -> None:
    check_same(load_json(case))


def afterwards(trace: Trace, *changes: str) -> Trace:
    """What the trace would have been. Checks that it comes out as it was without a change."""
    called = np.ones(len(trace.program.functions), np.bool_)
    totals = [Totals(resolve([parse(change) for change in changes], trace, lambda: called))]
    source = Loaded(trace)
    looks = Looks(source, [totals[0].changes])
    look(0, looks, totals, looks.read(trace, WHOLE), WHOLE)
    run = Replay(0, source, totals, [False], USUAL)
    built, times = run.add(looks.read(trace, WHOLE), WHOLE)
    totals[0].check(trace)
    begin, end = (np.floor(new[0] + 0.5).astype(np.int64) + run.origin for new in (run.begin, run.end))
    return retimed(trace, Clock(built.moments, times[0]), begin, np.maximum(end, begin))


def check_same(trace: Trace) -> None:
    """Latencies and every table of the trace."""
    same = afterwards(trace)
    for table in ("segments", "invocations", "wakeups", "created", "intervals", "attempts"):
        for name, column in vars(getattr(trace, table)).items():
            assert np.array_equal(column, getattr(getattr(same, table), name)), (table, name)


@lots(2000)
def test_without_a_change_nothing_moves_in_random_schedules(first: int) -> None:
    for seed in range(first, first + LOT):
        with named(seed):
            check_same(trace_from_dict(Schedule(seed).data))


@lots(300)
def test_without_a_change_nothing_moves_in_random_histories(first: int) -> None:
    """Also in such as no program can have, where waits end each other."""
    for seed in range(first, first + LOT):
        with named(seed):
            for data in (random_history(seed), lock_convoy(seed)[0], worker_pool(seed)[0]):
                check_same(trace_from_dict(data))


@lots(200)
def test_a_changed_trace_can_be_analyzed(first: int) -> None:
    for seed in range(first, first + LOT):
        with named(seed):
            data = random_history(seed)
            names = sorted({call[2] for call in data["functions"]})
            if not names:
                continue
            rng = random.Random(seed)
            change = f"{rng.choice(names)}={rng.choice(('0', '0.5', '3', 'constant', '+5ns', '-3ns'))}"
            try:
                new = afterwards(trace_from_dict(data), change)
            except UsageError:
                continue
            analyze(new)
            check_same(new)


CHANGES: dict[str, Any] = {
    "0.5": lambda ns, every: ns * 0.5,
    "0": lambda ns, every: 0.0,
    "2": lambda ns, every: ns * 2,
    "constant": lambda ns, every: mean(every),
    "median": lambda ns, every: median(every),
    "-20us": lambda ns, every: max(ns - 20_000, 0.0),
}


@lots(1500)
def test_a_replay_is_what_changed_scripts_would_have_done(first: int) -> None:
    """Of clients that wait for answers, wherever the order of hand-overs stays. How often that is the case, is checked
    too."""
    seen: Counter[str] = Counter()
    for seed in range(first, first + LOT):
        with named(seed):
            seen[compared(seed)] += 1
    assert seen["compared"] >= 0.3 * LOT, seen


def compared(seed: int) -> str:
    rng = random.Random(seed)
    scripts, idle = random_scripts(rng), rng.choice(("queue", "blocked", ""))
    starts: dict[int, float] = {thread: rng.randint(0, 100_000) for thread in scripts}
    delays: dict[Key, int] = defaultdict(lambda: rng.randint(0, 3000))
    before = Run(scripts, starts, delays.__getitem__, idle)
    assert all(len(steps) == before.place[thread] for thread, steps in scripts.items())
    used = {f for steps in scripts.values() for step in steps if step[0] == "enter" for f in step[1]}
    chosen = {f: rng.choice(list(CHANGES)) for f in rng.sample(sorted(used), min(len(used), rng.randint(1, 2)))}
    if not before.intervals or not chosen:
        return "nothing in it"
    alike = [f for f, how in chosen.items() if how in ALIKE]
    changed = scaled(scripts, {f: CHANGES[how] for f, how in chosen.items()}, alike)
    # Of a wait that did not occur no delay is recorded: there is none then.
    after = Run(changed, starts, lambda key: delays.get(key, 0), idle)
    if not after.keeps_order_of(before) or after.close < 1:
        return "another order"
    try:
        texts = [f"{f}={how}" for f, how in chosen.items()]
        found = predicted(trace_from_dict(before.data), *texts, model=Model(is_open=False))
    except UsageError as error:
        assert "only waits" in str(error)
        return "nothing to change"
    assert found == pytest.approx(after.latency, abs=1e-3)
    return "compared"


@examples(300)
@given(
    name=st.text(min_size=1).filter(lambda text: text.strip() == text != ""),
    value=st.one_of(
        st.sampled_from(("constant", "median")),
        st.decimals(0, 1000, places=3).map(str),
        st.tuples(
            st.sampled_from("+-"), st.decimals(0, 1000, places=2).map(str), st.sampled_from(("ns", "us", "ms", "s"))
        ).map("".join),
    ),
)
def test_a_change_is_read_whatever_the_name_of_the_function_holds(name: str, value: str) -> None:
    """Names may hold = themselves, as operator== does."""
    found = parse(f"{name}={value}")
    assert found.name == name
    assert found.rule == (value if value[0] in "cm" else "more" if value[0] in "+-" else "times")


@examples(200)
@given(took=st.lists(st.integers(0, 10**6), min_size=1, max_size=20), how=st.sampled_from(list(CHANGES)))
def test_what_calls_take_with_a_change(took: list[int], how: str) -> None:
    every = [float(ns) for ns in took]
    found = parse(f"f={how}").apply(np.array(every), np.array(every))
    assert found.tolist() == pytest.approx([CHANGES[how](ns, every) for ns in every])
    assert (found >= 0).all()


def test_a_wait_with_little_of_its_own_is_no_cause() -> None:
    """What making it alike is worth would be told with a number, about what nobody waits for."""
    trace = trace_from_dict(waits_for_another(own=10))
    [why] = Replays(load([Loaded(trace)], AnalysisOptions())).outcomes([[parse("f=constant")]])
    assert why == (
        "f waits for other threads or a CPU in more than 98% of the time: "
        "change what ends the waits (vprof analyze --explain f)"
    )
    [found, _] = Replays(load([Loaded(trace)], AnalysisOptions())).outcomes([[parse("g=0")], [parse("f=0")]])
    assert not isinstance(found, str)
    trace = trace_from_dict(waits_for_another(own=100))
    [found] = Replays(load([Loaded(trace)], AnalysisOptions())).outcomes([[parse("f=constant")]])
    assert not isinstance(found, str)


def waits_for_another(own: int) -> dict[str, Any]:
    """Three intervals call f, which works for `own` and waits until 1000 for thread 2, which works in g."""
    data: dict[str, Any] = {"intervals": [], "segments": [], "functions": [], "wakeups": [], "created": []}
    for k in range(3):
        t, sid = 2000 * k, f"i{k}"
        data["intervals"].append({"sid": sid, "begin": {"tid": 1, "t": t}, "end": {"tid": 1, "t": t + 1000 + k}})
        data["segments"] += [[1, sid, t, t + own, "exec"], [1, sid, t + own, t + 1000, "blocked"]]
        data["segments"] += [[1, sid, t + 1000, t + 1000 + k, "exec"], [2, None, t, t + 1000, "exec"]]
        data["functions"] += [[1, sid, "f", "x:0", t, t + 1000, 0], [2, None, "g", "y:0", t, t + 1000, 0]]
        data["wakeups"].append([1, 2, t + 1000])
    data["segments"] = [row for row in data["segments"] if row[3] > row[2]]
    return data


def found_for(trace: Trace, change: str, is_open: bool | None) -> Found:
    replays = Replays(load([Loaded(trace)], AnalysisOptions()), Model(is_open, REPLAY))
    [found] = replays.outcomes([[parse(change)]])
    assert isinstance(found, Found)
    whole = replays.predict([parse(change)])
    assert (whole.found.predicted_ns == found.predicted_ns).all() and whole.found.doubt == found.doubt
    assert whole.model.is_open is bool(is_open or found.doubt)
    return found


def test_what_threads_run_ahead_of_one_another_is_waited_for_by_nobody() -> None:
    """With calls alike the first thread is 400 us ahead when it has to wait 5 us for the second, which is as late."""
    trace = trace_from_dict(wait_after_drift())
    default, closed, opened = (found_for(trace, "f=constant", is_open) for is_open in (None, False, True))
    assert closed.predicted_ns.max() > 800_000 and closed.outcome["variance"].ratio > 10 and closed.doubt == ""
    assert (default.predicted_ns == opened.predicted_ns).all() and default.predicted_ns.max() < 50_000
    assert default.doubt == DRIFTED and opened.doubt == ""


def test_a_change_that_makes_calls_longer_is_taken_at_its_word() -> None:
    trace = trace_from_dict(wait_after_drift())
    default, closed = (found_for(trace, "f=3", is_open) for is_open in (None, False))
    assert (default.predicted_ns == closed.predicted_ns).all() and default.doubt == ""


def test_waiting_for_one_another_is_believed_where_arrivals_do_not_matter() -> None:
    """Two threads of the program, which never wait for clients. What the first no longer sleeps in its requests, it
    waits in the last one of a round, for what the second does meanwhile."""
    trace = trace_from_dict(work_beside_sleep())
    default, closed = (found_for(trace, "f=0", is_open) for is_open in (None, False))
    assert closed.outcome["variance"].ratio > 1.2
    assert (default.predicted_ns == closed.predicted_ns).all() and default.doubt == ""


def wait_after_drift() -> dict[str, Any]:
    """Two threads serve 40 requests each, one every 100 us: the first for 60 us, after the half of them for 20; the
    second the other way round."""
    data: dict[str, Any] = {"intervals": [], "segments": [], "functions": [], "wakeups": [], "created": []}
    for thread in (1, 2):
        for k in range(40):
            t, sid = 100_000 * k, f"{thread}.{k}"
            end = t + (60_000 if (thread == 1) == (k < 20) else 20_000)
            waits = [[thread, sid, t + 10, t + 5_010, "blocked"]] if (thread, k) == (1, 20) else []
            since = t + 5_010 if waits else t
            data["intervals"].append({"sid": sid, "begin": {"tid": thread, "t": t}, "end": {"tid": thread, "t": end}})
            data["segments"] += [[thread, sid, t, t + 10, "exec"], *waits] if waits else []
            data["segments"] += [[thread, sid, since, end, "exec"], [thread, None, end, t + 100_000, "blocked"]]
            data["functions"].append([thread, sid, "f", "x:0", since, end, 0])
    data["wakeups"] = [[1, 2, 2_005_010]]
    return data


def work_beside_sleep() -> dict[str, Any]:
    """Ten rounds of ten requests of 10 us, of which f sleeps for 100 us in every other one; the last waits 2 us for
    thread 2, which has worked all the time."""
    data: dict[str, Any] = {"intervals": [], "segments": [], "functions": [], "wakeups": [], "created": []}
    t = 0
    for round_ in range(10):
        begun = t
        for k in range(10):
            sid, sleeps = f"{round_}.{k}", 100_000 if k % 2 else 0
            end = t + 10_000 + sleeps
            data["functions"].append([1, sid, "f", "x:0", t, t + 5_000 + sleeps, 0])
            data["segments"] += [[1, sid, t, t + 5_000, "exec"]]
            data["segments"] += [[1, sid, t + 5_000, t + 5_000 + sleeps, "sleep"]] if sleeps else []
            data["segments"] += [[1, sid, t + 5_000 + sleeps, end, "exec"]]
            if k == 9:
                data["segments"].append([1, sid, end, end + 2_000, "blocked"])
                data["wakeups"].append([1, 2, end + 2_000])
                end += 2_000
            data["intervals"].append({"sid": sid, "begin": {"tid": 1, "t": t}, "end": {"tid": 1, "t": end}})
            t = end
        data["segments"].append([2, None, begun, t, "exec"])
    return data
