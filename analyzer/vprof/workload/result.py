"""A workload measured: floor, run, check, what its file of latencies holds, and what pauses explain."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from vprof.errors import VprofError
from vprof.workload.driver import Driver, Run, Second, Where, given
from vprof.workload.explained import Explained, explain
from vprof.workload.latency_file import UNFINISHED, LatencyFile
from vprof.workload.pauses import LATE_NS, Pauses, from_file, of_machine
from vprof.workload.tally import Pass, read

FLOOR = "noop"
"""The workload whose transactions do nothing."""
_FLOOR_RATE = 500.0
_UNREACHED, _STALLED = 0.01, 0.1
"""How much of what was asked for may be unfinished, and where the server stalled at the end."""


@dataclass(frozen=True)
class Asked:
    """A run as it was asked for. `rate` (transactions a second) makes an open loop; None: a closed one. `floor_seconds`
    0: no floor. None elsewhere: as the driver chooses."""

    workload: str
    where: Where
    clients: int
    seconds: float
    warmup: float
    rate: float | None = None
    arrivals: str | None = None
    think_ms: float | None = None
    isolation: str | None = None
    mix: str | None = None
    theta: float | None = None
    writes: float | None = None
    scale: int | None = None
    seed: int | None = None
    floor_seconds: float = 2.0

    def options(self) -> list[str]:
        """Those of the driver's `run`."""
        return given(
            clients=self.clients,
            seconds=self.seconds,
            warmup=self.warmup,
            rate=self.rate,
            arrivals=self.arrivals,
            think=self.think_ms,
            isolation=self.isolation,
            mix=self.mix,
            theta=self.theta,
            writes=self.writes,
            scale=self.scale,
            seed=self.seed,
        )

    def floor_options(self) -> list[str]:
        """In an open loop the same clients at the same rate, or at 500 a second if that is less; else one client."""
        rate = None if self.rate is None else min(self.rate, _FLOOR_RATE)
        return given(
            clients=1 if rate is None else self.clients,
            seconds=self.floor_seconds,
            warmup=0.2,
            rate=rate,
            seed=self.seed,
        )


@dataclass(frozen=True)
class Result:
    """`run`: the driver's JSON. `floor`: of `noop` on the same server, before. `pauses`: those that lay in the run.
    `broken`: conditions that the data break after the run, None: not checked. `cut_short`: why the run ended too early,
    or "". `failed`: it was, or the data is broken, or a file of pauses could not be read."""

    run: dict[str, Any]
    seen: Pass
    pauses: list[Pauses]
    explained: list[Explained]
    floor: Pass | None = None
    broken: list[str] | None = None
    cut_short: str = ""
    remarks: list[str] = field(default_factory=list)
    failed: bool = False

    @property
    def seconds(self) -> float:
        """How long it was measured."""
        return float(self.run["end_ns"] - self.run["begin_ns"]) / 1e9

    @property
    def unfinished(self) -> int:
        return int(self.seen.all.outcomes[UNFINISHED])

    @property
    def behind_ns(self) -> int:
        """How long the oldest unfinished transaction had waited when the run ended."""
        since = self.seen.waiting_since_ns
        return 0 if since is None else max(0, self.run["end_ns"] - since)

    @property
    def reached(self) -> bool | None:
        """Whether the server kept up with the rate: all that should have begun is answered, but for what the clients
        had in hand, or 1 %; or up to 10 % if it only stalled at the end: half of what began in the second half of the
        run waited for less than a tenth of what the oldest one has waited for. None in a closed loop."""
        if self.run["rate"] is None:
            return None
        share = self.unfinished / self.seen.all.count
        if share <= _UNREACHED or self.unfinished <= self.run["clients"]:
            return True
        (wait_ns,) = self.seen.waits.at(0.5)
        return share <= _STALLED and wait_ns is not None and wait_ns < self.behind_ns / 10


def measure(
    driver: Driver,
    asked: Asked,
    latencies: Path | None,
    overlays: list[Path],
    check: bool,
    tell: Callable[[Second], None] | None = None,
) -> Result:
    """Floor, run, check. `latencies`: where the file of latencies is left, if it is to be kept."""
    with TemporaryDirectory(prefix="vprof-load-") as folder:
        floor = _floor(driver, asked, Path(folder) / "floor") if asked.floor_seconds else None
        path = latencies or Path(folder) / "latencies"
        run = driver.run(asked.workload, asked.where, asked.options(), path, tell)
        broken, remarks = None, []
        if check and (run.cut_short or run.report["interrupted"]):
            remarks = ["the data was not checked, because the run did not end by itself"]
        elif check:
            try:
                broken = driver.check(asked.workload, asked.where, given(scale=asked.scale))
            except KeyboardInterrupt:
                remarks = ["the data was not checked: interrupted"]
        return result_of(run, path, overlays, floor, broken, remarks)


def _floor(driver: Driver, asked: Asked, path: Path) -> Pass | None:
    """None where the driver does nothing that could be timed."""
    run = driver.run(FLOOR, asked.where, asked.floor_options(), path).report
    if run["interrupted"]:
        raise KeyboardInterrupt
    return read(LatencyFile.open(path), run["begin_ns"], run["end_ns"], LATE_NS)


def result_of(
    run: Run,
    path: Path,
    overlays: list[Path],
    floor: Pass | None = None,
    broken: list[str] | None = None,
    remarks: list[str] | None = None,
) -> Result:
    """What the file of a run holds. Raises VprofError when it holds no transaction that was timed."""
    report = run.report
    begin_ns, end_ns = report["begin_ns"], report["end_ns"]
    file = LatencyFile.open(path)
    seen = read(file, begin_ns, end_ns, LATE_NS)
    if end_ns <= begin_ns or not seen.all.moments.count:
        raise VprofError(f"no transaction was measured: {run.cut_short or report['first_error'] or 'run it longer'}")

    def clock(seconds: float) -> int:
        """The part that a double holds exactly is moved first."""
        whole = int(seconds // 1)
        return int(begin_ns - report["begin_realtime_ns"]) + whole * 10**9 + round((seconds - whole) * 1e9)

    said = list(remarks or [])
    pauses = [of_machine(seen.late, begin_ns, end_ns)]
    unread = []
    for overlay in overlays:
        try:
            found = from_file(overlay, clock, begin_ns, end_ns)
        except VprofError as error:
            unread.append(str(error))
            continue
        if not any(len(one.start_ns) for one in found):
            said.append(f"{overlay}: none of its pauses lies in the run")
        pauses += found
    return Result(
        run=report,
        seen=seen,
        pauses=[one for one in pauses if len(one.start_ns)],
        explained=explain(file, seen, pauses, begin_ns, end_ns),
        floor=floor,
        broken=broken,
        cut_short=run.cut_short,
        remarks=[*unread, *said],
        failed=bool(run.cut_short or broken or unread),
    )
