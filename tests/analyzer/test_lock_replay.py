"""The compiled replay of locks: against a lock manager in plain Python, by hand, and what must hold of policies."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from lock_reference import Replay
from properties import LOT, lots, named

from vprof.errors import UsageError, VprofError
from vprof.scheduling.comparison import calibrate, compare, figures_of
from vprof.scheduling.generate import Zipf, zipf
from vprof.scheduling.policies import DELAYS, POLICIES, Bldsf, Policy, _BySize
from vprof.scheduling.script import Script, Traced
from vprof.scheduling.script_file import script_from
from vprof.scheduling.simulator import Options, run
from vprof.tables.model import NONE, Int64

Steps = list[tuple[int, int, str]]


def random_scripts(rng: random.Random, objects: int) -> list[Steps]:
    """Short ones on few objects: they wait, share, lock twice, turn shared locks into exclusive ones, and deadlock."""
    most = rng.randint(1, 5)
    return [
        [
            *((rng.choice((0, 1, rng.randint(0, 20))), rng.randrange(objects), rng.choice("SX"))
              for _ in range(rng.randint(0, most))),
            (rng.randint(0, 10), NONE, "S"),
        ]
        for _ in range(rng.randint(1, 40))
    ]  # fmt: skip


def script_of(scripts: list[Steps], objects: int, **load: Any) -> Script:
    rows = [row for steps in scripts for row in steps]
    first = np.cumsum([0, *map(len, scripts)])
    lock = np.array([NONE if thing == NONE else 2 * thing + (mode == "X") for _, thing, mode in rows])
    return Script(
        first, np.array([work for work, _, _ in rows]), lock, objects, [f"o{k}" for k in range(objects)], **load
    )


def random_options(rng: random.Random, objects: int) -> Options:
    servers = {f"o{rng.randrange(objects)}": rng.randint(2, 3)} if rng.random() < 0.2 else {}
    sizes, union = rng.choice(("exact", "effective")), rng.choice(("sum", "exact"))
    return Options(sizes, union, rng.choice(list(DELAYS)), rng.random() < 0.7, servers)


def policy_of(name: str, options: Options) -> Policy:
    kind = POLICIES[name]
    if kind is Bldsf:
        return Bldsf(options.sizes, options.union, options.delay)
    return kind(options.sizes) if issubclass(kind, _BySize) else kind()


def thinking(rng: random.Random, count: int) -> dict[int, tuple[int, int]]:
    """By transaction the next one of its client, and how long after it: those that come after others are the last."""
    firsts = rng.randint(1, count)
    free, then = list(range(firsts)), dict[int, tuple[int, int]]()
    for after in range(firsts, count):
        then[free.pop(rng.randrange(len(free)))] = (after, rng.choice((0, rng.randint(0, 50))))
        free.append(after)
    return then


@lots(100)
def test_the_replay_does_what_choose_says(first: int) -> None:
    """Every policy, every option, closed and open loops, clients that think."""
    deadlocks = waits = 0
    for seed in range(first, first + LOT):
        rng = random.Random(seed)
        objects = rng.randint(1, 6)
        scripts = random_scripts(rng, objects)
        with named(seed):
            for name in POLICIES:
                options = random_options(rng, objects)
                clients = rng.randint(1, 12) if rng.random() < 0.4 else 0
                born = sorted(rng.randint(0, 100) for _ in scripts)
                load: dict[str, Any] = {"clients": clients} if clients else {"born": np.array(born)}
                then = {} if clients or rng.random() < 0.5 else thinking(rng, len(scripts))
                if then:
                    load |= {"follows": np.full(len(scripts), NONE), "gap": np.zeros(len(scripts), np.int64)}
                    for before, (after, gap) in then.items():
                        load["follows"][after], load["gap"][after] = before, gap
                found = run(script_of(scripts, objects, **load), name, options)
                servers = {int(thing[1:]): count for thing, count in options.servers.items()}
                expected = Replay(
                    scripts,
                    policy_of(name, options),
                    None if clients else born,
                    clients,
                    options.barrier,
                    servers,
                    then,
                )
                assert found.ended.tolist() == [expected.ended[k] for k in range(len(scripts))], name
                assert found.born.tolist() == [expected.born[k] for k in range(len(scripts))], name
                assert (found.deadlocks, found.restarts) == (expected.deadlocks, expected.restarts), name
                deadlocks, waits = deadlocks + found.deadlocks, waits + found.waits
    assert deadlocks > 5 * LOT and waits > 20 * LOT


def latencies(transactions: list[list[list[Any]]], policy: str = "fcfs", **more: Any) -> list[int]:
    """Of transactions that are born at 0, 1, 2, ..."""
    options = more.pop("options", None)
    rows = [{"id": k, "born": k, "steps": steps} for k, steps in enumerate(transactions)]
    return run(script_from({"transactions": rows, **more}), policy, options).latency_ns.tolist()


def test_all_is_released_at_the_end() -> None:
    """The second waits from 12 for the first one's end at 30, not for its work with the lock; then it works for 5."""
    first = [["work", 10], ["lock", "a", "X"], ["work", 10], ["lock", "b", "X"], ["work", 10]]
    assert latencies([first, [["work", 11], ["lock", "a", "S"], ["work", 5]]]) == [30, 34]


