"""Unit metadata, from bytes and from ELF files (instrumenter/UNIT_METADATA.md)."""

from __future__ import annotations

import json
import shutil
import struct
import subprocess
from pathlib import Path
from typing import Any

import pytest

from vprof.errors import VprofError
from vprof.program.elf import read_program
from vprof.program.metadata import distinct, parse_units, trimmed

UNIT: dict[str, Any] = {
    "schema": "vprof-unit/1",
    "unit": "/src/a.c",
    "language": "c",
    "status": "instrumented",
    "reason": "",
    "functions": [
        {
            "id": "c:@F@f",
            "name": "f",
            "file": "/src/a.c",
            "line": 12,
            "site": 0,
            "left": None,
            "effort": 14,
            "noreturn": False,
            "calls": [[0, 17]],
            "indirect": [["int (int)", 25]],
        }
    ],
    "symbols": [{"id": "c:@F@g", "name": "g", "noreturn": True}],
    "taken": [[0, "int (int)"]],
    "matched": ["interval/0"],
}


def packed(unit: dict[str, Any] = UNIT, version: int = 1) -> bytes:
    """A chunk that has all its texts in itself."""
    text = json.dumps(unit).encode()
    return struct.pack("<4sIQII", b"VPUM", version, 0x4040, 1, len(text)) + text + bytes(-len(text) % 8)


def sharing(*units: dict[str, Any], length: int | None = None) -> bytes:
    """Chunks of version 2 and the texts that they share, as a trace has them; functions and symbols as they are."""
    texts, chunks = b"", b""
    for unit in units:
        own = {key: value for key, value in unit.items() if key not in ("functions", "symbols")}
        own["schema"] = "vprof-unit/2"
        places = []
        for one in [*unit["functions"], *unit["symbols"]]:
            text = json.dumps(one).encode() + b"\0"
            if text not in texts:
                texts += text
            places.append(texts.index(text))
        payload = struct.pack("<II", len(unit["functions"]), len(unit["symbols"]))
        payload += struct.pack(f"<{len(places)}I", *places) + json.dumps(own).encode()
        sites = sum("left" not in function for function in unit["functions"])
        chunks += struct.pack("<4sIQII", b"VPUM", 2, 0x4040, sites, len(payload)) + payload + bytes(-len(payload) % 8)
    texts = texts[:length]
    return chunks + struct.pack("<4sIQII", b"VPTX", 2, 0, 0, len(texts)) + texts


F = {"id": "c:@F@f", "name": "f", "file": "/src/h.h", "line": 12, "effort": 14, "calls": [["c:@F@g", 17]]}
SMALL = {"id": "c:@F@s", "name": "s", "file": "/src/h.h", "line": 30, "left": "small", "effort": 1}
SHARING = {"unit": "/src/a.c", "language": "c", "status": "instrumented", "reason": "", "taken": [[0, "int (int)"]]}
G = {"id": "c:@F@g", "name": "g", "noreturn": True}


def test_units_share_what_they_say_alike() -> None:
    last = {**F, "id": "c:@F@last", "name": "last"}
    one, other = parse_units(
        sharing(
            {**SHARING, "functions": [SMALL, F, last], "symbols": [G]},
            {**SHARING, "functions": [F, {**SMALL, "left": "macro"}], "symbols": [G]},
        ),
        "prog",
    )
    found = [(f.name, f.site, f.no_site) for f in one.functions]
    assert found == [("s", None, "small"), ("f", 0, None), ("last", 1, None)]
    assert [(f.name, f.site, f.no_site) for f in other.functions] == [("f", 0, None), ("s", None, "macro")]
    assert one.functions[1].calls is other.functions[0].calls
    assert one.functions[1].calls == [("c:@F@g", 17)]
    assert one.taken == other.taken == [("c:@F@g", "int (int)")]
    assert one.symbols[0] is other.symbols[0]
    assert [f.name for f in distinct([one, other])] == ["s", "f", "last", "s"]


def test_what_is_trimmed_says_the_same_of_the_units_that_are_left() -> None:
    long = {**F, "id": "c:@F@long", "name": "l" * 5000}
    units = [
        {**SHARING, "functions": [SMALL, F], "symbols": [G]},
        {**SHARING, "functions": [long, F, {**F, "id": "c:@F@h"}], "symbols": [G]},
        {**SHARING, "functions": [F, SMALL], "symbols": []},
    ]
    units[2] = {key: value for key, value in units[2].items() if key != "taken"}
    content = sharing(*units) + packed()
    whole = parse_units(content, "prog")
    left = trimmed(content, "prog", lambda address, sites: (address, sites) == (0x4040, 1))
    assert parse_units(left, "prog") == [whole[0], *whole[2:]] and len(whole) == 4
    assert len(left) < len(content) - 5000
    assert trimmed(content, "prog", lambda address, sites: False) == b""
    assert parse_units(trimmed(content, "prog", lambda address, sites: True), "prog") == whole


