"""Which tests may be skipped on a busy machine, and that one is not skipped for any other reason."""

import ast
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import quiet_cpus

TESTS = Path(__file__).parents[1]
pytest_plugins = ["pytester"]


def marked() -> Iterator[str]:
    for file in TESTS.rglob("test_*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef) and "pytest.mark.quiet_cpus" in map(ast.unparse, node.decorator_list):
                yield f"{file.relative_to(TESTS)}::{node.name}"


def test_they_are_few_and_listed_with_the_tests() -> None:
    found = sorted(marked())
    assert 0 < len(found) <= quiet_cpus.MOST
    assert sorted(re.findall(r"^- `(\S+::\w+)`", (TESTS / "README.md").read_text(encoding="utf-8"), re.M)) == found


BUSY = "import os\nend = os.times().elapsed + 60\nwhile os.times().elapsed < end and os.getppid() == {parent}: pass"


@pytest.fixture
def competitors() -> Iterator[None]:
    """As many as make half of the CPUs the most that anybody else can get."""
    loop = BUSY.format(parent=os.getpid())
    loops = [subprocess.Popen([sys.executable, "-c", loop]) for _ in os.sched_getaffinity(0)]
    yield
    for loop_ in loops:
        loop_.kill()
        loop_.wait()


def test_busy_cpus_are_told(competitors: None) -> None:
    assert re.fullmatch(r"other programs take the CPUs: a loop had \d+% of one", quiet_cpus.why_not())


def test_what_others_took_meanwhile_is_told() -> None:
    """Children that were not waited for are others."""
    watch = quiet_cpus.Watch()
    loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in os.sched_getaffinity(0)]
    quiet_cpus.why_not()  # takes a while
    said = watch.why_not()
    for loop in loops:
        loop.kill()
        loop.wait()
    assert re.fullmatch(r"other programs took the CPUs meanwhile: they left \d+% of them", said)


@pytest.mark.parametrize(
    ("before", "after", "outcomes"),
    [
        ("", "", {"failed": 1, "passed": 1}),
        ("busy", "", {"skipped": 1, "passed": 1}),
        ("", "busy", {"skipped": 1, "passed": 1}),
    ],
)
def test_only_marked_tests_are_skipped_and_failures_on_quiet_cpus_stay(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, before: str, after: str, outcomes: dict[str, int]
) -> None:
    monkeypatch.setattr(quiet_cpus, "why_not", lambda: before)
    monkeypatch.setattr(quiet_cpus.Watch, "why_not", lambda self: after)
    pytester.makeini("[pytest]\nmarkers = quiet_cpus")
    pytester.makeconftest((TESTS / "conftest.py").read_text(encoding="utf-8"))
    pytester.makepyfile("import pytest\n@pytest.mark.quiet_cpus\ndef test_a(): assert False\ndef test_b(): pass")
    pytester.runpytest_inprocess("-p", "no:randomly").assert_outcomes(**outcomes)
