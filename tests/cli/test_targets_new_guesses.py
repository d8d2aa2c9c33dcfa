"""`vprof targets new`: threads begin only in what is handed to what makes one; only what waits is a lock."""

import subprocess
import sys
from pathlib import Path

VPROF = Path(sys.executable).with_name("vprof")
WORK = "#define WORK() do { for (int i = 0; i < 3; ++i) sink += rand(); } while (0)\nstatic volatile int sink;\n"

C = (
    """\
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>
void event_set(void *, int, void *(*)(void *), void *);
"""
    + WORK
    + """\
typedef struct { void *(*start)(void *); } task_t;
static int compare(const void *a, const void *b) { WORK(); return *(int *)a - *(int *)b; }
static void on_signal(int number) { WORK(); }
static void *on_event(void *data) { WORK(); return data; }
static void *copied(void *data) { WORK(); return data; }
static void *stored(void *data) { WORK(); return data; }
static void *direct(void *data) { WORK(); return data; }
static void *wrapped(void *data) { WORK(); return data; }
static void child(int number) { WORK(); }
static int make(void *(*body)(void *), void *data) { pthread_t t; return pthread_create(&t, NULL, body, data); }
static int make_again(int n, void *(*body)(void *)) { WORK(); return make(body, NULL) + n; }
static int make_of(task_t *task) { pthread_t t; WORK(); return pthread_create(&t, NULL, task->start, NULL); }
static void spawn(void (*body)(int), int n) { WORK(); if (fork() == 0) body(n); }
static const char *lock_file_name(int n) { WORK(); return n ? "a.lock" : "b.lock"; }
static int block(int n) { WORK(); return syscall(SYS_gettid) + n; }
static void unlock_hint(int n) { WORK(); sched_yield(); }
static int queue_push(int n) { WORK(); return lock_file_name(n)[0]; }
static pthread_mutex_t mutex; static pthread_cond_t cond;
static int queue_pop(void) { WORK(); pthread_mutex_lock(&mutex); pthread_cond_wait(&cond, &mutex); return 0; }
static int slot_take(void) { WORK(); pthread_mutex_lock(&mutex); pthread_cond_wait(&cond, &mutex); return 0; }
static void wake(void) { pthread_mutex_lock(&mutex); pthread_cond_signal(&cond); pthread_mutex_unlock(&mutex); }
static int slot_push(int n) { WORK(); wake(); return n; }
static int latch;
static void latch_take(void) { while (__sync_lock_test_and_set(&latch, 1)) sched_yield(); }
static void futex_take(int *word) { WORK(); syscall(SYS_futex, word, 0, 1, NULL, NULL, 0); }
int main(int n, char **words) {
  int all[3]; pthread_t t; task_t task = {stored};
  qsort(all, 3, sizeof *all, compare); signal(SIGINT, on_signal); event_set(NULL, 0, on_event, copied);
  pthread_create(&t, NULL, (void *(*)(void *))&direct, NULL); make_again(1, wrapped); make_of(&task); spawn(child, 1);
  block(n); unlock_hint(n); queue_push(n); queue_pop(); slot_take(); slot_push(n); latch_take(); futex_take(all);
}
void event_set(void *e, int n, void *(*body)(void *), void *data) { WORK(); body(data); }
"""
)
CXX = (
    "#include <algorithm>\n#include <cstdlib>\n#include <functional>\n#include <future>\n#include <memory>\n"
    "#include <thread>\n#include <vector>\n"
    + WORK
    + """\
namespace app {
static void plain(int) { WORK(); }
static void braces() { WORK(); }
static void moved() { WORK(); }
static void bound(int) { WORK(); }
static void pushed() { WORK(); }
static void pointed() { WORK(); }
static void later() { WORK(); }
static bool less(int a, int b) { WORK(); return a < b; }
struct Pool {
  std::thread member;
  std::vector<std::thread> all;
  std::vector<std::function<void()>> callbacks;
  Pool() : member(&Pool::run, this) { WORK(); }
  void run() { WORK(); }
  void loop() { WORK(); }
  void notify() { WORK(); }
  void grow() { WORK(); all.emplace_back(&Pool::loop, this); }
  void watch() { WORK(); callbacks.emplace_back([this] { WORK(); notify(); }); }
};
}
using namespace app;
int main() {
  std::thread one(plain, 1); std::thread two{braces}; std::thread three; three = std::thread(moved);
  std::thread four(std::bind(bound, 1)); std::vector<std::thread> many; many.push_back(std::thread(pushed));
  auto five = std::make_unique<std::thread>(pointed); auto six = std::async(std::launch::async, later);
  int values[3] = {}; std::sort(values, values + 3, less);
  std::thread seven([&] { WORK(); one.join(); });
  Pool pool; pool.grow(); pool.watch();
}
"""
)


def run(folder: Path, *command: str | Path) -> None:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def proposal(folder: Path, name: str, text: str) -> str:
    (folder / name).write_text(text)
    compiler = "vprof-cc" if name.endswith(".c") else "vprof-c++"
    run(folder, VPROF.with_name(compiler), "-w", name, "-o", "server")
    run(folder, VPROF, "targets", "new", "mine", "server")
    return (folder / "mine/target.toml").read_text()


def section(text: str, title: str) -> list[str]:
    """The lines of a comment that begins so."""
    return text.partition(f"# {title}")[2].partition("\n\n")[0].splitlines()[1:]


def test_threads_begin_in_what_is_handed_to_what_makes_them(tmp_path: Path) -> None:
    lines = section(proposal(tmp_path, "server.c", C), "Threads and processes")
    assert sorted(line.partition(": ")[0].split()[1] for line in lines if line.startswith("#   ")) == [
        "child",
        "direct",
        "wrapped",
    ]
    text = "\n".join(lines)
    assert "given to make, which calls pthread_create, in make_again" not in text  # a parameter there
    assert "begins a thread: given to make_again, which calls make, which calls pthread_create, in main" in text
    assert "begins a process: given to spawn, which calls fork, in main" in text
    assert "# Of what a variable names there, threads are also made in make_of." in text


def test_threads_of_cxx(tmp_path: Path) -> None:
    lines = section(proposal(tmp_path, "server.cpp", CXX), "Threads and processes")
    assert {line.split()[1].removeprefix("app::") for line in lines} == {
        *("plain", "braces", "moved", "bound", "pushed", "pointed", "later", "Pool::run", "Pool::loop"),
        "main()::lambda@37",
    }


def test_a_lock_is_what_waits_and_not_what_is_named_so(tmp_path: Path) -> None:
    text = proposal(tmp_path, "server.c", C)
    entries = {line.split('"')[1] for line in text.splitlines() if line.startswith("# function = ")}
    assert entries & {"latch_take", "futex_take"} == {"latch_take", "futex_take"}
    assert not entries & {"block", "unlock_hint", "lock_file_name", "queue_push"}
    assert {"queue_pop", "slot_take", "slot_push"} <= entries
