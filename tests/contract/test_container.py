"""Files that are whole, cut off, damaged, foreign (runtime/TRACE_FORMAT.md section 1)."""

from __future__ import annotations

from pathlib import Path

import pytest
from tuples import Load, Tuples
from writer import Writer, header

from vprof.errors import TraceError
from vprof.trace.reading import load_binary


def small() -> Writer:
    """Two intervals on two threads, each thread in two chunks."""
    writer = Writer(end=1000)
    for uid in (1, 2):
        thread = writer.thread(uid, ticks=1)
        thread.begin(uid, 10 * uid)
        thread.invocation(3, 10 * uid + 1, 10 * uid + 5)
        thread.cut()
        thread.end(uid, 100 * uid)
    return writer


def test_whole_file_has_nothing_to_remark(load: Load) -> None:
    writer = small()
    writer.on = [[3, 1]]
    trace = load(writer)
    assert [note for note in trace.notes if "no metadata" not in note] == []
    assert trace.excluded == {}
    assert Tuples(trace).intervals() == [("1", "", (0, 10), (0, 100)), ("2", "", (1, 20), (1, 200))]


def test_cut_off_at_any_byte_keeps_what_is_before(tmp_path: Path) -> None:
    content = small().save(tmp_path / "whole").read_bytes()
    path = tmp_path / "cut"
    counts = []
    for size in range(len(header()), len(content)):
        path.write_bytes(content[:size])
        trace = load_binary(path)
        counts.append(len(trace.intervals.begin))
        assert trace.notes, "a file without its end must say so"
    assert counts == sorted(counts)
    assert set(counts) == {0, 1, 2}


@pytest.mark.parametrize("size", [0, 1, 7, 8, 63])
def test_cut_off_inside_the_header_is_one_line(tmp_path: Path, size: int) -> None:
    path = tmp_path / "cut"
    path.write_bytes(header()[:size])
    with pytest.raises(TraceError, match="record again") as caught:
        load_binary(path)
    assert "\n" not in str(caught.value)


def test_a_flipped_bit_in_any_chunk_stops_there(tmp_path: Path) -> None:
    writer = small()
    chunks = writer.chunks()
    for damaged in range(len(chunks)):
        length = int.from_bytes(chunks[damaged][8:16], "little")
        for at in (0, 5, 9, 17, 30, 45, 48, 48 + length // 2, 48 + length - 1):
            broken = bytearray(chunks[damaged])
            broken[at] ^= 0x10
            path = tmp_path / "run.trace"
            path.write_bytes(header() + b"".join([*chunks[:damaged], bytes(broken), *chunks[damaged + 1 :]]))
            note = load_binary(path).notes[0]
            assert note.startswith(f"read up to byte {64 + sum(map(len, chunks[:damaged]))} of "), (damaged, at)


def test_a_missing_chunk_stops_reading(tmp_path: Path) -> None:
    chunks = small().chunks()
    path = tmp_path / "run.trace"
    path.write_bytes(header() + b"".join(chunks[:4] + chunks[5:]))
    assert "chunk 5 follows chunk 3" in load_binary(path).notes[0]


def test_noise_after_the_last_chunk_is_told(tmp_path: Path) -> None:
    path = small().save(tmp_path / "run.trace")
    path.write_bytes(path.read_bytes() + b"noise" * 20)
    trace = load_binary(path)
    assert len(trace.intervals.begin) == 2
    assert trace.notes[0].startswith("read up to byte")


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "empty"),
        (b"\x7fELF" + bytes(100), "not a vprof trace"),
        (b"hello\n", "not a vprof trace"),
        (header(version=7), "upgrade vprof"),
        (header()[:20] + b"\xff" + header()[21:], "header is damaged"),
    ],
)
def test_other_files_are_refused_in_one_line(tmp_path: Path, content: bytes, says: str) -> None:
    path = tmp_path / "file"
    path.write_bytes(content)
    with pytest.raises(TraceError, match=says) as caught:
        load_binary(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("version", range(1, 7))
def test_every_version_up_to_ours_is_read(tmp_path: Path, version: int) -> None:
    path = small().save(tmp_path / "run.trace")
    path.write_bytes(header(version=version) + path.read_bytes()[len(header()) :])
    assert len(load_binary(path).intervals.begin) == 2


def test_a_missing_file_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match="No such file"):
        load_binary(tmp_path / "none")
    with pytest.raises(TraceError, match="directory"):
        load_binary(tmp_path)


def test_unknown_chunks_events_and_records_are_passed_over(load: Load) -> None:
    writer = small()
    writer.event("news", of="a later version")
    writer.threads[0].raw(0, 500)
    writer.threads[0].raw(0, 501)
    trace = load(writer)
    assert len(trace.intervals.begin) == 2
    assert "records of unknown kinds skipped: 2" in trace.notes


def test_an_event_without_its_keys_is_one_line(load: Load) -> None:
    writer = small()
    writer.event("flip", before=1)
    with pytest.raises(TraceError, match="lacks the key"):
        load(writer)
