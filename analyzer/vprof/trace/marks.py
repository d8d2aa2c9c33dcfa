"""The marks by which a trace tells that its probes were switched on and off in turn."""

from __future__ import annotations

SLICE_ON, SLICE_OFF, SLICE_END = "slice on", "slice off", "slice end"
"""Marks in the trace. What lies between an end and the next beginning belongs to no slice: there the probes are
switched."""
