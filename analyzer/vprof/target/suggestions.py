"""What a descriptor may have to say of a program that nobody described yet: guesses from its call graph, with reasons.

    units, programs -> Suggestions: roots, loops, threads, queues, locks, unseen; the likeliest first

A guess is never applied: scaffold.py writes it as a comment. The graph knows neither loops nor arguments, so whether a
descriptor is a client's and what a lock protects is for the reader; C++ locks of system headers are not in it.
"""

from __future__ import annotations

import re
import tomllib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from vprof.installed import annotation_file, native
from vprof.program import callgraph
from vprof.program.libraries import exports, imports
from vprof.program.metadata import Unit, distinct
from vprof.target.event_loops import requests
from vprof.target.thread_starts import FORKS, ThreadStarts
from vprof.target.written_calls import Texts

RECEIVE = {"read", "readv", "recv", "recvfrom", "recvmsg", "recvmmsg"}
ANSWER = {"write", "writev", "send", "sendto", "sendmsg", "sendmmsg", "sendfile"}
LOOPS = {"accept", "accept4", "poll", "ppoll", "select", "pselect", "epoll_wait", "epoll_pwait", "epoll_pwait2"}
"""Who waits for clients does so in a loop, nearly always."""
DISPATCHERS = {"epoll_wait", "epoll_pwait", "epoll_pwait2", "poll", "ppoll", "select", "pselect", "kevent"} | {
    *("event_base_loop", "event_base_dispatch", "event_dispatch", "event_loop", "ev_run", "ev_loop", "uv_run"),
    *("io_uring_wait_cqe", "io_uring_submit_and_wait"),
}
"""Wait for events, which the caller or a library hands to functions of the program."""
LIBRARY = {
    "in": {"SSL_read", "SSL_read_ex", "gnutls_record_recv", "bufferevent_read", "evbuffer_read", "uv_read_start"},
    "out": {"SSL_write", "SSL_write_ex", "gnutls_record_send", "bufferevent_write", "evbuffer_write", "uv_write"},
}
"""What libraries receive and send by."""
LOCKS = ("mutex", "read-write lock", "spin lock", "semaphore")
EVENTS = ("condition variable", "semaphore")
TRIES = {
    "mutex": {"pthread_mutex_trylock", "mtx_trylock"},
    "read-write lock": {"pthread_rwlock_tryrdlock", "pthread_rwlock_trywrlock"},
    "spin lock": {"pthread_spin_trylock"},
    "semaphore": {"sem_trywait"},
}
"""Take a lock as well, and never wait: so they are in no annotation."""
CXX_EVENTS = {
    "acquire": {"std::condition_variable::wait"},
    "release": {"std::condition_variable::notify_one", "std::condition_variable::notify_all"},
}
_ATOMICS = re.compile(
    r"\b(?:__sync_|__atomic_|atomic_|\w*(?:cmp_?set|cmp_?xchg|compare_exchange|compare_and_swap|test_and_set|xchg|trylock))"
    r"|\.(?:exchange|load|compare_exchange_\w+|fetch_\w+)\("
)
OWN_WAITS = {"sched_yield": _ATOMICS, "syscall": re.compile(r"\bsyscall\s*\(\s*\w*futex")}
"""Called between two tries for a lock that the program built itself; or a futex. Each with what else the function then
writes: other system calls are no waits, and who only yields takes nothing."""
_CXX_LOCKS = re.compile(r"\b(?:lock_guard|unique_lock|scoped_lock|shared_lock|condition_variable)\b|\.(?:lock|wait)\(")
"""What the call graph lacks: locks of system headers."""
_DEEP = 3
"""Calls down to which a function that synchronises is looked for."""
BLOCKING = {
    *("fread", "fgets", "getline", "fwrite", "fputs", "fflush", "system", "popen", "pclose", "lockf", "sync"),
    *("gethostbyname", "getnameinfo", "getpwnam", "syslog", "vsyslog", "dlopen", "aio_suspend", "io_getevents"),
}
"""Functions of the C library that may block in calls of its own, which the runtime does not see."""
_PUTS = {"push", "enqueue", "enq", "submit", "post"}
_TAKES = {"pop", "dequeue", "deq", "take"}
MANY = 20
"""Functions: a recursive group of more has no lowest one."""
_SYSTEM = ("std::", "__", "operator")
_WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")


@dataclass(frozen=True)
class Suggestion:
    """A function, where it is defined (or called, if the program does not define it), and why it is suggested.

    For queues and locks: the `role` an entry would have, and whether it is likely that there should be one. For
    requests: the event as `role`, and the `id`.
    """

    function: str
    place: str
    reason: str
    role: str = ""
    likely: bool = False
    id: str = ""


