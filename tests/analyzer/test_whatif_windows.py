"""A replay comes to the same wherever a trace is cut into windows."""

import random
from collections import Counter, defaultdict

import numpy as np
import pytest
from cut_source import CutTrace
from properties import LOT, lots, named, seeds
from schedules import Schedule
from scripts import Key, Run, random_scripts

from vprof.errors import UsageError, VprofError
from vprof.tables.model import Trace
from vprof.trace.json_trace import trace_from_dict
from vprof.trace.sources import Loaded, Source
from vprof.variance.analysis import AnalysisOptions
from vprof.whatif.changes import parse
from vprof.whatif.model import USUAL, Model
from vprof.whatif.prediction import Prediction, Replays, load

HOW = ("0.5", "0", "2", "constant", "median", "-20us", "+5us")
NODES = ("[sched]=0", "[disk]=constant", "[preempted]=0.5", "[disk]=0", "[gap]=2", "[unknown]=0.5", "[idle]=constant")


def predicted(source: Source, model: Model, texts: list[str]) -> Prediction | str:
    try:
        replays = Replays(load([source], AnalysisOptions()), model)
        return replays.predict([parse(text) for text in texts], factors=False)
    except UsageError as error:
        return str(error)


@pytest.mark.parametrize("model", [USUAL, Model(is_open=True)], ids=["closed", "open"])
@lots(400)
def test_borders_change_nothing(first: int, model: Model) -> None:
    seen: Counter[str] = Counter()
    for seed in range(first, first + LOT):
        with named(seed):
            rng = random.Random(seed)
            trace, functions = recorded(rng)
            times = moments(trace)
            borders = sorted({rng.randint(times[0], times[-1]) for _ in range(rng.randint(1, 6))})
            seen[compared(trace, functions, borders, model, rng)] += 1
    assert seen["the same"] >= 0.6 * LOT, seen


@pytest.mark.parametrize("model", [USUAL, Model(is_open=True)], ids=["closed", "open"])
@seeds(10)
def test_borders_at_every_moment_change_nothing(seed: int, model: Model) -> None:
    """And directly after each."""
    rng = random.Random(seed)
    trace, functions = recorded(rng)
    times = moments(trace)
    for borders in (times, [t + 1 for t in times]):
        compared(trace, functions, borders, model, rng)


@lots(400)
def test_borders_change_nothing_in_random_schedules(first: int) -> None:
    for seed in range(first, first + LOT):
        with named(seed):
            rng = random.Random(seed)
            trace = trace_from_dict(Schedule(seed).data)
            called = np.unique(trace.invocations.function)
            times = moments(trace)
            borders = sorted({rng.choice(times) + rng.randint(-1, 1) for _ in range(rng.randint(1, 9))})
            compared(trace, [trace.program.functions[f] for f in called], borders, Model(rng.random() < 0.5), rng)


def test_who_wakes_another_in_a_wait_of_its_own_moves_with_that_wait() -> None:
    """As who waits for a condition, and lets go of a mutex first. Thread 1 waits from 10 to 25, thread 3 woke it at 15;
    at 12 it wakes thread 2, which goes on at 40. With f=0.5 it waits from 5, so wakes at 7, which is 5 earlier: not at
    the time that lies as far into the wait as it was. Nor does this depend on a border between 25 and 40, before which
    nobody would know of it who looks at waits only that are over."""
    data = {
        "intervals": [{"sid": "b", "begin": {"tid": 2, "t": 0}, "end": {"tid": 2, "t": 45}}],
        "segments": [
            [1, None, 0, 10, "exec"],
            [1, None, 10, 25, "blocked"],
            [1, None, 25, 50, "exec"],
            [2, "b", 0, 5, "exec"],
            [2, "b", 5, 40, "blocked"],
            [2, "b", 40, 45, "exec"],
            [3, None, 0, 50, "exec"],
        ],
        "functions": [[1, None, "f", "x", 0, 10]],
        "wakeups": [[1, 3, 15], [2, 1, 12]],
        "created": [],
    }
    for border in range(1, 50):
        found = predicted(CutTrace(trace_from_dict(data), [border]), USUAL, ["f=0.5"])
        assert not isinstance(found, str) and found.predicted_ns.tolist() == [40], border


