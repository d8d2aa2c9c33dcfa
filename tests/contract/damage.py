"""Damages to a trace, each told by a seed. All but those of bytes leave the checksums right: what a hostile or an
unfit writer could have written, and no checksum finds.

    bytes    anything changed, cut out or doubled; checksums made right again four times of five
    events   values of other JSON types, huge numbers, keys gone, nesting, texts that steer a terminal
    metadata bytes and words; values of the JSON texts inside, in place
    records  kinds and words changed, records gone or a thousand times there
    chunks   kinds, subjects, base times, lengths; chunks gone, doubled, in another order
    packed   compressed chunks: payloads, what they claim to be, how they are compressed (packing.py)
"""

from __future__ import annotations

import json
import random
import re
import struct
import zlib
from collections.abc import Callable
from typing import Any

from packing import spoiled
from writer import chunk

HEADER, CHUNK = 64, 48
_HEAD = struct.Struct("<4sIQIIQQII")
_RECORDS, _EVENT, _METADATA = 1, 2, 3

HOSTILE = "\x1b[31mred\x07\x9b\u202e\r\n"
_WILD: list[Any] = [
    *(0, 1, -1, 1 << 22, 1 << 31, 1 << 32, 1 << 47, 1 << 62, 1 << 63, (1 << 64) - 1, -(1 << 63), 10**30, 10**400),
    *(1e308, 1e-300, 0.5, float("nan"), float("inf")),
    *("x", "", HOSTILE, "\ud800", "A" * 5000, None, True, [], {}, [[1] * 3], [[None] * 3], {"event": "plan"}),
    *([[0, (1 << 31) - 1]], [[0, 1 << 22]] * 200, [[(1 << 22) - 1, 1]]),
]
_TOKENS = [b"0", b"-1", b"9" * 30, b"null", b"true", b"[]", b"{}", b"[[]]", b'""', b"1e9", b'"\\ud800"', b"NaN"]
_VALUE = re.compile(rb'[:\[,](\d+|"[^"]{0,60}"|\[[^\[\]]{0,80}\]|null|true|false)')
Chunks = list[list[Any]]
"""Of each chunk its kind, subject, base time and payload."""


def damaged(content: bytes, seed: int) -> tuple[str, bytes]:
    """The kind of damage, and the trace with it."""
    chance = random.Random(seed)
    kind = chance.choice(["bytes", "events", "events", "metadata", "records", "chunks", "packed"])
    if kind == "bytes":
        return kind, _bytes(content, chance)
    if kind == "packed":
        return kind, spoiled(content, seed)
    chunks = _chunks(content)
    for _ in range(chance.choice((1, 1, 1, 3, 20))):
        _DAMAGES[kind](chunks, chance)
    return kind, _joined(content[:HEADER], chunks, chance if kind == "chunks" else None)


def _chunks(content: bytes) -> Chunks:
    found, at = [], HEADER
    while at + CHUNK <= len(content):
        _, kind, length, subject, _, base, _, _, _ = _HEAD.unpack_from(content, at)
        found.append([kind, subject, base, content[at + CHUNK : at + CHUNK + length]])
        at += CHUNK + length + -length % 16
    return found


def _joined(header: bytes, chunks: Chunks, chance: random.Random | None) -> bytes:
    parts = [chunk(kind, payload, n, subject, base) for n, (kind, subject, base, payload) in enumerate(chunks)]
    if chance and parts and chance.random() < 0.3:
        n = chance.randrange(len(parts))
        length = chance.choice((0, len(chunks[n][3]) + 16, 1 << 40, 1 << 63, (1 << 64) - 1))
        head = parts[n][:8] + struct.pack("<Q", length) + parts[n][16 : CHUNK - 4]
        parts[n] = head + struct.pack("<I", zlib.crc32(head)) + parts[n][CHUNK:]
    return header + b"".join(parts)


def _one(chunks: Chunks, kind: int, chance: random.Random) -> list[Any] | None:
    known = [one for one in chunks if one[0] == kind and one[3]]
    return chance.choice(known) if known else None


def _events(chunks: Chunks, chance: random.Random) -> None:
    event = _one(chunks, _EVENT, chance)
    if event is None:
        return
    what = chance.random()
    if what < 0.05:
        event[3] = b'{"event":' * chance.choice((20, 2000, 200000))
    elif what < 0.1:
        event[3] = json.dumps(chance.choice(_WILD)).encode()
    elif what < 0.15:
        event[3] = event[3].replace(b'"event":', b'"event":"news","was":', 1)
    else:
        try:
            value = json.loads(event[3])
        except (ValueError, RecursionError):
            return
        _change(value, chance)
        event[3] = json.dumps(value).encode()


