"""`vprof targets new`: what it suggests for a server whose parts are known, and that its text becomes a descriptor."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

VPROF = Path(sys.executable).with_name("vprof")

SERVER = """\
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>
void store_flush(int);
static pthread_mutex_t queue_lock, table_mutex;
static pthread_cond_t ready;
static int jobs[64], count, latch;
static void queue_push(int job) {
  pthread_mutex_lock(&queue_lock);
  jobs[count++] = job;
  pthread_cond_signal(&ready);
  pthread_mutex_unlock(&queue_lock);
}
static int queue_pop(void) {
  pthread_mutex_lock(&queue_lock);
  while (!count) pthread_cond_wait(&ready, &queue_lock);
  int job = jobs[--count];
  pthread_mutex_unlock(&queue_lock);
  return job;
}
static void table_lock(void) { pthread_mutex_lock(&table_mutex); }
static void table_unlock(void) { pthread_mutex_unlock(&table_mutex); }
static void latch_acquire(int *latch) {
  while (__atomic_exchange_n(latch, 1, __ATOMIC_ACQUIRE)) sched_yield();
}
static void latch_release(int *latch) { __atomic_store_n(latch, 0, __ATOMIC_RELEASE); }
static long read_request(int fd, char *line) { return recv(fd, line, 64, 0); }
static void answer(int fd, char *line) { send(fd, line, 64, 0); }
static void serve(int fd) {
  char line[64];
  while (read_request(fd, line) > 0) {
    table_lock();
    latch_acquire(&latch);
    store_flush(line[0]);
    latch_release(&latch);
    table_unlock();
    answer(fd, line);
  }
}
static void *worker_main(void *unused) {
  for (;;) serve(queue_pop());
  return unused;
}
int main(void) {
  pthread_t worker;
  char line[64];
  if (fgets(line, 64, stdin)) return 0;
  pthread_create(&worker, NULL, worker_main, NULL);
  for (;;) queue_push(accept(0, NULL, NULL));
}
"""
MAKEFILE = """\
all: server
server: server.c libstore.so
\t$(CC) -w server.c -L. -lstore -o server
libstore.so: store.c
\tclang-19 -shared store.c -o libstore.so
clean:
\trm -f server libstore.so
"""
GUESSES = """\
  # "serve",  # server.c:31: receives (recv in read_request) and answers (send in answer)
#   main (server.c:46): waits for clients or readiness: accept
#   worker_main (server.c:42): begins a thread: given to pthread_create in main
# [[queue]]  # server.c:16: waits for another thread: pthread_cond_wait
# [[queue]]  # server.c:10: tells another thread: pthread_cond_signal
# [[sync]]  # server.c:25: waits by means of its own: sched_yield
#   table_lock (server.c:23): takes a mutex and leaves it taken: pthread_mutex_lock
#   table_unlock (server.c:24): gives a mutex back: pthread_mutex_unlock
#   fgets (server.c:49): of the C library, called by main
#   store_flush (server.c:36): of another library, called by serve
"""
EXPRESSIONS = {"queue_pop": "return", "queue_push": "job", "latch_acquire": "latch", "serve": "fd + 1"}
"""What only the user knows: by function, what is the task, the object, the interval's id."""
RELEASE = '[[sync]]\nrole = "release"\nfunction = "latch_release"\nobject = "latch"\n'
"""What the call graph cannot show: nothing is called there."""


def decided(text: str) -> str:
    """The scaffold, all of its guesses taken, its capitals filled in."""
    entries = (
        r'# (\[\[\w+\]\]).*\n((?:# \w+ = .*\n)*)# function = "(\w+)"\n((?:# at = .*\n)*)# (id|task|object) = "[A-Z]+"'
    )

    def taken(entry: re.Match[str]) -> str:
        table, before, function, after, key = entry.groups()
        lines = f'{table}\n{before}function = "{function}"\n{after}{key} = "{EXPRESSIONS[function]}"'
        return lines.replace("# ", "")

    return re.sub(entries, taken, text).replace('  # "serve",', '  "serve",') + RELEASE


