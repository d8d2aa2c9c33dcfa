"""Where an analysis stops scaling: its tasks are done here, one after the other, and replayed for many workers.

    python bench/scheduler_model.py 1e8               # records; 8, 64 and 512 workers
    python bench/scheduler_model.py 1e8 --locking --threads 512 --workers 8 --workers 64

For each number of workers the work is cut as it would be for them, and each task is run in this process as a worker
would get it: pickled, its result pickled. What is measured is CPU time, so it may run beside others. The model then
gives tasks in their order to the worker that is free first:

    task          what it took here; the first one of a worker also what every worker finds out for itself
    shared data   goes to a worker once: as many rounds as it takes if those that have it pass it on (Dask's way)
    result        goes to who needs it next: of two that are merged the smaller one
    scheduler     hands out one task after the other, in the CPU time that Dask's takes for one that does nothing, which
                  is measured first
    driver        what the process does that asks, while no task runs: opening, the outline, ranking

Not in it: the start of the workers (some 2 s each, at once), disks that many workers read from, workers that are slower
than others or die, memory.
"""

from __future__ import annotations

import argparse
import heapq
import math
import os
import pickle
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import analyzer_traces

from vprof.jobs.cluster import open_jobs
from vprof.variance.analysis import AnalysisOptions
from vprof.variance.stream import analyze_traces

WORKERS = (1, 2, 8, 64, 512)
TASKS_OF_A_WORKER = 4
"""As in vprof/jobs/cluster.py."""
_NOTHING = 500
"""Tasks that do nothing, to measure the scheduler by."""
BYTES_A_SECOND = 1.25e9
"""A network of 10 Gbit/s."""


@dataclass(frozen=True)
class Blob:
    """What is shared, as it is sent."""

    content: bytes


@dataclass
class Phase:
    """Tasks at once. `cold`: what a worker's first task takes more; `shared`: bytes that a worker gets before that, if
    it did not have them. `merges`: by level what each took, and the bytes that had to come for it; none if all results
    go to the driver, which takes `taken` seconds to read them."""

    name: str
    tasks: list[float]
    result: list[int]
    cold: float
    shared: int
    merges: list[list[tuple[float, int]]] = field(default_factory=list)
    taken: float = 0.0