def test_whoever_shares_does_not_pass_whoever_waits() -> None:
    shared, exclusive = [["lock", "a", "S"], ["work", 10]], [["lock", "a", "X"], ["work", 10]]
    assert latencies([shared, shared, exclusive]) == [10, 10, 19]
    assert latencies([shared, exclusive, shared]) == [10, 19, 28]


def test_the_youngest_of_a_circle_begins_again() -> None:
    """At 11 both wait for each other: the second is undone, the first gets b at once and ends at 20, then the second
    works for 10, gets b at 21, and so on."""
    a, b = ["lock", "a", "X"], ["lock", "b", "X"]
    transactions = [[a, ["work", 10], b, ["work", 10]], [b, ["work", 10], a, ["work", 10]]]
    found = run(
        script_from({"transactions": [{"id": k, "born": k, "steps": steps} for k, steps in enumerate(transactions)]}),
        "fcfs",
    )
    assert (found.deadlocks, found.restarts) == (1, 1)
    # The first waits from 10 to 11, and ends at 21; the second has b from then on: 21 + 10 + 10.
    assert found.ended.tolist() == [21, 41]


def test_a_shared_lock_becomes_exclusive_when_its_holder_is_the_only_one() -> None:
    up = [["lock", "a", "S"], ["work", 10], ["lock", "a", "X"], ["work", 10]]
    assert latencies([up]) == [20]
    # The upgrade waits from 10 for the reader's end at 31, before the writer that came at 2.
    assert latencies([up, [["lock", "a", "S"], ["work", 30]], [["lock", "a", "X"], ["work", 1]]]) == [41, 30, 40]


def test_two_servers_of_a_queue() -> None:
    flush = [["lock", "log", "X"], ["work", 10]]
    assert latencies([flush] * 4) == [10, 19, 28, 37]
    assert latencies([flush] * 4, options=Options(servers={"log": 2})) == [10, 10, 18, 18]
    assert latencies([flush] * 4, options=Options(servers={"log": 4})) == [10] * 4
    with pytest.raises(UsageError, match="no object 'lg' in the script to give 2 servers"):
        latencies([flush], options=Options(servers={"lg": 2}))


def test_later_requests_wait_behind_the_barrier() -> None:
    """Of those that wait at 10, x is popular no more, and p, who comes at 12, has two waiters: without a barrier it
    would be next at 20, before y."""

    def menu(name: str, more: int) -> list[list[Any]]:
        return [["lock", name, "X"], ["work", more], ["lock", "hot", "X"], ["work", 10]]

    transactions = [
        [["lock", "hot", "X"], ["work", 10]],
        [["lock", "hot", "X"], ["work", 10]],
        [["lock", "hot", "X"], ["work", 10]],
        menu("mine", 10),
        [["lock", "mine", "X"]],
    ]  # fmt: skip
    with_barrier = latencies(transactions, "ldsf")
    without = latencies(transactions, "ldsf", options=Options(barrier=False))
    # Ends: 10, 20, 30, 40, 40; without: 10, 20, 40, 30, 30.
    assert with_barrier == [10, 19, 28, 37, 36]
    assert without == [10, 19, 38, 27, 26]


def test_a_closed_loop_begins_one_where_one_ends() -> None:
    rows = [{"id": k, "steps": [["work", 10 + k]]} for k in range(4)]
    found = run(script_from({"transactions": rows, "clients": 2}), "fcfs")
    assert found.born.tolist() == [0, 0, 10, 11] and found.ended.tolist() == [10, 11, 22, 24]


def test_an_open_loop_arrives_by_chance_at_its_rate() -> None:
    script = script_from({"transactions": [{"id": k, "steps": []} for k in range(2000)], "rate": 500.0})
    gaps = np.diff(run(script, "fcfs", seed=3).born)
    assert gaps.mean() == pytest.approx(2e6, rel=0.1) and gaps.std() == pytest.approx(2e6, rel=0.15)


@lots(200)
def test_without_contention_all_policies_are_one(first: int) -> None:
    """Each has objects of its own, or all share."""
    for seed in range(first, first + LOT):
        rng = random.Random(seed)
        scripts = random_scripts(rng, 5)
        if rng.random() < 0.5:
            scripts = [[(work, thing, "S") for work, thing, _ in steps] for steps in scripts]
        else:
            scripts = [
                [(work, thing if thing == NONE else 5 * k + thing, mode) for work, thing, mode in steps]
                for k, steps in enumerate(scripts)
            ]
        script = script_of(scripts, 5 * len(scripts), clients=rng.randint(1, 12))
        works = [sum(work for work, _, _ in steps) for steps in scripts]
        with named(seed):
            for name in POLICIES:
                found = run(script, name)
                assert found.latency_ns.tolist() == works and found.waits == 0


