#!/usr/bin/env python3
"""Records what `headlines.py` compares: a trace of each target, of minidb's causes, of programs that know their cause.

    python bench/headline_traces.py FOLDER [--only minidb]
    python bench/headlines.py --before ../old FOLDER/*.trace

Traces that are there are not made again. All functions that have a probe are on, but for servers whose own load calls
millions of them a second: there the probes are those that their FINDINGS.md name.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from truth_study import PLANTED, ROOTS, SCALE
from truth_study import built as built_truth

from vprof.installed import native, target_file
from vprof.target import descriptor as descriptors

TESTS = Path(__file__).parents[1] / "tests"
sys.path[:0] = [str(TESTS / "shared"), str(TESTS / "corpus")]

import drawn  # noqa: E402
import planted  # noqa: E402
from build_cache import built, cache_folder, command  # noqa: E402

SECONDS = 8
FEW_ROWS = "dispatch_command,mysql_execute_command,ha_commit_trans,trans_commit,mysql_update,mysql_delete,mysql_insert,"
FEW_ROWS += "row_search_mvcc,row_upd_step,row_ins_step,lock_wait,log_write_up_to,group_commit_lock::acquire,fdatasync"
SMALL_POOL = "dispatch_command,mysql_execute_command,ha_commit_trans,row_search_mvcc,btr_cur_t::search_leaf,"
SMALL_POOL += "btr_cur_search_to_nth_level,buf_page_get_gen,buf_page_get_low,buf_read_page,buf_LRU_get_free_block,"
SMALL_POOL += "lock_wait,log_write_up_to,group_commit_lock::acquire,fdatasync,pread,pwrite,row_upd_step,row_ins_step"
COMMIT = (
    "exec_simple_query,finish_xact_command,CommitTransaction,RecordTransactionCommit,XLogFlush,XLogWrite,fdatasync,"
)
COMMIT += "LWLockAcquire,LWLockAcquireOrWait,PortalRun,ExecutorRun,heap_update,heap_lock_tuple,XactLockTableWait"
WRITES = (
    "leveldb::DBImpl::*,leveldb::BuildTable,leveldb::port::*,leveldb::log::Writer::AddRecord,write,fdatasync,nanosleep"
)
FILLING = "event_handler,drive_machine,item_alloc,do_item_alloc_pull,slabs_alloc,do_slabs_newslab,transmit,sendmsg"

TARGETS: dict[str, tuple[str, list[str], list[str]]] = {
    "postgres": ("postgres", ["--sites", COMMIT], []),
    "httpd": ("httpd", ["--sites", "all"], []),
    "leveldb": ("leveldb", ["--sites", WRITES], ["--num=40000"]),
    "memcached": ("memcached", ["--sites", "all"], []),
    "memcached-filling": ("memcached", ["--sites", FILLING], ["-c", "2", "-F", "../build/workload/large.cnf"]),
    "mysql-rows": ("mysql", ["--sites", FEW_ROWS], ["--tables=1", "--table-size=100", "--threads=16"]),
    "mysql-pool": ("mysql", ["--sites", SMALL_POOL, "--server-options=--innodb-buffer-pool-size=16M"], []),
    "nginx": ("nginx", ["--sites", "all"], []),
    "nghttpd": ("nghttpd", ["--sites", "all"], []),
}
"""Name: the target, options of `vprof record`, and those of the load."""

Make = Callable[[Path], None]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", default="", help="traces whose names contain this")
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    for name, make in [*targets(), *causes(), *plants(), *truths()]:
        trace = given.folder.resolve() / f"{name}.trace"
        if given.only in name and not trace.exists():
            make(trace)
            print(f"{name}: {trace.stat().st_size >> 20} MB, load {os.getloadavg()[0]:.1f}", flush=True)


def targets() -> Iterator[tuple[str, Make]]:
    for name, (target, options, load) in TARGETS.items():
        yield name, recorder(target, options, load)


def causes() -> Iterator[tuple[str, Make]]:
    """minidb's."""
    cases = [(case["pathology"], case["seed"]) for case in descriptors.load(target_file("minidb")).free["demo"]]
    for pathology, seed in cases:
        load = ["--pathology", str(pathology), "--seed", str(seed)]
        yield f"minidb-{pathology}", recorder("minidb", ["--sites", "all"], load)
    yield "minidb-nothing", recorder("minidb", ["--sites", "all"], ["--seed", "3"])


def recorder(target: str, options: list[str], load: list[str]) -> Make:
    def make(trace: Path) -> None:
        with built(target, cache_folder(), prefix(), print) as build:
            words = ["record", "--target", target, "--seconds", SECONDS, *options, "-o", trace, "--", *load]
            subprocess.run(command(*words), check=True, stdout=subprocess.DEVNULL, **build.how())

    return make


def prefix() -> Path:
    return native("bin/vprof-cc").parents[1]


def plants() -> Iterator[tuple[str, Make]]:
    """Of nginx and nghttpd, as the study of plants builds them."""
    for program, all_plants in planted.FIXED.items():
        for plant in all_plants:
            yield f"{program}-{plant.name}", sower(program, plant)


def sower(program: str, plant: planted.Plant) -> Make:
    def make(trace: Path) -> None:
        folder = planted.descriptor(program, cache_folder() / "descriptors", drawn.edits(program))
        with built(str(folder), cache_folder(), prefix(), print) as build:
            planted.sow(build, plant, 1)
            options = ["--server-options", plant.server_options] if plant.server_options else []
            words = ["--target", build.name, "--sites", "all", "--seconds", SECONDS, *options, "-o", trace]
            planted.ran(build, "record", *words)

    return make


def truths() -> Iterator[tuple[str, Make]]:
    for mode in PLANTED:
        yield f"truth-{mode}", prober(mode)


def prober(mode: str) -> Make:
    def make(trace: Path) -> None:
        with tempfile.TemporaryDirectory() as folder:
            program = built_truth(Path(folder), "all")
            words = ["record", "--sites", "all", "--seconds", SECONDS, "-o", trace, "--", program, mode, "600", SCALE]
            subprocess.run(command(*words), check=True, stdout=subprocess.DEVNULL)

    return make


def root(name: str) -> list[str]:
    """Options of a report on this trace."""
    mode = name.removeprefix("truth-")
    return ["--root", ROOTS.get(mode, "handle_request")] if mode != name else []


if __name__ == "__main__":
    main()
