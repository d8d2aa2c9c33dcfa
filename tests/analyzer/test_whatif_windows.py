"""A replay comes to the same wherever a trace is cut into windows."""

import random
from collections import Counter, defaultdict

import pytest
from cut_source import CutTrace
from properties import LOT, lots, named
from scripts import Key, Run, random_scripts

from vprof.errors import UsageError, VprofError
from vprof.tables.model import Trace
from vprof.trace.json_trace import trace_from_dict
from vprof.trace.sources import Loaded, Source
from vprof.variance.analysis import AnalysisOptions
from vprof.whatif.afterwards import Ranked
from vprof.whatif.changes import parse
from vprof.whatif.model import CPU, Model
from vprof.whatif.prediction import Prediction, Replays, load

HOW = ("0.5", "0", "2", "constant", "median", "-20us", "+5us")
NODES = ("[sched]=0", "[disk]=constant", "[preempted]=0.5", "[disk]=0", "[gap]=2")


def predicted(source: Source, model: Model, texts: list[str]) -> Prediction | str:
    try:
        return Replays(load([source], AnalysisOptions()), model).predict([parse(text) for text in texts])
    except UsageError as error:
        return str(error)


@pytest.mark.parametrize("cpu", CPU)
@lots(400)
def test_borders_change_nothing(first: int, cpu: str) -> None:
    seen: Counter[str] = Counter()
    for seed in range(first, first + LOT):
        with named(seed):
            seen[compared(seed, Model(cpu=cpu))] += 1
    assert seen["the same"] >= 0.6 * LOT, seen


def compared(seed: int, model: Model) -> str:
    rng = random.Random(seed)
    trace, functions = recorded(rng)
    times = [int(trace.segments.ts.min()), int(trace.segments.te.max())]
    borders = sorted({rng.randint(*times) for _ in range(rng.randint(1, 6))})
    texts = [f"{f}={rng.choice(HOW)}" for f in rng.sample(functions, min(len(functions), rng.randint(1, 2)))]
    texts += [rng.choice(NODES)] if rng.random() < 0.3 else []
    if not texts or not len(trace.intervals.begin):
        return "nothing in it"
    whole, cut = predicted(Loaded(trace), model, texts), predicted(CutTrace(trace, borders), model, texts)
    if isinstance(whole, str) or isinstance(cut, str):
        assert whole == cut
        return "nothing to change"
    assert cut.predicted_ns == pytest.approx(whole.predicted_ns, abs=1e-3), (texts, borders)
    assert cut.now and whole.now and cut.then and whole.then
    assert shares(cut.now) == pytest.approx(shares(whole.now), abs=1e-9)
    assert cut.then.tree.latency_ns == pytest.approx(whole.then.tree.latency_ns, abs=1)
    return "the same"


def shares(ranked: Ranked) -> dict[tuple[str, ...], float]:
    return {tuple(factor.functions): factor.share for factor in ranked.ranking if abs(factor.share) > 1e-6}


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
        assert one[1] == pytest.approx(replays.predict(changes, factors=False).predicted_ns)


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
