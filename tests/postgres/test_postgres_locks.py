"""PostgreSQL's locks, recorded with --locks, beside what its own log says of waits and deadlocks."""

import json
import re
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from build_cache import Built

from vprof.scheduling.history import Taken, taken
from vprof.trace.locks import LockTrace, read_locks
from vprof.trace.outline import WINDOW_RECORDS, instances_of
from vprof.trace.reading import open_windows

LOG = "-c log_lock_waits=on -c deadlock_timeout=2ms"
CHANGE = "UPDATE pgbench_branches SET bbalance = bbalance + 1 WHERE bid = {};"
QUEUE = """\\set pause {} * 20
\\sleep :pause ms
BEGIN;
UPDATE pgbench_branches SET bbalance = bbalance + 1 WHERE bid = 1;
\\sleep 60 ms
END;
"""
"""Several come one after the other, and each has the row for longer than that. To be filled in: what is multiplied."""
CIRCLE = f"""\\set first :client_id + 1
\\set second 2 - :client_id
/* update */ BEGIN;
{CHANGE.format(":first")}
\\sleep 30 ms
{CHANGE.format(":second")}
END;
"""
"""Two, each of which takes first what the other takes second."""


class Recorded(NamedTuple):
    trace: LockTrace
    path: Path
    log: str

    def logged_ms(self, what: str) -> list[float]:
        """How long each wait took that ended in the lock."""
        return [float(ms) for ms in re.findall(rf"acquired \w+ on {what} .* after ([0-9.]+) ms", self.log)]


def recorded(postgres: Built, folder: Path, script: str, clients: int, *more: object) -> Recorded:
    file, path = postgres.folder / "script.sql", folder / "run.trace"
    file.write_text(script)
    log = postgres.target.folder / "server.log"
    server = ["--server-options", LOG, "--locks", "--seconds", 3, "-o", path]
    done = postgres.vprof("record", "--target", "postgres", *server, "--", "-f", file, "-c", clients, *more)
    assert done.returncode == 0, done.stderr
    return Recorded(read_locks(path), path, log.read_text(errors="replace"))


def rows_of(found: Taken) -> np.ndarray:
    """Locks of rows (src/prelude.h): bit 62, and not bit 63."""
    return np.flatnonzero(found.object.view(np.uint64) >> np.uint64(62) == 1)


@pytest.fixture(scope="module")
def queue(postgres: Built, tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    return recorded(postgres, tmp_path_factory.mktemp("queue"), QUEUE.format(":client_id"), 4)


def test_a_row_is_one_object_whatever_its_version(queue: Recorded) -> None:
    found = taken(queue.trace.steps)
    rows = rows_of(found)
    assert len(set(found.object[rows].tolist())) == 1
    owners = found.owner[rows][found.owner[rows] < len(queue.trace.end)]
    assert sorted(owners.tolist()) == [k for k, name in enumerate(queue.trace.types) if name == "writes"]
    assert found.mode[rows].all()


def test_who_has_the_row_has_it_until_its_end_and_nobody_else_meanwhile(queue: Recorded) -> None:
    found = taken(queue.trace.steps)
    rows = rows_of(found)
    ended = rows[found.owner[rows] < len(queue.trace.end)]
    left = queue.trace.end[found.owner[ended]] - found.released[ended]
    assert (left >= 0).all() and np.median(left) < 5e6
    assert (found.granted[rows][1:] >= found.released[rows][:-1]).all()


def test_waits_are_those_of_the_servers_log(queue: Recorded) -> None:
    """In it a wait for a row is one for the place in its queue, and then for the transaction that has it."""
    found = taken(queue.trace.steps)
    rows = rows_of(found)
    waited_ms = (found.granted[rows] - found.requested[rows])[found.waited[rows]] / 1e6
    logged = queue.logged_ms("transaction") + queue.logged_ms("tuple")
    assert len(waited_ms) > 10
    assert waited_ms.sum() == pytest.approx(sum(logged), rel=0.1)


def test_the_locks_below_a_wait_for_a_row_are_not_counted_beside_it(postgres: Built, queue: Recorded) -> None:
    done = postgres.vprof("analyze", queue.path, "--locks", "--format", "json")
    [hot, *others] = json.loads(done.stdout)["objects"]
    assert hot["name"] in ("transaction with a row of pgbench_branches", "tuple of pgbench_branches")
    assert 1 < hot["queue"] <= 3 and hot["waits"] > 10
    assert sum(one["waited_ns"] for one in others) < 0.02 * hot["waited_ns"]


def test_the_replay_meets_what_was_measured(postgres: Built, tmp_path: Path) -> None:
    """One waits at a time, and has the row before another can ask for it: otherwise not who came first is next
    (targets/postgres/FINDINGS.md)."""
    path = recorded(postgres, tmp_path, QUEUE.format("(:client_id + 1)"), 2).path
    done = postgres.vprof("whatif", path, "--locks", "vats", "--format", "json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["waits"] > 10
    assert found["calibration"]["mean_ratio"] == pytest.approx(1, abs=0.1)


def test_deadlocks_are_those_of_the_servers_log(postgres: Built, tmp_path: Path) -> None:
    """The load repeats what was undone: one interval, several attempts. At its end it repeats no more: the transaction
    that was undone last is no interval, and its attempts, any number, are none of intervals."""
    found = recorded(postgres, tmp_path, CIRCLE, 2, "--max-tries", 10)
    deadlocks = found.log.count("ERROR:  deadlock detected")
    known = open_windows(found.path, WINDOW_RECORDS).known
    assert deadlocks > 5
    assert instances_of(known.scanned).aborted.sum() == deadlocks
    assert 0 < len(known.attempts.interval) <= deadlocks
    assert (found.trace.attempt > found.trace.begin).any()
