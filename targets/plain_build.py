"""A target built without vprof, or with probes in other places, to compare with."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import replace

from vprof.installed import compiling_tools, native
from vprof.target.target import Target


def built_plain(target: Target) -> Target:
    """By clang-19 with the same steps from the same source, below `plain/` of the target's folder.

    What is up to date is not made again. Raises CalledProcessError; the output is in `plain/build.log`.
    """
    plain = replace(target, folder=target.folder / "plain")
    _make(target, plain, {"cc": "clang-19", "cxx": "clang++-19"}, {})
    return plain


def built_with_probes(target: Target, probes: str) -> Target:
    """As the target itself, but with `VPROF_PROBES` (light, body): below a folder of that name in its own.

    It is made anew when vprof's tools or the descriptor have changed. REQUIRES: the target is built. Raises
    CalledProcessError; the output is in the folder's `build.log`.
    """
    beside = replace(target, folder=target.folder / probes)
    descriptor, stamp = target.folder / "descriptor.json", beside.folder / "build.stamp"
    made_from = compiling_tools() + descriptor.read_text(encoding="utf-8")
    if not stamp.exists() or stamp.read_text(encoding="utf-8") != made_from:
        for folder in (beside.build_dir, beside.folder / "install"):
            shutil.rmtree(folder, ignore_errors=True)
    tools = {"cc": str(native("bin/vprof-cc")), "cxx": str(native("bin/vprof-c++"))}
    _make(target, beside, tools, {"VPROF_PROBES": probes, "VPROF_DESCRIPTOR": str(descriptor)})
    stamp.write_text(made_from, encoding="utf-8")
    return beside


def _make(target: Target, beside: Target, tools: dict[str, str], environment: dict[str, str]) -> None:
    beside.build_dir.mkdir(parents=True, exist_ok=True)
    with (beside.folder / "build.log").open("wb") as log:
        for step in target.descriptor.build["steps"]:
            command = beside.filled(step, source=str(target.source_dir), **tools)
            subprocess.run(
                command,
                cwd=beside.build_dir,
                env={**os.environ, **environment},
                stdout=log,
                stderr=subprocess.STDOUT,
                check=True,
            )
