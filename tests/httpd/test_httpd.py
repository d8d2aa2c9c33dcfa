"""Apache httpd, built by `vprof instrument --target httpd`: what its descriptor promises, for each of three MPMs."""

import json
import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import pytest
from build_cache import Built

import vprof
from vprof.api import Run
from vprof.trace.loading import load_trace
from vprof.variance.analysis import AnalysisOptions

CLIENTS = 8
MPMS = ["event", "worker", "prefork"]
THINKS_NS = 100e6
"""Of a client of idle.lua, before each request."""
MACHINE = {"[preempted]", "[sched]", "[off cpu]", "[queue]"}
"""What other programs on the machine do to the load: workers, too, wait in the queue for a CPU."""


@dataclass(frozen=True)
class Load:
    """A recorded run of the load, and how many requests the load itself counted."""

    trace: Path
    requests: int

    @cached_property
    def run(self) -> Run:
        """With waits for a CPU where they lie: who hands over what is told by queues."""
        return vprof.load(self.trace, options=AnalysisOptions(cpu_apart=False))


def load(httpd: Built, mpm: str, trace: Path, *options: str) -> Load:
    server = ["--server-options", f"-D {mpm}"]
    done = httpd.vprof("record", "--target", "httpd", "--seconds", 3, *server, "-o", trace, "--", *options)
    assert done.returncode == 0, done.stderr
    folder = httpd.target.folder
    assert "exit signal" not in (folder / "server/error.log").read_text()
    log = (folder / "load.log").read_text()
    assert "Non-2xx" not in log
    return Load(trace, int(re.findall(r"(\d+) requests in", log)[0]))


def script(name: str) -> list[str]:
    """From the load's folder, which is the server's."""
    return ["-s", f"../install/workload/{name}.lua"]


@pytest.fixture(scope="module", params=MPMS)
def busy(request: pytest.FixtureRequest, httpd: Built, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Load]:
    """The usual load: no client thinks."""
    return request.param, load(httpd, request.param, tmp_path_factory.mktemp(request.param) / "run.trace")


def test_every_entry_applies(httpd: Built) -> None:
    done = httpd.vprof("targets", "check", "httpd", "--format", "json")
    assert done.returncode == 0, done.stderr
    assert all(entry["places"] for entry in json.loads(done.stdout)["entries"])


def test_every_request_of_the_load_is_an_interval(busy: tuple[str, Load]) -> None:
    """At the end each client may have one more in flight. A connection that its client closed was no request."""
    _, measured = busy
    excluded = dict(measured.run.analysis.trace.excluded)
    assert excluded.pop("aborted", 0) <= CLIENTS + 1
    served = len(measured.run.intervals) + sum(excluded.values())
    assert measured.requests > 100
    assert measured.requests <= served <= measured.requests + CLIENTS


def test_who_hands_a_request_to_whom(busy: tuple[str, Load]) -> None:
    """event: the listener hands over requests, but for those that are there before the worker has done with the one
    before (on an idle machine a third); worker: each connection; prefork: nobody does."""
    mpm, measured = busy
    run = measured.run
    queued = run.pieces[(run.pieces.kind == "queue") & run.pieces.home].interval.nunique()
    moved = int((run.intervals.begin_thread.astype(str) != run.intervals.end_thread.astype(str)).sum())
    edges = len(load_trace(measured.trace).created.ts)
    if mpm == "event":
        assert queued == moved > 10 * CLIENTS
    elif mpm == "worker":
        assert 1 <= queued == moved <= CLIENTS
    else:
        assert queued == moved == 0
    assert moved <= edges <= moved + 3 * CLIENTS


def test_nothing_of_a_request_is_unaccounted_for(busy: tuple[str, Load]) -> None:
    """Outside known waits a thread is known to work for the request at all times; waiting for room in a socket,
    whose reader is the load, is the one wait of nobody known."""
    _, measured = busy
    assert not ((measured.run.pieces.kind == "unknown") & measured.run.pieces.home).any()


@pytest.mark.parametrize("mpm", MPMS)
def test_a_client_that_thinks_is_in_no_request(httpd: Built, mpm: str, tmp_path: Path) -> None:
    """The connection is kept: in event by the listener, in the other two by a thread or process that waits for it."""
    measured = load(httpd, mpm, tmp_path / "idle.trace", *script("idle"))
    latency = measured.run.intervals.latency_ns
    assert measured.requests <= len(latency) <= measured.requests + CLIENTS
    assert latency.median() < 0.2 * THINKS_NS
    assert latency.mean() < 0.5 * THINKS_NS


@pytest.mark.quiet_cpus
def test_a_drill_down_names_the_planted_function(httpd: Built) -> None:
    demo = httpd.target.descriptor.free["demo"][0]
    options = ["--max-steps", 8, "--step-seconds", 2, "--format", "json"]
    slow = [*script(demo["load"]), "-c", "2"]
    done = httpd.vprof("drill", "--auto", "--target", "httpd", *options, "--", *slow)
    assert done.returncode == 0, done.stderr
    drill = json.loads(done.stdout)
    assert not drill["confirmation"]["no_ranking"]
    confirmed = [finding for finding in drill["findings"] if finding["confirmed"]]
    top = next(finding for finding in confirmed if not set(finding["functions"]) <= MACHINE)
    names = (*top["functions"], *top["explains"])
    assert demo["finding"] in {name.removeprefix("body(").rstrip(")") for name in names}, top
