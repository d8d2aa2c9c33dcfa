"""A target on this machine: where its source and build lie, how it is fetched, built and checked.

Everything vprof makes for a target is below `.vprof/<name>/` of the current folder: `source/` (if it was fetched),
`build/`, `install/`, `descriptor.json`, `build.log`; a server's own folder is `server/` (vprof/server.py).
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from vprof import descriptor as descriptors
from vprof.descriptor import Descriptor
from vprof.errors import UsageError, VprofError
from vprof.metadata import Function, Unit, linked_by_wrapper, read_program
from vprof.paths import compiling_tools, native, target_file
from vprof.source import fetch

Progress = Callable[[str], None]
"""Is told what is being done, in a few words."""


@dataclass(frozen=True)
class Target:
    """A descriptor and its work folder."""

    descriptor: Descriptor
    folder: Path

    @classmethod
    def load(cls, name: str, folder: Path | None = None) -> Target:
        """Raises UsageError when the target is unknown or its descriptor is wrong."""
        descriptor = descriptors.load(target_file(name))
        return cls(descriptor, (folder or Path(".vprof") / descriptor.name).resolve())

    @property
    def build_dir(self) -> Path:
        return self.folder / "build"

    @property
    def source_dir(self) -> Path:
        source = self.descriptor.source
        if source["kind"] == "tree":
            return (self.descriptor.file.parent / str(source["path"])).resolve()
        return self.folder / "source"

    def programs(self) -> list[Path]:
        return [self.build_dir / str(name) for name in self.descriptor.build["programs"]]

    def build(self, progress: Progress, only: frozenset[str] | None = None) -> None:
        """Fetches the source and runs the build steps with `vprof-cc`; the source stays as it is. Raises VprofError.

        Steps run in the build folder. What is up to date is not made again. `only`: no other functions get probes.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        log = self.folder / "build.log"
        with log.open("w", encoding="utf-8") as output:
            self.fetch(progress, output)
            environment = {**_without_make(), "VPROF_DESCRIPTOR": str(self._annotations(only))}
            steps = self.descriptor.build["steps"]
            for number, step in enumerate(steps, 1):
                command = self.filled(step)
                progress(f"build step {number} of {len(steps)}: {shlex.join(command)[:80]}")
                if not _run(command, self.build_dir, environment, output):
                    raise VprofError(f"the build failed: {_cause(log)} (all of it: {log})")

    def fetch(self, progress: Progress, log: IO[str]) -> None:
        """Makes the source be there. Raises SourceUnavailableError (vprof/source.py), or VprofError."""
        source = self.descriptor.source
        if source["kind"] == "debian":
            progress(f"fetching {source['package']} {source['version']}")
            fetch(source["package"], source["version"], self.source_dir, self.folder / "apt", log)

    def _annotations(self, only: frozenset[str] | None) -> Path:
        """The rewriter's file. Build systems see neither it nor the steps nor vprof: if one changes, all is built."""
        text = self.descriptor.rewriter_json(only)
        made_from = "\n".join(
            [text, json.dumps(self.descriptor.source), *self.descriptor.build["steps"], compiling_tools()]
            + [os.environ.get(name, "") for name in ("VPROF_REAL_CC", "VPROF_REAL_CXX")]
        )
        stamp = self.folder / "build.stamp"
        if not (stamp.exists() and stamp.read_text(encoding="utf-8") == made_from):
            for made in (self.build_dir, self.folder / "install"):
                shutil.rmtree(made, ignore_errors=True)
            stamp.write_text(made_from, encoding="utf-8")
        self.build_dir.mkdir(exist_ok=True)
        file = self.folder / "descriptor.json"
        file.write_text(text, encoding="utf-8")
        return file

    def units(self) -> list[Unit]:
        """The metadata of all programs of the build. Raises VprofError when one was not built, or not linked by us."""
        for program in self.programs():
            if not program.exists():
                raise VprofError(f"{program} does not exist: run `vprof instrument --target {self.descriptor.name}`")
        units = [unit for program in self.programs() for unit in read_program(program)]
        for program in self.programs():
            if not linked_by_wrapper(program):
                raise VprofError(
                    f"{program} was linked without vprof-cc, its probes could not be switched on: "
                    f"make the build link with {{cc}} ({self.folder / 'build.log'})"
                )
        return units

    def check(self, units: list[Unit]) -> None:
        """Every entry and root must have matched. Raises UsageError naming the first and counting the rest."""
        lines = self.unmatched(units)
        if lines:
            rest = f" (and {len(lines) - 1} more)" if len(lines) > 1 else ""
            raise UsageError(lines[0] + rest)

    def unmatched(self, units: list[Unit]) -> list[str]:
        """One line for each entry or root that matches no function of the program."""
        matched = {entry for unit in units for entry in unit.matched}
        callees: dict[str, set[str]] = {}
        for unit in units:
            for function, called in callees_of(unit):
                callees.setdefault(function.name, set()).update(called)
        return descriptors.unmatched(self.descriptor, matched, callees)

    def command(self, seconds: int, options: list[str]) -> list[str]:
        """The command that serves or makes the target's load for `seconds`; `options` go to its end."""
        load = self.descriptor.load
        if load:
            return [*self.filled(load["command"], seconds=str(seconds), clients=str(load.get("clients", 1))), *options]
        return [*self.filled(self.descriptor.run["command"], seconds=str(seconds)), *options]

    def filled(self, template: str, **more: str) -> list[str]:
        """The words of a step or command, its {placeholders} replaced. Raises UsageError for an unknown one."""
        values = {
            "target": str(self.descriptor.file.resolve().parent),
            "source": str(self.source_dir),
            "build": str(self.build_dir),
            "install": str(self.folder / "install"),
            "server": str(self.folder / "server"),
            "cc": str(native("bin/vprof-cc")),
            "cxx": str(native("bin/vprof-c++")),
            "jobs": str(os.cpu_count() or 1),
            **more,
        }
        try:
            return [word.format(**values) for word in shlex.split(template)]
        except (KeyError, IndexError, ValueError) as error:
            raise UsageError(f"{self.descriptor.file}: cannot fill in '{template}': {error}") from None


def callees_of(unit: Unit) -> Iterator[tuple[Function, set[str]]]:
    """The functions of a unit, each with the names of those it calls by name."""
    names = {symbol.id: symbol.name for symbol in unit.symbols}
    for function in unit.functions:
        yield function, {names[symbol] for symbol, _ in [*function.calls, *function.virtual]}


def _without_make() -> dict[str, str]:
    """Our environment; a build started by some `make` is no part of that one (PostgreSQL looks at MAKELEVEL)."""
    return {key: value for key, value in os.environ.items() if key not in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS")}


def _run(command: list[str], folder: Path, environment: dict[str, str], log: IO[str]) -> bool:
    log.write(f"$ {shlex.join(command)}\n")
    log.flush()
    done = subprocess.run(command, cwd=folder, stdout=log, stderr=subprocess.STDOUT, env=environment, check=False)
    return done.returncode == 0


def _cause(log: Path) -> str:
    """The line of a build log that says most: ours, else the first error of a compiler, else the last one."""
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    ours = [line for line in lines if line.startswith("vprof-cc: ")]
    errors = [line for line in lines if " error: " in line]
    return (ours or errors or lines[-1:] or ["no output"])[0].strip()
