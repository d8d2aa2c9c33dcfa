"""RESULTS.json and RESULTS.md: a run replaces its own row, and keeps what other runs and machines found."""

from pathlib import Path

import corpus_projects
import corpus_table
from corpus_table import Result

import corpus

RUN = {"passed": 3, "failed": [], "status": 0, "seconds": 1.0, "records": 0, "dropped": 0, "modules": 1}


def result(project: str, compiler: str = "clang-19", machine: str = "this one", sites: int = 1) -> Result:
    return Result(
        project=project,
        version="1.0",
        system="make",
        compiler=compiler,
        units=1,
        unchanged={},
        sites=sites,
        left={},
        plain_cpu_s=1.0,
        vprof_cpu_s=1.5,
        plain_text=100,
        vprof_text=120,
        plain=[RUN] * 3,
        off=RUN,
        on=RUN,
        new_failures={"off": [], "on": []},
        load=1.0,
        machine=machine,
        head="1234567",
    )


def test_rows_of_another_machine_stay(tmp_path: Path) -> None:
    known = corpus_projects.load()
    table = tmp_path / "RESULTS.md"
    for one in (result("redis", machine="another"), result("zlib", "gcc"), result("zlib", sites=5)):
        corpus.keep(one, table, known)
    corpus.keep(result("zlib", sites=7), table, known)
    kept = corpus_table.read(tmp_path / "RESULTS.json")
    assert [(r.project, r.compiler, r.sites) for r in kept] == [
        ("zlib", "clang-19", 7),
        ("zlib", "gcc", 1),
        ("redis", "clang-19", 1),
    ]
    text = table.read_text()
    assert text.count("| zlib 1.0 |") == 2
    assert "- another\n- this one\n" in text
    assert "Not run yet: lua5.1" in text


def test_a_project_that_is_no_longer_in_the_corpus_leaves_the_table(tmp_path: Path) -> None:
    known = corpus_projects.load()
    table = tmp_path / "RESULTS.md"
    for name in ("gone", "zlib"):
        corpus.keep(result(name), table, known | {"gone": known["zlib"]})
    corpus.keep(result("zlib"), table, known)
    assert [r.project for r in corpus_table.read(tmp_path / "RESULTS.json")] == ["zlib"]


def test_the_table_is_that_of_the_results_that_are_kept() -> None:
    table = Path(corpus.__file__).with_name("RESULTS.md")
    kept = corpus_table.read(table.with_suffix(".json"))
    assert table.read_text(encoding="utf-8") == corpus.report(kept, corpus_projects.load())
