"""All that is exported, by the conventions of Prometheus: seconds, ratios from 0 to 1, counters that end in `_total`.

docs/metrics.md and its dashboard use these names (tests/cli/test_metrics_docs.py).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Metric:
    """`name`: without the `_total` of a counter."""

    name: str
    kind: Literal["histogram", "counter", "gauge"]
    text: str
    labels: tuple[str, ...] = ()

    @property
    def samples(self) -> list[str]:
        """The names under which Prometheus keeps it."""
        if self.kind == "histogram":
            return [f"{self.name}_bucket", f"{self.name}_count", f"{self.name}_sum"]
        return [f"{self.name}_total" if self.kind == "counter" else self.name]


INTERVAL = Metric("vprof_interval_seconds", "histogram", "Latencies of intervals that ended.", ("type",))
LIMIT = Metric("vprof_interval_limit_seconds", "gauge", "What takes longer is slow.", ("type",))
SLOW = Metric("vprof_intervals_slow", "counter", "Intervals that took longer than the limit.", ("type",))
KEPT = Metric("vprof_intervals_kept", "counter", "Slow intervals whose records were kept.")
NOT_KEPT = Metric(
    "vprof_intervals_not_kept", "counter", "Slow intervals whose records were not kept: the log says why."
)
LOST = Metric("vprof_records_lost", "counter", "Records that were lost because rings were full.")
OFF = Metric("vprof_functions_switched_off", "gauge", "Functions of the plan that are off because they cost too much.")
PIECE = Metric("vprof_last_piece_timestamp_seconds", "gauge", "When the last part of the recording ended.")
CPU = Metric("vprof_cpu_seconds", "counter", "CPU time of the watch, and of its analyses.", ("part",))
SHARE = Metric(
    "vprof_factor_variance_share",
    "gauge",
    "Share of the latencies' variance that a factor has, in the piece analyzed last. Shares may overlap.",
    ("type", "factor"),
)
WAIT = Metric("vprof_wait_seconds", "counter", "Time intervals waited for an object, in pieces analyzed.", ("object",))
ANALYSES = Metric("vprof_analyses", "counter", "Pieces analyzed, by what came of it.", ("result",))
ANALYZED_SECONDS = Metric("vprof_analyzed_seconds", "counter", "Length of the pieces analyzed.")
ANALYZED_INTERVALS = Metric("vprof_analyzed_intervals", "counter", "Intervals in the pieces analyzed.")
ANALYZED_AT = Metric("vprof_analyzed_timestamp_seconds", "gauge", "When the piece analyzed last ended.")

ALL = (
    INTERVAL,
    LIMIT,
    SLOW,
    KEPT,
    NOT_KEPT,
    LOST,
    OFF,
    PIECE,
    CPU,
    SHARE,
    WAIT,
    ANALYSES,
    ANALYZED_SECONDS,
    ANALYZED_INTERVALS,
    ANALYZED_AT,
)
