"""What small commands import: a second of start is most of what they take (bench/start.py)."""

from __future__ import annotations

import click
from imported import imported
from worked_cases import CASES

from vprof.cli import _sentence, root

SLOW = {"elftools", "hdrh", "jinja2", "numba", "pandas", "pyarrow", "scipy", "tree_sitter"}
"""Packages that take 20 ms or more to import, but for NumPy and Rich."""


def test_help_waits_for_no_verb() -> None:
    modules = imported("--help")
    assert "click" in modules
    assert not modules & {*SLOW, "numpy", "rich"}
    assert not [module for module in modules if module.startswith("vprof.commands.")]


def test_help_says_of_each_verb_what_its_docstring_does() -> None:
    context = click.Context(root)
    names = root.list_commands(context)
    assert "analyze" in names
    for name in names:
        verb = root.get_command(context, name)
        assert verb is not None
        for width in (30, 60, 200):
            assert _sentence(name, width) == verb.get_short_help_str(width), name


def test_the_analysis_of_a_small_trace_compiles_nothing() -> None:
    modules = imported("analyze", CASES / "02_lock_handoff.json")
    assert "numpy" in modules
    assert not modules & SLOW


def test_help_of_recording_does_without_numpy() -> None:
    assert not imported("record", "--help") & {*SLOW, "numpy", "rich"} - {"elftools"}