def new(folder: Path, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return run(folder, VPROF, "targets", "new", *arguments)


def run(folder: Path, *command: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=folder, capture_output=True, text=True)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the server's source, with the server in it."""
    folder = tmp_path_factory.mktemp("src")
    (folder / "server.c").write_text(SERVER)
    (folder / "store.c").write_text("void store_flush(int c) { (void)c; }\n")
    (folder / "Makefile").write_text(MAKEFILE)
    done = run(folder, "make", f"CC={VPROF.with_name('vprof-cc')}")
    assert done.returncode == 0, done.stderr
    return folder


def test_suggestions_are_comments_with_their_place_and_reason(server: Path, tmp_path: Path) -> None:
    done = new(tmp_path, "mine", server / "server")
    assert done.returncode == 0, done.stderr
    text = (tmp_path / "mine/target.toml").read_text()
    assert "".join(f"{line}\n" for line in text.splitlines() if re.search(r"server\.c:\d+", line)) == GUESSES


def test_what_it_writes_is_a_descriptor_once_the_user_has_decided(server: Path, tmp_path: Path) -> None:
    new(tmp_path, "mine", server / "server")
    file = tmp_path / "mine/target.toml"
    file.write_text(decided(file.read_text()))
    built = run(tmp_path, VPROF, "instrument", "--target", "./mine")
    assert built.returncode == 0, built.stderr
    checked = run(tmp_path, VPROF, "targets", "check", "./mine")
    assert checked.returncode == 0, checked.stderr
    assert [line.split()[:3] for line in checked.stdout.splitlines()] == [
        ["interval", "begin", "serve"],
        ["interval", "end", "serve"],
        ["sync", "acquire", "latch_acquire"],
        ["sync", "release", "latch_release"],
        ["queue", "dequeue", "queue_pop"],
        ["queue", "enqueue", "queue_push"],
        ["root", "serve", f"{tmp_path}/.vprof/mine/build/server.c:31"],
    ]


def test_before_that_nothing_applies_and_that_is_said(server: Path, tmp_path: Path) -> None:
    new(tmp_path, "mine", server / "server")
    checked = run(tmp_path, VPROF, "targets", "check", "./mine")
    assert "does not exist: run `vprof instrument --target mine`" in checked.stderr
    assert run(tmp_path, VPROF, "instrument", "--target", "./mine").returncode == 0
    checked = run(tmp_path, VPROF, "targets", "check", "./mine")
    assert checked.returncode == 2
    assert "nothing to check: it has no roots and no entries" in checked.stderr


CXX = """\
#include <condition_variable>
#include <mutex>
#include <sys/socket.h>
#include <thread>
namespace app {
class Queue {
  std::mutex lock_;
  std::condition_variable ready_;
  int fd_ = -1;
 public:
  void push(int fd) { std::lock_guard<std::mutex> held(lock_); fd_ = fd; ready_.notify_one(); }
  int pop() { std::unique_lock<std::mutex> held(lock_); ready_.wait(held, [this] { return fd_ >= 0; }); return fd_; }
};
struct Session {
  virtual long receive(char *line) { return recv(0, line, 64, 0); }
  virtual long answer(char *line) { return send(0, line, 64, 0); }
  void serve() { char line[64]; while (receive(line) > 0) answer(line); }
};
Queue queue;
}
int main() {
  std::thread worker([] { for (;;) app::queue.pop(); });
  app::Session().serve();
  app::queue.push(1);
  worker.join();
}
"""


def test_a_cxx_program(tmp_path: Path) -> None:
    (tmp_path / "app.cpp").write_text(CXX)
    assert run(tmp_path, VPROF.with_name("vprof-c++"), "app.cpp", "-o", "app").returncode == 0
    assert new(tmp_path, "mine", "app").returncode == 0
    text = (tmp_path / "mine/target.toml").read_text()
    assert [line for line in text.splitlines() if re.search(r"app\.cpp:\d+", line)] == [
        '  # "app::Session::serve",  # app.cpp:17: receives (recv in app::Session::receive) and answers (send in '
        "app::Session::answer)",
        "#   main()::lambda@22 (app.cpp:22): begins a thread: given to std::thread in main",
        "# [[queue]]  # app.cpp:12: by its name the counterpart of an enqueue",
        "# [[queue]]  # app.cpp:11: tells another thread: std::condition_variable::notify_one",
    ]


def test_a_descriptor_is_never_overwritten(server: Path, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/target.toml").write_text("# mine\n")
    done = new(tmp_path, "mine", server / "server")
    assert (done.returncode, done.stderr) == (
        2,
        "vprof: mine/target.toml exists: it stays as it is; choose another name\n",
    )
    assert (tmp_path / "mine/target.toml").read_text() == "# mine\n"


@pytest.mark.parametrize(
    ("arguments", "code", "complaint"),
    [
        (("minidb", "server"), 2, "vprof has a target 'minidb': choose another name"),
        (("../up", "server"), 2, "'../up' cannot be a target's name"),
        (("mine", "/bin/true"), 1, "/bin/true: no vprof metadata: build it with CC=vprof-cc"),
        (("mine", "Makefile"), 1, "Makefile: not a program (ELF file)"),
        (("mine", "nowhere"), 1, "nowhere: No such file or directory"),
        (("mine",), 2, "Missing argument 'PROGRAM...'"),
        (("Makefile", "server"), 2, "Makefile: File exists"),
    ],
)
def test_bad_input_is_one_line_and_leaves_nothing(
    server: Path, arguments: tuple[str, ...], code: int, complaint: str
) -> None:
    before = sorted(server.iterdir())
    done = new(server, *arguments)
    assert done.returncode == code
    assert complaint in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert sorted(server.iterdir()) == before


def test_a_program_of_which_no_unit_could_be_rewritten(tmp_path: Path) -> None:
    (tmp_path / "odd.c").write_text("int main(void) { int f(void) { return 0; } return f(); }\n")
    environment = ["env", "VPROF_REAL_CC=gcc"]
    assert run(tmp_path, *environment, VPROF.with_name("vprof-cc"), "odd.c", "-o", "odd").returncode == 0
    done = new(tmp_path, "mine", "odd")
    assert done.returncode == 1
    assert "odd: none of its units could be rewritten; `vprof sites odd` says why" in done.stderr
