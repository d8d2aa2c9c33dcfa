"""What objects of waits are called.

Trace.objects, a row  ->  Key: the same in all windows and traces  ->  texts
"""

from __future__ import annotations

from vprof.tables.model import NONE, OBJECT_CLASSES, Trace

_DESCRIBED = "primitive of the program"
Key = tuple[int, int, str, str]
"""Of an object: its class, and its id and host or, if it has one, its name: what the program calls alike on several
hosts is one thing to look at."""


def key_of(trace: Trace, row: int) -> Key:
    """`row`: of `trace.objects`."""
    objects = trace.objects
    class_, name = int(objects.class_[row]), int(objects.name[row])
    if name != NONE:
        return class_, 0, trace.object_names[name], ""
    return class_, int(objects.id[row]), "", trace.hosts[objects.host[row]]


def where(key: Key, hosts: list[str]) -> str:
    """The host that an object belongs to, "" if it is named or there is only one host."""
    return key[3] if len(hosts) > 1 else ""


def described(key: Key) -> tuple[str, str, str]:
    """Class, id and name as texts, each "" if there is none."""
    class_, id_, name, _ = key
    return OBJECT_CLASSES[class_], "" if name else f"{id_ % 2**64:#x}", name


def title(object_class: str, id_: str, name: str, host: str = "") -> str:
    """What a report calls an object, "" if nothing is known of it. A name comes first: it says most, and all of a
    primitive of the program."""
    if name and object_class == _DESCRIBED:
        return name
    if name and object_class:
        return f"{name} ({object_class})"
    return " ".join(part for part in (object_class, name or id_, f"on {host}" if host else "") if part)