class Suggestions:
    """What is guessed of programs and their units."""

    def __init__(self, units: Iterable[Unit], programs: Sequence[Path]) -> None:
        self._units = list(units)
        self._graph = callgraph.build(self._units)
        self._names = self._graph.names
        self._taken = [pair for unit in self._units for pair in unit.taken]
        functions = list(distinct(self._units))
        self._texts = Texts(function.file for function in functions)
        self._files: dict[str, tuple[list[str], list[int]]] = {}
        foreign = {name for name, place in zip(self._graph.names, self._graph.definitions, strict=True) if not place}
        self._starts = ThreadStarts(functions, foreign, self._texts)
        self._own = [f for f, place in enumerate(self._graph.definitions) if place]
        self._sited = {f for f in self._own if self._graph.sited[f] and self._names[f] != "main"}
        self._imports = {name for program in programs for name in imports(program)}
        self._callers: dict[int, list[int]] = defaultdict(list)
        for f in self._own:
            for g in {*self._graph.calls[f], *self._graph.candidates[f]}:
                self._callers[g].append(f)

    def roots(self) -> list[Suggestion]:
        """The lowest functions that receive and answer by different calls, the nearest to these first.

        Never main, which is no request's, nor large recursive groups, whose calls tell nothing apart.
        """
        edges = self._with_pointers()
        receive, answer = (self._steps(edges, names) for names in (RECEIVE, ANSWER))
        lowest: list[int] = []
        covered: set[int] = set()
        for members in callgraph.components(edges):
            below = {g for f in members for g in edges[f]}
            both = [f for f in members if f in self._sited and _by_different(edges[f], receive, answer)]
            if both and not below & covered and len(members) <= MANY:
                lowest += both
            if both or below & covered:
                covered.update(members)
        lowest.sort(key=lambda f: (_length(receive, f) + _length(answer, f), self._names[f]))
        return [
            self._suggestion(f, f"receives ({self._end(receive, f)}) and answers ({self._end(answer, f)})")
            for f in lowest
        ]

    def loops(self) -> list[Suggestion]:
        """Functions that wait for clients: accept and dispatch loops."""
        return self._most_called(
            (f, f"waits for clients or readiness: {', '.join(found)}")
            for f in self._own
            if (found := sorted(self._called(f) & LOOPS))
        )

    def requests(self) -> tuple[list[Suggestion], str]:
        """Where a request may begin and end in a program that dispatches events: candidates with the id as reason,
        `role` begin or end; and why there are none. Nothing of both for other programs."""
        if not any(self._called(f) & DISPATCHERS for f in self._own):
            return [], ""
        edges = self._with_pointers()
        ways = [self._steps(edges, {*names, *LIBRARY[role]}) for role, names in (("in", RECEIVE), ("out", ANSWER))]
        receives, answers = (self._around(edges, steps) for steps in ways)
        found = requests({f: self._names[f] for f in self._own}, self._text, self._graph.calls, receives, answers)
        rows = [("begin", place) for place in found.begins] + [("end", place) for place in found.ends]
        return [replace(self._suggestion(p.function, p.reason, role), id=p.id) for role, p in rows], found.why_not

    def threads(self) -> list[Suggestion]:
        """Functions that a thread or process begins with: those handed to what makes one."""
        found = self._starts.found
        return self._most_called((f, found[place]) for f, place in enumerate(self._graph.definitions) if place in found)

    def untold_threads(self) -> list[str]:
        """A line of what makes threads of functions that cannot be told; none if there is none."""
        untold = sorted(self._starts.untold)
        lines = [f"Of what a variable names there, threads are also made in {_few(untold)}."] if untold else []
        forks = sorted(
            self._names[f] for f in self._own if self._called(f) & FORKS and self._names[f] not in self._starts.wrap
        )
        return lines + (
            [f"Processes are forked in {_few(forks)}: what they begin with is called there."] if forks else []
        )

    def queues(self) -> list[Suggestion]:
        """Functions that tell or wait for somebody (condition variable, semaphore), or lock and are named as a queue's.

        Their counterparts by name as well.
        """
        found = {f: hint for f in self._own if (hint := self._queue(f))}
        families = {(_family(self._names[f]), role) for f, (_, role) in found.items()}
        for f in set(self._own) - set(found):
            role = _queue_role(self._names[f])
            other = "dequeue" if role == "enqueue" else "enqueue"
            if role and (_family(self._names[f]), other) in families and self._synchronises(f):
                found[f] = (f"by its name the counterpart of an {other}", role)
        locks = {f for f in self._own if (lock := self._lock(f)) and lock[2]}
        rows = self._most_called((f, *hint) for f, hint in found.items() if f not in locks)
        return [replace(row, likely=bool(_queue_role(row.function))) for row in rows]

    def locks(self) -> list[Suggestion]:
        """Functions that take something and leave it taken, those that only give it back, and those that wait by
        means of their own (likely)."""
        return self._most_called((f, *hint) for f in self._own if (hint := self._lock(f)))

    def unseen(self) -> list[Suggestion]:
        """Functions without source in which a thread may block, and which are in no annotation; first those that main
        or what a thread begins with calls."""
        known = set(exports(native("lib/vprof/libvprof.so")))
        outermost = {row.function for row in self.threads()} | {"main"}
        rows = []
        for f, name in enumerate(self._names):
            callers = sorted(self._callers[f], key=lambda g: (self._names[g] not in outermost, self._names[g]))
            why = "" if self._graph.definitions[f] or name in known or not callers else self._foreign(name)
            if why:
                called = [self._names[g] for g in callers]
                row = Suggestion(name, self._place_of_call(callers[0], f), f"{why}, called by {_few(called)}")
                rows.append((called[0] not in outermost, -len(called), row))
        return [row for *_, row in sorted(rows, key=lambda row: (row[0], row[1], row[2].function))]

    def _queue(self, f: int) -> tuple[str, str] | None:
        told, waited = (self._evidence(f, EVENTS, role) | self._called(f) & CXX_EVENTS[role] for role in _TOLD)
        if told and not waited:
            return f"tells another thread: {', '.join(sorted(told))}", "enqueue"
        if waited and not told:
            return f"waits for another thread: {', '.join(sorted(waited))}", "dequeue"
        role = _queue_role(self._names[f])
        locked = self._evidence(f, LOCKS, "acquire") | self._evidence(f, LOCKS, "release")
        return (f"by its name, and it locks: {', '.join(sorted(locked))}", role) if role and locked else None

    def _lock(self, f: int) -> tuple[str, str, bool] | None:
        called = self._called(f)
        if own := [name for name in sorted(called & OWN_WAITS.keys()) if OWN_WAITS[name].search(self._text(f))]:
            return f"waits by means of its own: {', '.join(own)}", "acquire", True
        for kind in LOCKS:
            taken = called & (self._primitives[kind, "acquire"] | TRIES[kind])
            given = called & self._primitives[kind, "release"]
            if taken and not given:
                return f"takes a {kind} and leaves it taken: {', '.join(sorted(taken))}", "acquire", False
            if given and not taken:
                return f"gives a {kind} back: {', '.join(sorted(given))}", "release", False
        return None

    def _evidence(self, f: int, kinds: Sequence[str], role: str) -> set[str]:
        """The primitives of these classes that f calls, itself or by a function that does no more."""
        wanted = {name for kind in kinds for name in self._primitives[kind, role]}
        wrapped = (g for g in self._graph.calls[f] if len(self._graph.calls[g]) == 1)
        return (self._called(f) | {name for g in wrapped for name in self._called(g)}) & wanted

    def _synchronises(self, f: int) -> bool:
        """Whether a function, or what it calls, locks, waits for or tells somebody."""
        known = {name for names in self._primitives.values() for name in names} | {"syscall"}
        below = {f}
        for _ in range(_DEEP):
            below |= {g for h in below for g in self._graph.calls[h]}
        return any(self._names[g] in known for g in below) or any(
            _CXX_LOCKS.search(text) or _ATOMICS.search(text) for g in below if (text := self._text(g))
        )

    def _text(self, f: int) -> str:
        """What the file says from a function's name to the next function; "" if it cannot be read."""
        file, _, line = self._graph.definitions[f].rpartition(":")
        if not file:
            return ""
        lines, begins = self._file(file)
        end = next((begin for begin in begins if begin > int(line)), len(lines) + 1)
        return "\n".join(lines[int(line) - 1 : end - 1])

    def _file(self, file: str) -> tuple[list[str], list[int]]:
        """The lines of a file, and those in which functions begin."""
        if file not in self._files:
            text = self._texts.texts.get(file, b"").decode("utf-8", "replace")
            begins = {
                int(line) for place in self._graph.definitions for f, _, line in [place.rpartition(":")] if f == file
            }
            self._files[file] = text.splitlines(), sorted(begins)
        return self._files[file]

    def _foreign(self, name: str) -> str:
        """Why a thread may block in a function of somebody else."""
        if name in BLOCKING:
            return "of the C library"
        foreign = name in self._imports or "::" in name
        return "of another library" if foreign and not name.startswith(_SYSTEM) else ""

    @cached_property
    def _primitives(self) -> dict[tuple[str, str], set[str]]:
        """The functions of each class and role in annotations/."""
        known: dict[tuple[str, str], set[str]] = defaultdict(set)
        for row in tomllib.loads(annotation_file("pthread").read_text(encoding="utf-8"))["primitive"]:
            known[row["class"], row["role"]].update(row["functions"])
        return known

    def _called(self, f: int) -> set[str]:
        return {self._names[g] for g in self._graph.calls[f]}

    def _with_pointers(self) -> callgraph.Graph:
        """The calls, error and exit functions left out; behind the functions a node for each type called through a
        pointer, with what it may mean: one call through a pointer is one call, whatever it may mean."""
        types: dict[str, int] = {}
        edges = [[g for g in calls if not self._graph.ignored[g]] for calls in self._graph.calls]
        for unit in self._units:
            for function in unit.functions:
                for type_, _ in function.indirect:
                    node = types.setdefault(type_, len(self._names) + len(types))
                    edges[self._graph.number[function.id]].append(node)
        meant: dict[str, list[int]] = defaultdict(list)
        for id_, type_ in self._taken:
            meant[type_].append(self._graph.number[id_])
        virtual = [[*calls, *also] for calls, also in zip(edges, self._graph.virtual, strict=True)]
        return [sorted(set(calls)) for calls in [*virtual, *(meant[type_] for type_ in types)]]

    def _steps(self, edges: callgraph.Graph, names: set[str]) -> dict[int, int]:
        """Of each function above one of these, the first step of a shortest way to it; one of these leads to itself."""
        callers: callgraph.Graph = [[] for _ in edges]
        for f, calls in enumerate(edges):
            for g in calls:
                callers[g].append(f)
        queue = [f for f, name in enumerate(self._names) if name in names and not self._graph.definitions[f]]
        steps = {f: f for f in queue}
        for g in queue:
            new = [f for f in callers[g] if f not in steps]
            steps.update(dict.fromkeys(new, g))
            queue += new
        return steps

    def _around(self, edges: callgraph.Graph, steps: dict[int, int]) -> dict[int, int]:
        """How many calls lead from each function to where the steps end, or else to it from the function there: what
        reads hands on what it has read."""
        distance = {f: _length(steps, f) for f in steps}
        queue = [f for f in self._own if distance.get(f, 0) == 2]
        seen = dict.fromkeys(queue, 0)
        for f in queue:
            new = [g for g in edges[f] if g not in seen]
            seen.update(dict.fromkeys(new, seen[f] + 1))
            queue += new
        return seen | distance

    def _end(self, steps: dict[int, int], f: int) -> str:
        """Where a way ends: "read in tcp_read"."""
        *path, last = (g for g in _way(steps, f) if g < len(self._names))
        return f"{self._names[last]} in {self._names[path[-1]]}"

    def _place_of_call(self, caller: int, callee: int) -> str:
        for unit in self._units:
            for function in unit.functions:
                if self._graph.number[function.id] == caller:
                    for id_, line in function.calls:
                        if self._graph.number[id_] == callee:
                            return f"{function.file}:{line}"
        return self._graph.definitions[caller]

    def _most_called(
        self, rows: Iterable[tuple[int, str] | tuple[int, str, str] | tuple[int, str, str, bool]]
    ) -> list[Suggestion]:
        """Suggestions: function, reason and what more there is to say."""
        ordered = sorted(rows, key=lambda row: (-len(self._callers[row[0]]), self._names[row[0]], row[1]))
        return [self._suggestion(*row) for row in ordered]

    def _suggestion(self, f: int, reason: str, role: str = "", likely: bool = False) -> Suggestion:
        return Suggestion(self._names[f], self._graph.definitions[f], reason, role, likely)


_TOLD = ("release", "acquire")


def _by_different(calls: list[int], some: dict[int, int], others: dict[int, int]) -> bool:
    """Whether one call leads to some, and another one to others."""
    one, two = some.keys() & calls, others.keys() & calls
    return bool(one and two) and len(one | two) > 1


def _way(steps: dict[int, int], f: int) -> Iterator[int]:
    yield f
    while steps[f] != f:
        f = steps[f]
        yield f


def _length(steps: dict[int, int], f: int) -> int:
    return sum(1 for _ in _way(steps, f))


def _queue_role(name: str) -> str:
    words = {word.lower() for word in _WORDS.findall(name.rpartition("::")[2])}
    return "enqueue" if words & _PUTS else "dequeue" if words & _TAKES else ""


def _family(name: str) -> str:
    """The name without the word that says put or take: cq_push and cq_pop, Queue::push and Queue::pop are one."""
    return "_".join(word.lower() for word in _WORDS.findall(name) if word.lower() not in _PUTS | _TAKES)


def _few(names: Sequence[str]) -> str:
    """Three of them, and how many more."""
    chosen = list(dict.fromkeys(names))
    return ", ".join(chosen[:3]) + (f" and {len(chosen) - 3} more" if len(chosen) > 3 else "")
