"""The quick part of the corpus: each project's own tests pass with vprof as they do without."""

from collections.abc import Callable
from pathlib import Path

import corpus_projects
import pytest
from kept_builds import installed as installed
from kept_builds import say as say

import corpus
from vprof.target.fetch import SourceUnavailableError

QUICK = ("zlib", "lua5.1", "jsoncpp")


@pytest.mark.parametrize("name", QUICK)
def test_its_tests_pass_as_without_vprof(name: str, installed: Path, say: Callable[[str], None]) -> None:
    try:
        with corpus.workshop(installed, say) as (work, prefix):
            result = corpus.examine(corpus_projects.load()[name], work / name, prefix, plain_runs=1)
    except SourceUnavailableError as error:
        pytest.skip(f"the source of {name} cannot be fetched: {error}")
    assert result.new_failures == {"off": [], "on": []}
    assert result.sites > 0
    assert result.unchanged == {}
    assert result.off["modules"] == result.on["modules"] > 0
    assert result.off["dropped"] == 0
    assert result.on["records"] > 0
