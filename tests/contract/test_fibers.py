"""Fibers are flows of their own, and what cannot be followed is refused: real runtime and collector, real reader."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
from pathlib import Path

import jsonschema
import pytest
from tuples import Tuples

from vprof.installed import native
from vprof.session.owned import Session
from vprof.session.plan import Plan
from vprof.tables.model import Trace
from vprof.trace.chunks import read_chunks
from vprof.trace.reading import load_binary
from vprof.variance.analysis import Analysis, AnalysisOptions
from vprof.variance.stream import analyze_files

HERE = Path(__file__).parent
SCHEMA = HERE.parents[1] / "analyzer/vprof/report/schemas/vprof-analysis-1.json"
REQUESTS = 1200
ALL = {**os.environ, "VPROF_DESCRIPTOR": str(HERE.parent / "all_sites.json")}
DYNAMIC, STATIC = "", "-static"


class Program:
    """A program of `programs/`, plain and with all probes."""

    def __init__(self, folder: Path, source: str, *flags: str) -> None:
        self.folder = folder
        self.plain, self.probed = folder / "plain", folder / "probed"
        is_cxx = source.endswith("cpp")
        ours, theirs = ("vprof-c++", "clang++-19") if is_cxx else ("vprof-cc", "clang-19")
        rest = ["-O1", "-g", "-pthread", "-Wall", "-Werror", str(HERE / "programs" / source), *flags]
        subprocess.run([theirs, "-o", self.plain, *rest], check=True)
        subprocess.run([native(f"bin/{ours}"), "-o", self.probed, *rest], check=True, env=ALL)

    def record(self, *arguments: str, **environment: str) -> Path:
        """The trace. What the program prints, and how it ends, is what it does without vprof, and without a
        session."""
        output = self.folder / "run.trace"
        with Session.start(output) as session:
            process = subprocess.Popen(
                [self.probed, *arguments], env=session.environment() | environment, stdout=subprocess.PIPE, text=True
            )
            session.attend(process, Plan.of(["*"]))
            session.stop()
        assert process.stdout
        self.printed = process.stdout.read()
        for program in (self.plain, self.probed):
            done = subprocess.run([program, *arguments], stdout=subprocess.PIPE, text=True, timeout=300)
            assert _steady(self.printed) == _steady(done.stdout)
            assert process.returncode == done.returncode
        return output

    @property
    def truth(self) -> float:
        return float(self.printed.split("TRUTH ")[1])


def _steady(printed: str) -> list[str]:
    return [line for line in printed.splitlines() if not line.startswith("TRUTH")]


def calls_by_thread(trace: Trace) -> dict[int, list[str]]:
    """Names of calls in order of entry."""
    found: dict[int, list[str]] = {}
    for thread, _, name, *_ in Tuples(trace).calls():
        found.setdefault(thread, []).append(name)
    return found


def shares(analysis: Analysis) -> dict[tuple[str, ...], float]:
    """Of the variance, by path from the root; calls at several places are not told apart."""
    tree, found = analysis.tree, dict[tuple[str, ...], float]()
    paths: list[tuple[str, ...]] = []
    for name, parent, share in zip(tree.paths.name, tree.paths.parent, tree.share.tolist(), strict=True):
        paths.append((*paths[parent], name.partition("@")[0]) if parent >= 0 else ())
        found[paths[-1]] = found.get(paths[-1], 0) + share
    return found


def mean_of(analysis: Analysis, node: str) -> float:
    """Part of the intervals' time at nodes of this name."""
    tree = analysis.tree
    named = [float(tree.mean_ns[x]) for x, name in enumerate(tree.paths.name) if name == node]
    return sum(named) / float(tree.mean_ns[0])


def assert_nothing_is_mixed(trace: Trace) -> None:
    assert trace.strayed == []
    assert not any("upper bounds" in note or "stacks" in note for note in trace.notes)


