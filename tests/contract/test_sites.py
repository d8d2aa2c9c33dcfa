"""`vprof sites`: of a program the real wrapper built, of a trace, of something else."""

from __future__ import annotations

import json
import os
import random
import struct
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from writer import Writer, function, unit

from vprof.commands.sites import command
from vprof.errors import VprofError
from vprof.installed import native
from vprof.program.elf import read_program

PROGRAMS = Path(__file__).parent / "programs"


def sites(*arguments: object) -> Result:
    return CliRunner().invoke(command, list(map(str, arguments)), catch_exceptions=False)


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    writer = Writer()
    symbols = ("work", "small", "printf")
    functions = [
        function("main", 0, calls=(0, 1)),
        function("work", 1, calls=(2,)),
        function("small", None, left="small"),
    ]
    writer.unit(unit(functions, symbols))
    writer.unit(unit([], unit="/src/b.c", status="unchanged", reason="clang cannot parse it"))
    return writer.save(tmp_path / "run.trace")


def test_a_program_built_by_the_wrapper_lists_its_functions(tmp_path: Path) -> None:
    program = tmp_path / "prog"
    sources = [PROGRAMS / "shared_main.c", PROGRAMS / "shared_other.c"]
    environment = {**os.environ, "VPROF_DESCRIPTOR": str(Path(__file__).parents[1] / "all_sites.json")}
    subprocess.run([native("bin/vprof-cc"), "-o", program, *sources], check=True, env=environment)
    report = json.loads(sites(program, "--format", "json").output)
    assert {Path(one["unit"]).name for one in report["units"]} == {"shared_main.c", "shared_other.c"}
    named = [site["name"] for site in report["sites"]]
    assert sorted(named) == ["main", "other", "pause_us"]
    assert report["external"] == 1


def test_a_trace_carries_the_same_knowledge(trace: Path) -> None:
    report = json.loads(sites(trace, "--format", "json", "--left").output)
    assert [site["name"] for site in report["sites"]] == ["main", "work"]
    assert report["left"] == {"small": 1}
    assert report["left_functions"] == [{"name": "small", "file": "/src/a.c", "line": 1, "reason": "small"}]
    assert report["units"][1] == {
        "unit": "/src/b.c",
        "status": "unchanged",
        "reason": "clang cannot parse it",
        "sites": 0,
    }
    assert report["call_paths"] == 4


def test_text_reads_from_totals_to_details(trace: Path) -> None:
    assert sites(trace, "--left").output.replace(str(trace), "run.trace") == (
        "run.trace: 2 sites in 2 units, 1 of them compiled unchanged\n"
        "3 functions defined, 1 called from elsewhere; 4 call paths from main, largest recursive group: 0\n"
        "\n"
        "units\n"
        "  /src/a.c: 2 sites\n"
        "  /src/b.c: clang cannot parse it\n"
        "\n"
        "sites\n"
        "  main  /src/a.c:1\n"
        "  work  /src/a.c:1\n"
        "\n"
        "left alone\n"
        "       1 small\n"
        "\n"
        "  small  /src/a.c:1: small\n"
    )


def test_other_files_are_one_line_that_says_how_to_build(tmp_path: Path) -> None:
    with pytest.raises(VprofError, match="CC=vprof-cc"):
        sites("/bin/true")
    with pytest.raises(VprofError, match="CC=vprof-cc"):
        sites(Writer().save(tmp_path / "run.trace"))
    with pytest.raises(VprofError, match="No such file"):
        sites(tmp_path / "none")


def test_a_damaged_program_is_read_or_refused(tmp_path: Path) -> None:
    """Its header and the headers of its sections: sizes of exabytes, places beyond the file, other types."""
    program = tmp_path / "prog"
    subprocess.run(
        [native("bin/vprof-cc"), "-o", program, PROGRAMS / "shared_main.c", PROGRAMS / "shared_other.c"], check=True
    )
    content = program.read_bytes()
    sections = struct.unpack_from("<Q", content, 40)[0]
    places = [*range(64), *range(sections, len(content))]
    refused = 0
    for seed in range(300):
        chance, damaged = random.Random(seed), bytearray(content)
        at = chance.choice(places)
        damaged[at : at + 8] = struct.pack("<Q", chance.choice((0, 1, 1 << 31, 1 << 40, 1 << 63, (1 << 64) - 1)))
        program.write_bytes(damaged)
        try:
            read_program(program)
        except VprofError as error:
            refused += 1
            assert "\n" not in str(error)
    assert 10 < refused < 290
