"""Site numbers to functions, what was on, what is complete (runtime/TRACE_FORMAT.md sections 3 and 4)."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import numpy as np

from vprof.tables.model import Program
from vprof.trace.chunks import TraceFile
from vprof.trace.described import Sites, describe, read_sites


def defined(name: str, site: int | None, *calls: int, noreturn: bool = False) -> dict[str, Any]:
    return {
        "id": name,
        "name": name,
        "file": "/src/a.c",
        "line": 1,
        "site": site,
        "left": None if site is not None else "small",
        "noreturn": noreturn,
        "calls": [[callee, 2] for callee in calls],
        "indirect": [],
    }


def packed(address: int, names: str, *functions: dict[str, Any], ignored: str = "") -> bytes:
    """A unit whose symbols are `names`, separated by spaces; so are the globs `ignored`."""
    payload = {
        "schema": "vprof-unit/1",
        "unit": "/src/a.c",
        "language": "c",
        "status": "instrumented",
        "reason": "",
        "functions": list(functions),
        "symbols": [{"id": name, "name": name, "noreturn": name == "abort"} for name in names.split()],
        "taken": [],
        "matched": [],
        "ignore_for_height": ignored.split(),
    }
    text = json.dumps(payload).encode()
    return struct.pack("<4sIQII", b"VPUM", 1, address, 8, len(text)) + text + bytes(-len(text) % 8)


def trace_file(*modules: tuple[int, int, bytes]) -> TraceFile:
    """Modules as (base, address of the section, metadata)."""
    file = TraceFile(Path("run.trace"), 0, "")
    for index, (base, address, metadata) in enumerate(modules):
        where = {"path": f"m{index}", "base": base, "count": 4096, "section_addr": address, "state": "mapped"}
        file.events.append({"event": "module", "index": index, **where})
        if metadata:
            file.metadata[index] = metadata
    return file


def numbers(*values: int) -> np.ndarray[Any, np.dtype[np.int64]]:
    return np.array(values, np.int64)


def program(sites: Sites, on: set[int], observed: list[tuple[int, int]] | None = None) -> Program:
    entries = np.array([0], np.int32)
    return describe(sites, np.array(sorted(on), np.int64), observed or [], entries)[0]


def test_a_number_is_the_base_plus_the_place_in_the_section() -> None:
    units = packed(0x4040, "", defined("f", 0), defined("g", 1)) + packed(0x4048, "", defined("h", 0))
    sites = read_sites(trace_file((0, 0x4000, units), (4096, 0x9000, packed(0x9040, "", defined("lib", 0)))), numbers())
    names = {int(number): sites.graph.names[f] for number, f in zip(sites.number, sites.function, strict=True)}
    assert names == {64: "f", 65: "g", 72: "h", 4096 + 64: "lib"}


def test_copies_of_a_header_function_are_one_function() -> None:
    units = packed(0x4040, "", defined("h", 0)) + packed(0x4048, "", defined("h", 0))
    sites = read_sites(trace_file((0, 0x4000, units)), numbers(64, 72))
    assert sites.functions(numbers(64, 72)).tolist() == [0, 0]
    assert program(sites, {64, 72}).on.tolist() == [True]


def test_sites_without_metadata_are_shown_by_number() -> None:
    sites = read_sites(trace_file((0, 0x4000, b"")), numbers(7))
    assert sites.graph.names == ["site 7"]
    assert len(sites.remarks) == 1


def test_damaged_metadata_costs_names_only() -> None:
    sites = read_sites(trace_file((0, 0x4000, b"garbage" * 9)), numbers(3))
    assert sites.graph.names == ["site 3"]
    assert "damaged" in sites.remarks[0]


def test_a_module_linked_past_the_wrapper_has_no_sites() -> None:
    file = trace_file((0, 0x4000, packed(0x4040, "g", defined("f", 0, 0))))
    file.events[0]["state"] = "unaligned"
    sites = read_sites(file, numbers())
    assert sites.number.tolist() == []
    assert sites.graph.calls == [[1], []]
    assert not any(sites.graph.sited)
    assert sites.remarks == ["m0 was not linked with vprof-cc: its probes stay off"]


def test_complete_means_all_that_is_entered_next_was_on() -> None:
    unit = packed(
        0x4000,
        "f g small deep memcpy",
        defined("f", 0, 1, 2, 4),
        defined("g", 1),
        defined("small", None, 3),
        defined("deep", 2),
    )
    sites = read_sites(trace_file((0, 0x4000, unit)), numbers())
    f = sites.graph.number["f"]
    assert program(sites, {0, 1, 2}).complete[f]
    assert not program(sites, {0, 1}).complete[f], "deep is entered through small"
    assert not program(sites, {1, 2}).complete[f], "f itself was off"


def test_what_is_entered_next_is_offered_to_the_planner() -> None:
    unit = packed(0x4000, "f small deep", defined("f", 0, 1), defined("small", None, 2), defined("deep", 1))
    sites = read_sites(trace_file((0, 0x4000, unit)), numbers())
    described = program(sites, {0})
    offered = [described.functions[c] for c in described.calls[0] if described.can_switch(c)]
    assert offered == ["deep"]


def test_error_functions_do_not_add_height() -> None:
    def height_of_main(ignored: str) -> int:
        unit = packed(
            0x4000,
            "main abort fail log write",
            defined("main", 0, 1, 2),
            defined("fail", 1, 3),
            defined("log", 2, 4),
            ignored=ignored,
        )
        sites = read_sites(trace_file((0, 0x4000, unit)), numbers())
        return int(program(sites, set()).height[sites.graph.number["main"]])

    assert height_of_main("") == 3
    assert height_of_main("fa*") == 0


def test_calls_through_pointers_count_once_they_are_seen() -> None:
    unit = packed(0x4000, "", defined("main", 0), defined("callback", 1), defined("other", 2))
    sites = read_sites(trace_file((0, 0x4000, unit)), numbers())
    described = program(sites, {0, 1}, observed=[(0, 1)])
    assert described.calls[0] == [1]
    assert described.height.tolist() == [1, 0, 0]


def test_the_root_height_is_of_the_highest_function_above_an_entry() -> None:
    unit = packed(0x4000, "f g main apart x y", defined("f", 0, 1), defined("g", 1), defined("main", 2, 0))
    more = packed(0x4008, "x y z", defined("apart", 0, 0), defined("x", 1, 1), defined("y", 2, 2), defined("z", 3))
    sites = read_sites(trace_file((0, 0x4000, unit + more)), numbers())
    assert sites.graph.names[0] == "f"
    assert program(sites, {0}).root_height == 2
