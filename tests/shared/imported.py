"""What `vprof` imports, in a process of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

_RUN = """
import sys
from vprof.cli import main
try:
    main()
finally:
    print("imported", *sys.modules, file=sys.stderr)
"""


def imported(*arguments: str | Path) -> set[str]:
    """The modules that a command has imported at its end."""
    command = [sys.executable, "-c", _RUN, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    marker, *modules = done.stderr.splitlines()[-1].split()
    assert marker == "imported" and done.stdout
    return set(modules)
