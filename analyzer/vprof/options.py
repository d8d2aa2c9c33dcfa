"""Options that several commands have."""

from __future__ import annotations

import click

server_options_option = click.option(
    "--server-options",
    default="",
    metavar="OPTIONS",
    help="For the command that starts a target's server, such as '-c work_mem=1MB'.",
)
