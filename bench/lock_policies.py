"""Do the lock policies compare as the thesis says (thesis sections 3.5.2, 4.6)? Its microbenchmark, replayed.

    python bench/lock_policies.py [--transactions N] [--seeds N] [-o bench/results/lock-policies.tables]

For skew (theta, 60 % writes) and for writes (theta 0.8):
- capacity: closed loops of 10 to 320 clients, the greatest throughput, and that with 300 clients;
- latency at one load: an open loop at 90 % of FIFO's greatest throughput;
- latency as in thesis section 4.6.6: FIFO in a closed loop of 300 clients, the others in an open loop at the
  throughput that FIFO has then; here FIFO runs in the open loop, too.
What the thesis says is beside it. A claim is reproduced if the 95 % interval of the ratio lies on the side that it
names. Nothing is tuned towards it.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from vprof.scheduling.comparison import Comparison, compare
from vprof.scheduling.generate import Zipf, zipf
from vprof.scheduling.simulator import Options

POLICIES = ("fifo", "fcfs", "rs", "vats", "ldsf", "bldsf", "mlf", "mblf", "ddf")
CLIENTS = 300
PART = 0.9
STEPS = (10, 20, 40, 80, 160, 320)
THETAS = (0.5, 0.6, 0.7, 0.8, 0.9)
WRITES = (0.2, 0.4, 0.6, 0.8, 1.0)
DELAYS = ("one", "sqrt-log2", "log2", "sqrt", "half", "k")


@dataclass(frozen=True)
class Claim:
    """What the thesis says of `policy` by `base`; the direction decides."""

    section: str
    text: str
    kind: str
    setting: tuple[float, float]
    policy: str
    base: str
    figure: str
    less: bool


CLAIMS = (
    Claim("4.6.2", "bLDSF has more throughput than FIFO", "closed", (0.9, 0.6), "bldsf", "fifo", "throughput", False),
    Claim("4.6.2", "bLDSF has more throughput than VATS", "closed", (0.9, 0.6), "bldsf", "vats", "throughput", False),
    Claim("4.6.4", "LDSF has more throughput than MLF", "closed", (0.9, 0.6), "ldsf", "mlf", "throughput", False),
    Claim("4.6.4", "LDSF has more throughput than MBLF", "closed", (0.9, 0.6), "ldsf", "mblf", "throughput", False),
    Claim("4.6.4", "LDSF has more throughput than DDF", "closed", (0.9, 0.6), "ldsf", "ddf", "throughput", False),
    Claim("4.6.4", "bLDSF has more throughput than LDSF", "closed", (0.9, 0.6), "bldsf", "ldsf", "throughput", False),
    Claim("4.6.6", "bLDSF has a lower mean than FIFO, theta 0.9", "open", (0.9, 0.6), "bldsf", "fifo", "mean", True),
    Claim("4.6.6", "bLDSF has a lower mean than VATS, theta 0.9", "open", (0.9, 0.6), "bldsf", "vats", "mean", True),
    Claim("4.6.6", "the same, 20 % writes", "open", (0.8, 0.2), "bldsf", "fifo", "mean", True),
    Claim("4.6.6", "the same, 100 % writes", "open", (0.8, 1.0), "bldsf", "fifo", "mean", True),
    Claim("4.6.3", "bLDSF has a lower p99 than FIFO", "open", (0.9, 0.6), "bldsf", "fifo", "p99", True),
    Claim("4.6.3", "bLDSF has a lower p99 than VATS", "open", (0.9, 0.6), "bldsf", "vats", "p99", True),
    Claim("3.5.2", "VATS has less variance than FCFS", "open", (0.9, 0.6), "vats", "fcfs", "variance", True),
    Claim("3.5.2", "VATS has a lower p99 than FCFS", "open", (0.9, 0.6), "vats", "fcfs", "p99", True),
    Claim("3.5.2", "VATS has a lower mean than FCFS", "open", (0.9, 0.6), "vats", "fcfs", "mean", True),
    Claim("3.5.2", "RS has less variance than FCFS (TATP)", "open", (0.9, 0.6), "rs", "fcfs", "variance", True),
)


class Study:
    def __init__(self, transactions: int, seeds: int) -> None:
        self.transactions, self.seeds = transactions, seeds
        self.closed: dict[tuple[float, float], Comparison] = {}
        self.open: dict[tuple[float, float], Comparison] = {}
        self.thesis: dict[tuple[float, float], Comparison] = {}
        self.peaks: dict[tuple[float, float], dict[str, tuple[float, int]]] = {}
        self.rates: dict[tuple[float, float], float] = {}

    def run(self) -> None:
        for setting in dict.fromkeys([*((theta, 0.6) for theta in THETAS), *((0.8, writes) for writes in WRITES)]):
            self.closed[setting] = self.compared(setting, POLICIES, clients=CLIENTS)
            self.peaks[setting] = self.peaks_of(setting)
            self.rates[setting] = PART * self.peaks[setting]["fifo"][0]
            self.open[setting] = self.compared(setting, POLICIES, rate=self.rates[setting])
            self.thesis[setting] = self.compared(setting, POLICIES, rate=self.with_clients(setting))
            print(f"theta {setting[0]}, writes {setting[1]}: done", file=sys.stderr, flush=True)

    def with_clients(self, setting: tuple[float, float]) -> float:
        """FIFO's throughput with 300 clients."""
        return self.closed[setting].outcomes[0].figures["throughput"].value or 1.0

    def peaks_of(self, setting: tuple[float, float]) -> dict[str, tuple[float, int]]:
        """By policy the greatest throughput, and with how many clients."""
        found: dict[str, tuple[float, int]] = {}
        for clients in STEPS:
            for one in self.compared(setting, POLICIES, clients=clients).outcomes:
                value = one.figures["throughput"].value or 0.0
                found[one.policy] = max(found.get(one.policy, (0.0, 0)), (value, clients))
        return found

    def compared(
        self,
        setting: tuple[float, float],
        policies: tuple[str, ...],
        options: Options | None = None,
        clients: int | None = None,
        rate: float | None = None,
    ) -> Comparison:
        wanted = Zipf(self.transactions, theta=setting[0], writes=setting[1])
        return compare(lambda seed: zipf(wanted, seed, clients, rate), policies, self.seeds, options)

    def tables(self) -> Iterator[str]:
        yield "## Capacity: the greatest throughput by FIFO's (with so many clients)"
        yield from self.peak_table()
        yield f"## Throughput with {CLIENTS} clients by FIFO's (deadlocks per 1000 transactions)"
        yield from self.table(self.closed, "throughput", deadlocks=True)
        for figure in ("mean", "variance", "p99"):
            part = f"{100 * PART:.0f} % of FIFO's greatest throughput"
            yield f"## {figure} by FIFO's, an open loop at {part}"
            yield from self.table(self.open, figure)
        yield f"## mean as the thesis compares: FIFO with {CLIENTS} clients by each in an open loop at that throughput"
        yield from self.thesis_table()
        yield f"## bLDSF's delay factor: throughput with {CLIENTS} clients by that of `log2`, theta 0.9, 60 % writes"
        yield from self.delays()
        yield "## What the thesis says, and the replay"
        yield from self.verdicts()

    def peak_table(self) -> Iterator[str]:
        yield from _head()
        for setting, peaks in self.peaks.items():
            first = peaks["fifo"][0]
            cells = [f"{first:.4g} /s ({peaks['fifo'][1]})"]
            cells += [f"{peaks[name][0] / first:.2f} ({peaks[name][1]})" for name in POLICIES[1:]]
            yield _row(setting, cells)
        yield ""

    def thesis_table(self) -> Iterator[str]:
        yield from _head()
        for setting, found in self.thesis.items():
            thrashing = self.closed[setting].outcomes[0].figures["mean"].value or 0.0
            yield _row(setting, [f"{thrashing / (one.figures['mean'].value or 1.0):.1f}" for one in found.outcomes])
        yield ""

    def table(
        self, found: dict[tuple[float, float], Comparison], figure: str, deadlocks: bool = False
    ) -> Iterator[str]:
        yield from _head()
        for setting, comparison in found.items():
            first = comparison.outcomes[0].figures[figure].value or 0.0
            shown = f"{first:.4g} /s" if figure == "throughput" else f"{first / 1e12:.3g} ms2"
            shown = f"{first / 1e6:.3g} ms" if figure in ("mean", "p99") else shown
            cells = [shown, *(f"{one.ratios[figure].value or 0:.2f}" for one in comparison.outcomes[1:])]
            if deadlocks:
                counts = [
                    1000 * (one.figures["deadlocks"].value or 0) / self.transactions for one in comparison.outcomes
                ]
                cells = [f"{cell} ({count:.0f})" for cell, count in zip(cells, counts, strict=True)]
            yield _row(setting, cells)
        yield ""

    def delays(self) -> Iterator[str]:
        found = {
            name: self.compared((0.9, 0.6), ("bldsf",), Options(delay=name), clients=CLIENTS).outcomes[0].figures
            for name in DELAYS
        }
        usual = found["log2"]["throughput"].value or 1.0
        yield "| " + " | ".join(f"`{name}`" for name in DELAYS) + " |"
        yield "|---" * len(DELAYS) + "|"
        cells = (f"{(found[name]['throughput'].value or 0) / usual:.3f}" for name in DELAYS)
        yield "| " + " | ".join(cells) + " |\n"

    def verdicts(self) -> Iterator[str]:
        yield "| section | claim | ratio | 95 % interval | reproduced |"
        yield "|---|---|---|---|---|"
        for claim in CLAIMS:
            load = {"clients": CLIENTS} if claim.kind == "closed" else {"rate": self.rates[claim.setting]}
            ratio = self.compared(claim.setting, (claim.base, claim.policy), **load).outcomes[1].ratios[claim.figure]  # type: ignore[arg-type]
            low, high = ratio.ci95 or (1.0, 1.0)
            found = "yes" if (high < 1 if claim.less else low > 1) else "**no**" if low > 1 or high < 1 else "not found"
            yield f"| {claim.section} | {claim.text} | {ratio.value:.3f} | {low:.3f} .. {high:.3f} | {found} |"
        yield ""


def _head() -> Iterator[str]:
    yield "| theta | writes | FIFO | " + " | ".join(POLICIES[1:]) + " |"
    yield "|---" * (len(POLICIES) + 2) + "|"


def _row(setting: tuple[float, float], cells: list[str]) -> str:
    return f"| {setting[0]} | {100 * setting[1]:.0f} % | {' | '.join(cells)} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--transactions", type=int, default=10_000)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("-o", "--output", type=Path)
    args = parser.parse_args()
    began = time.monotonic()
    study = Study(args.transactions, args.seeds)
    study.run()
    text = "\n".join(study.tables())
    text += f"\n{args.transactions} transactions, {args.seeds} seeds; {time.monotonic() - began:.0f} s.\n"
    if args.output:
        args.output.write_text(text)
    print(text)


if __name__ == "__main__":
    main()
