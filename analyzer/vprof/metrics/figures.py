"""The figures since the watch began, as families of the client library: a collector that is asked for them at a scrape.

Thread-safe: the watch adds, each scrape reads in a thread of its own.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric

from vprof.metrics import names
from vprof.metrics.bounded import OTHERS, First, Latest, label
from vprof.metrics.histogram import Histogram
from vprof.tables.model import Int64

FACTORS = 5
"""Of each type, at most."""
_TYPES, _TYPES_WITH_FACTORS = 20, 10
_OBJECTS, _OBJECTS_AT_ONCE = 50, 10
NAMELESS = "(none)"
"""The type of intervals that have none, as reports show it."""


class Figures:
    def __init__(self, root: str | None = None) -> None:
        """`root`: the function whose calls are the intervals, instead of annotated ones: its name is their type."""
        self._lock = threading.Lock()
        self._nameless, self._types = root or NAMELESS, First(_TYPES)
        self._latencies: dict[str, Histogram] = {}
        self._limits: dict[str, float] = {}
        self._slow: Counter[str] = Counter()
        self._shares: dict[tuple[str, str], float] = {}
        self._waits = Latest(_OBJECTS)
        self._analyses: Counter[str] = Counter()
        self._analyzed = dict.fromkeys((names.ANALYZED_SECONDS, names.ANALYZED_INTERVALS, names.ANALYZED_AT), 0.0)
        self._simple = dict.fromkeys((names.KEPT, names.NOT_KEPT, names.LOST, names.OFF, names.PIECE), 0.0)
        self._analysis_cpu = 0.0

    def piece(self, latencies: Mapping[str, Int64], limits: Mapping[str, int | None], ended: float) -> None:
        """What ended in a piece, by type, in ns; what was slow by then; when the piece ended."""
        with self._lock:
            for name, taken in latencies.items():
                type_ = self._type(name)
                self._latencies.setdefault(type_, Histogram()).add(taken)
                limit = limits.get(name)
                if limit is not None:
                    self._slow[type_] += int((taken > limit).sum())
                    if type_ != OTHERS:
                        self._limits[type_] = limit / 1e9
            self._simple[names.PIECE] = ended

    def event(self, event: str, fields: Mapping[str, Any]) -> None:
        """A line of the log."""
        with self._lock:
            if event == "kept":
                self._simple[names.KEPT] += 1
            elif event == "not-kept":
                self._simple[names.NOT_KEPT] += int(fields["intervals"])
            elif event == "lost":
                self._simple[names.LOST] += int(fields["records"])
            elif event == "switched-off":
                self._simple[names.OFF] += 1
            elif event == "plan":
                self._simple[names.OFF] = 0

    def analyzed(self, document: Mapping[str, Any] | None, seconds: float, ended: float, cpu: float) -> None:
        """The JSON of `vprof analyze --by-type` of a piece so long, None: there was none; and what it took."""
        with self._lock:
            self._analysis_cpu += cpu
            self._analyses["done" if document else "failed"] += 1
            if not document:
                return
            self._shares = dict(self._shares_in(document))
            objects = document["waited_for"]["objects"]
            self._waits.add([(one["title"], one["total_ns"] / 1e9) for one in objects], _OBJECTS_AT_ONCE)
            self._analyzed[names.ANALYZED_SECONDS] += seconds
            self._analyzed[names.ANALYZED_INTERVALS] += document["intervals"]["count"]
            self._analyzed[names.ANALYZED_AT] = ended

    def _shares_in(self, document: Mapping[str, Any]) -> Iterator[tuple[tuple[str, str], float]]:
        """A single type has the factors of all. Of names that are alike once they are short, the first."""
        types = document["by_type"]["types"]
        found: set[tuple[str, str]] = set()
        for row in types[:_TYPES_WITH_FACTORS]:
            type_ = self._type("" if row["type"] == NAMELESS else row["type"])
            of_type = row.get("factors", document["factors"] if len(types) == 1 else [])
            for factor in of_type[:FACTORS]:
                key = type_, label("|".join(factor["functions"]))
                if type_ != OTHERS and key not in found:
                    found.add(key)
                    yield key, factor["share"]

    def _type(self, name: str) -> str:
        return self._types.of(name or self._nameless)

    def collect(self) -> Iterator[Metric]:
        """The library asks for these."""
        with self._lock:
            families = [self._histogram(), *self._by_type(), *self._of_analyses(), *self._without_labels()]
        yield from families

    def _histogram(self) -> Metric:
        family = HistogramMetricFamily(names.INTERVAL.name, names.INTERVAL.text, labels=names.INTERVAL.labels)
        for type_, one in self._latencies.items():
            family.add_metric([type_], one.buckets(), one.sum_seconds)
        return family

    def _by_type(self) -> Iterator[Metric]:
        yield _family(names.LIMIT, {(type_,): seconds for type_, seconds in self._limits.items()})
        yield _family(names.SLOW, {(type_,): count for type_, count in self._slow.items()})

    def _of_analyses(self) -> Iterator[Metric]:
        waits = {(name,): seconds for name, seconds in self._waits.sums.items()}
        yield _family(names.SHARE, self._shares)
        yield _family(names.WAIT, waits | ({(OTHERS,): self._waits.others} if self._waits.others else {}))
        yield _family(names.ANALYSES, {(result,): self._analyses[result] for result in ("done", "failed")})
        yield _family(names.CPU, {("watch",): time.process_time(), ("analyses",): self._analysis_cpu})

    def _without_labels(self) -> Iterator[Metric]:
        for metric, value in (self._simple | self._analyzed).items():
            # A time that is not known yet would be 1970.
            if value or metric not in (names.PIECE, names.ANALYZED_AT):
                yield _family(metric, {(): value})


def _family(metric: names.Metric, values: Mapping[Any, float]) -> Metric:
    """`values`: by labels, a tuple."""
    kind = CounterMetricFamily if metric.kind == "counter" else GaugeMetricFamily
    family = kind(metric.name, metric.text, labels=metric.labels)
    for labels, value in values.items():
        family.add_metric(labels, value)
    return family
