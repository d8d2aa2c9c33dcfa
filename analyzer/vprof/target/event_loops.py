"""Where requests may begin and end in a program whose threads wait for events and dispatch them.

    functions and the objects they are given -> the object that stands for a request, else for a client
    -> functions that take one up, functions that answer or let go of it -> a few candidates each, the likeliest first

An event loop has no function that is a request. What lives as long as one is an object: `ngx_http_request_t *`, a
`Stream`. So an entry needs a function that is given the object, a verb and a noun in its name that say what happens,
and a call graph that leads between such functions and what receives or sends. Where one of these is missing, none is
named.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

REQUESTS = ("request", "req", "transaction", "txn", "query", "rpc", "stream")
"""What a type is named whose objects are requests, the surest first."""
CLIENTS = ("client", "session", "connection", "conn")
"""What a type is named whose objects serve one request after another."""
_WORK = {"request", "req", "command", "cmd", "query", "packet", "message", "msg"}
"""What a client asks for."""
_ANSWERS = {"response", "reply"}
_TAKES_UP = ("begin", "start", "process", "handle", "dispatch", "execute", "prepare")
_LETS_GO = ("free", "destroy", "delete", "release", "close", "remove", "end", "finish", "finalize", "complete", "done")
_SENDS = ("write", "send", "transmit", "reply", "respond", "flush")
"""Verbs, the likeliest first."""
_LINKS = {"to", "of", "on", "and", "from", "for", "the"}
_WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_GIVEN = re.compile(r"\b([A-Za-z_][\w:]*)\s*([*&])\s*(?:const\s+)?([A-Za-z_]\w*)\s*[,)]")
"""A parameter that is a pointer or reference: its type, which of both, and its name."""
_NEAR = 6
"""Calls, those through pointers included, between a function and what it receives or sends by."""
MOST = 3
"""Candidates for a begin, and for an end."""


@dataclass(frozen=True)
class Place:
    """A function at whose entry a request may begin or end: its number, the id, and the reason."""

    function: int
    id: str
    reason: str


@dataclass(frozen=True)
class Requests:
    """What was found. `why_not` says why nothing was ("": something was)."""

    begins: list[Place]
    ends: list[Place]
    why_not: str = ""


def requests(
    names: Mapping[int, str],
    text: Callable[[int], str],
    calls: Sequence[Collection[int]],
    receives: Mapping[int, int],
    answers: Mapping[int, int],
) -> Requests:
    """Of the program's own functions by their numbers, their texts from the name on, what each calls, and how many
    calls lead from a function to what receives and what answers, or from there to the function."""
    given = {f: _objects(name, text(f)) for f, name in names.items()}
    members: dict[str, list[int]] = defaultdict(list)
    for f, objects in given.items():
        for type_ in objects:
            members[type_].append(f)
    kinds = sorted(rank for type_ in members if (rank := _rank(type_, members[type_], receives, answers)))
    for kind in kinds:
        type_ = kind[-1]
        found = _of_type(kind, {f: given[f][type_] for f in members[type_]}, names, calls, answers)
        if found.begins and found.ends:
            return found
    if not kinds:
        return Requests(
            [], [], "no type named as a request's or client's is given both where it receives and where it sends"
        )
    shown = ", ".join(kind[-1] for kind in kinds[:MOST])
    return Requests([], [], f"no functions' names say which of them take up and answer or let go of one ({shown})")


def _of_type(
    kind: tuple[int, int, int, str],
    own: Mapping[int, str],
    names: Mapping[int, str],
    calls: Sequence[Collection[int]],
    answers: Mapping[int, int],
) -> Requests:
    """Of the functions that are given an object of this type, each with its id."""
    group, noun, _, type_ = kind
    known = {*_words(type_), *_LINKS}
    if group == 0:
        nouns = {REQUESTS[noun]}
        made, ended = ([f for f in own if names[f].endswith(f"{type_}::{sign}{type_}")] for sign in ("", "~"))
        lives = [[Place(f, own[f], f"the life of a {type_}") for f in rows] for rows in (made, ended)]
        begins = _places(names, own, _TAKES_UP, nouns | _ANSWERS, known | _ANSWERS, f"takes a {type_} up")
        ends = _places(names, own, _LETS_GO, nouns, known, f"lets a {type_} go")
        return Requests([*lives[0], *_outermost(begins, calls)][:MOST], [*lives[1], *ends][:MOST])
    sending = {f: id_ for f, id_ in own.items() if answers.get(f, _NEAR + 1) <= _NEAR}
    begins = _places(names, own, _TAKES_UP, _WORK, known | _WORK, f"takes up what a {type_} asks for")
    ends = _places(names, sending, _SENDS, set(), known, f"sends to a {type_}: right if it is the answer's last part")
    return Requests(_outermost(begins, calls)[:MOST], _outermost(ends, calls)[:MOST])


def _outermost(places: list[Place], calls: Sequence[Collection[int]]) -> list[Place]:
    """Without those that others of them call, at one remove as well: who dispatches comes first."""
    inner = {h for place in places for g in calls[place.function] for h in (g, *calls[g]) if h != place.function}
    return [place for place in places if place.function not in inner] or places


def _rank(
    type_: str, functions: Collection[int], receives: Mapping[int, int], answers: Mapping[int, int]
) -> tuple[int, int, int, str] | None:
    """Smaller is surer; None: its objects are no requests or clients, or nothing is received or sent for them."""
    near = [any(way.get(f, _NEAR + 1) <= _NEAR for f in functions) for way in (receives, answers)]
    words = _words(type_)
    if not all(near):
        return None
    for group, nouns in enumerate((REQUESTS, CLIENTS)):
        found = [place for place, noun in enumerate(nouns) if noun in words]
        if found:
            return group, found[0], -len(functions), type_
    return None


def _places(
    names: Mapping[int, str],
    given: Mapping[int, str],
    verbs: tuple[str, ...],
    nouns: set[str],
    known: set[str],
    why: str,
) -> list[Place]:
    """Functions with such a verb and such a noun (any, if there is none), the likeliest first: only those whose names
    have the fewest words besides the verb and what is known, one at most."""
    rows = []
    for f, id_ in given.items():
        words = _words(names[f].rpartition("::")[2])
        said = [verb for verb in verbs if verb in words]
        if said and (not nouns or nouns & set(words)):
            others = sum(word not in known and word != said[0] for word in words)
            rows.append((others, verbs.index(said[0]), names[f], Place(f, id_, why)))
    rows.sort(key=lambda row: row[:-1])
    return [row[-1] for row in rows if row[0] == rows[0][0] <= 1]


def _objects(name: str, text: str) -> dict[str, str]:
    """The types of the objects that a function is given, without scopes, each with the id of an object."""
    head = text.partition("{")[0]
    found = {
        type_.rpartition("::")[2]: f"(unsigned long){'&' * (sign == '&')}{given}"
        for type_, sign, given in _GIVEN.findall(head)
    }
    scope, _, method = name.rpartition("::")
    if scope and method and scope.rpartition("::")[2][:1].isupper():
        found.setdefault(scope.rpartition("::")[2], "(unsigned long)this")
    return found


def _words(name: str) -> list[str]:
    return [word.lower() for word in _WORDS.findall(name)]
