"""A target on this machine: where its build lies, how it is built, run and checked.

Everything vprof makes for a target is below `.vprof/<name>/` of the current folder: `build/`, `descriptor.json`, `build.log`.
"""

from __future__ import annotations

import os
import shlex
import subprocess
from dataclasses import dataclass
from pathlib import Path

from vprof import descriptor as descriptors
from vprof.descriptor import Descriptor
from vprof.errors import UsageError, VprofError
from vprof.metadata import Unit, read_program
from vprof.paths import native, target_file


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

    def programs(self) -> list[Path]:
        return [self.build_dir / str(name) for name in self.descriptor.build.get("programs", [])]

    def build(self) -> None:
        """Runs the descriptor's build steps with `vprof-cc`; the sources stay as they are. Raises VprofError."""
        self.build_dir.mkdir(parents=True, exist_ok=True)
        annotations = self.folder / "descriptor.json"
        annotations.write_text(self.descriptor.rewriter_json(), encoding="utf-8")
        environment = {**os.environ, "VPROF_DESCRIPTOR": str(annotations)}
        log = self.folder / "build.log"
        with log.open("w", encoding="utf-8") as output:
            for step in self.descriptor.build["steps"]:
                command = self._filled(str(step))
                output.write(f"$ {shlex.join(command)}\n")
                output.flush()
                done = subprocess.run(command, stdout=output, stderr=subprocess.STDOUT, env=environment, check=False)
                if done.returncode != 0:
                    raise VprofError(f"the build failed: {_last_error(log)} (all of it: {log})")

    def units(self) -> list[Unit]:
        """The metadata of all programs of the build. Raises VprofError when a program was not built."""
        for program in self.programs():
            if not program.exists():
                raise VprofError(f"{program} does not exist: run `vprof instrument --target {self.descriptor.name}`")
        return [unit for program in self.programs() for unit in read_program(program)]

    def check(self, units: list[Unit]) -> None:
        """Every descriptor entry and root must have matched. Raises UsageError naming the first and counting the rest."""
        matched = {entry for unit in units for entry in unit.matched}
        functions = {function.name for unit in units for function in unit.functions}
        lines = descriptors.unmatched(self.descriptor, matched, functions)
        if lines:
            rest = f" (and {len(lines) - 1} more)" if len(lines) > 1 else ""
            raise UsageError(lines[0] + rest)

    def command(self, seconds: int, options: list[str]) -> list[str]:
        """The command that serves the target's load for `seconds`."""
        return [*self._filled(str(self.descriptor.run["command"]), seconds=str(seconds)), *options]

    def _filled(self, template: str, **more: str) -> list[str]:
        values = {
            "source": str(self.descriptor.source_dir()),
            "build": str(self.build_dir),
            "cc": str(native("bin/vprof-cc")),
            "cxx": str(native("bin/vprof-c++")),
            "jobs": str(os.cpu_count() or 1),
            **more,
        }
        try:
            return [word.format(**values) for word in shlex.split(template)]
        except (KeyError, IndexError, ValueError) as error:
            raise UsageError(f"{self.descriptor.file}: cannot fill in '{template}': {error}") from None


def _last_error(log: Path) -> str:
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    errors = [line for line in lines if "error" in line.lower()]
    return (errors or lines or ["no output"])[0 if errors else -1].strip()
