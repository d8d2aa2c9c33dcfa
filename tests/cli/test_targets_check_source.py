"""`vprof targets check --source`: what would match in a tree, by its text; and the entries of targets/mysql."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from vprof.target.build_choices import BuildChoices, UserSource
from vprof.target.target import Target

POOL = """
name = "pool"
roots = ["serve"]
[build]
programs = ["pool"]
[[queue]]
role = "dequeue"
function = "db::Worker::run"
call = "db::Queue::take"
task = "return"
[[sync]]
role = "acquire"
function = ["latch_wait", "Latch::wait"]
object = "this"
file = "*/sync/*"
"""

# Directives that cut an `if` in two, templates, calls of members, a namespace around a class.
WORKER = """
#include <nowhere.h>
namespace db {
template <class T> class Queue { public: T take(); };
class Worker {
  void run(Queue<int> &tasks) {
#ifdef DEBUG
    if (int task = tasks.take()) {
#else
    if (tasks.take()) {
#endif
      SERVE(task);
    }
  }
};
}
"""
LATCH = "template <bool spin> void Latch<spin>::wait() noexcept { FUTEX(this); }\n"
SERVE = "int serve(int task);\nint main() { return serve(1); }\n"
SERVE_DEFINED = "int\nserve(int task)\n{ return task; }\n"

MARIADB = """
dispatch_command_return do_command(THD *thd, bool blocking) {
  enum enum_server_command command;
#ifdef WITH_WSREP
  if (thd->waits()) {
#else
  {
#endif
    return dispatch_command(command, thd, packet + 1, (uint) (packet_length - 1), blocking);
  }
}
dispatch_command_return dispatch_command(enum enum_server_command command, THD *thd, char *packet, uint length, bool b)
{ return DISPATCH_COMMAND_SUCCESS; }
"""
MARIADB_POOL = """
static void queue_put(thread_group_t *group, native_event *ev, int cnt) {
  for (int i = 0; i < cnt; i++) group->push(native_event_get_userdata(&ev[i]));
}
void tp_callback(TP_connection *c) { process(c); }
"""
MARIADB_LOCKS = """
dberr_t lock_wait(que_thr_t *thr) { return DB_SUCCESS; }
bool row_mysql_handle_errors(dberr_t *new_err, trx_t *trx, que_thr_t *thr, trx_savept_t *savept) { lock_wait(thr); }
void group_commit_lock::acquire(lsn_t num, const completion_callback *callback) { thread_local_waiter.m_sema.wait(); }
class binary_semaphore { public: void wait() { cond.wait(); } };
static dberr_t lock_rec_lock(bool impl, unsigned mode, const buf_block_t *block, ulint heap_no, dict_index_t *index)
{ return DB_SUCCESS; }
dberr_t lock_clust_rec_modify_check_and_lock(const buf_block_t *block) { return lock_rec_lock(true, LOCK_X, block); }
dberr_t lock_clust_rec_read_check_and_lock(const buf_block_t *block) { return lock_rec_lock(false, LOCK_S, block); }
dberr_t lock_sec_rec_read_check_and_lock(const buf_block_t *block) { return lock_rec_lock(false, LOCK_S, block); }
dberr_t lock_table_low(dict_table_t *table, lock_mode mode, que_thr_t *thr, trx_t *trx) { return DB_SUCCESS; }
dberr_t lock_table(dict_table_t *table, lock_mode mode, que_thr_t *thr) { return lock_table_low(table, mode, thr); }
static void lock_grant(lock_t *lock) { lock_reset_lock_and_trx_wait(lock); }
void lock_release(trx_t *trx) { lock_release_try(trx); }
"""


def tree(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def check(target: str | Path, source: Path, *options: str) -> subprocess.CompletedProcess[str]:
    vprof = Path(sys.executable).with_name("vprof")
    command = [vprof, "targets", "check", target, "--source", source, *options]
    return subprocess.run(command, capture_output=True, text=True, cwd=source)


def said(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout))


def pool(tmp_path: Path, **files: str) -> subprocess.CompletedProcess[str]:
    target = tree(tmp_path / "pool", {"target.toml": POOL}).resolve()
    texts = {"worker.cc": WORKER, "sync/latch.cc": LATCH, "serve.c": SERVE + SERVE_DEFINED}
    named = {name.replace("__", "/").replace("_dot_", "."): text for name, text in files.items()}
    return check(target, tree(tmp_path / "mine", {**texts, **named}), "--format", "json")


def test_functions_and_calls_are_found_in_the_text(tmp_path: Path) -> None:
    rows = said(pool(tmp_path))["entries"]
    found = {(row["entry"], row["function"]): [Path(place).name for place in row["places"]] for row in rows}
    assert found == {
        ("sync acquire", "Latch::wait"): ["latch.cc:1"],
        ("queue dequeue", "db::Worker::run"): ["worker.cc:6"],
        ("root", "serve"): ["serve.c:4"],
    }


def test_a_macro_before_the_name_is_no_part_of_it(tmp_path: Path) -> None:
    serve = "static void * APR_THREAD_FUNC serve(thread_t * task, void *dummy)\n{ return 0; }\n"
    rows = said(pool(tmp_path, serve_dot_c=serve))["entries"]
    assert [Path(place).name for row in rows if row["entry"] == "root" for place in row["places"]] == ["serve.c:1"]


@pytest.mark.parametrize(
    "comment", ["/* in: { a task } */", "// the task: {", "/**/ /* ** */", "/* one\n * two */ // three"]
)
def test_comments_may_stand_before_the_brace(tmp_path: Path, comment: str) -> None:
    """As in InnoDB of MySQL 5.7, which describes each parameter behind it."""
    serve = f"int\nserve(\n/*==*/\n\tint\ttask)\t{comment}\n{{ return task; }}\n"
    rows = said(pool(tmp_path, serve_dot_c=serve))["entries"]
    assert [Path(place).name for row in rows if row["entry"] == "root" for place in row["places"]] == ["serve.c:2"]


def test_a_file_that_only_declares_is_passed_over(tmp_path: Path) -> None:
    rows = said(pool(tmp_path, serve_dot_h="int serve(int task);\n"))["entries"]
    assert [Path(place).name for row in rows if row["entry"] == "root" for place in row["places"]] == ["serve.c:4"]


@pytest.mark.parametrize(
    ("files", "complaint"),
    [
        ({"serve_dot_c": SERVE}, "no function 'serve' is defined"),
        ({"worker_dot_cc": WORKER.replace(".take()", ".get()")}, "no call of 'db::Queue::take' is written in"),
        ({"worker_dot_cc": WORKER.replace("namespace db", "namespace web")}, "no function 'db::Worker::run'"),
        ({"sync__latch_dot_cc": "", "latch_dot_cc": LATCH}, "[[sync]]"),
    ],
    ids=["declared only", "another call", "another namespace", "another file"],
)
def test_what_would_not_match_is_one_line(tmp_path: Path, files: dict[str, str], complaint: str) -> None:
    done = pool(tmp_path, **files)
    assert done.returncode == 2
    assert complaint in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_tree_without_source_is_an_error(tmp_path: Path) -> None:
    done = check("minidb", tmp_path)
    assert done.returncode == 2
    assert "no C or C++ source is there" in done.stderr


def test_entries_of_mysql_for_mariadb(tmp_path: Path) -> None:
    files = {"sql/sql_parse.cc": MARIADB, "sql/threadpool_generic.cc": MARIADB_POOL, "lock0lock.cc": MARIADB_LOCKS}
    files["storage/maria/ma_open.c"] = ""
    edits = [edit for cure in Target.load("mysql").descriptor.cures.values() for edit in cure.edits]
    for file, anchor in {(edit.file, edit.anchor) for edit in edits}:
        files[file] = f"{files.get(file, '')}\n{anchor}\n"
    got = said(check("mysql", tree(tmp_path, files), "--source-version", "10.11.18", "--format", "json"))
    ranges = ("<8", "<10", ">=8,<10", ">=8.0.30,<10", ">=9.7,<9.8")
    others = {f"not for 10.11.18: versions {versions}" for versions in ranges}
    assert {row["why"] for row in got["left_out"]} == {*others, "with --interval statement"}
    assert {row["function"] for row in got["entries"]} >= {"do_command", "queue_put", "tp_callback", "dispatch_command"}
    assert {row["function"] for row in got["entries"] if row["entry"].startswith(("lock", "sync"))} == {
        *("row_mysql_handle_errors", "group_commit_lock::acquire", "lock_rec_lock", "lock_table", "lock_grant"),
        *("lock_clust_rec_modify_check_and_lock", "lock_clust_rec_read_check_and_lock"),
        *("lock_sec_rec_read_check_and_lock", "lock_release"),
    }


@pytest.mark.parametrize(
    ("version", "program"),
    [("5.7.44", "sql/mysqld"), ("8.0.36", "runtime_output_directory/mysqld"), ("10.11.18", "sql/mariadbd")],
)
def test_commands_of_mysql_are_those_of_its_version(tmp_path: Path, version: str, program: str) -> None:
    target = Target.of("mysql", tmp_path, BuildChoices(UserSource(tmp_path, version, [])))
    descriptor = target.descriptor
    assert descriptor.build["programs"] == [program]
    assert f"{{build}}/{program}" in descriptor.server["start"]
    assert any(Path(program).name in step for step in descriptor.build["steps"])
    client = "mariadb" if "maria" in program else "mysql"
    tables = (descriptor.server, descriptor.load, descriptor.workloads)
    asked = [command for table in tables for command in ([*table.get("setup", []), table.get("ready", "")])]
    others = {"mariadb": "mysqladmin", "mysql": "mariadb"}[client]
    assert not any(others in command for command in asked)


def test_the_version_of_a_tree_must_be_said(tmp_path: Path) -> None:
    done = check("mysql", tree(tmp_path, {"sql/sql_parse.cc": ""}))
    assert done.returncode == 2
    assert "--source-version" in done.stderr
    assert len(done.stderr.splitlines()) == 1
