"""Traces made smaller and larger again, for tests only: a second reading of runtime/TRACE_FORMAT.md section 1.3.

packed(content, ZSTD)   the same trace with compressed chunks
plain(content)          the same trace without
spoiled(content, seed)  packed, and then damaged inside its payloads, its checksums right
"""

from __future__ import annotations

import random
import struct
import zlib
from collections.abc import Callable
from dataclasses import dataclass, replace

import lz4.block
import zstandard

PLAIN, ZSTD, LZ4 = 0, 1, 2
RECORDS = 1
HEADER = 64
_HEAD = struct.Struct("<4sIQIIQII")
_SIZE = _HEAD.size + 8
_WHOLE = 1 << 64
_MOST = (1 << 32) - 1
"""What a header can claim."""


@dataclass(frozen=True)
class Part:
    """A chunk. `claimed`: how long its payload was before."""

    kind: int
    subject: int
    base: int
    payload: bytes
    how: int = PLAIN
    claimed: int = 0

    def written(self, number: int) -> bytes:
        head = _HEAD.pack(
            b"VPCK", self.kind, len(self.payload), self.subject, number, self.base, self.how, self.claimed
        )
        head += struct.pack("<I", zlib.crc32(self.payload))
        return head + struct.pack("<I", zlib.crc32(head)) + self.payload + bytes(-len(self.payload) % 16)


def parts_of(content: bytes) -> list[Part]:
    found, at = [], HEADER
    while at < len(content):
        _, kind, length, subject, _, base, how, claimed = _HEAD.unpack_from(content, at)
        found.append(Part(kind, subject, base, content[at + _SIZE : at + _SIZE + length], how, claimed))
        at += _SIZE + length + -length % 16
    return found


def written(content: bytes, parts: list[Part], version: int) -> bytes:
    """With the header of a trace, but for its version."""
    head = content[:8] + struct.pack("<I", version) + content[12:60]
    chunks = b"".join(part.written(number) for number, part in enumerate(parts))
    return head + struct.pack("<I", zlib.crc32(head)) + chunks


def packed(content: bytes, *ways: int, records_only: bool = False) -> bytes:
    """Each chunk in one of these ways, in turn."""
    parts = [
        part if records_only and part.kind != RECORDS else pack(part, ways[number % len(ways)])
        for number, part in enumerate(parts_of(content))
    ]
    return written(content, parts, 6)


def pack(part: Part, how: int) -> Part:
    if how == PLAIN or not part.payload:
        return part
    content = turned(part.payload) if part.kind == RECORDS else part.payload
    payload = compressed(content, how)
    if len(content) > 256 * len(payload):
        return part
    return replace(part, payload=payload, how=how, claimed=len(content))


def compressed(content: bytes, how: int) -> bytes:
    if how == ZSTD:
        return zstandard.ZstdCompressor().compress(content)
    return bytes(lz4.block.compress(content, store_size=False))


def plain(content: bytes) -> bytes:
    return written(content, [unpack(part) for part in parts_of(content)], 5)


def unpack(part: Part) -> Part:
    if part.how == PLAIN:
        return part
    if part.how == ZSTD:
        content = zstandard.ZstdDecompressor().decompress(part.payload, max_output_size=part.claimed)
    else:
        content = lz4.block.decompress(part.payload, uncompressed_size=part.claimed)
    assert len(content) == part.claimed
    return Part(part.kind, part.subject, part.base, turned_back(content) if part.kind == RECORDS else content)


def turned(records: bytes) -> bytes:
    """Byte 0 of all records, byte 1, ...; first words less the one before."""
    before, rows = 0, []
    for head, word in struct.iter_unpack("<QQ", records):
        rows.append(struct.pack("<QQ", (head - before) % _WHOLE, word))
        before = head
    return b"".join(bytes(row[place] for row in rows) for place in range(16))


def turned_back(planes: bytes) -> bytes:
    count, head, rows = len(planes) // 16, 0, []
    for number in range(count):
        less, word = struct.unpack("<QQ", planes[number::count])
        head = (head + less) % _WHOLE
        rows.append(struct.pack("<QQ", head, word))
    return b"".join(rows)


def spoiled(content: bytes, seed: int) -> bytes:
    """What only who unpacks can find."""
    chance = random.Random(seed)
    parts = parts_of(packed(content, *chance.choice(((ZSTD,), (LZ4,), (ZSTD, LZ4, PLAIN)))))
    for _ in range(chance.choice((1, 1, 3, 10))):
        number = chance.randrange(len(parts))
        parts[number] = chance.choice(_DAMAGES)(parts[number], chance)
    return written(content, parts, 6)


def _bytes(part: Part, chance: random.Random) -> Part:
    payload = bytearray(part.payload)
    for _ in range(chance.choice((1, 1, 4))):
        if payload:
            payload[chance.randrange(len(payload))] ^= 1 << chance.randrange(8)
    return replace(part, payload=bytes(payload))


def _length(part: Part, chance: random.Random) -> Part:
    cut = chance.randrange(len(part.payload) + 1)
    return replace(part, payload=chance.choice((part.payload[:cut], part.payload + part.payload[:cut])))


def _claim(part: Part, chance: random.Random) -> Part:
    near = [part.claimed + by for by in (-16, -1, 1, 16)]
    claimed = chance.choice([*near, 0, 1 << 26, _MOST, 256 * len(part.payload)])
    return replace(part, claimed=min(max(0, claimed), _MOST))


def _way(part: Part, chance: random.Random) -> Part:
    return replace(part, how=chance.choice((PLAIN, ZSTD, LZ4, 3, (1 << 32) - 1)))


def _content(part: Part, chance: random.Random) -> Part:
    """Compressed as it should be; but what comes out was damaged."""
    if part.how not in (ZSTD, LZ4) or part.claimed > 1 << 20:
        return part
    try:
        return pack(_bytes(unpack(part), chance), part.how)
    except (AssertionError, ValueError, zstandard.ZstdError, lz4.block.LZ4BlockError, MemoryError, OverflowError):
        return part  # damaged before


_DAMAGES: tuple[Callable[[Part, random.Random], Part], ...] = (_bytes, _bytes, _length, _claim, _way, _content)
