"""Writes docs/commands/*.md: the help of each command, as `vprof COMMAND --help` prints it.

Run it after a change of a command's docstring or options: python docs/commands.py [FOLDER]
"""

import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import click

from vprof.cli import root

WIDTH = 100


def pages() -> dict[str, str]:
    """File name -> content."""
    commands = list(_commands(root, "vprof", None))
    index = "\n".join(
        textwrap.fill(
            f"- [{name}]({file_of(name)}): {command.get_short_help_str(200)}",
            WIDTH,
            subsequent_indent="  ",
            break_long_words=False,
            break_on_hyphens=False,
        )
        for name, command, _ in commands[1:]
    )
    return {
        file_of(name): f"# {name}\n\n{_fenced(command.get_help(context))}\n{index if command is root else ''}".rstrip()
        + "\n"
        for name, command, context in commands
    }


def file_of(name: str) -> str:
    """vprof targets check -> vprof-targets-check.md"""
    return f"{name.replace(' ', '-')}.md"


def _commands(
    command: click.Command, name: str, parent: click.Context | None
) -> Iterator[tuple[str, click.Command, click.Context]]:
    settings = {**command.context_settings, "terminal_width": WIDTH, "max_content_width": WIDTH}
    context = click.Context(command, parent, info_name=name.split()[-1], **settings)
    yield name, command, context
    if isinstance(command, click.Group):
        for word in command.list_commands(context):
            below = command.get_command(context, word)
            assert below is not None
            yield from _commands(below, f"{name} {word}", context)


def _fenced(text: str) -> str:
    return "```text\n" + "\n".join(line.rstrip() for line in text.splitlines()) + "\n```\n"


def main(folder: Path) -> None:
    folder.mkdir(exist_ok=True)
    for name, content in pages().items():
        (folder / name).write_text(content, encoding="utf-8")
    for stale in {file.name for file in folder.glob("*.md")} - set(pages()):
        (folder / stale).unlink()


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "commands")
