"""A target on this machine: where its source and build lie, how it is fetched, built and checked.

Everything vprof makes for a target is below `.vprof/<name>/` of the current folder: `source/` (if it was fetched),
`cured/` (a copy of the source with the chosen cures), `build/`, `install/`, `descriptor.json`, `build.log`; a server's
own folder is `server/` (target/server.py). What the user's own build command makes lies where that says.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import IO, Any

from vprof.errors import UsageError, VprofError
from vprof.installed import LOAD_DRIVER, annotations_folder, compiling_tools, native, target_file, target_names
from vprof.program.elf import linked_by_wrapper, read_program
from vprof.program.metadata import Function, Unit
from vprof.session.about import About
from vprof.target import build_progress, cured_tree, cures
from vprof.target import descriptor as descriptors
from vprof.target.build_choices import BuildChoices
from vprof.target.chosen_load import ChosenLoad
from vprof.target.cures import Cure
from vprof.target.descriptor import Descriptor
from vprof.target.fetch import fetch, fetched
from vprof.target.shell import not_found

_SOURCE = "source"
"""Where a fetched source lies in the work folder."""
_CURED, _STAMP = "cured", "build.stamp"
"""Where the copy of a source lies there that has the chosen cures."""

Progress = Callable[[str], None]
"""Is told what is being done, in a few words."""


@dataclass(frozen=True)
class Target:
    """A descriptor, its work folder, what `vprof instrument` was told for it; a load in place of its own, if any."""

    descriptor: Descriptor
    folder: Path
    choices: BuildChoices
    chosen_load: ChosenLoad | None = None

    @classmethod
    def load(cls, name: str, folder: Path | None = None) -> Target:
        """The target as it was built last. Raises UsageError when it is unknown or its descriptor is wrong."""
        return cls.of(name, folder, BuildChoices.of(_work_folder(name, folder)))

    @classmethod
    def of(cls, name: str, folder: Path | None, choices: BuildChoices) -> Target:
        """The target to be built as chosen. Raises UsageError."""
        work = _work_folder(name, folder)
        return cls(descriptors.load(target_file(name), choices, fetched(work / _SOURCE)), work, choices)

    @property
    def called(self) -> str:
        """What `--target` takes for it: its name, or its folder."""
        file = self.descriptor.file
        return self.descriptor.name if self.descriptor.name in target_names() else str(file.parent)

    @property
    def load_table(self) -> dict[str, Any]:
        """[load], or what stands for it. Raises UsageError, as `ChosenLoad.table` does."""
        return self.chosen_load.table(self.descriptor) if self.chosen_load else self.descriptor.load

    @property
    def server_dir(self) -> Path:
        """The server's own folder: one for each load, since it holds its data."""
        return self.folder / (f"server-{self.chosen_load.name}" if self.chosen_load else "server")

    @property
    def build_dir(self) -> Path:
        return self.folder / "build"

    @property
    def source_dir(self) -> Path:
        """What is built: the source, or its copy with the chosen cures."""
        original = self.original_dir
        return self.folder / _CURED if self.descriptor.chosen_cures else original

    @property
    def original_dir(self) -> Path:
        """The source as the user or the package has it. Raises UsageError if there is none."""
        source = self.descriptor.source
        if not source:
            raise UsageError(f"{self.descriptor.file}: there is no [source]: give --source DIR")
        if source["kind"] in ("tree", "user"):
            return (self.descriptor.file.parent / str(source["path"])).resolve()
        return self.folder / _SOURCE

    @property
    def built_from(self) -> str:
        """The source, its version and cures, for reports, as `name 15.18-0+deb12u1`, `name 15.18 with lazy`; "" if
        nobody said a version and there are no cures."""
        source = self.descriptor.source
        version, names = source.get("version"), [cure.name for cure in self.descriptor.chosen_cures]
        words = [version] if version else []
        words += ["with", ", ".join(names)] if names else []
        return " ".join([source.get("package", self.descriptor.name), *words]) if words else ""

    @property
    def about(self) -> About:
        """What traces of it are to say."""
        rate = self.chosen_load.rate if self.chosen_load else None
        return About(self.built_from, self.descriptor.retry, rate)

    @property
    def command_of_user(self) -> bool:
        """The user's own command builds it: not the descriptor's steps."""
        return self.choices.user is not None and bool(self.choices.user.command)

    def programs(self) -> list[Path]:
        """What the build makes. Raises UsageError when the descriptor does not name it, or what a user's build command
        left is not that."""
        names = self.descriptor.build.get("programs")
        if not names:
            raise UsageError(f"{self.descriptor.file}: [build] programs is missing: the names of what the build makes")
        return [self._program(str(name)) for name in names]

    def _program(self, name: str) -> Path:
        """The user's command may leave it anywhere in {build}, or if it is not there, in the tree."""
        if not self.command_of_user:
            return self.build_dir / name
        for folder in (self.build_dir, self.source_dir):
            found = sorted(path for path in folder.rglob(name) if path.is_file() and not path.is_symlink())
            if len(found) > 1:
                raise UsageError(f"several files are '{name}': {', '.join(map(str, found))}: remove all but one")
            if found:
                return found[0]
        raise UsageError(f"the build command left no '{name}' in {self.build_dir} or {self.source_dir}")

    def build(self, progress: Progress, only: frozenset[str] | None = None) -> Target:
        """Fetches the source and runs the build steps with `vprof-cc`; the source stays as it is: cures go to a copy.
        Raises VprofError.

        Steps run in the build folder, a user's command in the tree. What is up to date is not made again. `only`: no
        other functions get probes. Returns the target as it was built: for the version that was fetched.
        """
        self._keep_off(self.original_dir)
        self._steps()
        self.folder.mkdir(parents=True, exist_ok=True)
        self.choices.keep(self.folder)
        log = self.folder / "build.log"
        with log.open("w", encoding="utf-8") as output:
            target = self.fetch(progress, output)
            target.check_tree()
            target._run_steps(progress, only, output, log)
        return target

    def _run_steps(self, progress: Progress, only: frozenset[str] | None, output: IO[str], log: Path) -> None:
        steps = self._steps()
        edited = cures.edited(self.original_dir, self.descriptor.chosen_cures)
        environment = {**_without_make(), "VPROF_DESCRIPTOR": str(self._annotations(only))}
        if edited:
            progress(f"copying the source for {', '.join(cure.name for cure in self.descriptor.chosen_cures)}")
            cured_tree.update(self.original_dir, self.source_dir, edited, self.folder)
        if self.command_of_user:
            environment |= {"CC": str(native("bin/vprof-cc")), "CXX": str(native("bin/vprof-c++"))}
        for number, step in enumerate(steps, 1):
            command = self.filled(step)
            what = f"build step {number} of {len(steps)}: {shlex.join(command)[:80]}"
            progress(what)
            folder = self.source_dir if self.command_of_user else self.build_dir
            if not _run(command, folder, environment, output, partial(_tell, progress, what)):
                if number == 1 < len(steps):  # it configures, and remembers what it did not find
                    self._begin_anew()
                raise VprofError(f"the build failed: {_cause(log)} (all of it: {log})")

    def check_tree(self) -> None:
        """Raises UsageError if the source is not there, or lacks a file that every version of the program has."""
        source = self.original_dir
        if not source.is_dir():
            raise UsageError(f"{source}: there is no such folder")
        version = self.descriptor.source.get("version")
        what = f"{self.descriptor.name} {version}" if version else self.descriptor.name
        for name in self.descriptor.build.get("needs", []):
            if not (source / name).exists():
                raise UsageError(f"{source} is no source of {what}: it has no {name}")

    def _keep_off(self, source: Path) -> None:
        """Raises UsageError if the user's tree lies where folders are ours to empty."""
        ours = (self.build_dir, self.folder / "install", self.folder / _CURED)
        if self.choices.user and (source == self.folder or any(source.is_relative_to(folder) for folder in ours)):
            raise UsageError(f"{source} cannot be the source and the work folder: give another --dir")

    def _steps(self) -> list[str]:
        steps = self.descriptor.build.get("steps")
        if not steps:
            raise UsageError(f"{self.descriptor.file}: there is no [build] steps: give --source DIR -- BUILD COMMAND")
        return list(steps)

    def fetch(self, progress: Progress, log: IO[str]) -> Target:
        """Makes the source be there. Returns the target for the version that it has.

        Raises SourceUnavailableError (target/fetch.py), or VprofError.
        """
        source, wanted = self.descriptor.source, self.descriptor.wanted
        if source["kind"] != "debian":
            return self
        progress(f"fetching {source['package']} {wanted}")
        found = fetch(source["package"], wanted, self.original_dir, self.folder / "apt", log)
        return replace(self, descriptor=descriptors.load(self.descriptor.file, self.choices, found))

    def _begin_anew(self) -> None:
        """The next build begins with an empty folder."""
        (self.folder / _STAMP).unlink(missing_ok=True)

    def _annotations(self, only: frozenset[str] | None) -> Path:
        """The rewriter's file. Build systems see neither it nor the steps nor vprof: if one changes, all is built."""
        text = self.descriptor.rewriter_json(only)
        made_from = self._made_from(text)
        stamp = self.folder / _STAMP
        if not (stamp.exists() and stamp.read_text(encoding="utf-8") == made_from):
            for made in (self.build_dir, self.folder / "install"):
                shutil.rmtree(made, ignore_errors=True)
            cured_tree.remove(self.folder / _CURED)
            stamp.write_text(made_from, encoding="utf-8")
        self.build_dir.mkdir(exist_ok=True)
        file = self.folder / "descriptor.json"
        file.write_text(text, encoding="utf-8")
        return file

    def _made_from(self, text: str) -> str:
        return "\n".join(
            [text, json.dumps(self.descriptor.source), *self._steps(), compiling_tools()]
            + [repr(cure.edits) for cure in self.descriptor.chosen_cures]
            + [os.environ.get(name, "") for name in ("VPROF_REAL_CC", "VPROF_REAL_CXX")]
            + [os.environ[name] for name in ("VPROF_PROBES",) if name in os.environ]
        )

    def may_be_stale(self) -> bool:
        """Whether a user's command last built with another descriptor or vprof: it may not compile all anew. What lies
        in folders of ours is."""
        stamp = self.folder / "build.stamp"
        if not self.command_of_user or "{build}" in self._steps()[0] or not stamp.exists():
            return False
        if self.descriptor.chosen_cures:
            return False
        return stamp.read_text(encoding="utf-8") != self._made_from(self.descriptor.rewriter_json())

    def units(self) -> list[Unit]:
        """The metadata of all programs of the build. Raises VprofError when one was not built, or not linked by us."""
        programs = self.programs()
        for program in programs:
            if not program.exists():
                raise VprofError(f"{program} does not exist: run `vprof instrument --target {self.called}`")
        units = [unit for program in programs for unit in read_program(program)]
        for program in programs:
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
        return descriptors.unmatched(self.descriptor, matched, _callees(units))

    def unapplied(self) -> list[str]:
        """One line for each edit of a cure for this version that the source, if it is there, does not take."""
        return [said for _, _, said in self.cure_places() if said]

    def cure_places(self) -> list[tuple[Cure, str, str]]:
        """Of each edit of a cure for this version of the source, if that is there: the cure, `file:line` of the anchor
        ("": it is not there once) and why ("")."""
        version = self.descriptor.source.get("version")
        if not self.descriptor.source or not self.original_dir.is_dir():
            return []
        return [
            (cure, f"{edit.file}:{line}" if line else "", said)
            for cure in self.descriptor.cures.values()
            if descriptors.for_version(cure, version, self.descriptor.file)
            for edit, line, said in cures.places(self.original_dir, cure)
        ]

    def ungoverned(self, units: list[Unit]) -> list[str]:
        """One line for each name that a knob governs, and that the program neither defines nor calls."""
        return descriptors.ungoverned(self.descriptor, _callees(units))

    def command(self, seconds: int, options: list[str], latencies: str = os.devnull) -> list[str]:
        """The command that serves or makes the target's load for `seconds`; `options` go to its end, the latencies of
        a chosen load to the file `latencies`.

        They are the command of a target that has none. Raises UsageError when there are no options then.
        """
        load = self.load_table
        if load:
            more = {"seconds": str(seconds), "clients": str(load.get("clients", 1)), "latencies": latencies}
            return [*self.filled(load["command"], **more), *options]
        run = self.descriptor.run
        if not run and not options:
            raise UsageError(f"{self.descriptor.file}: there is no [run] or [server]: give a command after `--`")
        return [*self.filled(run["command"], seconds=str(seconds)), *options] if run else options

    def filled(self, template: str, **more: str) -> list[str]:
        """The words of a step or command, its {placeholders} replaced. Raises UsageError for an unknown one."""
        values = {
            "target": str(self.descriptor.file.resolve().parent),
            "annotations": str(annotations_folder()),
            "source": str(self.source_dir) if self.descriptor.source else "",
            "build": str(self.build_dir),
            "install": str(self.folder / "install"),
            "server": str(self.server_dir),
            "cc": str(native("bin/vprof-cc")),
            "cxx": str(native("bin/vprof-c++")),
            "jobs": str(os.cpu_count() or 1),
            **more,
        }
        if self.chosen_load:
            values["driver"] = str(native(LOAD_DRIVER))
        try:
            return [word.format(**values) for word in shlex.split(template)]
        except (KeyError, IndexError, ValueError) as error:
            raise UsageError(
                f"{self.descriptor.file}: cannot fill in '{template}': {error} (write {{{{ for {{)"
            ) from None


