"""The whole way from two texts and a plan to what was found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from vprof.verify.alone import SIDES, Alone, alike
from vprof.verify.build import build
from vprof.verify.databases import copies
from vprof.verify.plan import Plan
from vprof.verify.under_load import Loaded, under_load


@dataclass(frozen=True)
class Verified:
    """`loaded`: None if it was not asked for, or the two are not alike."""

    alone: Alone
    loaded: Loaded | None

    @property
    def alike(self) -> bool:
        return self.alone.difference is None


def verify(file: Path, before: bytes, after: bytes, plan: Plan, options: Sequence[str]) -> Verified:
    """Two texts of a file. `options`: of the compiler. UsageError if one does not build, or the server refuses."""
    with TemporaryDirectory(prefix="vprof-") as name:
        folder, calls = Path(name), plan.calls(plan.runs)
        texts = zip(SIDES, (before, after), strict=True)
        programs = [build(file, text, calls, plan, options, side, folder) for side, text in texts]
        with copies(plan, SIDES) as two:
            alone = alike(programs, calls, two, plan.ignore)
        loaded = under_load(programs, plan, plan.load, folder) if plan.load and not alone.difference else None
        return Verified(alone, loaded)
