"""The `vprof` command: finds the verbs, prints errors, sets exit codes.

A verb is a file of `vprof/commands/` with a click command named `command`; its docstring is its help. Exit codes:
0 done, 1 failed (one line says why and what to do), 2 usage.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import os
import pkgutil
import re
import sys
from pathlib import Path

import click

from vprof import __version__, commands
from vprof.errors import VprofError
from vprof.extras import missing
from vprof.terminal import guard, one_line

_MANY_OBJECTS = 50_000
"""So many new ones are looked through for garbage at a time, not 700: what a command imports is none."""
_DOCSTRING = re.compile(r'^def command\(.*?^    """(.*?)"""', re.DOTALL | re.MULTILINE)


class Verbs(click.Group):
    """Loads a verb's file only when it is used, so `vprof record` does not wait for the analyzer's imports, and
    `vprof --help`, which reads what it says of each verb in the file, waits for none."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(module.name.replace("_", "-") for module in pkgutil.iter_modules(commands.__path__))

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.list_commands(ctx):
            return None
        module = importlib.import_module(f"vprof.commands.{cmd_name.replace('-', '_')}")
        command = module.command
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        names = self.list_commands(ctx)
        width = formatter.width - 6 - max(map(len, names))
        with formatter.section("Commands"):
            formatter.write_dl([(name, _sentence(name, width)) for name in names])


def _sentence(name: str, width: int) -> str:
    """What click takes from the verb's docstring for a list of verbs."""
    file = Path(commands.__file__).with_name(f"{name.replace('-', '_')}.py")
    found = _DOCSTRING.search(file.read_text(encoding="utf-8"))
    return click.Command(name, help=found[1] if found else "").get_short_help_str(width)


@click.command(cls=Verbs, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="vprof")
def root() -> None:
    """Find the functions that make a server's latency vary.

    \b
    With a target descriptor:
      vprof instrument --target minidb
      vprof record --target minidb -o run.trace
      vprof analyze run.trace
      vprof drill --auto --target minidb

    \b
    With any program that builds with CC:
      make CC=vprof-cc
      vprof record --sites all -o run.trace -- ./prog
      vprof analyze run.trace --root handle_request
    """


def main() -> None:
    """Entry point of the `vprof` script; never prints a traceback for a foreseen failure."""
    gc.set_threshold(_MANY_OBJECTS)
    atexit.register(gc.freeze)  # at its end Python would look through all objects again, which all go anyway
    guard()
    try:
        root.main(standalone_mode=False)
    except VprofError as error:
        _fail(str(error), error.exit_code)
    except click.ClickException as error:
        # A missing or unknown verb shows the help itself; everything else is one line.
        if isinstance(error, click.exceptions.NoArgsIsHelpError):
            error.show()
            sys.exit(error.exit_code)
        _fail(error.format_message(), error.exit_code)
    except click.exceptions.Exit as stop:
        sys.exit(stop.exit_code)
    except (click.Abort, KeyboardInterrupt):
        _fail("interrupted", 130)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except ModuleNotFoundError as error:
        _fail(str(missing(error)), 1)
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        _fail(f"{where}{error.strerror or error}", 1)


def _fail(message: str, exit_code: int) -> None:
    print(f"vprof: {one_line(message)}", file=sys.stderr)
    sys.exit(exit_code)
