"""What is missing where time lies at `[waker]` or `[unknown]`: which thread, what is known of it, what would tell more.

Analysis.wakers, Analysis.unknown  ->  sentences, for reports and for findings that cannot be confirmed
"""

from __future__ import annotations

from vprof.variance.analysis import Analysis
from vprof.variance.blocked import UnknownWait
from vprof.variance.wakers import Waker

_MOST = 3
_MUCH = 0.2
"""What holds this part of the largest one is said as well."""
_OTHERWISE = "I/O, a timeout, or a primitive that the descriptor lacks: look at what it calls"


def missing(analysis: Analysis) -> list[str]:
    """Most first; empty if no time lies there."""
    return [*of_wakers(analysis), *of_waits(analysis)]


def of_wakers(analysis: Analysis) -> list[str]:
    """A sentence for each of the threads that hold most of the variance outside functions that were on."""
    largest = max((waker.share for waker in analysis.wakers), default=0.0)
    chosen = [waker for waker in analysis.wakers if waker.share > 0 and waker.share >= _MUCH * largest]
    return [_of_waker(waker) for waker in chosen[:_MOST] if waker.share >= analysis.least_share]


def _of_waker(waker: Waker) -> str:
    known = [f"it runs below {waker.entry}"] if waker.entry and waker.entry not in waker.seen else []
    if waker.released_in:
        known.append(f"ended the waits in {waker.released_in}")
    elif waker.released_after:
        known.append(f"ended the waits after {waker.released_after}")
    if waker.seen and not known:
        known.append(f"it was seen in {', '.join(waker.seen[:_MOST])}")
    said = " and ".join(known) or "no function that it ran was on"
    share = f"{waker.share:.0%} of the variance"
    return f"thread {waker.thread} was waited for outside functions that were on ({share}): {said}"


def of_waits(analysis: Analysis) -> list[str]:
    """A sentence for each function in which the intervals themselves, or functions of their wakers that were on, waited
    for nobody known."""
    rows = [wait for wait in analysis.unknown if not is_of_unmeasured_waker(wait)]
    chosen = [wait for wait in rows if wait.total_ns >= _MUCH * rows[0].total_ns]
    return [_of_wait(wait) for wait in chosen[:_MOST]]


def is_of_unmeasured_waker(wait: UnknownWait) -> bool:
    """The time is a thread's of which nothing was on: it is known whom the interval waited for."""
    return bool(wait.thread) and (wait.waker_known or not wait.function)


def _of_wait(wait: UnknownWait) -> str:
    where = wait.function or "code outside functions that were on"
    if wait.thread:
        where += f" (thread {wait.thread})"
    return f"nobody is known to have ended waits in {where}: {wait.advice or _OTHERWISE}"
