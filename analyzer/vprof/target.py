"""A target on this machine: where its build lies, how it is built, run and checked.

Everything vprof makes for a target is below `.vprof/<name>/` of the current folder: `build/`, `descriptor.json`,
`build.log`.
"""

from __future__ import annotations

import os
import shlex
import shutil
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
        annotations = self.folder / "descriptor.json"
        text = self.descriptor.rewriter_json()
        # Build systems do not see that the descriptor went into the objects: a changed one starts afresh.
        if self.build_dir.exists() and not (annotations.exists() and annotations.read_text(encoding="utf-8") == text):
            shutil.rmtree(self.build_dir)
        self.build_dir.mkdir(parents=True, exist_ok=True)
        annotations.write_text(text, encoding="utf-8")
        environment = {**os.environ, "VPROF_DESCRIPTOR": str(annotations)}
        log = self.folder / "build.log"
        with log.open("w", encoding="utf-8") as output:
            for step in self.descriptor.build["steps"]:
                command = self._filled(str(step))
                output.write(f"$ {shlex.join(command)}\n")
                output.flush()
                done = subprocess.run(command, stdout=output, stderr=subprocess.STDOUT, env=environment, check=False)
                if done.returncode != 0:
                    raise VprofError(f"the build failed: {_cause(log)} (all of it: {log})")

    def units(self) -> list[Unit]:
        """The metadata of all programs of the build. Raises VprofError when a program was not built."""
        for program in self.programs():
            if not program.exists():
                raise VprofError(f"{program} does not exist: run `vprof instrument --target {self.descriptor.name}`")
        return [unit for program in self.programs() for unit in read_program(program)]

    def check(self, units: list[Unit]) -> None:
        """Every descriptor entry and root must have matched. Raises UsageError: the first, and how many more."""
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


def _cause(log: Path) -> str:
    """The line of a build log that says most: ours, else the first error of a compiler, else the last one."""
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    ours = [line for line in lines if line.startswith("vprof-cc: ")]
    errors = [line for line in lines if " error: " in line]
    return (ours or errors or lines[-1:] or ["no output"])[0].strip()
