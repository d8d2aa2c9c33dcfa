"""What counts as a difference between a run with vprof and the plain runs, and how test suites' output is read."""

import corpus_projects
import pytest
from corpus_projects import Outcome
from corpus_run import Run

import corpus


def run(passed: int, *failed: str, status: int = 0) -> Run:
    return Run(Outcome(passed, frozenset(failed)), status, seconds=1.0)


def test_as_in_a_plain_run() -> None:
    assert corpus.differences([run(10)], run(10)) == []


def test_a_test_that_fails_only_with_vprof() -> None:
    assert corpus.differences([run(10), run(10)], run(9, "fork")) == ["fork"]


def test_a_test_that_failed_in_one_plain_run_may_fail() -> None:
    assert corpus.differences([run(9, "timing", status=1), run(10)], run(9, "timing", status=1)) == []


def test_tests_that_were_not_reached() -> None:
    assert corpus.differences([run(10), run(9)], run(4)) == ["only 4 passed, 9 in a plain run"]


def test_a_suite_that_crashes_after_its_last_test() -> None:
    assert corpus.differences([run(10)], run(10, status=139)) == ["exit status 139, 0 in a plain run"]


@pytest.mark.parametrize(
    ("project", "output", "outcome"),
    [
        ("zlib", "\t\t*** zlib test OK ***\n\t\t*** zlib shared test FAILED ***\n", run(1, "zlib shared test")),
        ("jsoncpp", "Testing ValueTest/null: OK\nTesting ValueTest/int: FAILED\n", run(1, "ValueTest/int")),
        ("lighttpd", "ok 1 - get\nnot ok 2 - post\nPASS: t/test_burl\n", run(2, "post")),
        ("redis", "[ok]: SET and GET (3 ms)\n[err]: EXPIRE in tests/unit/expire.tcl\n", run(1, "EXPIRE")),
        (
            "leveldb",
            " 1/2 Test #1: c_test .... Passed 0.1 sec\n 2/2 Test #2: db_test ....***Failed 1.0 sec\n",
            run(1, "db_test"),
        ),
        ("sqlite3", "select1-1.1... Ok\nselect1-1.2...\n! select1-1.2 expected: [1]\n", run(1, "select1-1.2")),
    ],
)
def test_output_of_a_suite(project: str, output: str, outcome: Run) -> None:
    assert corpus_projects.load()[project].outcome(output) == outcome.outcome
