"""The last seconds of a session: the newest pieces, what each found of latencies, and the analysis of all of them.

    piece, piece, ... -> Sample each, kept for the curves; the newest pieces, as one trace -> Analysis -> Found

What a refresh costs depends on the records in these pieces and on nothing before them. The trace is kept until the next
analysis: paths are looked up in it, and it is what is saved.
"""

from __future__ import annotations

import shutil
import time
from collections import deque
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from vprof.errors import NoIntervalError, UsageError, VprofError
from vprof.path.chosen import chosen_paths
from vprof.path.interval_path import IntervalPath
from vprof.path.path_tree import display_names
from vprof.report.json import analysis_json
from vprof.tables.model import NONE, Int64, Trace
from vprof.top.join import join
from vprof.top.view import Sample, function_of, rows_of
from vprof.trace.scan import FOREVER
from vprof.variance.analysis import Analysis, AnalysisOptions
from vprof.variance.stream import analyze_traces
from vprof.watch.latencies import Latencies
from vprof.watch.pieces import Piece

MOST_SAMPLES = 120
"""Of which there are curves."""
_FACTORS, _LEAST_SHARE = 20, 0.005
"""As many and as small as a screen may show."""


@dataclass(frozen=True)
class Found:
    """`document`: `vprof-analysis/1` of the window, None: there is none, and `reason` says why. `below`: by function of
    the document, what of its children is off and can be switched on."""

    document: dict[str, Any] | None
    reason: str = ""
    below: dict[str, list[str]] = field(default_factory=dict)


class Window:
    """`most`: pieces of it. `samples`: of all pieces of late, also of those that are gone. `trace`: what was analyzed
    last."""

    def __init__(self, folder: Path, root: str | None, most: int) -> None:
        self.most = most
        self.samples: deque[Sample] = deque(maxlen=MOST_SAMPLES)
        self.trace = folder / "window.trace"
        self._folder, self._root = folder, root
        self._latencies = Latencies()
        self._pieces: deque[tuple[Piece, Int64]] = deque()
        self._count = 0

    def next_path(self) -> Path:
        """Of a piece that is to be recorded."""
        self._count += 1
        return self._folder / f"{self._count:09}.trace"

    def take(self, path: Path, roots: list[int], lost: int) -> bool:
        """A piece that was closed. False: nothing can be told of it, it is gone. Raises TraceError when it is no
        trace. `roots`: numbers of the root's sites; `lost`: records that are missing in it."""
        piece = Piece.read(path, self._pieces[-1][0] if self._pieces else None)
        if piece is None:
            path.unlink(missing_ok=True)
            self.interrupt()
            return False
        self._latencies.roots = roots or ([NONE] if self._root else [])  # no call is one of a root without sites
        latency = self._latencies.of(piece).latency
        piece.file.release()
        self._pieces.append((piece, latency))
        self.samples.append(sample(latency, (piece.end - piece.begin) / 1e9, lost))
        while len(self._pieces) > self.most:
            self._pieces.popleft()[0].path.unlink(missing_ok=True)
        return True

    def interrupt(self) -> None:
        """What follows does not go on from what there is: records are missing, or other probes are on."""
        while self._pieces:
            self._pieces.popleft()[0].path.unlink(missing_ok=True)
        self._latencies.forget(FOREVER)

    @property
    def seconds(self) -> float:
        return (self._pieces[-1][0].end - self._pieces[0][0].begin) / 1e9 if self._pieces else 0.0

    @property
    def pieces(self) -> int:
        return len(self._pieces)

    def summary(self) -> Sample:
        """Of all of it."""
        latencies = np.concatenate([np.zeros(0, np.int64), *(latency for _, latency in self._pieces)])
        last = list(self.samples)[-len(self._pieces) :] if self._pieces else []
        return sample(latencies, self.seconds, sum(one.lost for one in last))

    def analyze(self) -> Found:
        """Of all of it. Raises OSError when there is no room for the trace."""
        if not self._pieces:
            return Found(None, "nothing is recorded yet")
        join([piece for piece, _ in self._pieces], self.trace)
        options = AnalysisOptions(k=_FACTORS, min_share=_LEAST_SHARE)
        try:
            analysis = analyze_traces([self.trace], self._root, options)
            document = analysis_json(analysis)
        except NoIntervalError as error:
            return Found(None, str(error))
        except VprofError as error:
            return Found(None, f"cannot be analyzed: {error}")
        return Found(document, "", _below(analysis, document))

    def path(self, rank: int) -> IntervalPath:
        """Of the slowest interval of what was analyzed last, or of that after `rank` slower ones; the fastest if there
        are not so many. Raises VprofError when there is none."""
        if not self.trace.exists():
            raise VprofError("nothing is analyzed yet")

        def choice(trace: Trace) -> list[str]:
            latency = trace.intervals.end - trace.intervals.begin
            order = np.argsort(-latency, kind="stable")
            if not len(order):
                raise UsageError("no interval is whole in the window")
            return [trace.interval_ids[int(order[min(rank, len(order) - 1)])]]

        return chosen_paths([self.trace], choice, self._root)[0]

    def save(self, folder: Path) -> Path:
        """A copy of what was analyzed last. Raises VprofError in one line."""
        if not self.trace.exists():
            raise VprofError("nothing is analyzed yet")
        path = folder / time.strftime("top-%Y%m%d-%H%M%S.trace")
        fresh = path.with_name(f"{path.name}.new")
        try:
            shutil.copyfile(self.trace, fresh)
            fresh.replace(path)
        except OSError as error:
            fresh.unlink(missing_ok=True)
            raise VprofError(f"cannot write {path}: {error.strerror or error}") from None
        return path


def sample(latency: Int64, seconds: float, lost: int) -> Sample:
    """Quantiles are latencies that occurred."""
    if not len(latency):
        return Sample(seconds, 0, 0, 0, 0, lost)
    p50, p99 = np.quantile(latency, (0.5, 0.99), method="inverted_cdf").tolist()
    return Sample(seconds, len(latency), int(p50), int(p99), int(latency.max()), lost)


def _below(analysis: Analysis, document: dict[str, Any]) -> dict[str, list[str]]:
    program, names = analysis.trace.program, display_names(analysis.trace)
    number = {name: f for f, name in enumerate(names)}
    found = {}
    for function in {function_of(name) for row in rows_of(document) for name in row.functions} - {""}:
        f = number.get(function)
        if f is not None:
            found[function] = [names[c] for c in program.calls[f] if program.can_switch(c) and not program.on[c]]
    return found
