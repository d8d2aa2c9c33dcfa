"""What probes take of a function's time, told from the number of calls and the calibrated cost of one."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from writer import Writer

from vprof.installed import native
from vprof.session.calibration import probe_ns
from vprof.trace.loading import load_trace
from vprof.variance.analysis import Analysis, analyze
from vprof.variance.probe_cost import ProbeTimes, load_of

# The ring's memory is touched before the intervals: a page fault costs more than many probes. So does a time without
# the CPU, which comes at any place: an interval in which the kernel took it is aborted and begun anew.
HOT = """
#include <stdint.h>
#include <sys/resource.h>
#include <unistd.h>
#include <vprof/vprof.h>
volatile unsigned sink;
__attribute__((noinline)) void tiny(void) { sink++; }
__attribute__((noinline)) void work(unsigned units) { for (unsigned i = 0; i < units * 20; i++) sink += i; }
__attribute__((noinline)) void many(unsigned calls) { for (unsigned i = 0; i < calls; i++) tiny(); }
__attribute__((noinline)) void handle(unsigned n) { many(n * 2654435761u >> 25); work(n * 97u % 1024); }
static long switches(void) {
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_nvcsw + usage.ru_nivcsw;
}
static int is_handled(unsigned n) {
  static uint64_t id;
  const long before = switches();
  vprof_interval_begin(++id, 0);
  handle(n);
  if (switches() == before) return vprof_interval_end(id), 1;
  return vprof_interval_abort(id), 0;
}
int main(void) {
  for (unsigned n = 0; n < 4; n++) { many(30000); usleep(30000); }
  for (unsigned n = 0; n < 400; n++)
    while (!is_handled(n)) continue;
}
"""


def busy(probe_ps: int | None) -> Writer:
    """Ten intervals of 1000 ns and a little: site 1 calls site 2 twenty times, 10 ns each, and site 3 once, 400 ns."""
    writer = Writer()
    writer.probe_ps = probe_ps
    writer.on = [[1, 3]]
    thread = writer.thread(1)
    for number in range(1, 11):
        t, longer = 2_000 * number, 10 * number
        thread.begin(number, t)
        for call in range(20):
            thread.invocation(2, t + 20 * call + 5, t + 20 * call + 15, depth=1)
        thread.invocation(3, t + 500, t + 900 + longer, depth=1)
        thread.invocation(1, t, t + 1000 + longer)
        thread.end(number, t + 1000 + longer)
    return writer


def analyzed(folder: Path, writer: Writer) -> Analysis:
    return analyze(load_trace(writer.save(folder / "run.trace")))


def test_calls_times_cost_below_a_function_is_compared_with_its_time(tmp_path: Path) -> None:
    analysis = analyzed(tmp_path, busy(8_000))
    cost = analysis.probe_cost
    assert cost is not None
    assert (cost.pair_ns, cost.calls) == (8.0, 22.0)
    mean = analysis.summary.mean_ns
    assert mean == pytest.approx(1055, abs=3)
    assert cost.share == pytest.approx(22 * 8 / mean)
    times = ProbeTimes(analysis.tree, 8.0)
    parts = {factor.name: times.share(factor) for factor in analysis.ranking}
    # Half of a pair is inside the call, half in the caller.
    assert parts["site 1"] == pytest.approx((22 * 8 - 4) / mean, rel=0.01)
    assert parts["site 3"] == pytest.approx(4 / 455, rel=0.01)
    assert [(ranked.factor.name, ranked.probes) for ranked in analysis.factors] == [("site 3", parts["site 3"])]
    assert not any(ranked.is_probes for ranked in analysis.factors)


def test_the_load_of_each_function_is_a_part_of_the_intervals_time(tmp_path: Path) -> None:
    analysis = analyzed(tmp_path, busy(8_000))
    names = analysis.trace.program.functions
    load = {names[f]: part for f, part in load_of(analysis.trace, analysis.calls).items()}
    assert load == pytest.approx({"site 1": 8 / 1055, "site 2": 160 / 1055, "site 3": 8 / 1055}, rel=0.01)


def test_without_a_calibrated_cost_nothing_is_said(tmp_path: Path) -> None:
    analysis = analyzed(tmp_path, busy(None))
    assert analysis.probe_cost is None
    assert {ranked.probes for ranked in analysis.factors} == {None}


def test_the_cost_is_measured_and_is_that_of_two_clocks_and_a_record() -> None:
    found = probe_ns()
    assert found is not None
    # 18 to 25 ns on the machines it was tried on.
    assert 4 < found < 200


def test_a_factor_that_is_mostly_probes_is_flagged_and_one_that_works_is_not(tmp_path: Path) -> None:
    source, program, trace = tmp_path / "hot.c", tmp_path / "hot", tmp_path / "run.trace"
    source.write_text(HOT)
    (tmp_path / "all.json").write_text('{"probe": ["*"]}')
    environment = {**os.environ, "VPROF_DESCRIPTOR": str(tmp_path / "all.json")}
    subprocess.run([native("bin/vprof-cc"), "-O2", source, "-o", program], check=True, env=environment)
    vprof = [sys.executable, "-c", "from vprof.cli import main; main()"]
    subprocess.run([*vprof, "record", "--sites", "all", "-o", trace, "--", program], check=True)

    def analyzed_as(form: str) -> str:
        options = ["--min-share", "0", "-k", "99", "--format", form]
        return subprocess.run(
            [*vprof, "analyze", trace, *options], check=True, stdout=subprocess.PIPE, text=True
        ).stdout

    report = json.loads(analyzed_as("json"))
    assert report["intervals"]["count"] == 400
    assert report["probe_cost"]["calls"] > 30
    parts = {factor["functions"][0]: factor["probes"] for factor in report["factors"] if factor["kind"] == "variance"}
    assert parts["many"] > 0.5
    assert parts["work"] < 0.1
    assert "of its time is the cost of probes" in analyzed_as("text")
