"""Probes before bodies come and go one by one while programs run (runtime/src/shared_text.h).

What a process executes is read from its memory and compared with its file, byte by byte.
"""

from __future__ import annotations

import json
import random
import re
import subprocess
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from elftools.elf.elffile import ELFFile
from workshop import PREFIX, Workshop

from vprof.report.recorded import rows
from vprof.session.owned import Session
from vprof.session.plan import Plan
from vprof.trace.chunks import read_chunks
from vprof.trace.reading import load_binary

ENTRY = {"VPROF_PROBES": "entry"}
NONE = Plan.of([])

WORKS = """\
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>
#define KEPT __attribute__((noinline))
KEPT int first(int n) { return n * 3; }
KEPT int second(int n) { return first(n) + 1; }
KEPT static int third(int n) { return second(n) + first(n + 1); }
__attribute__((no_instrument_function)) int main(int count, char **words) {
  (void)words;
  if (count > 1 && fork() > 0) return wait(0) < 0;
  long page = (long)main & -4096;
  printf("%d %lx %d\\n", getpid(), (long)main, mprotect((void *)page, 4096, PROT_READ | PROT_WRITE | PROT_EXEC));
  for (int n; fflush(stdout), scanf("%d", &n) == 1;) printf("%d\\n", third(n));
  return 0;
}
"""


@dataclass
class Running:
    """A program that says a number for each that it is told."""

    file: Path
    pid: int
    main: int  # where it lies
    mprotect: int  # what it returned when the program made its own text writable
    process: subprocess.Popen[str]

    def third(self, n: int) -> None:
        assert self.process.stdin and self.process.stdout
        print(n, file=self.process.stdin, flush=True)
        assert int(self.process.stdout.readline()) == 3 * n + 1 + 3 * (n + 1)

    def changed(self) -> dict[str, list[int]]:
        """The functions whose text is not the file's: which of their bytes."""
        found: dict[str, list[int]] = {}
        for address, place in self._differences():
            found.setdefault(address, []).append(place)
        return found

    def _differences(self) -> Iterator[tuple[str, int]]:
        with self.file.open("rb") as file, Path(f"/proc/{self.pid}/mem").open("rb") as memory:
            elf = ELFFile(file)
            symbols = [
                s for s in elf.get_section_by_name(".symtab").iter_symbols() if s["st_info"]["type"] == "STT_FUNC"
            ]
            [main] = [s["st_value"] for s in symbols if s.name == "main"]
            for segment in elf.iter_segments("PT_LOAD"):
                if not segment["p_flags"] & 1:
                    continue
                memory.seek(segment["p_vaddr"] + self.main - main)
                for i, (own, wanted) in enumerate(zip(memory.read(segment["p_filesz"]), segment.data(), strict=True)):
                    if own != wanted:
                        address = segment["p_vaddr"] + i
                        around = max((s for s in symbols if s["st_value"] <= address), key=lambda s: s["st_value"])
                        yield around.name, address - around["st_value"]

    def maps(self) -> list[str]:
        return Path(f"/proc/{self.pid}/maps").read_text().splitlines()


