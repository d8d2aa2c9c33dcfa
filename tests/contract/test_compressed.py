"""Compressed chunks (runtime/TRACE_FORMAT.md section 1.3): the same analysis; what is damaged is read up to there."""

from __future__ import annotations

import random
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import zstandard
from apart import Apart
from click.testing import CliRunner
from history import History
from packing import LZ4, PLAIN, RECORDS, ZSTD, Part, compressed, pack, packed, parts_of, plain, spoiled, written
from test_container import small
from test_remote import IN_BLOCKS, Served, serving
from test_windows import in_small_chunks

import vprof
from vprof.commands.analyze import command
from vprof.errors import TraceError
from vprof.report.json import analysis_json
from vprof.trace import unpacking
from vprof.trace.chunks import TraceFile, read_chunks
from vprof.trace.reading import load_binary
from vprof.trace.remote import path_of
from vprof.variance.analysis import AnalysisOptions
from vprof.variance.stream import analyze_traces

WAYS = [(ZSTD,), (LZ4,), (PLAIN, ZSTD, LZ4)]


@pytest.fixture(scope="module")
def content(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """Of a trace in many chunks."""
    folder = tmp_path_factory.mktemp("plain")
    return in_small_chunks(History(5, 2, 80).writer, 5).save(folder / "run.trace").read_bytes()


def report(path: Path, jobs: Apart | None = None, records: int = 40) -> dict[str, Any]:
    return analysis_json(analyze_traces([path], None, AnalysisOptions(by_type=True), records, jobs=jobs))


def saved(folder: Path, content: bytes, name: str = "run.trace") -> Path:
    path = folder / name
    path.write_bytes(content)
    return path


def inside(file: TraceFile) -> list[Any]:
    """All that a file says, in its order."""
    chunks = [(chunk.uid, chunk.base_ticks, chunk.words.tobytes()) for chunk in file.chunks]
    return [file.events, file.metadata, chunks]


@pytest.mark.parametrize("ways", WAYS)
def test_the_report_is_that_of_the_trace_before(content: bytes, ways: tuple[int, ...], tmp_path: Path) -> None:
    plain_path, path = saved(tmp_path, content, "plain"), saved(tmp_path, packed(content, *ways))
    wanted = report(plain_path)
    assert inside(read_chunks(path)) == inside(read_chunks(plain_path))
    for records in (40, 0):
        assert report(path, records=records) == wanted
    assert report(path, Apart(3)) == wanted
    assert plain(packed(content, *ways)) == content


def test_chunks_without_records_stand_for_none(content: bytes, tmp_path: Path) -> None:
    parts = parts_of(packed(content, ZSTD))
    first = first_records(parts)
    empty = replace(parts[first], payload=b"", how=PLAIN, claimed=0)
    parts = [*parts[:first], empty, empty, *parts[first : first + 3], empty, *parts[first + 3 :], empty]
    file = read_chunks(saved(tmp_path, written(content, parts, 6)))
    wanted = [chunk.words.tobytes() for chunk in read_chunks(saved(tmp_path, content, "plain")).chunks]
    assert not file.stopped
    assert [chunk.words.tobytes() for chunk in reversed(file.chunks) if chunk.count] == wanted[::-1]
    assert [len(chunk.words) for chunk in file.chunks].count(0) == 4


def test_what_is_kept_is_bounded_and_comes_again(
    content: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, wanted = saved(tmp_path, packed(content, ZSTD)), report(saved(tmp_path, content, "plain"))
    monkeypatch.setattr(unpacking, "KEPT_BYTES", 200)
    assert report(path) == wanted
    file = read_chunks(path)
    assert file.lying
    for chunk in file.chunks:
        assert chunk.words.any()
        file.release()
        assert file.lying.packed is not None
        assert file.lying.packed._bytes_there <= 200
    assert not file.words.all(), "chunks read before have gone"


def test_it_is_read_by_ranges_from_a_server(content: bytes, tmp_path: Path) -> None:
    served = Served()
    served.files["/run.trace"] = packed(content, ZSTD, LZ4, records_only=True)
    wanted = report(saved(tmp_path, content))
    with serving(served) as url:
        path = path_of(f"{url}/run.trace")
        assert report(path) == wanted
        assert len(served.asked) > 5
        assert max(end - begin for begin, end in served.asked) <= 5 * IN_BLOCKS, "no whole download"
        assert report(path, Apart(3)) == wanted
        assert len(vprof.load(f"{url}/run.trace").intervals) == wanted["intervals"]["count"]


@pytest.mark.parametrize("way", [ZSTD, LZ4])
def test_cut_off_at_any_byte_it_gives_its_whole_chunks(way: int, tmp_path: Path) -> None:
    writer = small()
    for thread in writer.threads:
        for call in range(30):
            thread.invocation(3, 1000 + 10 * call, 1003 + 10 * call)
    content = packed(writer.save(tmp_path / "plain").read_bytes(), way)
    assert sum(part.how == way for part in parts_of(content)) > 5
    events, _, chunks = inside(read_chunks(saved(tmp_path, content)))
    parts = parts_of(content)
    borders = np.cumsum([64, *(len(part.written(0)) for part in parts)]).tolist()
    ends = [border + 48 + len(part.payload) for border, part in zip(borders, parts, strict=False)]
    for size in range(64, len(content)):
        file = read_chunks(saved(tmp_path, content[:size], "cut"))
        of_events, _, of_chunks = inside(file)
        assert (of_events, of_chunks) == (events[: len(of_events)], chunks[: len(of_chunks)])
        whole = sum(end <= size for end in ends)
        assert len(of_events) + len(of_chunks) == whole, "all of these are events or records"
        assert bool(file.stopped) == (size > borders[whole]), "but for padding"
    for size in borders[:-1]:
        assert load_binary(saved(tmp_path, content[:size], "cut")).notes


def test_a_flipped_bit_stops_there_also_for_workers(content: bytes, tmp_path: Path) -> None:
    content = packed(content, ZSTD, LZ4)
    chance = random.Random(1)
    for _ in range(20):
        broken = bytearray(content)
        at = chance.randrange(len(content) // 2, len(content))
        broken[at] ^= 1 << chance.randrange(8)
        path = saved(tmp_path, bytes(broken))
        note = load_binary(path).notes
        padded = "read up to byte" not in note[0]
        assert padded == (read_chunks(path).stopped == ""), "only padding has no checksum"
        assert report(path, Apart(3)) == report(path)


def first_records(parts: list[Part]) -> int:
    return next(n for n, part in enumerate(parts) if part.kind == RECORDS and part.how != PLAIN)


def zstd_frame(content: bytes, **options: Any) -> bytes:
    return zstandard.ZstdCompressor(**options).compress(content)


def untold(content: bytes) -> bytes:
    """A frame that does not say how long its content is."""
    return zstd_frame(content, write_content_size=False)


HUGE_FRAME = bytes.fromhex("28b52ffd e0 ffffffffffffff0f 010000".replace(" ", ""))
"""One of Zstandard that says 2^60 bytes, and has none."""

ZEROS = bytes(1 << 16)
IMPOSSIBLE = {
    "no bytes": lambda part: replace(part, claimed=0),
    "half a record more": lambda part: replace(part, claimed=part.claimed + 8),
    "a record more": lambda part: replace(part, claimed=part.claimed + 16),
    "a record less": lambda part: replace(part, claimed=part.claimed - 16),
    "more than 2^26": lambda part: replace(part, claimed=(1 << 26) + 16, payload=bytes(1 << 20)),
    "more than 256 times": lambda part: replace(
        part, claimed=1 << 16, payload=compressed(ZEROS, part.how)[: (1 << 8) - 1]
    ),
    "all that fits": lambda part: replace(part, claimed=(1 << 32) - 16),
    "nothing compressed": lambda part: replace(part, how=PLAIN),
    "a third way": lambda part: replace(part, how=3),
    "the other way": lambda part: replace(part, how=LZ4 if part.how == ZSTD else ZSTD),
    "no payload": lambda part: replace(part, payload=b""),
    "half a payload": lambda part: replace(part, payload=part.payload[: len(part.payload) // 2]),
    "more payload": lambda part: replace(part, payload=part.payload + bytes(3)),
    "two payloads": lambda part: replace(part, payload=2 * part.payload),
    "a frame of 2^60": lambda part: replace(part, how=ZSTD, payload=HUGE_FRAME, claimed=2048),
    "a frame without its length": lambda part: replace(part, how=ZSTD, payload=untold(bytes(160)), claimed=160),
}


@pytest.mark.parametrize("name", IMPOSSIBLE)
@pytest.mark.parametrize("way", [ZSTD, LZ4])
def test_a_chunk_that_cannot_be_stops_reading(content: bytes, way: int, name: str, tmp_path: Path) -> None:
    parts = parts_of(packed(content, way))
    n = first_records(parts)
    parts[n] = IMPOSSIBLE[name](parts[n])
    file = read_chunks(saved(tmp_path, written(content, parts, 6)))
    at = 64 + sum(len(part.written(0)) for part in parts[:n])
    assert file.stopped.startswith(f"read up to byte {at} of ")
    assert not file.chunks
    assert "\n" not in file.stopped


def test_an_event_that_claims_too_much_is_not_unpacked(content: bytes, tmp_path: Path) -> None:
    parts = parts_of(content)
    text = b'{"event":"news","text":"' + bytes(1 << 25).replace(b"\0", b" ") + b'"}'
    parts[1] = replace(parts[1], payload=zstd_frame(text, level=1) + bytes(1 << 20), how=ZSTD, claimed=len(text))
    file = read_chunks(saved(tmp_path, written(content, parts, 6)))
    assert "not a JSON object" in file.stopped
    assert len(file.events) == 1


def test_the_fields_mean_nothing_in_older_versions(content: bytes, tmp_path: Path) -> None:
    parts = [replace(part, how=7, claimed=99) for part in parts_of(content)]
    wanted = inside(read_chunks(saved(tmp_path, content)))
    assert inside(read_chunks(saved(tmp_path, written(content, parts, 5), "old"))) == wanted


def examples() -> list[int]:
    return [*range(150), *(random.SystemRandom().randrange(1 << 30) for _ in range(50))]


def test_damage_inside_is_a_prefix_or_one_line(tmp_path: Path) -> None:
    plain_path = in_small_chunks(History(5, 2, 20).writer, 5).save(tmp_path / "plain.trace")
    content = plain_path.read_bytes()
    stopped = 0
    for seed in examples():
        path = saved(tmp_path, spoiled(content, seed))
        try:
            file = read_chunks(path)
            inside(file)
            stopped += bool(file.stopped)
            if seed % 10 == 0:
                load_binary(path)
        except TraceError as error:
            assert "\n" not in str(error), seed
        except Exception as error:
            raise AssertionError(f"seed {seed}") from error
    assert stopped > 50


def test_a_file_that_is_changed_while_it_is_read_is_one_line(content: bytes, tmp_path: Path) -> None:
    path = saved(tmp_path, packed(content, ZSTD))
    file = read_chunks(path)
    with path.open("r+b") as changed:
        changed.seek(64)
        changed.write(bytes(path.stat().st_size - 64))
    with pytest.raises(TraceError, match="damaged"):
        _ = file.chunks[0].words


@pytest.mark.parametrize(("way", "package"), [(ZSTD, "zstandard"), (LZ4, "lz4")])
def test_a_package_that_is_missing_is_named(
    content: bytes, way: int, package: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    done = CliRunner().invoke(command, [str(saved(tmp_path, packed(content, way)))])
    assert isinstance(done.exception, TraceError), done.output
    assert str(done.exception).endswith(f"pip install {package}")
    assert "\n" not in str(done.exception)


def test_a_trace_that_is_not_compressed_imports_nothing_of_it(content: bytes, tmp_path: Path) -> None:
    import subprocess

    path = saved(tmp_path, content)
    code = f"import sys, vprof; vprof.load({str(path)!r}); print('zstandard' in sys.modules, 'lz4' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False False\n"


def test_random_records_come_back() -> None:
    chance = np.random.default_rng(3)
    for count in (1, 2, 15, 16, 17, 1000):
        records = chance.bytes(16 * count)
        for way in (ZSTD, LZ4):
            part = pack(Part(RECORDS, 1, 0, records), way)
            payload = np.frombuffer(part.payload, np.uint8)
            assert unpacking.records_of(Path("x"), payload, way, 16 * count).tobytes() == records
