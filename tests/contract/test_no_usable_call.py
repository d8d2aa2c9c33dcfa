"""`--root F` where no call of F can be used: every verb says why in one line."""

from pathlib import Path

import pytest
from click.testing import CliRunner
from writer import Writer, function, unit

import vprof
from vprof.cli import root
from vprof.errors import VprofError

VERBS = {
    "analyze": ["analyze", "run.trace"],
    "json": ["analyze", "--format", "json", "--intervals", "run.trace"],
    "dot": ["analyze", "--format", "dot", "run.trace"],
    "path": ["analyze", "--path", "slowest", "run.trace"],
    "explain": ["analyze", "--explain", "work", "run.trace"],
    "by-type": ["analyze", "--by-type", "--own", "run.trace"],
    "several": ["analyze", "run.trace", "again.trace"],
    "whatif": ["whatif", "--change", "work=0.5", "run.trace"],
    "report": ["report", "-o", "out.html", "run.trace"],
    **{to: ["export", "--to", to, "-o", "out", "run.trace"] for to in ("folded", "csv", "parquet", "perfetto")},
    "diff": ["diff", "run.trace", "--", "again.trace"],
    "latencies": ["diff", "--no-factors", "run.trace", "--", "again.trace"],
}
ENDED_INSIDE, LOST = "1 unfinished", "2 touches lost records"


def trace(path: Path, why: str) -> None:
    """`main` calls `work`; the program ends inside it, or records were lost in both calls of it."""
    writer = Writer(on=[[64, 2]])
    writer.unit(unit([function("main", 0, (0,)), function("work", 1)], ("work",)))
    thread = writer.thread(1, ticks=0)
    for n in range(20):
        thread.invocation(65, 10 * n + 1, 10 * n + 9, depth=1)
        if n % 10 == 4 and why == LOST:
            thread.lost(10 * n + 9, 10 * n + 10, 3)
        if n % 10 == 9 and why == LOST:
            thread.invocation(64, 10 * (n - 9) + 0, 10 * n + 10)
    if why == ENDED_INSIDE:
        writer.event("open", uid=1, ticks=200, frames=[[64, 0, 0]])
    writer.save(path)


@pytest.mark.parametrize("why", [ENDED_INSIDE, LOST])
@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, verb: str, why: str) -> None:
    monkeypatch.chdir(tmp_path)
    trace(tmp_path / "run.trace", why)
    trace(tmp_path / "again.trace", why)
    name, *rest = VERBS[verb]
    done = CliRunner().invoke(root, [name, "--root", "main", *rest])
    assert isinstance(done.exception, VprofError), done.exception
    assert done.output == ""
    said = str(done.exception)
    count = why if verb != "several" else why.replace("2", "4").replace("1", "2")
    assert f"no call of main in this trace can be analyzed ({count}): " in said
    assert "\n" not in said
    assert ("choose one that returns often" if why == ENDED_INSIDE else "fewer functions on") in said
    assert not (tmp_path / "out.html").exists()


def test_so_does_load(tmp_path: Path) -> None:
    trace(tmp_path / "run.trace", ENDED_INSIDE)
    with pytest.raises(VprofError, match=r"no call of main .*1 unfinished"):
        vprof.load(tmp_path / "run.trace", root="main")


def test_another_function_of_the_same_trace_is_analyzed(tmp_path: Path) -> None:
    trace(tmp_path / "run.trace", ENDED_INSIDE)
    assert len(vprof.load(tmp_path / "run.trace", root="work").intervals) == 20
