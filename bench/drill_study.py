#!/usr/bin/env python3
"""How often a drill-down finds what is there, and what its probes do.

    vprof instrument --target minidb
    python bench/drill_study.py causes --runs 21 --controls 10       (half a minute each)
    python bench/drill_study.py probes --target postgres --counts 100 500

`causes`: minidb's planted causes ([[demo]] of its target.toml) in turn with seeds chosen at random, and controls with
none. A cause is found if it is the first finding, confirmed, and called inherent if and only if it is work that differs
by type. A control is clean if nothing is confirmed.
`probes`: a random sample of the functions that the load executes, switched on and off in turn: the change of
throughput, mean and p99.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from vprof.installed import target_file
from vprof.path.path_tree import display_names
from vprof.target import descriptor as descriptors
from vprof.trace.loading import load_trace

VPROF = [sys.executable, "-c", "from vprof.cli import main; main()"]
LOOK_SECONDS, COMPARE_SECONDS = 5, 60


@dataclass(frozen=True)
class Run:
    """One drill-down. `most` functions were on at once, `ever` at some time; `naive`: call paths to decompose all;
    `cpu_wait`: the share of the variance that is waiting for a CPU; `why` the first finding's share has no interval."""

    first: str
    why: str
    confirmed: list[str]
    inherent: bool
    cpu_wait: float
    steps: int
    most: int
    ever: int
    naive: int
    seconds: float

    @classmethod
    def of(cls, target: str, options: list[str], load: list[str]) -> Run:
        begin = time.monotonic()
        report = json.loads(vprof("drill", "--auto", "--target", target, "--format", "json", *options, "--", *load))
        plans = [set(step["on"]) for step in report["steps"]]
        findings = report["findings"]
        return cls(
            first=name(findings[0]) if findings else "-",
            why=findings[0]["ci95_reason"] if findings else "",
            confirmed=[name(finding) for finding in findings if finding["confirmed"]],
            inherent=bool(findings and findings[0]["is_inherent"]),
            cpu_wait=sum(report["cpu_wait"].values()),
            steps=len(plans),
            most=max(map(len, plans)),
            ever=len(set().union(*plans)),
            naive=report["confirmation"]["naive_cost"],
            seconds=time.monotonic() - begin,
        )

    def show(self, title: str) -> None:
        sure = "-" if self.first not in self.confirmed else "inherent" if self.inherent else "confirmed"
        counts = (
            f"{self.steps:5} {self.most:5} {self.ever:5} {self.naive:10.3g} {self.cpu_wait:5.0%} {self.seconds:6.0f}"
        )
        print(
            f"{title:24} {self.first[:40]:40} {sure:10} {counts} {os.getloadavg()[0]:6.1f}  {self.why}".rstrip(),
            flush=True,
        )


HEADING = f"{'run':24} {'first finding':40} {'':10} steps  most  ever      naive   CPU      s   load"


def vprof(*arguments: object) -> str:
    """Its standard output. Raises CalledProcessError after what it said."""
    return subprocess.run([*VPROF, *map(str, arguments)], check=True, stdout=subprocess.PIPE, text=True).stdout


def name(finding: dict[str, Any]) -> str:
    return "|".join(finding["functions"])


def causes(runs: int, controls: int, seed: int) -> None:
    cases = descriptors.load(target_file("minidb")).free["demo"]
    chance = random.Random(seed)
    options = ["--step-seconds", "1.5"]
    print(HEADING)
    found = 0
    for number in range(runs):
        case = cases[number % len(cases)]
        planted = ["--pathology", case["pathology"], "--seed", str(chance.getrandbits(32))]
        run = Run.of("minidb", options, planted)
        run.show(" ".join(planted[1::2]))
        right = run.first == "|".join(case["finding"]) and run.inherent == case.get("inherent", False)
        found += right and run.first in run.confirmed
    clean = 0
    for _ in range(controls):
        run = Run.of("minidb", options, ["--seed", str(chance.getrandbits(32))])
        run.show("none")
        clean += not run.confirmed
    print(f"found {found} of {runs} causes; {clean} of {controls} controls without a confirmed finding")


def executed(target: str, load: list[str]) -> list[str]:
    """Names of the functions that the load executes in LOOK_SECONDS, sorted."""
    trace = Path(".vprof") / f"{target}-executed.trace"
    vprof("record", "--target", target, "--seconds", LOOK_SECONDS, "--sites", "all", "-o", trace, "--", *load)
    seen = load_trace(trace)
    trace.unlink()
    return sorted({display_names(seen)[f] for f in np.unique(seen.invocations.function)})


def sampled(names: list[str], count: int, seed: int) -> list[str]:
    return random.Random(seed).sample(names, min(count, len(names)))


def probes(target: str, counts: list[int], seed: int, load: list[str]) -> None:
    names = executed(target, load)
    trace = Path(".vprof") / f"{target}-probes.trace"
    print(f"{len(names)} functions are executed in {LOOK_SECONDS} s")
    for count in counts:
        sample = sampled(names, count, seed)
        plan = trace.with_suffix(".plan")
        plan.write_text(json.dumps({"schema": "vprof-plan/1", "functions": sample}), encoding="utf-8")
        options = ["--seconds", COMPARE_SECONDS, "--sites", plan, "--measure-distortion", "-o", trace]
        vprof("record", "--target", target, *options, "--", *load)
        report = json.loads(vprof("analyze", trace, "--format", "json", "--force"))  # drops: said by record
        found, cost = report["distortion"], report["probe_cost"]
        print(f"{len(sample)} functions, load {os.getloadavg()[0]:.1f}, {found['rounds']} rounds: {found['reason']}")
        by_number = "not known" if cost is None else f"{cost['share']:.2%}"
        print(
            f"  throughput {found['on'] / found['off'] - 1:+.1%}; what the probes take by number and cost: {by_number}"
        )
        for effect in found["effects"]:
            low, high = effect["ci95"]
            print(f"  {effect['metric']:10} {effect['change']:+.1%} [{low:+.1%}, {high:+.1%}]")
    trace.unlink()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["causes", "probes"])
    parser.add_argument("--target", default="minidb")
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--controls", type=int, default=10)
    parser.add_argument("--counts", type=int, nargs="+", default=[100, 500])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("load", nargs="*", help="options of the target's load")
    given = parser.parse_args()
    if given.what == "causes":
        causes(given.runs, given.controls, given.seed)
    else:
        probes(given.target, given.counts, given.seed, given.load)


if __name__ == "__main__":
    main()
