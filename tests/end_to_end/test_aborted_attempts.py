"""Clients that repeat what was undone: a real program, its descriptor with `retry`, and what its reports say."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from patience import PATIENCE_SECONDS

TRANSACTIONS = 400
PROGRAM = """
#include <pthread.h>
#include <time.h>
struct txn { unsigned long id; int last; };
static void work(unsigned long us) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  unsigned long end = t.tv_sec * 1000000000ul + t.tv_nsec + us * 1000;
  do clock_gettime(CLOCK_MONOTONIC, &t); while (t.tv_sec * 1000000000ul + t.tv_nsec < end);
}
__attribute__((noinline)) void txn_begin(struct txn *txn) { (void)txn; }
__attribute__((noinline)) void txn_end(struct txn *txn) { (void)txn; }
__attribute__((noinline)) void txn_abort(struct txn *txn) { (void)txn; }
__attribute__((noinline)) int apply(struct txn *txn) {
  work(txn->last ? 200 : 300);
  return txn->last;
}
__attribute__((noinline)) void serve(unsigned long id, int attempts) {
  for (int left = attempts; left > 0; --left) {
    struct txn txn = {ID, left == 1};
    txn_begin(&txn);
    if (apply(&txn)) txn_end(&txn);
    else txn_abort(&txn);
  }
}
static void *client(void *number) {
  for (unsigned long n = 0; n < TRANSACTIONS; ++n) {
    serve((unsigned long)number, 1 + n % 4 % 3);  /* 1, 2, 3, 1 */
    struct timespec pause = {0, 200000};
    nanosleep(&pause, 0);
  }
  return 0;
}
int main(void) {
  pthread_t threads[2];
  for (unsigned long i = 0; i < 2; ++i) pthread_create(&threads[i], 0, client, (void *)(i + 1));
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], 0);
  return 0;
}
""".replace("TRANSACTIONS", str(TRANSACTIONS // 2))
BY_CONNECTION, BY_TRANSACTION = "id", "__atomic_add_fetch(&last_id, 1, 0)"
DESCRIPTOR = """
name = "again"
roots = ["serve"]
[source]
kind = "tree"
path = "."
[build]
steps = ["{cc} -O1 -g {source}/again.c -o again"]
programs = ["again"]
[run]
command = "{build}/again"
""" + "".join(
    f'[[interval]]\nevent = "{event}"\nfunction = "txn_{event}"\nid = "txn->id"\n'
    for event in ("begin", "end", "abort")
)

ONE_GIVES_UP = (
    DESCRIPTOR.removesuffix('id = "txn->id"\n')
    + 'id = "txn->id == 1 ? 1 : 0"\nretry = true\n'
    + '[[interval]]\nevent = "abort"\nfunction = "txn_abort"\nid = "txn->id == 1 ? 0 : txn->id"\n'
)
"""The first client repeats what is undone, the second gives it up and goes on with something else."""


def vprof(cwd: Path, *arguments: object) -> str:
    command = [sys.executable, "-c", "from vprof.cli import main; main()", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_SECONDS, cwd=cwd)
    assert done.returncode == 0, done.stderr
    return done.stdout


def recorded(tmp_path: Path, retry: str, id_: str = BY_CONNECTION, *options: str, descriptor: str = DESCRIPTOR) -> None:
    target = tmp_path / "again"
    target.mkdir()
    (target / "again.c").write_text(
        PROGRAM.replace("ID,", f"{id_},").replace("struct txn {", "static long last_id;\nstruct txn {")
    )
    (target / "target.toml").write_text(descriptor + retry)
    vprof(tmp_path, "instrument", "--target", target)
    vprof(tmp_path, "record", "--target", target, "--sites", "serve,apply", "-o", "run.trace", *options)


def analyzed(tmp_path: Path, trace: str = "run.trace") -> dict[str, Any]:
    return analysis(tmp_path, trace, "--cpu-wait", "in")


def analysis(tmp_path: Path, trace: str, *options: str) -> dict[str, Any]:
    said: dict[str, Any] = json.loads(vprof(tmp_path, "analyze", trace, *options, "--format", "json"))
    return said


def node(parent: dict[str, Any], name: str) -> dict[str, Any]:
    [found] = [child for child in parent["children"] if child["node"].partition("@")[0] == name]
    return found


@pytest.mark.parametrize(("retry", "id_"), [("true", BY_CONNECTION), ('"thread"', BY_TRANSACTION)])
def test_attempts_are_one_interval_and_what_was_undone_is_below_aborted(tmp_path: Path, retry: str, id_: str) -> None:
    """A half of the transactions has one attempt, a quarter two, a quarter three: 0.75 aborted ones of 300 us each."""
    recorded(tmp_path, f"retry = {retry}\nretry_within = 0.5\n", id_)
    said = analyzed(tmp_path)
    assert said["intervals"]["count"] == TRANSACTIONS
    assert said["intervals"]["excluded"] == {}
    assert said["intervals"]["aborted"]["repeated"] == TRANSACTIONS // 2
    aborted = node(node(said["tree"], "serve"), "[aborted]")
    assert aborted["mean_ns"] >= 0.75 * 300e3
    # Of what is left without waits for a CPU, which a busy machine adds anywhere.
    apart = analysis(tmp_path, "run.trace")
    varies = node(node(node(apart["tree"], "serve"), "[aborted]"), "apply")["share"]
    assert varies > 0.5 * (1 - apart["waiting_for_cpu"]["share"])
    lines = vprof(tmp_path, "analyze", "run.trace").splitlines()
    assert any(line.startswith(f"{TRANSACTIONS // 2} of {TRANSACTIONS} intervals were tried again") for line in lines)


def test_without_retry_the_report_names_the_mend(tmp_path: Path) -> None:
    recorded(tmp_path, "")
    said = analyzed(tmp_path)
    undone = TRANSACTIONS // 4 * 3
    assert said["intervals"]["excluded"] == {"aborted": undone}
    told = f"left out as aborted: {undone} of {TRANSACTIONS + undone} intervals"
    text = vprof(tmp_path, "analyze", "run.trace")
    assert told in text
    assert "`retry = true`" in text
    vprof(tmp_path, "report", "run.trace", "-o", "run.html")
    assert told in (tmp_path / "run.html").read_text()


def test_what_one_gives_up_is_joined_to_nothing(tmp_path: Path) -> None:
    recorded(tmp_path, "", descriptor=ONE_GIVES_UP)
    said = analyzed(tmp_path)["intervals"]
    assert said["count"] == TRANSACTIONS
    assert (said["aborted"]["repeated"], said["excluded"]) == (TRANSACTIONS // 4, {"aborted": TRANSACTIONS // 8 * 3})


def test_each_of_the_newest_files_says_it(tmp_path: Path) -> None:
    """The collector begins these itself."""
    recorded(tmp_path, "retry = true\n", BY_CONNECTION, "--max-size", "64M", "--keep", "newest")
    [first] = tmp_path.glob("run.trace.0*")
    assert analyzed(tmp_path, first.name)["intervals"]["aborted"]["joined"]
