"""Metrics of a watch that runs: takes its log lines and its pieces, and passes on what they say.

with Metrics.opened(place("9464", None), folder, settings.threshold, root, say) as metrics:
    Watch(..., say=metrics.say, seen=metrics.seen)
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from vprof.metrics.analyses import Analyses
from vprof.metrics.exposition import File, Port, Served, Written
from vprof.metrics.figures import Figures
from vprof.tables.model import Int64
from vprof.watch.loop import Say
from vprof.watch.pieces import Piece
from vprof.watch.threshold import Threshold


class Metrics:
    def __init__(
        self, figures: Figures, exposed: Served | Written, analyses: Analyses, threshold: Threshold, log: Say
    ) -> None:
        self._figures, self._exposed, self._analyses = figures, exposed, analyses
        self._threshold, self._log = threshold, log

    @classmethod
    @contextmanager
    def opened(
        cls, where: Port | File, pieces: Path, threshold: Threshold, root: str | None, log: Say
    ) -> Iterator[Metrics]:
        """Listens, or has written its file. `pieces`: the folder of the recording. Raises VprofError if it cannot."""
        figures = Figures(root)
        exposed, analyses = where.open(figures), Analyses(pieces, root)
        try:
            yield cls(figures, exposed, analyses, threshold, log)
        finally:
            analyses.close()
            exposed.close()

    def say(self, event: str, **fields: object) -> None:
        """Counts what the log says, and logs it."""
        self._figures.event(event, fields)
        self._log(event, **fields)
        if event == "begun":
            self._log("metrics", at=self._exposed.at)

    def seen(self, piece: Piece, latencies: Mapping[str, Int64]) -> None:
        """A piece is closed, with what ended in it, by type. To be told before the threshold learns of it."""
        ended = piece.realtime_ns(piece.end) / 1e9 or time.time()
        limits = {type_: self._threshold.limit(type_) for type_ in latencies}
        self._figures.piece(latencies, limits, ended)
        self._analyze(piece, ended, sum(map(len, latencies.values())))
        if why := self._exposed.renew():
            self._log("metrics-unwritten", reason=why)

    def _analyze(self, piece: Piece, ended: float, intervals: int) -> None:
        if done := self._analyses.poll():
            self._figures.analyzed(done.document, done.seconds, done.ended, done.cpu)
            if done.document is None:
                self._log("not-analyzed", reason=done.reason)
        try:
            self._analyses.begin(piece, ended, intervals)
        except OSError as error:
            self._log("not-analyzed", reason=error.strerror or error)
