"""One run of a setting on this machine: the server is started with it, loaded, stopped.

    open loop   vprof-load-driver's file of latencies -> metrics; with sites also a trace -> factors
    closed loop the target's own load, recorded -> the trace's intervals -> metrics, factors

Traced runs are `vprof record`, in a process of its own; the last trace of each setting is kept.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from vprof.compare.load_runs import load_run
from vprof.compare.run_metrics import MeasuredRun, measure
from vprof.errors import VprofError
from vprof.target.chosen_load import ChosenLoad
from vprof.target.knobs import environment, load_words, server_options
from vprof.target.server import Server
from vprof.target.target import Target
from vprof.tune.file import Asked
from vprof.tune.settings import Setting
from vprof.tune.sweep import Taken
from vprof.tune.verbs import last_words, run_verb
from vprof.variance.analysis import AnalysisOptions
from vprof.workload.driver import run_in_log
from vprof.workload.latency_file import LatencyFile
from vprof.workload.result import Result, result_of
from vprof.workload.tally import latency_ns, timed

OFFERED = 0.6
"""Of what the baseline reached in a closed loop: a rate at which queues do not grow without bound."""


@dataclass
class Runner:
    """A `Measure`: all settings of a round get the same arrivals and inputs of a load of `vprof load`, those of another
    round others. `rate`: of an open loop. Traces lie in `folder`."""

    target: Target
    asked: Asked
    folder: Path
    rate: float | None = None

    def __call__(self, setting: Setting, round_: int) -> Taken:
        """Raises VprofError when it cannot be run, with the last words of who knows why."""
        if self.asked.load is None:
            return _of_trace(self._recorded(setting, round_))
        server = self._server(setting, self.rate)
        if not self.asked.sites:
            return _of_latencies(self._loaded(server, setting, round_), server.latencies)
        run = load_run(self._recorded(setting, round_), None, AnalysisOptions(k=1))
        return replace(_of_latencies(self._result(server), server.latencies), contributions=run.contributions)

    def prepare(self) -> None:
        """Sets a server up, which may take minutes: no run has that in its time."""
        if self.asked.load:
            self._server(Setting(), self.rate)
        elif self.target.descriptor.server:
            Server.of(self.target, self._server_options(Setting()))

    def closed_rate(self) -> float:
        """What to offer, in transactions a second: a part of what the baseline reaches, with two digits."""
        result = self._loaded(self._server(Setting(), None), Setting(), 0)
        return float(f"{OFFERED * result.seen.all.answered / result.seconds:.2g}")

    def _server(self, setting: Setting, rate: float | None) -> Server:
        assert self.asked.load
        chosen = ChosenLoad(self.asked.load, self.asked.scale, rate, self.asked.clients)
        return Server.of(replace(self.target, chosen_load=chosen), self._server_options(setting))

    def _loaded(self, server: Server, setting: Setting, round_: int) -> Result:
        """Nothing is traced."""
        with _environment(environment(setting.assignments)), server.running():
            status = server.load(self.asked.seconds, self._load_words(setting, round_), keep=True).wait()
            server.check()
            server.check_load(status)
        return self._result(server)

    def _result(self, server: Server) -> Result:
        run = run_in_log(server.load_log)
        if run is None:
            raise VprofError(f"the load printed no result ({server.load_log})")
        result = result_of(run, server.latencies, [])
        if result.cut_short:
            raise VprofError(f"the load was cut short: {result.cut_short}")
        return result

    def _recorded(self, setting: Setting, round_: int) -> Path:
        """The trace of a run."""
        trace, log = self.folder / f"{_plain(setting.name)}.trace", self.folder / "record.log"
        asked = self.asked
        words = ["--target", self.target.called, "--dir", str(self.target.folder), f"--seconds={asked.seconds}"]
        words += ["-o", str(trace), *([f"--sites={asked.sites}"] if asked.sites else [])]
        if self.target.descriptor.server:
            words.append(f"--server-options={self._server_options(setting)}")
        if asked.load:
            more = {"load": asked.load, "scale": asked.scale, "rate": self.rate, "clients": asked.clients}
            words += [f"--{name}={value}" for name, value in more.items() if value is not None]
        self.folder.mkdir(parents=True, exist_ok=True)
        with _environment(environment(setting.assignments)):
            status = run_verb(["record", *words, "--", *self._load_words(setting, round_)], log)
        if status:
            raise VprofError(last_words(log))
        return trace

    def _server_options(self, setting: Setting) -> str:
        return f"{self.asked.server_options} {server_options(setting.assignments)}".strip()

    def _load_words(self, setting: Setting, round_: int) -> list[str]:
        """Later options count: the user's after ours, the setting's last."""
        asked = self.asked
        ours = [f"--warmup={asked.warmup:g}", f"--seed={1000 * asked.seed + round_}"] if asked.load else []
        return [*ours, *self.asked.program, *load_words(setting.assignments)]


def _of_trace(trace: Path) -> Taken:
    run = load_run(trace, None, AnalysisOptions(k=1))
    return Taken(run.count, measure(run), "", run.contributions)


def _of_latencies(result: Result, latencies: Path) -> Taken:
    """Latencies count from the intended start; throughput is what was answered."""
    file = LatencyFile.open(latencies)
    chunks = [chunk[(chunk["type"] != file.lateness) & timed(chunk)] for chunk in file.chunks()]
    rows = np.concatenate(chunks)
    rows = rows[np.argsort(rows["intended"], kind="stable")]
    none = np.zeros(0, np.int64)
    run = MeasuredRun(file.path, rows["intended"].astype(np.int64), latency_ns(rows), none, {}, [], [])
    metrics = measure(run) | {"throughput": result.seen.all.answered / result.seconds}
    said = "" if result.reached is not False else "did not reach the rate: its queue grew while it was measured"
    return Taken(run.count, metrics, said)


@contextmanager
def _environment(wanted: dict[str, str]) -> Iterator[None]:
    """What is started meanwhile has these."""
    before = dict(os.environ)
    os.environ.update(wanted)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def _plain(name: str) -> str:
    """For a file."""
    return "".join(c if c.isalnum() or c in "=._-" else "_" for c in name)[:100]
