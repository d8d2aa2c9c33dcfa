"""The quick part of the corpus: each project's own tests pass with vprof as they do without."""

from collections.abc import Iterator
from pathlib import Path

import corpus_projects
import pytest
from kept_builds import installed as installed

import corpus
from vprof.source import SourceUnavailableError

QUICK = ("zlib", "lua5.1", "jsoncpp", "lighttpd")


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Below a folder of the user's own, which the account that builds and tests may not enter unless we let it."""
    folder = tmp_path_factory.mktemp("corpus")
    for parent in (folder, *folder.parents[:2]):
        parent.chmod(0o755)
    yield folder


@pytest.mark.parametrize("name", QUICK)
def test_its_tests_pass_as_without_vprof(name: str, work: Path, installed: Path) -> None:
    prefix = corpus.prepared(work, installed)
    try:
        result = corpus.examine(corpus_projects.load()[name], work / name, prefix, plain_runs=1)
    except SourceUnavailableError as error:
        pytest.skip(f"the source of {name} cannot be fetched: {error}")
    assert result.new_failures == {"off": [], "on": []}
    assert result.sites > 0
    assert result.unchanged == {}
    assert result.off["modules"] == result.on["modules"] > 0
    assert result.off["dropped"] == 0
    assert result.on["records"] > 0
