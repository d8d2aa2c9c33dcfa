"""One table of kinds (vprof/tables/kinds.py): numbers, schemas and documents agree with it."""

from __future__ import annotations

import json
import re
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from vprof.tables import kinds

CHECKOUT = Path(__file__).parents[2]


def schema(name: str) -> Any:
    return json.loads((files("vprof.report") / "schemas" / name).read_text(encoding="utf-8"))


def enumerations(node: Any) -> list[set[str]]:
    """Those of a schema that list pieces."""
    below = node.values() if isinstance(node, dict) else node if isinstance(node, list) else []
    mine = [set(node["enum"])] if isinstance(node, dict) and "off_cpu" in node.get("enum", []) else []
    return mine + [found for child in below for found in enumerations(child)]


@pytest.mark.parametrize(
    ("prefix", "names"),
    [("", kinds.STATE_NAMES), ("P_", kinds.PIECE_NAMES), ("L_", [n.strip("[]") for n in kinds.PSEUDO])],
)
def test_a_number_is_the_place_of_its_name(prefix: str, names: list[str]) -> None:
    for number, name in enumerate(names):
        assert getattr(kinds, prefix + name.upper().replace(" ", "_")) == number


def test_schemas_list_the_pieces() -> None:
    assert enumerations(schema("vprof-analysis-1.json")) == [set(kinds.PIECE_NAMES)]
    told = set(kinds.PIECE_NAMES) - {"blocked_unknown"} | {"blocked", "busy", "aborted", "short"}
    assert enumerations(schema("vprof-path-1.json")) == [told]


def test_the_readme_tells_each_node() -> None:
    text = (CHECKOUT / "analyzer/README.md").read_text(encoding="utf-8")
    told = dict(re.findall(r"^\| `(\[[a-z ]+\])` \| (.*) \|$", text, re.MULTILINE))
    assert told == kinds.MEANINGS


@pytest.mark.parametrize("document", ["docs/algorithms.md", "docs/concepts.md"])
def test_the_documents_name_no_other_node(document: str) -> None:
    text = (CHECKOUT / document).read_text(encoding="utf-8")
    assert set(re.findall(r"`(\[[a-z ]+\])`", text)) <= set(kinds.MEANINGS)


def test_the_trace_format_lists_the_states() -> None:
    text = (CHECKOUT / "analyzer/vprof/trace/json_trace.py").read_text(encoding="utf-8")
    assert "kinds.STATE_NAMES" in text
    told = (CHECKOUT / "runtime/TRACE_FORMAT.md").read_text(encoding="utf-8")
    assert ", ".join(f"`{name}`" for name in kinds.STATE_NAMES) in re.sub(r"\s+", " ", told)