def _work_folder(name: str, given: Path | None) -> Path:
    return (given or Path(".vprof") / target_file(name).resolve().parent.name).resolve()


def _callees(units: list[Unit]) -> dict[str, set[str]]:
    """The program's functions by name, and the names of those each calls."""
    found: dict[str, set[str]] = {}
    for unit in units:
        for function, called in callees_of(unit):
            found.setdefault(function.name, set()).update(called)
    return found


def callees_of(unit: Unit) -> Iterator[tuple[Function, set[str]]]:
    """The functions of a unit, each with the names of those it calls by name."""
    names = {symbol.id: symbol.name for symbol in unit.symbols}
    for function in unit.functions:
        yield function, {names[symbol] for symbol, _ in [*function.calls, *function.virtual]}


def _without_make() -> dict[str, str]:
    """Our environment; a build started by some `make` is no part of that one (some look at MAKELEVEL)."""
    return {key: value for key, value in os.environ.items() if key not in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS")}


def _run(command: list[str], folder: Path, environment: dict[str, str], log: IO[str], told: Progress) -> bool:
    log.write(f"$ {shlex.join(command)}\n")
    try:
        return build_progress.run(command, folder, environment, log, told) == 0
    except FileNotFoundError as error:
        raise not_found(command[0], str(error.strerror)) from None
    except PermissionError as error:
        raise UsageError(f"{command[0]}: {error.strerror}") from None


def _tell(progress: Progress, what: str, far: str) -> None:
    progress(f"{what}: {far}")


def _cause(log: Path) -> str:
    """The line of a build log that says most: ours, else the first error of a compiler or of CMake, else the last."""
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    ours = [line for line in lines if line.startswith("vprof-cc: ")]
    errors = [line for line in lines if " error: " in line]
    return (ours or errors or _of_cmake(lines) or lines[-1:] or ["no output"])[0].strip()


def _of_cmake(lines: list[str]) -> list[str]:
    """What CMake says first: behind `CMake Error: `, or below `CMake Error at FILE:LINE (COMMAND):`."""
    texts = iter(lines)
    for line in texts:
        if line.startswith("CMake Error at "):
            return [f"CMake: {text.strip()}" for text in texts if text.strip()]
        if line.startswith("CMake Error: "):
            return [line]
    return []
