"""What a recording's traces say of the programs in it and of their load, which nobody could see there."""

from __future__ import annotations

from dataclasses import dataclass

from vprof.trace.marks import Retry


@dataclass(frozen=True)
class About:
    """`built_from`: the programs' source and version. `retry`: how clients repeat what was aborted. `offered_rate`: of
    a load that begins so many intervals a second, whatever became of those before. "" and None: nobody knows."""

    built_from: str = ""
    retry: Retry | None = None
    offered_rate: float | None = None


NOTHING = About()
