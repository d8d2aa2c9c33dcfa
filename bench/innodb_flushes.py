"""When InnoDB flushed pages in bursts, as a file of pauses for `vprof load --overlay`.

MariaDB logs no checkpoints. Its page cleaner writes pages all the time, and more of them when the redo log fills: what
stalls transactions is that. So a client asks each fifth of a second how many pages have been written; a span between
two answers in which there were more than twice as many per second as in the whole run is a burst.
"""

from __future__ import annotations

import subprocess
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path

EACH_SECONDS = 0.2
BURST = 2.0
STATUS = "SELECT variable_value FROM information_schema.global_status WHERE variable_name = "
FLUSHED = f"{STATUS}'Innodb_buffer_pool_pages_flushed';\n"
DIRTY = f"{STATUS}'Innodb_buffer_pool_pages_dirty';\n"
FEW = 100
"""Dirty pages."""

Sample = tuple[float, int]
"""Seconds since 1970, pages that were flushed until then."""


def client_of(socket: Path) -> list[str]:
    options = ["--no-defaults", "--batch", "--skip-column-names", "--unbuffered", "--user=vprof"]
    return ["mariadb", *options, f"--socket={socket}"]


def flush_all(socket: Path) -> None:
    """Waits until hardly a page is dirty."""

    def said(sql: str) -> str:
        return subprocess.run(client_of(socket), input=sql, capture_output=True, text=True, check=True).stdout

    said("SET GLOBAL innodb_max_dirty_pages_pct = 0")
    while int(said(DIRTY)) > FEW:
        time.sleep(EACH_SECONDS)
    said("SET GLOBAL innodb_max_dirty_pages_pct = DEFAULT")


@contextmanager
def watched(socket: Path, spans: Path) -> Iterator[None]:
    """Writes `spans` when it ends."""
    client = subprocess.Popen(client_of(socket), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    samples: list[Sample] = []
    over = threading.Event()
    watcher = threading.Thread(target=_ask, args=(client, samples, over))
    watcher.start()
    try:
        yield
    finally:
        over.set()
        watcher.join()
        client.communicate()
    spans.write_text("start,end,label\n" + "".join(_bursts(samples)), encoding="utf-8")


def _ask(client: subprocess.Popen[str], samples: list[Sample], over: threading.Event) -> None:
    assert client.stdin and client.stdout
    while not over.wait(EACH_SECONDS):
        try:
            client.stdin.write(FLUSHED)
            client.stdin.flush()
        except BrokenPipeError:
            return
        if not (line := client.stdout.readline()):
            return
        samples.append((time.time(), int(line)))


def _bursts(samples: Sequence[Sample]) -> Iterator[str]:
    """None if nothing was flushed."""
    if len(samples) < 2:
        return
    (first, before), (last, after) = samples[0], samples[-1]
    usual = (after - before) / (last - first)
    for (start, had), (end, has) in pairwise(samples):
        if has - had > BURST * usual * (end - start):
            yield f"{start:.3f},{end:.3f},more than twice the usual flushing\n"
