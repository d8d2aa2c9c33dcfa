"""What people read: pages of commands are their help, examples name options that exist, links lead somewhere."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import click
import pytest

from vprof.cli import root

ROOT = Path(__file__).parents[2]
COMMANDS = ROOT / "docs/commands"
DOCS = sorted((ROOT / "docs").rglob("*.md"))
VERBS = root.list_commands(click.Context(root))


def verb(name: str) -> click.Command:
    command = root.get_command(click.Context(root), name)
    assert command is not None
    return command


def inner(command: click.Command, words: list[str]) -> click.Command:
    """`check` of `targets`, if its name is the first of the words."""
    return command.commands.get(words[0], command) if isinstance(command, click.Group) and words else command


def options(command: click.Command) -> set[str]:
    return {option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts)}


def test_the_pages_are_what_the_commands_say(tmp_path: Path) -> None:
    # By a process of its own: click keeps what it showed first, and other tests show commands without their parent.
    subprocess.run([sys.executable, ROOT / "docs/commands.py", tmp_path], check=True)
    kept, made = ({file.name: file.read_text() for file in folder.glob("*.md")} for folder in (COMMANDS, tmp_path))
    assert kept == made, "run python docs/commands.py"


@pytest.mark.parametrize("name", VERBS)
def test_every_help_has_an_example_that_its_command_takes(name: str) -> None:
    command = verb(name)
    examples = re.findall(rf"^ *(vprof {name}\b.*)$", command.help or "", re.MULTILINE)
    assert examples
    for example in examples:
        words = shlex.split(example)[2:]
        own = words[: words.index("--")] if "--" in words else words
        assert {word.split("=")[0] for word in own if re.match(r"-\D", word)} <= options(inner(command, words)), example


@pytest.mark.parametrize("page", DOCS, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    for link in re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text()):
        assert (page.parent / link).exists(), link


@pytest.mark.parametrize("page", DOCS, ids=lambda page: str(page.relative_to(ROOT)))
def test_commands_on_pages_name_verbs_and_options_that_exist(page: Path) -> None:
    for line in re.findall(r"^ {4,}vprof ([a-z].*)$", page.read_text(), re.MULTILINE):
        words = shlex.split(line, comments=True)
        command = inner(verb(words[0]), words[1:])
        own = words[: words.index("--")] if "--" in words else words
        assert {word.split("=")[0] for word in own if re.match(r"-\D", word)} <= options(command) | {"--help"}, line


@pytest.mark.parametrize(
    ("typed", "offered"), [("vprof re", {"record", "reorder", "report"}), ("vprof report --dr", {"--drill"})]
)
def test_the_shell_completes(typed: str, offered: set[str]) -> None:
    asked = {"COMP_WORDS": typed, "COMP_CWORD": str(len(typed.split()) - 1), "_VPROF_COMPLETE": "bash_complete"}
    done = subprocess.run(
        [Path(sys.executable).parent / "vprof"], env={**os.environ, **asked}, capture_output=True, text=True, check=True
    )
    assert {line.split(",")[1] for line in done.stdout.split()} == offered