@pytest.mark.parametrize("link", [DYNAMIC, STATIC])
@pytest.mark.parametrize("mode", ["requests", "jumps"])
def test_every_request_of_a_fiber_is_an_interval_and_has_its_own_time(tmp_path: Path, mode: str, link: str) -> None:
    program = Program(tmp_path, "fibers.c", *link.split())
    trace = program.record(mode)
    analysis = analyze_files([trace], "request", AnalysisOptions(cpu_apart=False))
    assert analysis.summary.count == REQUESTS
    assert analysis.excluded == {}
    assert_nothing_is_mixed(analysis.trace)
    assert shares(analysis)["serve", "request", "slow_sort"] == pytest.approx(program.truth, abs=0.05)
    assert mean_of(analysis, "[unknown]") < 0.02
    waited = (
        "serve",
        "request",
        "wait_for_io",
        "yield_by_swap" if mode == "requests" else "yield_by_jump",
        "[blocked]",
    )
    assert any(path[: len(waited)] == waited and path[-2:] == ("request", "slow_sort") for path in shares(analysis))
    calls = calls_by_thread(load_binary(trace))
    assert sorted(names.count("request") for names in calls.values()) == [0, *[REQUESTS // 4] * 4]


@pytest.mark.parametrize("link", [DYNAMIC, STATIC])
def test_a_fiber_that_returns_is_over_and_its_stack_serves_the_next(tmp_path: Path, link: str) -> None:
    path = Program(tmp_path, "fibers.c", *link.split()).record("generators")
    trace = load_binary(path)
    assert_nothing_is_mixed(trace)
    calls = calls_by_thread(trace)
    assert sorted(calls.values())[:200] == [["count_up", *["produce"] * 3]] * 200
    [owner] = [names for names in calls.values() if "main" in names]
    assert owner.count("consume") == 200
    file = read_chunks(path)
    assert file.of("end")[0]["unslotted"] == 0
    assert sum(event.get("fiber", False) for event in file.of("thread")) == 200


def test_one_of_a_thread_and_its_fibers_runs_at_any_time(tmp_path: Path) -> None:
    trace = load_binary(Program(tmp_path, "fibers.c").record("requests"))
    tuples = Tuples(trace)
    last = {segment[0]: segment for segment in tuples.segments()}  # a call that is still open lasts to the end
    ran = sorted((s[2], s[3]) for s in tuples.segments() if s[4] != "blocked" and s != last[s[0]])
    assert len(ran) > 2 * REQUESTS
    # A wake-up lies a nanosecond before the end of the wait.
    assert all(te <= ts + 2 for (_, te), (ts, _) in itertools.pairwise(ran))
    woken = {thread for thread, *_ in tuples.wakeups()}
    assert woken == set(range(5))


def test_a_context_may_be_gone_back_to_again(tmp_path: Path) -> None:
    trace = load_binary(Program(tmp_path, "fibers.c").record("again"))
    assert trace.strayed == []
    depth = {name: depth for _, _, name, _, _, depth in Tuples(trace).calls()}
    assert depth == {"main": 0, "again": 1, "make": 2, "once_more": 2, "spin": 2, "come_back": 0}


def test_a_fiber_goes_on_on_another_thread(tmp_path: Path) -> None:
    trace = load_binary(Program(tmp_path, "fibers.c").record("migrate"))
    assert_nothing_is_mixed(trace)
    calls = calls_by_thread(trace)
    assert ["wander", "on_first", "spin", "on_second", "spin"] in calls.values()
    [fiber] = [thread for thread, names in calls.items() if "wander" in names]
    [second] = [thread for thread, names in calls.items() if "go_on" in names]
    wakers = {waker for thread, waker, *_ in Tuples(trace).wakeups() if thread == fiber}
    assert second in wakers


def test_more_fibers_than_slots_are_counted(tmp_path: Path) -> None:
    path = Program(tmp_path, "fibers.c").record("many")
    trace, file = load_binary(path), read_chunks(path)
    assert trace.strayed == []
    recorded = sum(event.get("fiber", False) for event in file.of("thread"))
    assert 50 < recorded < 6000
    assert file.of("end")[0]["unslotted"] == 6000 - recorded
    assert any("no free slot" in note for note in trace.notes)


def test_a_fiber_forks_and_ends_the_process(tmp_path: Path) -> None:
    trace = load_binary(Program(tmp_path, "fibers.c").record("forks"))
    assert trace.strayed == []
    calls = calls_by_thread(trace)
    [child] = [thread for thread, names in calls.items() if "work_in_child" in names]
    [parent] = [thread for thread, names in calls.items() if "fork_here" in names]
    assert trace.threads[child].split("/")[0] != trace.threads[parent].split("/")[0]


def test_a_thread_ends_in_a_fiber(tmp_path: Path) -> None:
    path = Program(tmp_path, "fibers.c").record("exits")
    trace = load_binary(path)
    assert trace.strayed == []
    assert [names.count("end_in_fiber") for names in calls_by_thread(trace).values()].count(1) == 3
    assert len(read_chunks(path).of("thread_end")) == len(trace.threads)


def test_fibers_of_boost_are_followed_where_our_functions_come_first(tmp_path: Path) -> None:
    """As they do in a program that finds libvprof when it starts."""
    program = Program(tmp_path, "boost_fibers.cpp", "-std=c++17", "-lboost_context")
    analysis = analyze_files([program.record()], "request", AnalysisOptions(cpu_apart=False))
    assert analysis.summary.count == 200
    assert_nothing_is_mixed(analysis.trace)
    assert mean_of(analysis, "[unknown]") < 0.02


def test_boost_linked_into_the_program_is_not_followed_but_noticed(tmp_path: Path) -> None:
    flags = ("-std=c++17", "-Wl,-Bstatic", "-lboost_context", "-Wl,-Bdynamic")
    path = Program(tmp_path, "boost_fibers.cpp", *flags).record()
    analysis = analyze_files([path], "request", AnalysisOptions(cpu_apart=False))
    assert analysis.trace.strayed != [] and analysis.factors == []


def stands_first(words: str, report: str) -> bool:
    """Whether they are in the first sentence, which may be wrapped."""
    return report.startswith("warning: ") and words in " ".join(" ".join(report.splitlines()[:2]).split())


def test_switches_that_nobody_sees_are_refused_in_the_first_line(tmp_path: Path) -> None:
    trace = Program(tmp_path, "stack_switch.c").record("4")

    def analyze(*options: str) -> tuple[int, str]:
        command = [native("bin/vprof"), "analyze", trace, "--root", "request", *options]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
        return done.returncode, done.stdout

    status, report = analyze()
    assert status == 1
    assert stands_first("switches stacks in a way that vprof does not follow", report)
    assert "no ranking (insist with --force)" in " ".join(report.split())
    status, report = analyze("--format", "json")
    assert status == 1
    found = json.loads(report)
    jsonschema.validate(found, json.loads(SCHEMA.read_text()))
    assert found["factors"] == [] and found["next"] == []
    assert len(found["strayed"]) == 1
    status, report = analyze("--force")
    assert status == 0
    assert stands_first("switches stacks in a way that vprof does not follow", report)


@pytest.mark.parametrize("link", [DYNAMIC, STATIC])
@pytest.mark.parametrize(("coroutines", "strays"), [("4", 1), ("1", 1), ("0", 0)])
def test_a_jump_on_known_stacks_is_no_switch(tmp_path: Path, coroutines: str, strays: int, link: str) -> None:
    path = Program(tmp_path, "stack_switch.c", *link.split()).record(coroutines)
    assert len(read_chunks(path).of("stray")) == strays