def _change(value: Any, chance: random.Random) -> None:
    """One value inside, at any depth; most often not the name of the event."""
    keys = list(value) if isinstance(value, dict) else list(range(len(value))) if isinstance(value, list) else []
    keys = [key for key in keys if key != "event" or chance.random() < 0.02]
    if not keys:
        return
    key = chance.choice(keys)
    inner = value[key]
    if isinstance(inner, dict | list) and inner and chance.random() < 0.6:
        _change(inner, chance)
    elif chance.random() < 0.15:
        del value[key]
    elif type(inner) is int and chance.random() < 0.4:
        value[key] = inner + chance.choice((1, -1, 10**6, -(10**6), 1 << 32, -(1 << 40)))
    elif isinstance(inner, str) and chance.random() < 0.5:
        value[key] = inner + HOSTILE
    else:
        value[key] = chance.choice(_WILD)


def _metadata(chunks: Chunks, chance: random.Random) -> None:
    unit = _one(chunks, _METADATA, chance)
    if unit is None:
        return
    payload = bytearray(unit[3])
    values = list(_VALUE.finditer(payload)) if chance.random() < 0.6 else []
    at = chance.randrange(len(payload))
    if values:  # the texts keep their places: each replacement is as long as what it replaces
        start, end = chance.choice(values).span(1)
        fitting = [token for token in _TOKENS if len(token) <= end - start]
        payload[start:end] = chance.choice(fitting).ljust(end - start)
    elif chance.random() < 0.4:
        word = chance.choice((0, 1, (1 << 31) - 1, (1 << 32) - 1, 1 << 20, chance.getrandbits(32)))
        payload[at : at + 4] = struct.pack("<I", word)[: len(payload) - at]
    elif chance.random() < 0.9:
        payload[at] ^= 1 << chance.randrange(8)
    else:
        del payload[at:]
    unit[3] = bytes(payload)


def _records(chunks: Chunks, chance: random.Random) -> None:
    some = _one(chunks, _RECORDS, chance)
    if some is None:
        return
    payload = bytearray(some[3])
    at = chance.randrange(len(payload) // 16) * 16
    what = chance.randrange(6)
    if what == 0:
        payload[at + 7] = chance.randrange(16) << 4 | payload[at + 7] & 15
    elif what == 1:
        payload[at : at + 16] = chance.randbytes(16)
    elif what == 2:
        payload[at + chance.randrange(16)] ^= 1 << chance.randrange(8)
    elif what == 3:
        del payload[at : at + 16]
    elif what == 4:
        payload[at : at + 16] = payload[at : at + 16] * chance.choice((2, 1000))
    else:
        payload[at + 8 : at + 16] = struct.pack("<Q", chance.choice((0, 1, (1 << 63) - 1, 1 << 63, (1 << 64) - 1)))
    some[3] = bytes(payload)


def _order(chunks: Chunks, chance: random.Random) -> None:
    if not chunks:
        return
    n, what = chance.randrange(len(chunks)), chance.randrange(6)
    if what == 0:
        del chunks[n]
    elif what == 1:
        chunks.insert(chance.randrange(len(chunks)), list(chunks[n]))
    elif what == 2:
        chance.shuffle(chunks)
    elif what == 3:
        chunks[n][2] = chance.getrandbits(64)
    elif what == 4:
        chunks[n][1] = chance.choice((0, 1, 1 << 31, (1 << 32) - 1, chance.getrandbits(32)))
    else:
        chunks[n][0] = chance.choice((0, 1, 2, 3, 4, 1 << 31))


_DAMAGES: dict[str, Callable[[Chunks, random.Random], None]] = {
    "events": _events,
    "metadata": _metadata,
    "records": _records,
    "chunks": _order,
}


def _bytes(whole: bytes, chance: random.Random) -> bytes:
    content = bytearray(whole)
    for _ in range(chance.randint(1, 3)):
        _cut(content, chance)
    if chance.random() < 0.8:
        _mend(content)
    return bytes(content)


def _cut(content: bytearray, chance: random.Random) -> None:
    at = chance.randrange(len(content)) if content else 0
    what = chance.randrange(8)
    if what == 0:
        del content[at:]
    elif what == 1:
        del content[at : at + chance.choice([1, 8, 16, 48, 500])]
    elif what == 2:
        content[at:at] = content[chance.randrange(len(content) + 1) :][: chance.choice([1, 16, 64, 500])]
    elif what == 3:
        content[at : at + 8] = struct.pack("<Q", chance.choice([0, 1, 1 << 31, 1 << 48, (1 << 63) - 1, (1 << 64) - 1]))
    elif content:
        for _ in range(chance.choice([1, 1, 2, 16])):
            content[chance.randrange(len(content))] = chance.randrange(256)


def _mend(content: bytearray) -> None:
    """Makes the checksums of the header and of the chunks right, as far as chunks follow each other."""
    if len(content) < HEADER:
        return
    struct.pack_into("<I", content, HEADER - 4, zlib.crc32(content[: HEADER - 4]))
    at = HEADER
    while at + CHUNK <= len(content):
        length = struct.unpack_from("<Q", content, at + 8)[0]
        end = at + CHUNK + length
        if end > len(content):
            return
        struct.pack_into("<I", content, at + CHUNK - 8, zlib.crc32(content[at + CHUNK : end]))
        struct.pack_into("<I", content, at + CHUNK - 4, zlib.crc32(content[at : at + CHUNK - 4]))
        at = end + -length % 16
