"""What objects of waits are called.

Trace.objects, a row  ->  Key: the same in all windows and traces  ->  texts
"""

from __future__ import annotations

from vprof.tables.model import NONE, OBJECT_CLASSES, Trace

_DESCRIBED = "primitive of the program"
Key = tuple[int, int, str]
"""Of an object: its class, and its id or, if it has one, its name."""


def key_of(trace: Trace, row: int) -> Key:
    """`row`: of `trace.objects`."""
    objects = trace.objects
    class_, name = int(objects.class_[row]), int(objects.name[row])
    return (class_, 0, trace.object_names[name]) if name != NONE else (class_, int(objects.id[row]), "")


def described(key: Key) -> tuple[str, str, str]:
    """Class, id and name as texts, each "" if there is none."""
    class_, id_, name = key
    return OBJECT_CLASSES[class_], "" if name else f"{id_ % 2**64:#x}", name


def title(object_class: str, id_: str, name: str) -> str:
    """What a report calls an object, "" if nothing is known of it. A name comes first: it says most, and all of a
    primitive of the program."""
    if name and object_class == _DESCRIBED:
        return name
    if name and object_class:
        return f"{name} ({object_class})"
    return " ".join(part for part in (object_class, name or id_) if part)
