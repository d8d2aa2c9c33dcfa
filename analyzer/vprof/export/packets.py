"""Tracks, slices and arrows as packets of a Perfetto trace."""

from __future__ import annotations

from collections.abc import Iterable
from typing import IO, Any, NamedTuple

from vprof.errors import VprofError
from vprof.report.page.plain import plain

_SEQUENCE = 1


class TrackSlice(NamedTuple):
    start: int
    stop: int
    name: str


class Packets:
    """Writes packets to a file as they come. Times are ns and count from `origin`, none is before it."""

    def __init__(self, file: IO[bytes], origin: int) -> None:
        """Raises VprofError when Perfetto's package is not installed."""
        try:
            from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import TrackEvent
            from perfetto.trace_builder.proto_builder import StreamingTraceProtoBuilder
        except ImportError:
            raise VprofError("Perfetto's traces need its package: pip install 'vprof[perfetto]'") from None
        self._builder, self._types, self._origin = StreamingTraceProtoBuilder(file), TrackEvent, origin
        self._tracks = self._arrows = 0

    def track(self, name: str, parent: int | None = None) -> int:
        """A new one, its number."""
        packet, number = self._descriptor()
        packet.track_descriptor.name = plain(name)
        if parent is not None:
            packet.track_descriptor.parent_uuid = parent
        self._builder.write_packet(packet)
        return number

    def thread(self, pid: int, tid: int, name: str) -> int:
        """The track of a thread, its number."""
        packet, number = self._descriptor()
        of = packet.track_descriptor.thread
        of.pid, of.tid, of.thread_name = pid, tid, plain(name)
        self._builder.write_packet(packet)
        return number

    def slices(self, track: int, slices: Iterable[TrackSlice]) -> None:
        """They nest, and come in order of their starts, outer ones first."""
        ends: list[int] = []
        for one in slices:
            while ends and ends[-1] <= one.start:
                self._end(track, ends.pop())
            self._write(track, one.start, self._types.TYPE_SLICE_BEGIN, one.name)
            ends.append(one.stop)
        while ends:
            self._end(track, ends.pop())

    def arrow(self, start: tuple[int, int, str], stop: tuple[int, int, str]) -> None:
        """From one (track, time, name) to another: two marks and a flow."""
        self._arrows += 1
        mark = self._types.TYPE_INSTANT
        self._write(start[0], start[1], mark, start[2], flow_ids=[self._arrows])
        self._write(stop[0], stop[1], mark, stop[2], terminating_flow_ids=[self._arrows])

    def _descriptor(self) -> tuple[Any, int]:
        self._tracks += 1
        packet = self._builder.create_packet()
        packet.track_descriptor.uuid = self._tracks
        return packet, self._tracks

    def _end(self, track: int, time: int) -> None:
        self._write(track, time, self._types.TYPE_SLICE_END)

    def _write(self, track: int, time: int, kind: Any, name: str = "", **flows: list[int]) -> None:
        packet = self._builder.create_packet()
        packet.timestamp = time - self._origin
        packet.trusted_packet_sequence_id = _SEQUENCE
        event = packet.track_event
        event.type, event.track_uuid = kind, track
        if name:
            event.name = plain(name)
        for field, numbers in flows.items():
            getattr(event, field).extend(numbers)
        self._builder.write_packet(packet)
