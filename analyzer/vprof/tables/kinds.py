"""The kinds of time: the one table that states, pieces, nodes, reports and the page's words come from.

    a thread's segment has a state -> a piece of a critical path has a kind -> time hangs at a node of the tree

To add a kind of time off the CPU: a row of OFF_CPU_KINDS, its number below it, and where its time comes from
(trace/off_cpu.py). `tests/analyzer/test_kinds.py` holds schemas and documents to this table.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Kind:
    """`node`: its label in the tree. `piece`: its name in a critical path, "" if others fill it. `state`: of a segment,
    as traces in JSON have it, "" if none. `meaning`: what a node of it is, as a part of a sentence. `lane`: the same in
    two or three words, for a lane of a critical path. `for_cpu`: a thread could run, and had no CPU."""

    node: str
    piece: str
    state: str
    meaning: str
    lane: str
    for_cpu: bool = False


WORK = Kind("body", "exec", "exec", "f's own time, all its children were on", "executing")
WAITS = (
    Kind("[blocked]", "", "blocked", "waiting; below it what the waker did meanwhile", "waiting"),
    Kind("[busy]", "", "", "its thread did other work meanwhile; below it what that was", "its thread did other work"),
    Kind("[queue]", "queue", "queue", "the task lay in a queue", "task in a queue"),
    Kind("[gap]", "gap", "", "the client's time: nobody worked for the interval", "the client's time"),
    Kind("[sched]", "sched", "", "awake, but not yet running", "awake, not running yet", for_cpu=True),
    Kind("[unknown]", "unknown", "", "blocked, and nobody is known to have woken it", "unknown"),
)
UNEXPLAINED = Kind("[unknown]", "blocked_unknown", "", WAITS[-1].meaning, "waiting, nobody is known to have ended it")
"""A wait of which nobody is known to have ended it: a piece of its own, at the same node."""
OFF_CPU_KINDS = (
    Kind("[preempted]", "preempted", "preempted", "off the CPU although it could run", "preempted", for_cpu=True),
    Kind("[fault]", "fault", "fault", "waited for a page from a disk", "waiting for a page"),
    Kind("[disk]", "disk", "disk", "waited for a disk, or in a call for a file", "waiting for a disk"),
    Kind("[off cpu]", "off_cpu", "off_cpu", "off the CPU for more than one reason", "off the CPU", for_cpu=True),
    Kind("[sleep]", "sleep", "sleep", "slept for a time to pass", "asleep"),
    Kind(
        "[memory]",
        "memory",
        "memory",
        "waited while other threads changed the process's memory map",
        "waiting for the memory map",
    ),
    Kind("[idle]", "idle", "idle", "worked for nobody, and waited for what comes from outside", "idle"),
)
"""Nobody has to end them. States, pieces and nodes have them last, in this order."""

ABORTED = Kind(
    "[aborted]", "", "", "attempts that were undone and repeated; below it what they did", "an aborted attempt"
)
"""Of an interval that its client repeated until it was not aborted: all before the last attempt."""

WAKER = "[waker]"
MEANINGS = {kind.node: kind.meaning for kind in (*WAITS, *OFF_CPU_KINDS, ABORTED)}
MEANINGS[WAKER] = "the waker's time outside functions with probes"
"""Of the nodes that are no functions. `[waker]` is the own time of a thread, named so where it is a waker's."""
LANES = {
    kind.piece or kind.state or kind.node[1:-1]: kind.lane
    for kind in (WORK, *WAITS, UNEXPLAINED, *OFF_CPU_KINDS, ABORTED)
}
NODE_LANES = {kind.node: kind.lane for kind in (*WAITS, UNEXPLAINED, *OFF_CPU_KINDS, ABORTED)}

STATE_NAMES = (WORK.state, "blocked", "queue", *(kind.state for kind in OFF_CPU_KINDS))
EXEC, BLOCKED, QUEUE = range(3)
PREEMPTED, FAULT, DISK, OFF_CPU, SLEEP, MEMORY, IDLE = range(3, 10)
"""Segment states: executing, blocked on a lock or I/O, waiting on a task or message queue; off the CPU."""

PIECE_NAMES = (WORK.piece, "queue", "sched", "gap", "unknown", UNEXPLAINED.piece, *(k.piece for k in OFF_CPU_KINDS))
P_EXEC, P_QUEUE, P_SCHED, P_GAP, P_UNKNOWN, P_BLOCKED_UNKNOWN = range(6)
P_PREEMPTED, P_FAULT, P_DISK, P_OFF_CPU, P_SLEEP, P_MEMORY, P_IDLE = range(6, 13)
"""Pieces of critical paths."""

PSEUDO = (*(kind.node for kind in WAITS), WORK.node, *(kind.node for kind in OFF_CPU_KINDS), ABORTED.node)
L_BLOCKED, L_BUSY, L_QUEUE, L_GAP, L_SCHED, L_UNKNOWN, L_BODY = range(7)
L_PREEMPTED, L_FAULT, L_DISK, L_OFF_CPU, L_SLEEP, L_MEMORY, L_IDLE, L_ABORTED = range(7, 15)
"""Labels of tree nodes that are no functions; FIRST_FRAME is the first label of a function at a call site."""
FIRST_FRAME = len(PSEUDO)
OF_ONE_FUNCTION = (L_UNKNOWN, L_FAULT, L_DISK, L_SLEEP, L_MEMORY, L_IDLE)
"""Labels of time that says what a function did: where one function alone has it, it is no cause of its own."""
CPU_WAITS = tuple(PSEUDO.index(kind.node) for kind in (*OFF_CPU_KINDS, *WAITS) if kind.for_cpu)
CPU_PIECES = tuple(PIECE_NAMES.index(kind.piece) for kind in (*OFF_CPU_KINDS, *WAITS) if kind.for_cpu)
"""Labels, and pieces: a thread could run, and had no CPU."""
CLIENT = (L_GAP,)
"""Labels of the client's time."""
MEANWHILE = (L_BLOCKED, L_BUSY)
"""Labels of times in which the interval could not go on; below them is what a thread did meanwhile."""
