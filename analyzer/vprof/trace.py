"""The only reader of binary traces (runtime/TRACE_FORMAT.md): a file in, the papers' tuples out.

    chunks -> clock -> records -> calls, labels, waits -> segments, edges -> intervals of one plan epoch -> model.Trace

Intervals that cannot be trusted are left out and counted: unfinished, aborted, begun before the file, overlapping a
flip of the plan, under another plan, touching lost records. Everything that was mended is said in `Trace.notes`.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from vprof import intervals as semantic
from vprof import loss
from vprof.call_sites import call_sites
from vprof.chunks import TraceFile, read_chunks
from vprof.clock import Clock
from vprof.edges import Handovers, handovers, read_waits, wakeups
from vprof.epochs import choose, measured, overlaps_flip, read_epochs, spoiled_times
from vprof.errors import TraceError
from vprof.intervals import Labels, Selection
from vprof.invocations import Calls, kept, labels_at_entry, observed_edges, read_calls
from vprof.lives import Lives
from vprof.model import NONE, Int32, Invocations, Program, Trace
from vprof.off_cpu import OffCpu, read_off_cpu
from vprof.program import Sites, describe, read_sites
from vprof.records import Records, read_records
from vprof.segments import Waits, cut

_MUCH_UNPLACED = 0.01


def load_binary(path: Path | str) -> Trace:
    """Reads a binary trace, whole or cut off at any byte.

    Raises TraceError, in one line, when the file is no trace, is empty, or is of a newer version.
    """
    file = read_chunks(Path(path))
    try:
        return _assemble(_decode(file))
    except KeyError as key:
        raise TraceError(f"{path}: an event lacks the key {key}: writer and reader do not fit together") from None


def read_nested_calls(path: Path) -> tuple[Sites, list[tuple[int, int]]]:
    """The functions of a trace, and (caller, callee) of the calls that nested directly in it. Raises TraceError."""
    decoded = _decode(read_chunks(path))
    function = decoded.sites.functions(decoded.calls.number)
    return decoded.sites, _nested(decoded.sites, decoded.calls, function)


@dataclass(frozen=True)
class _Decoded:
    """The content of a file before anything is chosen or left out."""

    file: TraceFile
    clock: Clock
    records: Records
    end: int
    """The last moment the file knows of, in ns."""
    waits: Waits
    calls: Calls
    off: OffCpu
    sites: Sites


def _decode(file: TraceFile) -> _Decoded:
    session = file.of("session")
    clock = Clock.of(session[0]["clock"] if session else "unknown", file.of("anchor"))
    uids = list(dict.fromkeys(int(event["uid"]) for event in file.events if "uid" in event))
    records = read_records(file.chunks, uids, clock)
    end = max(
        [int(records.lives.last.max(initial=0))]
        + [clock.one(event["ticks"]) for name in ("anchor", "open", "thread_end", "end") for event in file.of(name)]
    )
    calls = read_calls(records, clock, file.of("open"), end)
    sites = read_sites(file, np.unique(calls.number))
    return _Decoded(file, clock, records, end, read_waits(records, clock), calls, read_off_cpu(records, calls), sites)


def _assemble(decoded: _Decoded) -> Trace:
    file, clock, records, waits = decoded.file, decoded.clock, decoded.records, decoded.waits
    instances = semantic.pair(records)
    labels, foreign = semantic.label(records, instances)
    given = handovers(records, labels)
    epochs = read_epochs(file, clock)
    epoch = choose(epochs, instances, decoded.calls)
    lost = loss.read_lost(file, records, clock)
    visited = loss.visited(labels, waits, given, len(records.uids))
    selection = semantic.select(
        instances,
        foreign,
        {
            semantic.FLIP: overlaps_flip(epochs, instances),
            semantic.OTHER_PLAN: ~epoch.holds(instances),
            semantic.LOSS: lost.of(visited).touch(instances),
        },
    )
    pieces = cut(_lives(decoded), labels, selection.number, waits, decoded.off)
    calls = kept(decoded.calls, measured(epochs, epoch, decoded.calls))
    function = decoded.sites.functions(calls.number)
    program, remarks = _program(decoded.sites, epoch.on, calls, function)
    places, site = call_sites(decoded.sites.graph, calls, function)
    return Trace(
        threads=_thread_names(file, records),
        interval_ids=selection.ids,
        types=_types(file, selection),
        sites=places,
        program=program,
        segments=pieces.segments,
        invocations=_invocations(calls, function, site, labels, selection.number),
        wakeups=wakeups(pieces, waits),
        created=given.created,
        intervals=selection.intervals,
        has_sync=bool(len(waits.thread) or given.adopted.any()),
        excluded=selection.excluded,
        excluded_latencies=selection.lost_latencies,
        loss=loss.totals(file, records),
        spoiled=[*loss.spoiled_times(lost, visited), *spoiled_times(epochs, epoch)],
        open_at=decoded.end if decoded.calls.open else None,
        notes=[*loss.contradictions(file), *_notes(decoded, given), *decoded.sites.remarks, *remarks],
    )


def _program(sites: Sites, on: frozenset[int], calls: Calls, function: Int32) -> tuple[Program, list[str]]:
    return describe(sites, on, _nested(sites, calls, function), np.unique(function[calls.parent == NONE]))


def _nested(sites: Sites, calls: Calls, function: Int32) -> list[tuple[int, int]]:
    count = len(sites.graph.names)
    return [divmod(int(edge), count) for edge in observed_edges(calls.parent, function, count)]


def _lives(decoded: _Decoded) -> Lives:
    """From when to when each thread is known to have lived: by its events, its records, and the starts they hold.

    A thread whose end is not recorded lives as long as the file goes on.
    """
    file, clock, calls, waits = decoded.file, decoded.clock, decoded.calls, decoded.waits
    lives = decoded.records.lives.copy()
    lives.extend(calls.thread, calls.start, calls.end)
    lives.extend(waits.thread, waits.begin, waits.end)
    threads = {uid: index for index, uid in enumerate(decoded.records.uids)}
    for event in file.of("thread"):
        lives.include(threads[event["uid"]], clock.one(event["ticks"]))
    ended = {threads[event["uid"]]: clock.one(event["ticks"]) for event in file.of("thread_end")}
    for thread in lives.known():
        lives.include(thread, ended.get(thread, decoded.end))
    return lives


def _invocations(calls: Calls, function: Int32, site: Int32, labels: Labels, number: Int32) -> Invocations:
    label = np.where(labels.instance != NONE, np.r_[number, NONE][labels.instance], NONE).astype(np.int32)
    return Invocations(
        thread=calls.thread,
        interval=labels_at_entry(calls.thread, calls.start, labels.thread, labels.t, label),
        function=function,
        site=site,
        fs=calls.start,
        fe=calls.end,
        depth=calls.depth,
    )


def _thread_names(file: TraceFile, records: Records) -> list[str]:
    """ "pid/tid name", or "thread N" where the file does not say."""
    known = {event["uid"]: f"{event['pid']}/{event['tid']} {event['name']}" for event in file.of("thread")}
    return [known.get(uid, f"thread {uid}") for uid in records.uids]


def _types(file: TraceFile, selection: Selection) -> list[str]:
    """Labels by number; "" for none and for labels the file does not hold."""
    texts = {int(event["number"]): str(event["text"]) for event in file.of("label")}
    size = max([*texts, int(selection.intervals.type.max(initial=0))], default=0) + 1
    return [texts.get(number, "") for number in range(size)]


def _notes(decoded: _Decoded, given: Handovers) -> list[str]:
    file, records, calls = decoded.file, decoded.records, decoded.calls
    threads = {event["uid"]: event.get("off_cpu") for event in file.of("thread")}
    blind = sum(known == "unknown" for known in threads.values())
    placed = int((decoded.off.stop - decoded.off.start).sum())
    unplaced = decoded.off.unplaced_ns > _MUCH_UNPLACED * placed
    corrected = records.backwards + calls.corrected + decoded.waits.corrected + given.corrected
    remarks = [
        (file.stopped, file.stopped),
        (not file.stopped and not file.of("end"), "the recording was not finished: the file has no end event"),
        (decoded.clock.remark, decoded.clock.remark),
        (corrected, f"times adjusted where clocks of CPUs disagreed: {corrected}"),
        (records.unknown, f"records of unknown kinds skipped: {records.unknown}"),
        (calls.abandoned, f"calls left by longjmp or thread exit, their ends are upper bounds: {calls.abandoned}"),
        (calls.open, f"calls still open at the end of the file: {calls.open}"),
        (blind, f"when threads were off the CPU is not known of {blind} of {len(threads)}: it counts as execution"),
        (
            unplaced,
            f"time off the CPU between events too close for it, left out: {decoded.off.unplaced_ns / 1e6:.3g} ms",
        ),
        (given.unmatched_dequeues, f"tasks dequeued whose enqueue is not in the file: {given.unmatched_dequeues}"),
    ]
    return [text for applies, text in remarks if applies]
