"""Plans: names, globs, files, and what they match."""

import json
from pathlib import Path

import pytest

from vprof.errors import UsageError
from vprof.session.control import ranges
from vprof.session.plan import Plan, _matching


def test_all_names_globs_and_files_are_plans(tmp_path: Path) -> None:
    file = tmp_path / "plan.json"
    file.write_text(json.dumps({"schema": "vprof-plan/1", "functions": ["f", "g_*"]}))
    assert Plan.parse("all").patterns == {"*"}
    assert Plan.parse("f, g_*").patterns == {"f", "g_*"}
    assert Plan.parse(str(file)).patterns == {"f", "g_*"}


def test_names_may_be_longer_together_than_the_name_of_a_file() -> None:
    names = [f"leveldb::DBImpl::method_{i}" for i in range(300)]
    assert Plan.parse(",".join(names)).patterns == set(names)


@pytest.mark.parametrize("text", ["[]", "{}", '{"schema": "vprof-plan/9", "functions": []}', "hello"])
def test_a_file_that_is_no_plan_is_refused(tmp_path: Path, text: str) -> None:
    file = tmp_path / "plan.json"
    file.write_text(text)
    with pytest.raises(UsageError, match="not a plan"):
        Plan.parse(str(file))


def test_globs_are_case_sensitive_and_names_are_exact() -> None:
    names = ["wal_flush", "wal_write", "Wal_flush", "[odd]"]
    assert _matching(["wal_*"], names) == {"wal_flush", "wal_write"}
    assert _matching(["wal_flush"], names) == {"wal_flush"}
    assert _matching(["nothing"], names) == set()


def test_numbers_travel_as_inclusive_ranges() -> None:
    assert ranges([1, 2, 3, 7, 9, 10]) == "1-3 7 9-10"
