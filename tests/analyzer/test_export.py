"""`vprof export`: what other tools read of a run, read back with their own formats' readers."""

import json
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
import pytest
from click.testing import CliRunner
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace, TrackEvent
from worked_cases import TRACES

import vprof
from vprof.commands.export import command
from vprof.errors import UsageError

CASES = Path(__file__).parent.parent / "cases"
HANDOFF = CASES / "02_lock_handoff.json"


def export(trace: Path, form: str, output: Path, *options: str) -> None:
    words = [str(trace), "--to", form, "-o", str(output), *options]
    done = CliRunner().invoke(command, words, catch_exceptions=False)
    assert done.exit_code == 0, done.output


class Shown(NamedTuple):
    """A Perfetto trace as its viewer shows it: {track: [(depth, name, start, stop)]} and arrows between named marks."""

    slices: dict[str, list[tuple[int, str, int, int]]]
    arrows: list[tuple[str, str, str, str]]


def shown(file: Path) -> Shown:
    """Fails where Perfetto's reader would count an error: unknown fields, tracks or ends without their begins."""
    trace = Trace.FromString(file.read_bytes())
    assert trace.SerializeToString() == file.read_bytes()
    descriptors = [p.track_descriptor for p in trace.packet if p.HasField("track_descriptor")]
    names = {d.uuid: d.thread.thread_name or d.name for d in descriptors}
    full = {d.uuid: f"{names[d.parent_uuid]}/{names[d.uuid]}" if d.parent_uuid else names[d.uuid] for d in descriptors}
    assert len(names) == len(descriptors)
    slices: dict[str, list[tuple[int, str, int, int]]] = {name: [] for name in full.values()}
    begun: dict[int, list[tuple[str, int]]] = {uuid: [] for uuid in names}
    flows: dict[int, list[tuple[str, str]]] = {}
    latest = dict.fromkeys(names, 0)
    for packet in trace.packet:
        if not packet.HasField("track_event"):
            continue
        event = packet.track_event
        uuid = event.track_uuid
        if event.type == TrackEvent.TYPE_INSTANT:
            [flow] = [*event.flow_ids, *event.terminating_flow_ids]
            flows.setdefault(flow, []).append((full[uuid], event.name))
            continue
        assert packet.timestamp >= latest[uuid]
        latest[uuid] = packet.timestamp
        if event.type == TrackEvent.TYPE_SLICE_BEGIN:
            begun[uuid].append((event.name, packet.timestamp))
        else:
            name, start = begun[uuid].pop()
            slices[full[uuid]].append((len(begun[uuid]), name, start, packet.timestamp))
    assert not any(begun.values())
    return Shown(slices, [(*start, *stop) for start, stop in flows.values()])


def test_a_lock_handoff_in_perfetto(tmp_path: Path) -> None:
    """A1 takes from 200 to 322; thread 1 waits until thread 2 releases the lock at 290, and runs again at 292."""
    export(HANDOFF, "perfetto", tmp_path / "run.pftrace", "--interval", "A1")
    seen = shown(tmp_path / "run.pftrace")
    assert seen.slices == {
        "intervals": [],
        "intervals/critical paths": [
            (1, "exec: 1", 0, 20),
            (1, "exec: 2", 20, 90),
            (1, "sched: 1", 90, 92),
            (1, "exec: 1", 92, 122),
            (0, "A1", 0, 122),
        ],
        "1": [(1, "lock_wait", 20, 92), (0, "txnA", 0, 122)],
        "2": [(1, "UpdateRow", 5, 85), (1, "Commit", 85, 100), (0, "txnB", 5, 100)],
        "1/waits": [(0, "blocked", 20, 92)],
        "2/waits": [],
    }
    assert seen.arrows == [("2/waits", "wakes 1", "1/waits", "woken by 2")]


@pytest.mark.parametrize("case", TRACES, ids=lambda case: case.stem)
def test_all_intervals_of_every_case_in_perfetto(case: Path, tmp_path: Path) -> None:
    export(case, "perfetto", tmp_path / "run.pftrace", "--all")
    run = vprof.load(case)
    seen = shown(tmp_path / "run.pftrace").slices["intervals/critical paths"]
    assert sorted(b - a for depth, _, a, b in seen if depth == 0) == sorted(run.intervals.latency_ns)
    assert sorted(b - a for depth, _, a, b in seen if depth == 1) == sorted(run.pieces.duration_ns)


def test_exemplars_unless_more_is_asked_for(tmp_path: Path) -> None:
    many: dict[str, Any] = {"intervals": [], "segments": [], "functions": []}
    for i in range(200):
        begin, end = 1000 * i, 1000 * i + 100 + i
        many["intervals"].append({"sid": f"t{i}", "begin": {"tid": 1, "t": begin}, "end": {"tid": 1, "t": end}})
        many["segments"].append([1, f"t{i}", begin, end, "exec"])
    (tmp_path / "run.json").write_text(json.dumps(many))
    export(tmp_path / "run.json", "perfetto", tmp_path / "run.pftrace")
    seen = shown(tmp_path / "run.pftrace").slices["intervals/critical paths"]
    assert [name for depth, name, _, _ in seen if depth == 0] == ["t99", "t197", "t198", "t199"]


@pytest.mark.parametrize("case", TRACES, ids=lambda case: case.stem)
def test_folded_stacks_add_up_to_the_latencies(case: Path, tmp_path: Path) -> None:
    export(case, "folded", tmp_path / "run.folded")
    lines = (tmp_path / "run.folded").read_text().splitlines()
    assert sum(int(line.rpartition(" ")[2]) for line in lines) == vprof.load(case).intervals.latency_ns.sum()
    assert all(line.startswith("<interval>") for line in lines)
    assert len({line.rpartition(" ")[0] for line in lines}) == len(lines)


def test_names_cannot_break_a_folded_line(tmp_path: Path) -> None:
    text = HANDOFF.read_text().replace('"UpdateRow"', '"Update;Row\\n7"')
    (tmp_path / "run.json").write_text(text)
    export(tmp_path / "run.json", "folded", tmp_path / "run.folded")
    stacks = (tmp_path / "run.folded").read_text()
    assert ";Update,Row\\n7" in stacks
    assert all(line.rpartition(" ")[2].isdigit() for line in stacks.splitlines())


@pytest.mark.parametrize(("form", "read"), [("csv", pd.read_csv), ("parquet", pd.read_parquet)])
def test_tables_are_those_of_the_library(form: str, read: Any, tmp_path: Path) -> None:
    export(HANDOFF, form, tmp_path / "tables")
    run = vprof.load(HANDOFF)
    for name in ("intervals", "pieces", "factors", "nodes"):
        expected, found = getattr(run, name), read(tmp_path / "tables" / f"{name}.{form}")
        assert len(found) == len(expected)
        assert set(expected.columns) <= set(found.columns)
    found = read(tmp_path / "tables" / f"intervals.{form}")
    assert found.latency_ns.tolist() == run.intervals.latency_ns.tolist()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--to", "csv", "--all"], "--interval and --all are for --to perfetto"),
        (["--to", "perfetto", "--all", "--interval", "t0"], "give one of them"),
        (["--to", "perfetto", "--interval", "nobody"], "no interval nobody"),
        (["--to", "folded", "-o", "/no/such/folder/x"], "cannot write"),
    ],
)
def test_what_cannot_be_is_said(options: list[str], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        CliRunner().invoke(command, [str(HANDOFF), *options], catch_exceptions=False, standalone_mode=False)