def test_a_worker_that_was_woken_before_a_border_takes_up_its_task_after_it() -> None:
    """Nobody is known to have woken it: that the task ended its wait is known at 26 only. It was made at 15, the
    wait ended 5 later; with f=0 it is made at 4, the wait ends at 9, work for nobody until 15 and for it until 19."""
    data = {
        "intervals": [{"sid": "a", "begin": {"tid": 1, "t": 0}, "end": {"tid": 2, "t": 30}}],
        "segments": [
            [1, "a", 0, 15, "exec"],
            [1, None, 15, 50, "exec"],
            [2, None, 0, 20, "blocked"],
            [2, None, 20, 26, "exec"],
            [2, "a", 26, 30, "exec"],
        ],
        "functions": [[1, "a", "f", "x", 4, 15]],
        "wakeups": [],
        "created": [[1, 15, 2, 26]],
    }
    for border in range(1, 50):
        found = predicted(CutTrace(trace_from_dict(data), [border]), USUAL, ["f=0"])
        assert not isinstance(found, str) and found.predicted_ns.tolist() == [19], border


def moments(trace: Trace) -> list[int]:
    """At which segments begin or end, tasks and wakes happen."""
    seg, wake, made = trace.segments, trace.wakeups, trace.created
    return np.unique(np.concatenate([seg.ts, seg.te, wake.t, made.ts, made.ts2])).tolist()


def compared(trace: Trace, functions: list[str], borders: list[int], model: Model, rng: random.Random) -> str:
    texts = [f"{f}={rng.choice(HOW)}" for f in rng.sample(functions, min(len(functions), rng.randint(1, 2)))]
    texts += [rng.choice(NODES)] if rng.random() < 0.3 else []
    if not texts or not len(trace.intervals.begin):
        return "nothing in it"
    whole, cut = predicted(Loaded(trace), model, texts), predicted(CutTrace(trace, borders), model, texts)
    if isinstance(whole, str) or isinstance(cut, str):
        assert whole == cut
        return "nothing to change"
    assert cut.predicted_ns == pytest.approx(whole.predicted_ns, abs=1e-3), (texts, borders)
    assert cut.warnings == whole.warnings
    return "the same"


def recorded(rng: random.Random) -> tuple[Trace, list[str]]:
    """And the functions that were called."""
    scripts, idle = random_scripts(rng), rng.choice(("queue", "blocked", ""))
    starts: dict[int, float] = {thread: rng.randint(0, 100_000) for thread in scripts}
    delays: dict[Key, int] = defaultdict(lambda: rng.randint(0, 3000))
    run = Run(scripts, starts, delays.__getitem__, idle)
    used = {step[1] for steps in scripts.values() for step in steps if step[0] == "enter"}
    return trace_from_dict(run.data), sorted(used)


def test_several_sets_of_changes_at_once_are_as_one_after_the_other() -> None:
    trace, functions = recorded(random.Random(3))
    sets = [[parse(f"{f}={how}")] for f in functions for how in ("0.5", "constant")] + [[parse("nobody=0")]]
    source = CutTrace(trace, [int(trace.segments.te.max()) // 2])
    replays = Replays(load([source], AnalysisOptions()))
    found = replays.outcomes(sets)
    assert isinstance(found[-1], str) and "no function nobody" in found[-1]
    for changes, one in zip(sets[:-1], found, strict=False):
        assert not isinstance(one, str)
        assert one.predicted_ns == pytest.approx(replays.predict(changes, factors=False).predicted_ns)


def test_a_trace_without_links_between_threads_cannot_be_replayed() -> None:
    trace, functions = recorded(random.Random(3))
    assert functions
    iv = trace.intervals
    trace.intervals = type(iv)(**{**vars(iv), "end_thread": (iv.begin_thread + 1).astype(iv.end_thread.dtype)})
    for table in ("wakeups", "created"):
        old = getattr(trace, table)
        setattr(trace, table, type(old)(*(column[:0] for column in vars(old).values())))
    with pytest.raises(VprofError, match="nothing to replay"):
        Replays(load([Loaded(trace)], AnalysisOptions())).predict([parse(f"{functions[0]}=0")], factors=False)
