"""`vprof record --compress`: the real collector compresses, and all verbs say what they say of the same trace without.

The trace without is made by the tests' own reading of the format (packing.py), not by the reader.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from packing import LZ4, PLAIN, ZSTD, parts_of, plain
from patience import PATIENCE_SECONDS, wait_for

from vprof.cli import root
from vprof.installed import native
from vprof.session.owned import Limit, Session
from vprof.session.plan import Plan
from vprof.trace.chunks import read_chunks

WAYS = {"zstd": ZSTD, "lz4": LZ4}
VERBS = [
    ("analyze", "--format", "json", "--intervals", "--by-type"),
    ("analyze", "--explain", "leaf"),
    ("analyze", "--path", "slowest", "--root", "request"),
    ("whatif", "--change", "leaf=0.5"),
    ("report", "-o", "written"),
    ("export", "--to", "folded", "-o", "written"),
    ("sites",),
    ("diff", "copy.trace", "--"),
]
"""The trace goes last."""


def vprof(folder: Path, *arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", "from vprof.cli import main; main()", *map(str, arguments)]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=PATIENCE_SECONDS)


def said(folder: Path, *arguments: str) -> tuple[str, str]:
    """What a verb prints and writes there, but for the size of the traces; in this process: what it compiles is
    compiled once."""
    with contextlib.chdir(folder):
        done = CliRunner().invoke(root, arguments)
    assert done.exit_code == 0, (arguments, done.output, done.exception)
    written = folder / "written"
    text = written.read_text("utf-8") if "written" in arguments else ""
    return done.output, re.sub(r'"size of the traces","[^"]*"', "", text)


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("paced"), Path(__file__).parent / "programs" / "paced.c")


@pytest.fixture(scope="module")
def steady(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Short intervals for as long as the file named on the command line exists."""
    source = Path(__file__).parents[1] / "contract" / "programs" / "steady.c"
    return build(tmp_path_factory.mktemp("steady"), source)


def build(folder: Path, source: Path) -> Path:
    path = folder / source.stem
    environment = {**os.environ, "VPROF_DESCRIPTOR": str(Path(__file__).parents[1] / "all_sites.json")}
    command = [native("bin/vprof-cc"), "-O1", "-pthread", "-o", path, source]
    subprocess.run(list(map(str, command)), check=True, env=environment)
    return path


@pytest.fixture(scope="module", params=WAYS)
def folders(
    request: pytest.FixtureRequest, program: Path, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, Path]:
    """With the same trace, compressed and not."""
    packed_folder, plain_folder = tmp_path_factory.mktemp("packed"), tmp_path_factory.mktemp("plain")
    done = vprof(packed_folder, "record", "--sites", "all", "--compress", request.param, "--", program)
    assert done.returncode == 0, done.stderr
    assert ", 0 dropped" in done.stderr, "at a moderate rate nothing is lost"
    content = (packed_folder / "run.trace").read_bytes()
    assert {part.how for part in parts_of(content)} == {PLAIN, WAYS[request.param]}
    (plain_folder / "run.trace").write_bytes(plain(content))
    for folder in (packed_folder, plain_folder):
        shutil.copyfile(folder / "run.trace", folder / "copy.trace")
    return packed_folder, plain_folder


def test_it_is_a_third_as_large(folders: tuple[Path, Path]) -> None:
    small, large = ((folder / "run.trace").stat().st_size for folder in folders)
    assert small < large / 3


def test_both_files_hold_the_same(folders: tuple[Path, Path]) -> None:
    one, other = (read_chunks(folder / "run.trace") for folder in folders)
    assert one.events == other.events
    assert one.metadata == other.metadata
    assert [chunk.words.tobytes() for chunk in one.chunks] == [chunk.words.tobytes() for chunk in other.chunks]
    assert not one.stopped
    assert one.events[-1]["records"] == sum(chunk.count for chunk in one.chunks) > 50_000


def test_every_verb_says_the_same_of_both(folders: tuple[Path, Path]) -> None:
    for verb in VERBS:
        one, other = (said(folder, *verb, "run.trace") for folder in folders)
        assert one == other, verb
        assert any(one)


def test_the_newest_files_are_read_as_those_without(steady: Path, tmp_path: Path) -> None:
    """Rotated ones (`--keep newest`), which together are one recording, and together no larger than allowed."""
    go_on, limit = tmp_path / "go-on", 1 << 20
    go_on.touch()
    with Session.start(tmp_path / "run.trace", limit=Limit(limit, newest=True), compress="zstd") as session:
        process = subprocess.Popen([steady, go_on], env=session.environment())

        def are_ten() -> bool:
            session.follow(Plan.of(["work", "inner"]))
            return int(Path(session.stats()["file"]).suffix[1:]) >= 10

        wait_for(are_ten, "ten files", every_seconds=0.01)
        go_on.unlink()
        process.wait(PATIENCE_SECONDS)
        told = session.stop()
    files = sorted(tmp_path.glob("run.trace.*"))
    assert len(files) == 8
    assert sum(file.stat().st_size for file in files) <= limit
    without = tmp_path / "plain"
    without.mkdir()
    for file in files:
        content = file.read_bytes()
        assert ZSTD in {part.how for part in parts_of(content)}
        (without / file.name).write_bytes(plain(content))
    names = [file.name for file in files]
    report, page = (
        [said(folder, *verb, *names) for folder in (tmp_path, without)]
        for verb in (("analyze", "--format", "json"), ("report", "-o", "written"))
    )
    assert report[0] == report[1]
    assert page[0] == page[1]
    found = json.loads(report[0][0])["intervals"]
    assert found["count"] + sum(found["excluded"].values()) >= told["intervals"]


def test_a_collector_that_is_killed_leaves_whole_chunks(program: Path, tmp_path: Path) -> None:
    output = tmp_path / "run.trace"
    with Session.start(output, compress="zstd") as session:
        process = subprocess.Popen([program], env=session.environment())
        session.follow(Plan.of(["*"]))
        wait_for(lambda: session.follow(Plan.of(["*"])) or session.stats()["records"] > 1000)
        session._collector.send_signal(signal.SIGKILL)
        assert process.wait(PATIENCE_SECONDS) == 0
    file = read_chunks(output)
    assert not file.of("end")
    assert sum(chunk.count for chunk in file.chunks) > 1000


def test_another_way_is_refused_in_one_line(program: Path, tmp_path: Path) -> None:
    done = vprof(tmp_path, "record", "--sites", "all", "--compress", "gzip", "--", program)
    assert done.returncode == 2
    assert "'zstd', 'lz4'" in done.stderr
    assert not list(tmp_path.iterdir())