def test_texts_that_are_cut_off_are_one_line() -> None:
    unit = {**SHARING, "functions": [F], "symbols": [G]}
    for length in range(len(json.dumps(F)) + len(json.dumps(G))):
        with pytest.raises(VprofError, match=r"is not vprof-unit/2 .*build it again") as caught:
            parse_units(sharing(unit, length=length), "prog")
        assert "\n" not in str(caught.value)


def test_switch_bytes_and_sites_are_equally_many() -> None:
    content = bytearray(sharing({**SHARING, "functions": [F], "symbols": []}))
    content[16] = 2
    with pytest.raises(VprofError, match="1 sites, 2 switch bytes"):
        parse_units(bytes(content), "prog")


def test_a_unit_says_what_is_in_it() -> None:
    [unit] = parse_units(packed(), "prog")
    [f] = unit.functions
    assert (unit.unit, unit.status, unit.switch_addr, unit.switch_count) == ("/src/a.c", "instrumented", 0x4040, 1)
    assert (f.name, f.file, f.line, f.site, f.no_site) == ("f", "/src/a.c", 12, 0, None)
    assert f.calls == [("c:@F@g", 17)]
    assert f.indirect == [("int (int)", 25)]
    assert [(symbol.name, symbol.noreturn) for symbol in unit.symbols] == [("g", True)]
    assert unit.taken == [("c:@F@g", "int (int)")]
    assert unit.matched == ["interval/0"]


def test_virtual_calls_and_overrides_name_methods() -> None:
    function = {**UNIT["functions"][0], "virtual": [[1, 30]]}
    symbols = [{"id": f"c:@S@{name}@F@Sync#", "name": f"{name}::Sync", "noreturn": False} for name in ("Posix", "Env")]
    unit = {**UNIT, "language": "c++", "functions": [function], "symbols": symbols, "overrides": [[0, 1]]}
    [parsed] = parse_units(packed(unit), "prog")
    assert parsed.functions[0].virtual == [("c:@S@Env@F@Sync#", 30)]
    assert parsed.overrides == [("c:@S@Posix@F@Sync#", "c:@S@Env@F@Sync#")]


def test_a_unit_without_virtual_methods_says_nothing_of_them() -> None:
    [unit] = parse_units(packed(), "prog")
    assert (list(unit.overrides), list(unit.functions[0].virtual)) == ([], [])


def test_zeros_between_units_are_skipped() -> None:
    assert len(parse_units(bytes(24) + packed() + bytes(40) + packed() + bytes(3), "prog")) == 2


def test_new_keys_do_not_matter() -> None:
    assert len(parse_units(packed({**UNIT, "news": 1}), "prog")) == 1


def test_cut_off_at_any_byte_is_one_line_or_nothing_missing() -> None:
    whole = packed()
    text_end = len(whole.rstrip(b"\0"))
    for size in range(1, text_end):
        with pytest.raises(VprofError, match=r"cut off|damaged") as caught:
            parse_units(whole[:size], "prog")
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"junk" + packed(), "damaged at byte 0"),
        (packed(version=3), "upgrade vprof"),
        (packed({**UNIT, "schema": "other/1"}), "not vprof-unit/1"),
        (packed({"schema": "vprof-unit/1"}), "KeyError 'symbols'"),
        (packed({**UNIT, "taken": [[7, "int"]]}), "IndexError"),
        (packed({**UNIT, "overrides": [[0, 7]]}), "IndexError"),
    ],
)
def test_what_cannot_be_read_is_one_line(content: bytes, says: str) -> None:
    with pytest.raises(VprofError, match=says) as caught:
        parse_units(content, "prog")
    assert "\n" not in str(caught.value)


def test_a_program_describes_itself(tmp_path: Path) -> None:
    section, program = tmp_path / "meta", tmp_path / "prog"
    section.write_bytes(packed() + packed({**UNIT, "unit": "/src/b.c"}))
    shutil.copy("/bin/true", program)
    subprocess.run(["objcopy", f"--add-section=.vprof_meta={section}", program], check=True)
    assert [unit.unit for unit in read_program(program)] == ["/src/a.c", "/src/b.c"]


def test_other_files_are_one_line_that_says_how_to_build(tmp_path: Path) -> None:
    with pytest.raises(VprofError, match="CC=vprof-cc"):
        read_program(Path("/bin/true"))
    text = tmp_path / "text"
    text.write_text("#!/bin/sh\n")
    with pytest.raises(VprofError, match="not a program"):
        read_program(text)
    with pytest.raises(VprofError, match="No such file"):
        read_program(tmp_path / "none")
