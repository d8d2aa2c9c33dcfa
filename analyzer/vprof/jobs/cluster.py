"""Workers of Dask: processes that this one starts, or those of a cluster that runs.

    --jobs N             a scheduler here, N processes on the loopback interface, with keys that only they have
    --scheduler ADDRESS  the workers that this scheduler has; they see the traces under the same paths

Guaranteed: a task whose worker dies is done again by another one, so results do not depend on that. When the cluster is
left, by an interrupt, too, its processes end; should this process be killed, they end by themselves.
"""

from __future__ import annotations

import re
import signal
import threading
import warnings
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, chdir, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from vprof import __version__
from vprof.errors import UsageError, VprofError
from vprof.jobs.tasks import Jobs, Progress

T = TypeVar("T")

_TASKS_OF_A_WORKER = 4
_DEATHS = 3
"""So many workers may die at one task before it is given up."""
_SECONDS = 10
"""How long a scheduler or its first worker may take to answer."""
_LEAST_MB = 512
"""Memory that a worker needs at least."""
_ADDRESS = re.compile(r"(tcp|tls)://[^\s/:]+:\d{1,5}|(tcp|tls)://\[[0-9a-fA-F:]+\]:\d{1,5}")
_SETTINGS = {
    "distributed.worker.memory.target": False,
    "distributed.worker.memory.spill": False,
    "distributed.worker.memory.pause": False,
    "distributed.worker.memory.terminate": 0.95,
    "distributed.scheduler.allowed-failures": _DEATHS,
    "distributed.worker.multiprocessing-method": "spawn",
    "distributed.nanny.pre-spawn-environ": {"OMP_NUM_THREADS": 1, "MKL_NUM_THREADS": 1, "OPENBLAS_NUM_THREADS": 1},
}
"""What is set for workers before they start is Dask's, but for MALLOC_TRIM_THRESHOLD_: with it each table of a window
gets fresh pages, which cost as much again as the analysis."""
_SILENT = 51
"""A level of logging above all others."""
_ONE_AT_A_TIME = threading.Lock()


@contextmanager
def open_jobs(count: int | None, scheduler: str | None) -> Iterator[Jobs | None]:
    """None if neither is given. Raises UsageError if both are, VprofError if there are no workers."""
    if count is not None and scheduler is not None:
        raise UsageError("--jobs and --scheduler are different workers: give one")
    if count is None and scheduler is None:
        yield None
        return
    import logging  # what only workers need is no part of the start of a small command

    distributed = _library("--jobs" if count else "--scheduler")
    with ExitStack() as stack, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for handler in logging.getLogger("distributed").handlers:
            stack.callback(handler.setLevel, handler.level)
            handler.setLevel(_SILENT)
        if count is not None:
            client = _started(distributed, count, stack)
        else:
            client = _connected(distributed, scheduler or "", stack)
        yield Cluster(distributed, client)


def _library(option: str) -> Any:
    try:
        import cryptography  # noqa: F401
        import distributed
    except ImportError:
        raise VprofError(f"{option} needs Dask: pip install 'vprof[jobs]'") from None
    return distributed


def _started(distributed: Any, count: int, stack: ExitStack) -> Any:
    """A client of a cluster of processes that end with it."""
    import tempfile

    import dask

    memory = distributed.system.MEMORY_LIMIT // (count + 1)
    if memory < _LEAST_MB << 20:
        raise VprofError(f"--jobs {count}: {memory >> 20} MB of memory for each are too little: give fewer")
    folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="vprof-jobs-"))
    stack.enter_context(dask.config.set({**_SETTINGS, "temporary-directory": folder}))
    with _interrupts_later():
        cluster = distributed.LocalCluster(
            n_workers=count,
            threads_per_worker=1,
            memory_limit=memory,
            host="127.0.0.1",
            dashboard_address=None,
            silence_logs=_SILENT,
            security=True,
            local_directory=folder,
        )
        stack.enter_context(cluster)
        client = stack.enter_context(distributed.Client(cluster, set_as_default=False))
    client.wait_for_workers(count)
    return client


@contextmanager
def _interrupts_later() -> Iterator[None]:
    """An interrupt raises KeyboardInterrupt at the end: what is half begun, nobody could end. Threads that begin here,
    and the processes that these start, now or later, get none."""
    from multiprocessing import resource_tracker

    is_main = threading.current_thread() is threading.main_thread()
    came: list[int] = []
    resource_tracker.ensure_running()  # the thread that starts it lets interrupts in again
    handler = signal.signal(signal.SIGINT, lambda number, frame: came.append(number)) if is_main else None
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        if is_main:
            signal.signal(signal.SIGINT, handler)
    if came:
        raise KeyboardInterrupt


