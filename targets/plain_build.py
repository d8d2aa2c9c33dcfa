"""A target built without vprof, to compare with."""

from __future__ import annotations

import subprocess
from dataclasses import replace

from vprof.target.target import Target


def built_plain(target: Target) -> Target:
    """By clang-19 with the same steps from the same source, below `plain/` of the target's folder.

    What is up to date is not made again. Raises CalledProcessError; the output is in `plain/build.log`.
    """
    plain = replace(target, folder=target.folder / "plain")
    plain.build_dir.mkdir(parents=True, exist_ok=True)
    with (plain.folder / "build.log").open("wb") as log:
        for step in target.descriptor.build["steps"]:
            command = plain.filled(step, cc="clang-19", cxx="clang++-19", source=str(target.source_dir))
            subprocess.run(command, cwd=plain.build_dir, stdout=log, stderr=subprocess.STDOUT, check=True)
    return plain
