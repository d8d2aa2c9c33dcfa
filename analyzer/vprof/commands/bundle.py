"""`vprof bundle`: a folder with what recording a program needs on a machine without vprof."""

from __future__ import annotations

import tarfile
import tempfile
from pathlib import Path

import click

from vprof.errors import UsageError
from vprof.session.bundle import Bundle, make
from vprof.session.plan import Plan

_TARS = {".tar": "w", ".tar.gz": "w:gz", ".tgz": "w:gz"}


@click.command()
@click.argument("program", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option(
    "--sites",
    default="all",
    show_default=True,
    help="Probes that are on while it is recorded: all, names and globs with commas, or a plan file.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    help="A folder, or a file that ends with .tar or .tar.gz. [default: PROGRAM-vprof]",
)
def command(program: Path, sites: str, output: Path | None) -> None:
    """Put a program and what recording it needs into a folder, for a machine without vprof.

    The folder holds a copy of PROGRAM that starts anywhere, with or without vprof, and `record`, which runs it with its
    probes on and writes a trace. Neither needs Python or a shell. The libraries of the program itself are not copied.
    Analyze the trace where vprof is installed, with a copy of PROGRAM in the trace's folder.

    \b
    Example:
      vprof bundle ./server --sites 'handle_*' -o server.tar.gz
      ./record --run plan -- ./server --options        # there, in the unpacked folder
    """
    output = output or Path(f"{program.name}-vprof")
    mode = next((mode for ending, mode in _TARS.items() if output.name.endswith(ending)), None)
    plan = Plan.parse(sites)
    bundle = _tar(program, output, mode, plan) if mode else make(program, output, plan)
    click.echo(f"{output}: {program.name} with {bundle.sites} sites on; its README says how to record it")
    if bundle.kept:
        click.echo(
            f"vprof: {program.name} calls {bundle.kept[0]} itself, so it starts with libvprof only: run it by `record`",
            err=True,
        )


def _tar(program: Path, output: Path, mode: str, plan: Plan) -> Bundle:
    """The folder, called as the file without its ending, in a tar file."""
    if output.exists():
        raise UsageError(f"{output} exists: remove it, or give another -o")
    name = output.name.split(".tar")[0].removesuffix(".tgz")
    with tempfile.TemporaryDirectory(prefix="vprof-") as temporary:
        bundle = make(program, Path(temporary) / name, plan)
        with tarfile.open(output, mode) as tar:  # type: ignore[call-overload]
            tar.add(bundle.folder, name)
    return bundle
