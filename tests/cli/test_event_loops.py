"""`vprof targets new`: where requests begin and end in programs that wait for events and dispatch them."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

VPROF = Path(sys.executable).with_name("vprof")
HEAD = """\
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
static volatile int sink;
#define WORK() do { for (int i = 0; i < 3; ++i) sink += rand(); } while (0)
"""
LOOP = """
static void on_event(int fd);
int main() {
  struct epoll_event events[8];
  for (;;) for (int n = epoll_wait(3, events, 8, -1), i = 0; i < n; ++i) on_event(events[i].data.fd);
}
"""
REQUEST = (
    HEAD
    + """
typedef struct { int fd, size; char line[64]; } srv_request_t;
static srv_request_t only;
static void srv_free_request(srv_request_t *r) { WORK(); r->fd = 0; }
static void srv_finish_request(srv_request_t *r) { WORK(); send(r->fd, r->line, 64, 0); srv_free_request(r); }
static void srv_process_request_header(srv_request_t *r) { WORK(); r->size++; }
static void srv_process_request(srv_request_t *r) { WORK(); srv_process_request_header(r); srv_finish_request(r); }
static int srv_read_request(srv_request_t *r) { WORK(); return recv(r->fd, r->line, 64, 0); }
static void on_event(int fd) { WORK(); only.fd = fd; if (srv_read_request(&only) > 0) srv_process_request(&only); }
"""
    + LOOP
)
CLIENT = (
    HEAD
    + """
struct client { int fd; char line[64]; };
static struct client only;
static void writeToClient(struct client *c) { WORK(); send(c->fd, c->line, 64, 0); }
static void get(struct client *c) { WORK(); c->line[0]++; }
static void processCommand(struct client *c) { WORK(); get(c); writeToClient(c); }
static void freeClient(struct client *c) { WORK(); c->fd = -1; }
static void on_event(int fd) {
  WORK();
  only.fd = fd;
  if (recv(fd, only.line, 64, 0) > 0) processCommand(&only);
  else freeClient(&only);
}
"""
    + LOOP
)
CXX = (
    HEAD
    + """
#include <memory>
namespace web {
namespace {
struct Stream { int fd; Stream(int f) : fd(f) { WORK(); } ~Stream() { WORK(); } };
void prepare_response(Stream &stream) { WORK(); send(stream.fd, "", 1, 0); }
void on_headers(int fd) { WORK(); auto stream = std::make_unique<Stream>(fd); prepare_response(*stream); }
}
}
static void on_event(int fd) { WORK(); char line[64]; if (recv(fd, line, 64, 0) > 0) web::on_headers(fd); }
"""
    + LOOP
)
UNNAMED = CLIENT.replace("struct client", "struct thing").replace("Client", "It")


def proposed(folder: Path, text: str, name: str = "server.c") -> str:
    (folder / name).write_text(text)
    compiler = VPROF.with_name("vprof-cc" if name.endswith(".c") else "vprof-c++")
    for command in ([compiler, "-w", name, "-o", "server"], [VPROF, "targets", "new", "mine", "server"]):
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
    return (folder / "mine/target.toml").read_text()


def candidates(text: str) -> list[tuple[str, str, str]]:
    """(event, function, id) of each that stands in a comment with its place and reason."""
    entry = r'# \[\[interval\]\]  # server\.c\w*:\d+: .+\n# event = "(\w+)"\n# function = "(.+)"\n# id = "(.+)"'
    return re.findall(entry, text)


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        (
            "server.c",
            REQUEST,
            [
                ("begin", "srv_process_request", "(unsigned long)r"),
                ("end", "srv_free_request", "(unsigned long)r"),
                ("end", "srv_finish_request", "(unsigned long)r"),
            ],
        ),
        (
            "server.c",
            CLIENT,
            [("begin", "processCommand", "(unsigned long)c"), ("end", "writeToClient", "(unsigned long)c")],
        ),
        (
            "server.cpp",
            CXX,
            [
                ("begin", "web::(anonymous namespace)::Stream::Stream", "(unsigned long)this"),
                ("begin", "web::(anonymous namespace)::prepare_response", "(unsigned long)&stream"),
                ("end", "web::(anonymous namespace)::Stream::~Stream", "(unsigned long)this"),
            ],
        ),
    ],
    ids=["request", "client", "class"],
)
def test_requests_of_an_event_loop(tmp_path: Path, name: str, text: str, expected: list[tuple[str, str, str]]) -> None:
    assert candidates(proposed(tmp_path, text, name)) == expected


def test_the_candidates_are_entries_that_the_rewriter_takes(tmp_path: Path) -> None:
    text = proposed(tmp_path, CXX, "server.cpp")
    blocks = re.findall(r"(?:# .*\n)+?# id = .*\n", text[text.index("# [[interval]]") :])
    taken = "".join(block.replace("\n# ", "\n").removeprefix("#\n").lstrip("# ") for block in blocks)
    (tmp_path / "mine/target.toml").write_text(
        'name = "mine"\n[source]\nkind = "tree"\npath = ".."\n'
        '[build]\nsteps = ["{cxx} -w {source}/server.cpp -o server"]\nprograms = ["server"]\n' + taken
    )
    done = subprocess.run([VPROF, "instrument", "--target", "./mine"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "matched   3 descriptor entries, all of them" in done.stdout


def test_where_it_cannot_be_told_that_is_said(tmp_path: Path) -> None:
    text = proposed(tmp_path, UNNAMED)
    assert candidates(text) == []
    assert "# Events are waited for here, and where requests begin and end cannot be told: no type named as" in text


def test_a_program_without_an_event_loop_gets_no_candidates(tmp_path: Path) -> None:
    text = proposed(tmp_path, REQUEST.replace("epoll_wait(3, events, 8, -1)", "accept(3, NULL, NULL)"))
    assert candidates(text) == []
    assert "Events are waited for" not in text
