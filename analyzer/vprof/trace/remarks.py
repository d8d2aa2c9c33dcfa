"""What a reader of a binary trace is told about the recording: one line for each thing that was not as it should be."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from vprof.trace.outline import Outline
from vprof.trace.strays import said

_MUCH_UNPLACED = 0.01


class Mended(NamedTuple):
    """What was mended in a window: times corrected, and ns off the CPU that were left out, and that were not."""

    corrected: int
    unplaced_ns: int
    placed_ns: int


def remarks(outline: Outline, windows: Iterable[Mended], threads: list[str]) -> list[str]:
    """`windows`: of those that were read. `threads`: names by number."""
    return [*_of_file(outline, threads), *_of_times(outline, windows), *_of_intervals(outline)]


def _of_file(outline: Outline, threads: list[str]) -> list[str]:
    file, clock = outline.scanned.file, outline.scanned.clock
    aside = [threads[thread] for thread in outline.strayed()[1]]
    return _applying(
        (file.stopped, file.stopped),
        (not file.stopped and not file.of("end"), "the recording was not finished: the file has no end event"),
        (clock.remark, clock.remark),
        (aside, said(aside) if aside else ""),
    )


def _of_times(outline: Outline, windows: Iterable[Mended]) -> list[str]:
    file, scan = outline.scanned.file, outline.scanned.scan
    off_cpu = {event["uid"]: event.get("off_cpu") for event in file.of("thread")}
    unslotted, unnamed, not_wrapped, own_text = (
        max((end.get(key, 0) for end in file.of("end")), default=0)
        for key in ("unslotted", "unnamed", "not_wrapped", "own_text")
    )
    blind = sum(known == "unknown" for known in off_cpu.values())
    mended = Mended(*(sum(column) for column in zip(Mended(0, 0, 0), *windows, strict=True)))
    corrected = scan.backwards + mended.corrected + outline.given.corrected
    return _applying(
        (corrected, f"times adjusted where clocks of CPUs disagreed: {corrected}"),
        (scan.unknown, f"records of unknown kinds skipped: {scan.unknown}"),
        (scan.abandoned, f"calls left by longjmp or thread exit, their ends are upper bounds: {scan.abandoned}"),
        (
            len(outline.scanned.open_frames),
            f"calls still open at the end of the file: {len(outline.scanned.open_frames)}",
        ),
        (unslotted, f"threads and fibers that found no free slot, not recorded: {unslotted}"),
        (unnamed, f"names of what was waited for that found no room in the table of names: {unnamed}"),
        (not_wrapped, f"functions whose probe before the body could not be switched, not recorded: {not_wrapped}"),
        (own_text, f"times a process could not share its code, where probes before bodies cost more: {own_text}"),
        (blind, f"when threads were off the CPU is not known of {blind} of {len(off_cpu)}: it counts as execution"),
        (
            mended.unplaced_ns > _MUCH_UNPLACED * mended.placed_ns,
            f"time off the CPU between records too close for it, left out: {mended.unplaced_ns / 1e6:.3g} ms",
        ),
    )


def _of_intervals(outline: Outline) -> list[str]:
    unmatched = outline.given.unmatched_dequeues
    return _applying(
        *(
            (count, f"created_at {wrong}: {count} intervals begin where the program began them")
            for wrong, count in outline.not_believed.items()
        ),
        (unmatched, f"tasks dequeued whose enqueue is not in the file: {unmatched}"),
    )


def _applying(*lines: tuple[object, str]) -> list[str]:
    return [text for applies, text in lines if applies]
