"""`vprof.load`: tables and tree of a run, for notebooks."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hand import hand_trace

import vprof
from vprof.api import Run
from vprof.errors import UsageError, VprofError
from vprof.variance.analysis import AnalysisOptions, analyze

ROOT = Path(__file__).parents[2]
CASES = ROOT / "tests" / "cases"
HANDOFF = CASES / "02_lock_handoff.json"


def test_intervals_are_a_table_by_id() -> None:
    table = vprof.load(HANDOFF).intervals
    assert list(table.index) == ["A0", "A1", "A2"]
    assert list(table.latency_ns) == [92, 122, 152]
    assert list(table.end_ns - table.begin_ns) == [92, 122, 152]
    assert list(table.begin_thread.astype(str)) == ["1"] * 3


def test_pieces_join_end_to_end_and_tell_who_was_waited_for() -> None:
    run = vprof.load(HANDOFF)
    pieces = run.pieces
    assert pieces.groupby("interval", observed=True).duration_ns.sum().to_dict() == run.intervals.latency_ns.to_dict()
    mine = pieces[pieces.interval == "A2"]
    assert list(mine.start_ns[1:]) == list(mine.stop_ns[:-1])
    assert list(zip(mine.kind, mine.thread, mine.home, strict=True)) == [
        ("exec", "1", True),
        ("exec", "2", False),
        ("sched", "1", False),
        ("exec", "1", True),
    ]


def test_factors_come_in_rank_order_with_what_was_chosen() -> None:
    run = vprof.load(CASES / "06_two_call_sites.json", options=AnalysisOptions(k=1))
    assert list(run.factors.factor) == ["f", "f|f", *run.factors.factor[2:]]
    assert list(run.factors.chosen) == [True] + [False] * (len(run.factors) - 1)
    assert run.factors.score.is_monotonic_decreasing
    assert run.factors.ci95_low.isna().all()
    for name in run.factors.factor:
        assert run.explain(name).share == pytest.approx(run.factors.share[run.factors.factor == name].iloc[0])


def test_factors_have_their_intervals_where_there_are_any() -> None:
    rng = np.random.default_rng(1)
    spans = {f"i{k}": (1, 1000 * k, 1, 1000 * k + int(ns)) for k, ns in enumerate(rng.integers(10, 900, 2000))}
    calls = "\n".join(f"1 work {b} {e}" for _, b, _, e in spans.values())
    run = Run(analyze(hand_trace(spans, "\n".join(f"1 {i} {b} {e} exec" for i, (_, b, _, e) in spans.items()), calls)))
    work = run.factors.iloc[0]
    assert (work.factor, work.chosen) == ("work", True)
    assert work.ci95_low <= work.share <= work.ci95_high
    assert work["first"] == 1


def test_the_tree_can_be_walked_and_searched() -> None:
    run = vprof.load(HANDOFF)
    walked = [node.name for node in run.tree.walk()]
    assert walked[:4] == ["<interval>", "[sched]", "txnA", "lock_wait@txnA:7"]
    assert sorted(walked) == sorted(run.nodes.name)
    [found] = run.tree.find("UpdateRow")
    assert found.path == ["<interval>", "txnA", "lock_wait@txnA:7", "[blocked]", "txnB", "UpdateRow@txnB:3"]
    assert found.share == pytest.approx(1)
    assert list(found.times) == [35, 65, 95]
    assert found.parent is not None and found.parent.name == "txnB"
    assert [node.name for node in run.tree.find("*ock*")] == ["lock_wait@txnA:7", "[blocked]"]
    assert run.tree.find("lock_wait@txnA:7") == run.tree.find("lock_wait")
    assert sum(child.share for child in run.tree.children) == pytest.approx(1)
    assert run.tree.find("nothing") == []


def test_a_subtree_can_be_drawn() -> None:
    source = vprof.load(HANDOFF).tree.find("txnB")[0].to_dot()
    assert "UpdateRow" in source and "lock_wait" not in source
    subprocess.run(["dot", "-Tplain"], input=source, capture_output=True, text=True, check=True)


def test_several_traces_are_one_run() -> None:
    run = vprof.load(HANDOFF, str(HANDOFF))
    assert sorted(run.intervals.index) == ["1:A0", "1:A1", "1:A2", "2:A0", "2:A1", "2:A2"]
    assert set(run.pieces.interval) == set(run.intervals.index)


def test_a_root_makes_intervals() -> None:
    assert list(vprof.load(HANDOFF, root="txnB").intervals.index) == ["txnB#1", "txnB#2", "txnB#3"]


def test_tables_survive_parquet(tmp_path: Path) -> None:
    run = vprof.load(HANDOFF)
    written = run.to_parquet(tmp_path / "out")
    assert [file.name for file in written] == [
        "intervals.parquet",
        "pieces.parquet",
        "factors.parquet",
        "nodes.parquet",
    ]
    for file in written:
        pd.testing.assert_frame_equal(pd.read_parquet(file), getattr(run, file.stem), check_categorical=False)


def test_parquet_without_pyarrow_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(VprofError, match=r"Parquet needs pyarrow: pip install 'vprof\[parquet\]'"):
        vprof.load(HANDOFF).to_parquet(tmp_path)


def test_mistakes_are_one_line(tmp_path: Path) -> None:
    with pytest.raises(VprofError, match="cannot read"):
        vprof.load(tmp_path / "none.trace")
    with pytest.raises(UsageError, match="did you mean txnB"):
        vprof.load(HANDOFF, root="txnb")
    with pytest.raises(VprofError, match="needs the path of a trace"):
        vprof.load()


def test_the_package_itself_imports_little() -> None:
    """`vprof record` must not wait for pandas."""
    code = "import vprof, sys; sys.exit('pandas' in sys.modules or 'numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_an_analysis_does_without_what_takes_longest_to_import() -> None:
    """SciPy's statistics take as long as all else of `vprof analyze` on a small trace."""
    code = "import vprof.commands.analyze, vprof.variance.stream, sys; sys.exit('scipy.stats' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize("case", ["02_lock_handoff", "06_two_call_sites"])
def test_the_notebook_of_the_documentation_runs(tmp_path: Path, case: str) -> None:
    command = [sys.executable, ROOT / "docs" / "notebook.py", CASES / f"{case}.json", tmp_path / "tables"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "['intervals.parquet', 'pieces.parquet', 'factors.parquet', 'nodes.parquet']" in done.stdout
    assert (tmp_path / "tables" / "tree.dot").exists()