@contextmanager
def running(session: Session, file: Path, *words: str) -> Iterator[Running]:
    process = subprocess.Popen(
        [file, *words], env=session.environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout
        session.attend(process, NONE, 0.5)
        pid, main, refused = process.stdout.readline().split()
        yield Running(file, int(pid), int(main, 16), int(refused), process)
        assert process.stdin
        process.stdin.close()
        assert process.wait(60) == 0
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()


def built(shop: Workshop, options: str, **sources: str) -> Path:
    shop.write(**sources or {"works_c": WORKS})
    [name] = sources or ["works_c"]
    shop.cc(*options.split(), name.replace("_", "."), "-pthread", "-o", "program", **ENTRY)
    return shop.path / "program"


def calls(trace: Path, session: Session) -> Counter[str]:
    """How often each function's call was recorded, whatever else was on then."""
    file = read_chunks(trace)
    assert file.of("loss") == []
    words = np.concatenate([chunk.words for chunk in file.chunks])
    numbers = (words[words[:, 0] >> np.uint64(60) == 1, 1] >> np.uint64(32)) & np.uint64((1 << 22) - 1)
    names = {number: name for name, _, sites in session.sites.sites() for number in sites}
    return Counter(names[number] for number in map(int, numbers))


@pytest.mark.parametrize(
    "options",
    [
        "-O1",
        "-O1 -fcf-protection=full",
        "-Os -falign-functions=1",
        "-O1 -static",
        "-O1 -static-pie",
        "-O1 -fuse-ld=lld -no-pie",
    ],
)
def test_only_functions_that_are_on_differ_from_the_file(options: str, shop: Workshop) -> None:
    program = built(shop, options + " -fno-optimize-sibling-calls")
    trace = shop.path / "run.trace"
    with Session.start(trace) as session, running(session, program) as works:
        works.third(1)
        assert works.changed() == {}
        session.switch(Plan.of(["second"]))
        works.third(2)
        landing = 4 if "cf-protection" in options else 0
        assert list(works.changed()) == ["second"]
        assert all(landing <= place < landing + 5 for place in works.changed()["second"])
        session.switch(Plan.of(["first", "third"]))
        works.third(3)
        instructions = {name for name, places in works.changed().items() if places != [landing + 4]}
        assert instructions == {"first", "third"}
        session.switch(NONE)
        works.third(4)
        # Of an instruction that does not lie in one word the last byte stays: it is a no-op whatever that is.
        assert [places for places in works.changed().values() if places != [landing + 4]] == []
        assert landing or works.changed() == {}
        assert session.stats()["own_text"] == 0
        session.stop()
    assert calls(trace, session) == {"second": 1, "first": 2, "third": 1}


def test_who_writes_into_its_code_has_pages_of_its_own(shop: Workshop) -> None:
    """A debugger's breakpoint is nobody else's. The page is not switched any more."""
    program = built(shop, "-O1 -fno-optimize-sibling-calls")
    trace = shop.path / "run.trace"
    with Session.start(trace) as session, running(session, program) as one, running(session, program) as other:
        assert [line for line in one.maps() if line.endswith("/text")]
        assert one.mprotect == 0  # as without a session
        session.switch(Plan.of(["second"]))
        with Path(f"/proc/{one.pid}/mem").open("r+b", buffering=0) as memory:
            memory.seek(one.main)
            memory.write(b"\xcc")
        assert (set(one.changed()), set(other.changed())) == ({"main", "second"}, {"second"})
        session.switch(Plan.of(["first"]))
        assert (set(one.changed()), set(other.changed())) == ({"main", "second"}, {"first"})
        for works in one, other:
            works.third(1)
        session.stop()
    assert calls(trace, session) == {"first": 2}


def test_all_processes_are_switched_at_once(shop: Workshop) -> None:
    """Two of one program, and a child of a third by fork."""
    program = built(shop, "-O1 -fno-optimize-sibling-calls")
    trace = shop.path / "run.trace"
    with (
        Session.start(trace) as session,
        running(session, program) as one,
        running(session, program) as other,
        running(session, program, "fork") as child,
    ):
        assert child.pid != child.process.pid
        for wanted in ({"first"}, {"first", "third"}, set(), {"second"}):
            session.switch(Plan.of(sorted(wanted)))
            for works in one, other, child:
                assert set(works.changed()) == wanted
                works.third(1)
        session.stop()
    assert calls(trace, session) == {"first": 3 * 2 * 2, "third": 3, "second": 3}


EXEC = """\
#include <dlfcn.h>
#include <stdio.h>
#include <unistd.h>
__attribute__((noinline)) int before(int n) { return n + 1; }
int main(int count, char **words) {
  void *module = dlopen("./module.so", RTLD_NOW);
  int n = ((int (*)(int))dlsym(module, "outer"))(before(count));
  if (count < 4) execl(words[0], words[0], "", count > 1 ? "" : (char *)0, count > 2 ? "" : (char *)0, (char *)0);
  printf("%d\\n", n);
  return 0;
}
"""


def test_programs_and_libraries_that_come_again_find_their_text(shop: Workshop) -> None:
    shop.write(module_c="int outer(int n) { return 2 * n; }\n")
    shop.cc("-O1", "-fPIC", "-shared", "module.c", "-o", "module.so", **ENTRY)
    program = built(shop, "-O1", exec_c=EXEC)
    trace = shop.path / "run.trace"
    with Session.start(trace) as session:
        process = subprocess.Popen(
            [program], cwd=shop.path, env=session.environment(), stdout=subprocess.PIPE, text=True
        )
        session.attend(process, Plan.of(["before", "outer"]))
        assert process.communicate() == ("10\n", None)
        assert session.stats()["own_text"] == 0
        header = (session.directory / "text").open("rb").read(192)
        assert int.from_bytes(header[160:164], "little") == 2
        session.stop()
    assert calls(trace, session) == {"before": 4, "outer": 4}


_FUNCTIONS = "".join(
    f'KEPT static long f{n}(long x, double d) {{ __asm__ volatile(""); return x * {n} + (long)d; }}\n'
    for n in range(10, 20)
)
LOAD = """\
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>
#define KEPT __attribute__((noinline))
"""
LOAD += (
    _FUNCTIONS
    + """\
static long (*const table[10])(long, double) = {f10, f11, f12, f13, f14, f15, f16, f17, f18, f19};
KEPT static long in_handler(long n) { return n + 1; }
KEPT static long always(long n) {
  long sum = 0;
  for (long i = 0; i < 40; i++) {
    long function = (n + i * 7) % 10;
    sum += table[function](i, 2.5) - i * (function + 10) - 2;
  }
  return sum;
}
static volatile int handled;
__attribute__((no_instrument_function)) static void handle(int number) { handled += in_handler(number) == number + 1; }
__attribute__((no_instrument_function)) static void *work(void *seconds) {
  long rounds = 0, wrong = 0;
  for (time_t end = time(0) + (long)seconds; time(0) < end; rounds++) {
    wrong += always(rounds);
    nanosleep(&(struct timespec){0, 20000}, 0);
  }
  printf("%ld %ld\\n", rounds, wrong);
  return 0;
}
__attribute__((no_instrument_function)) int main(int count, char **words) {
  pthread_t threads[4];
  signal(SIGALRM, handle);
  setitimer(ITIMER_REAL, &(struct itimerval){{0, 1000}, {0, 1000}}, 0);
  for (int i = 0; i < 4; i++) pthread_create(&threads[i], 0, work, (void *)(long)(count > 1 ? atoi(words[1]) : 1));
  for (int i = 0; i < 4; i++) pthread_join(threads[i], 0);
  return !handled;
}
"""
)


@pytest.mark.parametrize("options", ["-O2", "-O2 -fcf-protection=full"])
def test_switching_under_load_loses_nothing(options: str, shop: Workshop) -> None:
    """Each call of a function that stays on is recorded, and all others do what they do."""
    program, seconds = built(shop, options, load_c=LOAD), 3
    trace = shop.path / "run.trace"
    chosen = random.Random(1)
    with Session.start(trace) as session:
        process = subprocess.Popen(
            [program, str(seconds)], env=session.environment(), stdout=subprocess.PIPE, text=True
        )
        numbers: list[int] = []
        while len(numbers) < 11:  # on a busy machine it joins late
            session.attend(process, Plan.of(["always"]), 0.3)
            assert process.poll() is None
            numbers = session.sites.numbers(Plan.of(["f1?", "in_handler"]))
        flips = 0
        while process.poll() is None:
            session.flip(chosen.choice(["on", "off"]), sorted(chosen.sample(numbers, 5)))
            flips += 1
        out = [tuple(map(int, line.split())) for line in process.communicate()[0].splitlines()]
        assert process.returncode == 0
        session.stop()
    assert [wrong for _, wrong in out] == [0, 0, 0, 0]
    recorded = calls(trace, session)
    assert recorded["always"] == sum(rounds for rounds, _ in out)
    assert flips > 500
    assert all(0 < recorded[f"f{n}"] < 4 * recorded["always"] for n in range(10, 20))


DIFFERENT = """
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#define LOW(n) offsetof(struct seccomp_data, args[n])
/* What a policy of SELinux without execute for the session's files, execmem and execmod says: code is only what the
   loader maps (it says MAP_DENYWRITE, which means nothing else), and nothing becomes code. libvprof is not to see that
   there is a filter: it would make hardly any system call. */
__attribute__((no_instrument_function)) static int refuse(void) {
  static struct sock_filter rules[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mprotect, 3, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mmap, 0, 4),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, LOW(3)),
      BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, MAP_DENYWRITE, 2, 0),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, LOW(2)),
      BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, PROT_EXEC, 1, 0),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EACCES)};
  struct sock_fprog filter = {sizeof rules / sizeof *rules, rules};
  int failed = prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  long result = SYS_prctl;
  __asm__ volatile("syscall" : "+a"(result)
                   : "D"(PR_SET_SECCOMP), "S"(SECCOMP_MODE_FILTER), "d"(&filter) : "rcx", "r11", "memory");
  return failed || result;
}
KEPT int unused(int n) { return n - 1; }
__attribute__((constructor(101), no_instrument_function)) static void differ(void) {
  const char *how = getenv("DIFFER");
  if (how && !strcmp(how, "environment")) unsetenv("VPROF_SESSION");
  if (how && !strcmp(how, "text")) (void)!pwrite(open("/proc/self/mem", O_RDWR), "\\xcc", 1, (long)unused + 8);
  if (how && !strcmp(how, "policy") && refuse()) abort();
}
"""


@pytest.mark.parametrize("how", ["environment", "text", "policy"])
def test_a_process_whose_text_cannot_be_shared_has_jumps_of_its_own(
    how: str, shop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It does not find the session any more, its text is not the file's (a debugger's breakpoint), or it may not
    execute the session's."""
    program = built(shop, "-O1 -fno-optimize-sibling-calls", works_c=WORKS + DIFFERENT)
    monkeypatch.setenv("DIFFER", how)
    trace = shop.path / "run.trace"
    with Session.start(trace) as session, running(session, program) as works:
        assert {"first", "second", "third", "unused"} == set(works.changed())
        works.third(1)
        session.switch(Plan.of(["second"]))
        works.third(2)
        assert session.stats()["own_text"] == 1
        monkeypatch.delenv("DIFFER")
        with running(session, program) as other:
            assert list(other.changed()) == ["second"]
        session.stop()
    assert calls(trace, session) == {"second": 1}
    told = load_binary(trace)
    assert "times a process could not share its code, where probes before bodies cost more: 1" in told.notes
    assert [one.before_bodies for one in told.recorded] == [4]
    assert ["probes", "4 before bodies"] in rows(told.recorded)


def test_what_is_attached_and_dormant_stays_so_after_the_session(shop: Workshop) -> None:
    program = built(shop, "-O1")
    with Session.start(None) as session, running(session, program) as works:
        session.switch(Plan.of(["*"]))
        assert works.changed()
        session.stop()
        assert works.changed() == {}
        works.third(5)


EXPANDED = """\
#include <string.h>
static int big(int n, const char *s) {
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++) n += (s[i] ^ s[j]) * (s[i] + s[j]) - strcmp(s + i, s + j) * (i - j);
  return n;
}
static int little(int n) { return n < 2 ? n : n * n; }
int passes(int n) { return little(n); }
static int asked_for(int n) { return n + 7; }
int counts(int n) { return n < 1 ? 0 : n + counts(n - 1); }
int main(int count, char **words) {
  return big(count, words[0]) + little(count) + passes(count) + asked_for(count) + counts(3) == 0;
}
"""


def test_each_call_is_seen_also_of_what_compilers_expand(shop: Workshop) -> None:
    """What does little has its probe in the body, and in its copies; the others are never expanded, nor a loop."""
    shop.write(descriptor_json='{"probe": ["*", "asked_*"]}', expanded_c=EXPANDED)
    shop.cc("-O2", "--emit-tree", "tree", "expanded.c", "-o", "program", VPROF_DESCRIPTOR="descriptor.json", **ENTRY)
    text = (shop.path / f"tree{shop.path}/expanded.c").read_text()
    wrapped = {"big", "passes", "asked_for", "counts", "main"}
    assert set(re.findall(r"(\w+)\([^()]*\) __VPROF_WRAPPED", text)) == wrapped
    trace = shop.path / "run.trace"
    with Session.start(trace) as session:
        process = subprocess.Popen([shop.path / "program"], env=session.environment())
        session.attend(process, Plan.of(["*"]))
        session.stop()
    assert calls(trace, session) == dict.fromkeys(wrapped, 1) | {"little": 2, "counts": 4}


COPIED = """\
int little(int n) { return n < 2 ? n : n * n; }
int main(int count, char **) {
  int sum = little(count + 1);
  [[clang::always_inline]] sum += little(count);
  return sum == 0;
}
"""


def test_the_call_graph_says_where_functions_are_expanded(shop: Workshop) -> None:
    """Only where a call asks for it: that is stronger than what the probe says."""
    shop.write(copied_cpp=COPIED)
    shop.cxx("-O2", "copied.cpp", "-o", "program", **ENTRY)
    program, command = shop.path / "program", [PREFIX / "bin/vprof", "callgraph"]
    report = json.loads(shop.run(*command, program, "-f", "*", "--format", "json").stdout)
    assert {function["name"]: function.get("expanded") for function in report["functions"]} == {"main": 0, "little": 1}
    assert "expanded in 1 caller: calls there are not seen" in shop.run(*command, program, "-f", "little").stdout
    assert "1 are expanded in callers, 0 of them wherever called: calls there are not seen" in " ".join(
        shop.run(*command, program).stdout.split()
    )
    built(shop, "-O2")
    assert "expanded" not in shop.run(*command, program).stdout