def one_lock(seed: int, count: int, load: float) -> Script:
    """A queue with one exclusive lock: exponential work, arrivals at `load` of what it can do."""
    rng = np.random.default_rng(seed)
    work = np.zeros((count, 2), np.int64)
    work[:, 1] = rng.exponential(1e6, count)
    lock: Int64 = np.tile(np.array([1, NONE]), count)
    return Script(np.arange(count + 1) * 2, work.ravel(), lock, 1, ["a"], rate=load * 1e3)


@pytest.mark.parametrize("load", [0.5, 0.8, 0.95])
def test_a_random_order_is_never_better_in_variance_than_order_of_arrival(load: float) -> None:
    """Where work says nothing of what is to come (one exclusive lock). The test: of 20 seeds, the 95 % interval of the
    ratio of variances must not lie below 1; it lies above 1 here."""
    found = compare(lambda seed: one_lock(seed, 4000, load), ["fcfs", "rs"], 20)
    ratio = found.outcomes[1].ratios["variance"]
    assert ratio.ci95 and ratio.ci95[0] > 1


def test_rs_beside_fcfs_on_the_microbenchmark() -> None:
    """Of exclusive locks. With shared ones FCFS grants all that share at once, RS those in front of a writer."""
    found = compare(lambda seed: zipf(Zipf(2000, records=200, writes=1.0), seed, clients=30), ["fcfs", "rs"], 10)
    ratio = found.outcomes[1].ratios["variance"]
    assert ratio.ci95 and ratio.ci95[1] > 1


def measured(script: Script, policy: str) -> Traced:
    figures = figures_of(run(script, policy))
    return Traced(policy, figures["mean"], figures["variance"])


@pytest.mark.parametrize("policy", ["fcfs", "vats", "bldsf"])
def test_the_traced_policy_is_met_first(policy: str) -> None:
    script = zipf(Zipf(1000, records=100), 1, clients=20)
    true = measured(script, policy)
    found = compare(lambda seed: replace(script, traced=true), [policy, "fifo"], 2).calibration
    assert found and found.mean_ratio == found.variance_ratio == 1


@pytest.mark.parametrize(("mean", "variance", "said"), [
    (1.09, 1.0, ""),
    (1.0, 0.92, ""),
    (1.25, 1.0, "the replay with vats, by which the script was measured, has a mean 20.0 % smaller than measured"),
    (1.0, 0.8, "has a variance 25.0 % larger than measured, more than 10 % off"),
    (1.0, 0.0, "has a variance"),
])  # fmt: skip
def test_a_replay_that_is_more_than_a_tenth_off_is_refused(mean: float, variance: float, said: str) -> None:
    script = zipf(Zipf(1000, records=100), 1, clients=20)
    true = measured(script, "vats")
    claimed = replace(script, traced=Traced("vats", true.mean_ns * mean, true.variance_ns2 * variance))
    if not said:
        assert calibrate(claimed)
        return
    with pytest.raises(VprofError) as refused:
        calibrate(claimed)
    assert said in str(refused.value)


def test_a_script_that_was_measured_with_another_policy_is_refused() -> None:
    script = zipf(Zipf(2000, records=50), 1, clients=30)
    with pytest.raises(VprofError, match="the replay with vats"):
        calibrate(replace(script, traced=replace(measured(script, "fcfs"), policy="vats")))


def test_the_generator_draws_by_zipfs_law_and_seed() -> None:
    wanted = Zipf(4000, records=50, theta=0.8, writes=0.3, work_ns=1000)
    script = zipf(wanted, 5, clients=3)
    rows = script.lock.reshape(-1, 6)
    assert (rows[:, -1] == NONE).all() and all(len(set(row[:-1] >> 1)) == 5 for row in rows)
    assert (rows[:, :-1] & 1).mean() == pytest.approx(0.3, abs=0.01)
    first = np.bincount(rows[:, 0] >> 1, minlength=50) / 4000
    weights = np.arange(1, 51) ** -0.8
    assert first == pytest.approx(weights / weights.sum(), abs=0.02)
    assert script.work.reshape(-1, 6)[:, 1:].mean() == pytest.approx(1000, rel=0.02)
    assert np.array_equal(script.lock, zipf(wanted, 5, clients=3).lock)
    assert not np.array_equal(script.lock, zipf(wanted, 6, clients=3).lock)


def test_one_seed_gives_one_result() -> None:
    script = zipf(Zipf(500, records=20), 1, rate=2000.0)
    for policy in POLICIES:
        first, second, other = (run(script, policy, seed=seed).latency_ns for seed in (4, 4, 5))
        assert np.array_equal(first, second) and not np.array_equal(first, other)
