"""`--jobs` and `--scheduler` with Dask's own scheduler and workers: the same bits, whatever happens to a worker.

Property tests of the tasks themselves are in test_jobs.py.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest
from build_cache import command
from history import History
from packing import LZ4, ZSTD, packed
from patience import PATIENCE_SECONDS
from test_whatif_jobs import foretold, ranked
from test_windows import BY_TYPE, disturbed, in_small_chunks, said
from verbs import printed, vprof

from vprof.errors import UsageError, VprofError
from vprof.jobs.cluster import Cluster, open_jobs
from vprof.variance.analysis import AnalysisOptions
from vprof.variance.stream import analyze_traces

RECORDS = 40
"""Records of a window: the traces here have some dozens."""


@pytest.fixture(scope="module")
def traces(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("jobs")
    writers = [in_small_chunks(History(11, 4, 400, holds=True).writer, 11), disturbed(History(12, 3, 300).writer, 12)]
    paths = [writer.save(folder / f"{number}.trace") for number, writer in enumerate(writers)]
    paths[1].write_bytes(packed(paths[1].read_bytes(), ZSTD, LZ4))
    return paths


@pytest.fixture(scope="module")
def scheduler() -> Iterator[subprocess.Popen[str]]:
    """A cluster as an administrator starts it, without workers; `args[-1]` is its address."""
    with _dask("scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard") as process:
        assert process.stderr
        for line in process.stderr:
            if "Scheduler at:" in line:
                process.args = [line.split()[-1]]
                break
        yield process


@contextmanager
def _dask(*arguments: str) -> Iterator[subprocess.Popen[str]]:
    command_ = [sys.executable, "-m", "dask", *arguments]
    process = subprocess.Popen(command_, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
    try:
        yield process
    finally:
        process.terminate()
        process.wait(PATIENCE_SECONDS)
        if process.stderr:
            process.stderr.close()


@contextmanager
def _workers(address: str, count: int) -> Iterator[None]:
    arguments = ("--nthreads", "1", "--nworkers", str(count), "--no-dashboard", "--host", "127.0.0.1")
    with ExitStack() as stack:
        process = stack.enter_context(_dask("worker", address, *arguments))
        assert process.stderr
        os.set_blocking(process.stderr.fileno(), False)
        yield


def analyzed(traces: list[Path], options: AnalysisOptions = BY_TYPE, **how: Any) -> Any:
    return said(analyze_traces(traces, None, options, RECORDS, **how))


@pytest.fixture(scope="module")
def whole(traces: list[Path]) -> Any:
    return analyzed(traces)


CHANGES = ["site 3=constant", "site 5=0.5"]


@pytest.fixture(scope="module")
def predictions(traces: list[Path]) -> Any:
    """Of all traces, which are a task each; and of the first, of which windows are read apart."""
    found = [foretold(some, RECORDS, CHANGES) for some in (traces, traces[:1])]
    assert not any(isinstance(one, str) for some in found for one in some[:2]), "they can be predicted"
    return found


def test_any_number_of_workers_gives_the_same_bits(
    scheduler: subprocess.Popen[str], traces: list[Path], whole: Any, predictions: Any, tmp_path: Path
) -> None:
    """Of a scheduler that was started apart; workers come and go, and may be the only ones."""
    address = scheduler.args[-1]  # type: ignore[index]
    with ExitStack() as stack, pytest.MonkeyPatch.context() as patch:
        patch.chdir(traces[0].parent)
        relative = [Path(trace.name) for trace in traces]
        for count, more in ((1, 1), (2, 1), (3, 1), (7, 4)):
            stack.enter_context(_workers(str(address), more))
            with open_jobs(None, str(address)) as jobs:
                assert isinstance(jobs, Cluster)
                jobs._client.wait_for_workers(count, timeout=PATIENCE_SECONDS)
                assert analyzed(relative, jobs=jobs) == whole
                for some, expected in zip((relative, relative[:1]), predictions, strict=True):
                    assert foretold(some, RECORDS, CHANGES, jobs=jobs) == expected
        outputs = [tmp_path / "apart.json", tmp_path / "here.json"]
        by_cluster = ("--scheduler", address, "-o", outputs[0])
        for how in (by_cluster, ("-o", outputs[1])):
            done = vprof(traces[0].parent, "analyze", *relative, "--by-type", "--format", "json", *how)
            assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
        assert outputs[0].read_bytes() == outputs[1].read_bytes()


@pytest.mark.parametrize("count", [1, 2])
def test_what_a_killed_worker_had_is_done_again(count: int, traces: list[Path], whole: Any) -> None:
    killed = []
    with open_jobs(count, None) as jobs:

        def kill(done: float) -> None:
            if done > 0.2 * (len(killed) + 1) and len(killed) < 3:
                killed.append(_worker())
                os.kill(killed[-1], signal.SIGKILL)

        assert analyzed(traces, progress=kill, jobs=jobs) == whole
    assert len(killed) == 3
    assert not any(psutil.pid_exists(pid) for pid in killed)


class _Deadly(Cluster):
    """A worker is killed at the first result of each kind of work that has several tasks."""

    def __init__(self, jobs: Cluster) -> None:
        super().__init__(jobs._distributed, jobs._client)
        self.killed_at: list[str] = []

    def each(self, task: Any, shared: Any, items: Any, progress: Any = lambda done: None) -> list[Any]:
        kind = shared[1] if task.__name__ == "_of_file" else task
        return super().each(task, shared, items, lambda done: self._kill(kind.__name__, len(items)))

    def stream(self, task: Any, shared: Any, items: Any) -> Iterator[Any]:
        for result in super().stream(task, shared, items):
            self._kill(task.__name__, len(items))
            yield result

    def _kill(self, kind: str, items: int) -> None:
        if items > 1 and kind != "_scan_some" and kind not in self.killed_at:
            self.killed_at.append(kind)
            os.kill(_worker(), signal.SIGKILL)


def test_predictions_are_the_same_though_workers_are_killed(traces: list[Path], predictions: Any) -> None:
    with open_jobs(2, None) as jobs:
        assert isinstance(jobs, Cluster)
        for some, expected, kinds in zip(
            (traces, traces[:1]), predictions, (["_totals", "_replay", "_replay_bare"], ["_read_apart"]), strict=True
        ):
            deadly = _Deadly(jobs)
            assert foretold(some, RECORDS, CHANGES, jobs=deadly) == expected
            assert deadly.killed_at == kinds


def test_a_ranking_of_workers_is_the_same(traces: list[Path]) -> None:
    with open_jobs(2, None) as jobs:
        assert ranked(traces, RECORDS, jobs) == ranked(traces, RECORDS)


def _worker() -> int:
    """A process that works for this one."""
    children = [one for one in psutil.Process().children(recursive=True) if one.status() != psutil.STATUS_ZOMBIE]
    return next(child.pid for child in children if "spawn_main" in " ".join(child.cmdline()))


def test_workers_of_one_machine_listen_to_nobody_else(traces: list[Path]) -> None:
    with open_jobs(2, None) as jobs:
        assert isinstance(jobs, Cluster)
        pids = [os.getpid(), *jobs.everywhere(os.getpid)]
        found = [one.laddr.ip for pid in pids for one in _listening(pid)]
        assert set(found) == {"127.0.0.1"}
        assert len(found) >= 3
        workers = jobs._client.scheduler_info()["workers"].values()
        assert [worker["memory_limit"] for worker in workers] == [_part_of_memory(3)] * 2
        address = jobs._client.scheduler_info()["address"]
        assert address.startswith("tls://")
        with (
            pytest.raises(VprofError, match="no scheduler answers there"),
            open_jobs(None, address.replace("tls", "tcp")),
        ):
            pass
    assert not any(psutil.pid_exists(pid) for pid in pids[1:])


def _part_of_memory(parts: int) -> int:
    from distributed.system import MEMORY_LIMIT

    return int(MEMORY_LIMIT // parts)


def test_an_interrupt_of_the_work_ends_all_workers(traces: list[Path]) -> None:
    workers = []

    def interrupt(done: float) -> None:
        if done > 0.5:
            workers.extend(psutil.Process().children(recursive=True))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), open_jobs(2, None) as jobs:
        analyzed(traces, progress=interrupt, jobs=jobs)
    assert len(workers) >= 2
    assert not any("spawn_main" in " ".join(one.cmdline()) for one in workers if one.is_running())


def _listening(pid: int) -> list[Any]:
    return [one for one in psutil.Process(pid).net_connections("tcp") if one.status == psutil.CONN_LISTEN]


def test_verbs_write_the_same_with_jobs(traces: list[Path], tmp_path: Path) -> None:
    """Reports of whole processes, which start workers of their own, and print nothing else."""
    [path, _] = traces
    factor = json.loads(printed(tmp_path, "analyze", path, "--format", "json"))["factors"][0]
    verbs = [
        ("analyze", path, "--explain", "|".join(factor["functions"])),
        ("report", path, "-o", "page.html"),
        ("whatif", path, path.with_name("b.trace"), "--change", "site 3=0.5", "--format", "json", "--intervals"),
        ("whatif", path, "--rank"),
        ("diff", path, path.with_name("a.trace"), "--", path.with_name("b.trace"), "--format", "json"),
    ]
    for name in ("a", "b"):
        path.with_name(f"{name}.trace").write_bytes(path.read_bytes())
    for verb in verbs:
        outputs = []
        for jobs in ((), ("--jobs", "2")):
            done = vprof(tmp_path, *verb, *jobs)
            assert done.returncode == 0, done.stderr
            page = tmp_path / "page.html"
            outputs.append((done.stdout, done.stderr, page.read_text("utf-8") if page.exists() else ""))
        assert outputs[0] == outputs[1]


def test_an_interrupt_of_the_start_ends_all_workers(traces: list[Path], tmp_path: Path) -> None:
    many = [str(traces[0])] * 60
    process = subprocess.Popen(
        command("analyze", *many, "--jobs", "2", "--format", "json"),
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    family = psutil.Process(process.pid)
    until = time.monotonic() + PATIENCE_SECONDS
    while len(workers := family.children(recursive=True)) < 3 and time.monotonic() < until:
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGINT)
    _, errors = process.communicate(timeout=PATIENCE_SECONDS)
    assert (process.returncode, errors.strip()) == (130, "vprof: interrupted")
    gone, alive = psutil.wait_procs(workers, timeout=PATIENCE_SECONDS)
    assert gone
    assert not alive


def test_bad_input_gets_the_line_that_it_gets_without(traces: list[Path], tmp_path: Path) -> None:
    broken, empty = tmp_path / "broken.trace", tmp_path / "empty.trace"
    broken.write_bytes(b"VPROFTRC" + bytes(100))
    empty.write_bytes(b"")
    for path in (broken, empty, tmp_path / "missing.trace"):
        lines = [vprof(tmp_path, "analyze", path, *jobs).stderr for jobs in ((), ("--jobs", "2"))]
        assert lines[0] == lines[1]
        assert lines[0].count("\n") == 1


@pytest.mark.parametrize(
    ("options", "line"),
    [
        (("--jobs", "0"), "Invalid value for '--jobs': 0 is not in the range x>=1."),
        (("--jobs", "2", "--scheduler", "tcp://127.0.0.1:1"), "--jobs and --scheduler are different workers"),
        (("--scheduler", "here"), "--scheduler here: give an address such as tcp://127.0.0.1:8786"),
        (("--jobs", "2", "--path", "slowest"), "--path reads a part of the trace"),
        (("--jobs", "2", "--locks"), "--locks reads a part of the trace"),
    ],
)
def test_wrong_options_get_one_line(options: tuple[str, ...], line: str, traces: list[Path], tmp_path: Path) -> None:
    done = vprof(tmp_path, "analyze", traces[0], *options)
    assert done.returncode == 2
    assert line in done.stderr
    assert done.stderr.count("\n") == 1


def test_too_many_processes_and_nobody_at_an_address_get_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(VprofError, match="MB of memory for each are too little"), open_jobs(1_000_000, None):
        pass
    monkeypatch.setattr("vprof.jobs.cluster._SECONDS", 1)
    with pytest.raises(VprofError, match="no scheduler answers there"), open_jobs(None, "tcp://127.0.0.1:9"):
        pass
    with pytest.raises(UsageError), open_jobs(1, "tcp://127.0.0.1:9"):
        pass


def test_without_the_options_dask_is_neither_needed_nor_loaded(traces: list[Path], tmp_path: Path) -> None:
    program = (
        "import sys\n"
        "from vprof.cli import root\n"
        "root.main(sys.argv[1:], standalone_mode=False)\n"
        "assert not {'dask', 'distributed', 'cryptography'} & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", program, "analyze", traces[0], "-o", tmp_path / "out"], check=True)
    assert (tmp_path / "out").exists()


def test_without_dask_one_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(VprofError) as caught, open_jobs(2, None):
        pass
    assert str(caught.value) == "--jobs needs Dask: pip install 'vprof[jobs]'"