def _connected(distributed: Any, scheduler: str, stack: ExitStack) -> Any:
    """A client of a cluster that runs. Raises VprofError if it cannot be used."""
    if not _ADDRESS.fullmatch(scheduler):
        raise UsageError(f"--scheduler {scheduler}: give an address such as tcp://127.0.0.1:8786")
    try:
        client = distributed.Client(scheduler, timeout=_SECONDS, set_as_default=False)
    except (OSError, TypeError, ValueError, RuntimeError):
        raise VprofError(f"{scheduler}: no scheduler answers there: start one with `dask scheduler`") from None
    stack.enter_context(client)
    try:
        client.wait_for_workers(1, timeout=_SECONDS)
    except TimeoutError:
        raise VprofError(f"{scheduler}: has no workers: start some with `dask worker {scheduler}`") from None
    try:
        versions = set(client.run(_version).values())
    except Exception as error:
        raise VprofError(f"{scheduler}: its workers cannot import vprof: install it where they run ({error})") from None
    if versions != {_version()}:
        raise VprofError(f"{scheduler}: its workers have another vprof, Python or NumPy: install what is here")
    return client


def _version() -> tuple[str, ...]:
    """What has to be the same for results to be the same."""
    import sys

    import numpy as np

    return __version__, f"{sys.version_info.major}.{sys.version_info.minor}", np.__version__


class Cluster:
    """Jobs of a client of Dask."""

    def __init__(self, distributed: Any, client: Any) -> None:
        self._distributed, self._client = distributed, client

    @property
    def is_open(self) -> bool:
        return bool(self._client.status == "running")

    @property
    def parts(self) -> int:
        return _TASKS_OF_A_WORKER * max(1, len(self._client.nthreads()))

    def everywhere(self, function: Callable[[], T]) -> list[T]:
        """What it gives on each worker."""
        return list(self._client.run(function).values())

    def share(self, value: Any) -> Any:
        """As a task, which is done again if the worker dies that has the result."""
        return self._client.submit(_opened, _Closed(value), pure=False)

    def each(
        self,
        task: Callable[..., T],
        shared: Sequence[Any],
        items: Sequence[Any],
        progress: Progress = lambda done: None,
    ) -> list[T]:
        futures = [self._task(task, *shared, item) for item in items]
        self._watch(futures, progress)
        return [self._result(future) for future in futures]

    def merged(
        self,
        task: Callable[..., T],
        merge: Callable[[T, T], T],
        shared: Sequence[Any],
        items: Sequence[Any],
        progress: Progress = lambda done: None,
    ) -> T:
        leaves = [self._task(task, *shared, item) for item in items]
        level = leaves
        while len(level) > 1:
            pairs = zip(level[::2], level[1::2], strict=False)
            level = [self._task(merge, a, b) for a, b in pairs] + level[len(level) // 2 * 2 :]
        self._watch(leaves, progress)
        for leaf in leaves:
            if leaf.status == "error":
                self._result(leaf)
        found: T = self._result(level[0])
        return found

    def stream(self, task: Callable[..., T], shared: Sequence[Any], items: Sequence[Any]) -> Iterator[T]:
        waiting: deque[Any] = deque()
        for item in items:
            if len(waiting) >= self.parts:
                yield self._result(waiting.popleft())
            waiting.append(self._task(task, *shared, item))
        while waiting:
            yield self._result(waiting.popleft())

    def _task(self, task: Callable[..., Any], *args: Any) -> Any:
        given = [arg if isinstance(arg, self._distributed.Future) else _Closed(arg) for arg in args]
        return self._client.submit(_alone, str(Path.cwd()), task, *given, pure=False)

    def _watch(self, futures: list[Any], progress: Progress) -> None:
        """Until all are done or have failed."""
        for done, _ in enumerate(self._distributed.as_completed(futures, loop=self._client.loop), 1):
            progress(done / len(futures))

    def _result(self, future: Any) -> Any:
        try:
            return future.result()
        except VprofError:
            raise
        except self._distributed.KilledWorker:
            raise VprofError(f"{_DEATHS + 1} workers died at one task: give fewer --jobs if memory is short") from None
        except (self._distributed.CancelledError, OSError):
            raise VprofError("the scheduler or its workers are gone: analyze again") from None


@dataclass(frozen=True)
class _Closed:
    """What Dask is to send as it is: it would look into tuples for results of tasks, and make others of them."""

    value: Any


def _opened(arg: Any) -> Any:
    return arg.value if isinstance(arg, _Closed) else arg


def _alone(folder: str, task: Callable[..., T], *args: Any) -> T:
    """In the folder that paths are relative to, if it is there. Workers of others may have several threads, which would
    change what is shared at once."""
    with _ONE_AT_A_TIME, chdir(folder) if Path(folder).is_dir() else nullcontext():
        return task(*map(_opened, args))
