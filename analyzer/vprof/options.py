"""Options that several commands have."""

from __future__ import annotations

from pathlib import Path

import click

server_options_option = click.option(
    "--server-options",
    default="",
    metavar="OPTIONS",
    help="For the command that starts a target's server, such as '-c work_mem=1MB'.",
)

source_option = click.option(
    "--source",
    type=click.Path(exists=True, file_okay=False, resolve_path=True, path_type=Path),
    metavar="DIR",
    help="Your own tree, in place of the descriptor's source.",
)
source_version_option = click.option(
    "--source-version", metavar="V", help="Its version, for entries that are for some versions only."
)
interval_option = click.option(
    "--interval",
    metavar="KIND",
    help="The descriptor's intervals of this kind, such as statement. [default: the usual]",
)