class Recorder:
    """Jobs (vprof/jobs/tasks.py) of so many workers, done here. `steps`: seconds of the driver, and phases. Blobs that
    workers had are kept: so their numbers stay theirs."""

    is_open = True

    def __init__(self, workers: int) -> None:
        self.parts = TASKS_OF_A_WORKER * workers
        self.steps: list[float | Phase] = []
        self._had: set[int] = set()
        self._kept: list[Blob] = []
        self._since = time.process_time()

    def done(self) -> None:
        self._driver()

    def share(self, value: Any) -> Any:
        return Blob(pickle.dumps(value, protocol=5))

    def each(
        self,
        task: Callable[..., Any],
        shared: Sequence[Any],
        items: Sequence[Any],
        progress: Callable[[float], None] = lambda done: None,
    ) -> list[Any]:
        self._driver()
        phase, results = self._tasks(task, shared, items)
        begun = time.process_time()
        found = [pickle.loads(result) for result in results]
        phase.taken = time.process_time() - begun
        self._since = time.process_time()
        return found

    def merged(
        self,
        task: Callable[..., Any],
        merge: Callable[[Any, Any], Any],
        shared: Sequence[Any],
        items: Sequence[Any],
        progress: Callable[[float], None] = lambda done: None,
    ) -> Any:
        self._driver()
        phase, level = self._tasks(task, shared, items)
        while len(level) > 1:
            pairs = [_merged(merge, a, b) for a, b in zip(level[::2], level[1::2], strict=False)]
            phase.merges.append([(took, moved) for _, took, moved in pairs])
            level = [result for result, _, _ in pairs] + level[len(level) // 2 * 2 :]
        begun = time.process_time()
        found = pickle.loads(level[0])
        phase.taken = time.process_time() - begun
        phase.result = [len(level[0])]
        self._since = time.process_time()
        return found

    def stream(self, task: Callable[..., Any], shared: Sequence[Any], items: Sequence[Any]) -> Iterator[Any]:
        return iter(self.each(task, shared, items))

    def _driver(self) -> None:
        self.steps.append(time.process_time() - self._since)

    def _tasks(
        self, task: Callable[..., Any], shared: Sequence[Any], items: Sequence[Any]
    ) -> tuple[Phase, list[bytes]]:
        blobs = [value for value in shared if isinstance(value, Blob)]
        new = sum(len(blob.content) for blob in blobs if id(blob) not in self._had)
        begun = time.process_time()
        known = [pickle.loads(value.content) if isinstance(value, Blob) else value for value in shared]
        task(*known, items[0])
        first = time.process_time() - begun
        took, results = [], []
        for item in items:
            begun = time.process_time()
            results.append(pickle.dumps(task(*known, item), protocol=5))
            took.append(time.process_time() - begun)
        name = f"{task.__module__.split('.')[-1]}.{task.__name__}".replace("._", ".")
        phase = Phase(name, took, list(map(len, results)), max(0.0, first - took[0]) if new else 0.0, new)
        self._had |= {id(blob) for blob in blobs}
        self._kept += blobs
        self.steps.append(phase)
        return phase, results


def _merged(merge: Callable[[Any, Any], Any], a: bytes, b: bytes) -> tuple[bytes, float, int]:
    """The result, what it took, and what had to come for it."""
    begun = time.process_time()
    found = pickle.dumps(merge(pickle.loads(a), pickle.loads(b)), protocol=5)
    return found, time.process_time() - begun, min(len(a), len(b))


@dataclass
class Told:
    """Seconds of the whole, by what they were spent on while nothing else could go on."""

    driver: float = 0.0
    phases: dict[str, float] = field(default_factory=dict)
    merging: float = 0.0
    moving: float = 0.0
    tasks: int = 0

    @property
    def all(self) -> float:
        return self.driver + sum(self.phases.values()) + self.merging + self.moving

    def row(self, workers: int, base: float) -> str:
        scan = sum(seconds for name, seconds in self.phases.items() if name.startswith("scanning"))
        windows = sum(self.phases.values()) - scan
        return (
            f"{workers:>7} {self.all:>6.2f} {base / self.all:>7.2f} {self.tasks:>7} {self.driver:>7.2f} {scan:>14.2f} "
            f"{windows:>8.2f} {self.merging:>8.2f} {self.moving:>7.2f}"
        )


def scheduling() -> float:
    """CPU seconds of a task in the process that asks, which has the scheduler, too."""
    with open_jobs(1, None) as jobs:
        assert jobs is not None
        jobs.each(abs, [], range(_NOTHING // 10))
        begun = time.process_time()
        jobs.each(abs, [], range(_NOTHING))
        return (time.process_time() - begun) / _NOTHING


def replayed(steps: Sequence[float | Phase], workers: int, scheduled: float) -> Told:
    """For so many workers. `scheduled`: seconds of the scheduler for a task."""
    told = Told()
    for step in steps:
        if isinstance(step, float):
            told.driver += step
            continue
        told.tasks += len(step.tasks) + sum(map(len, step.merges))
        ends, free = _handed_out(step, workers, scheduled)
        told.phases[step.name] = told.phases.get(step.name, 0.0) + max(ends)
        merged = _reduced(step, ends, free, scheduled) if step.merges else max(ends)
        told.merging += merged - max(ends)
        told.moving += sum(step.result) / BYTES_A_SECOND + step.taken
    return told


def _handed_out(phase: Phase, workers: int, scheduled: float) -> tuple[list[float], list[float]]:
    """When each task ends, and when each worker is free again."""
    used = min(workers, len(phase.tasks))
    ready = phase.shared / BYTES_A_SECOND * math.ceil(math.log2(used + 1)) + phase.cold
    free = [ready] * used
    ends = []
    for number, took in enumerate(phase.tasks, 1):
        begin = max(heapq.heappop(free), number * scheduled)
        ends.append(begin + took)
        heapq.heappush(free, ends[-1])
    return ends, free


def _reduced(phase: Phase, ends: list[float], free: list[float], scheduled: float) -> float:
    """When all are merged, by workers that have no more tasks."""
    level, handed_out = ends, len(ends) * scheduled
    for merges in phase.merges:
        ready = [max(a, b) for a, b in zip(level[::2], level[1::2], strict=False)]
        after = [0.0] * len(ready)
        for pair in sorted(range(len(ready)), key=ready.__getitem__):
            took, moved = merges[pair]
            handed_out = max(handed_out, ready[pair]) + scheduled
            after[pair] = max(handed_out, heapq.heappop(free)) + moved / BYTES_A_SECOND + took
            heapq.heappush(free, after[pair])
        level = after + level[len(level) // 2 * 2 :]
    return level[0]


def measured(path: Path, workers: int, window_records: int, scheduled: float) -> Told:
    recorder = Recorder(workers)
    analyze_traces([path], None, AnalysisOptions(), window_records, jobs=recorder)
    recorder.done()
    return replayed(recorder.steps, workers, scheduled)


def alone(path: Path, window_records: int) -> float:
    """CPU seconds of one process without workers."""
    begun = time.process_time()
    analyze_traces([path], None, AnalysisOptions(), window_records)
    return time.process_time() - begun


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("records", type=float)
    parser.add_argument("--locking", action="store_true")
    parser.add_argument("--threads", type=int, default=analyzer_traces.THREADS)
    parser.add_argument("--window-records", type=int, default=1 << 18)
    parser.add_argument("--workers", type=int, action="append")
    parser.add_argument("--folder", type=Path, help="where the trace is written (default: /tmp)")
    options = parser.parse_args()
    analyzer_traces.THREADS = options.threads
    with tempfile.TemporaryDirectory(prefix="vprof-bench-", dir=options.folder) as folder:
        path = Path(folder) / "run.trace"
        written = analyzer_traces.write(path, int(options.records), options.locking, compress=True)
        analyze_traces([path])  # compiles what is not in the cache
        base = alone(path, options.window_records)
        print(f"{written:,} records, {options.threads} threads, locking: {options.locking}; seconds of the model,")
        print(f"after {base:.2f} s of CPU of one process; load average {os.getloadavg()[0]:.1f}")
        scheduled = scheduling()
        print(f"the scheduler takes {1e6 * scheduled:.0f} us for a task")
        print("workers    all  faster   tasks  driver  first reading  windows  merging  moving")
        for workers in options.workers or WORKERS:
            told = measured(path, workers, options.window_records, scheduled)
            print(told.row(workers, base), flush=True)


if __name__ == "__main__":
    main()
