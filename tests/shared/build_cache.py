"""A target's instrumented build, made once and kept outside the checkout for the next run of the tests.

    installed tools (VPROF_PREFIX, else .venv)  -> CACHE/TARGET-KEY/prefix   copies that the server's account can reach
    descriptor, its source, prefix/bin/vprof-cc -> CACHE/TARGET-KEY/.vprof   by `vprof instrument`

The key covers what determines the build: the rewriter and what it compiles and links in, the descriptor and the folders
beside it, the headers of annotations/ that it includes, the chosen cures, the compiler, where probes stand
(VPROF_PROBES).
What is copied into `prefix` each time is not in it: the runtime library, which a kept build links dynamically from
there, the collector, the calibration, the load driver, the reader of transactions. So the runtime that is tested is
the installed one. A build without its stamp is made afresh; `CACHE/TARGET.lock` is held from then to the end of the
tests, for one run replaces what another would be running.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from patience import PATIENCE_SECONDS

from vprof.installed import annotations_folder
from vprof.target.build_choices import BuildChoices
from vprof.target.descriptor import Descriptor
from vprof.target.target import Target

KEPT = 2
"""Builds of one target that stay, the latest used: a change and what it is compared with."""

_NOT_IN_THE_BUILD = {
    *("libvprof.so", "libvprof.a", "vprof-collector", "vprof-calibrate"),
    *("vprof-load-driver", "vprof-load-stub", "vprof-units"),
}
_BUILD_SECONDS = 3000


@dataclass(frozen=True)
class Built:
    """A complete build of a target (a known name, or its folder): what `vprof` does in `folder` uses it."""

    name: str
    folder: Path

    @property
    def prefix(self) -> Path:
        return self.folder / "prefix"

    @property
    def target(self) -> Target:
        return Target.load(self.name, self.folder / ".vprof" / Path(self.name).name)

    def how(self) -> dict:
        """Arguments of a process that uses this build."""
        return {"cwd": self.folder, "env": {**os.environ, "VPROF_PREFIX": str(self.prefix)}, "text": True}

    def vprof(self, *arguments: object, timeout: int = PATIENCE_SECONDS) -> subprocess.CompletedProcess[str]:
        return subprocess.run(command(*arguments), capture_output=True, timeout=timeout, **self.how())

    def places(self) -> list[list[str]]:
        """Where each entry of the descriptor applies, as `vprof targets check` says."""
        done = self.vprof("targets", "check", self.name, "--format", "json")
        assert done.returncode == 0, done.stderr
        return [entry["places"] for entry in json.loads(done.stdout)["entries"]]


def command(*arguments: object) -> list[str]:
    """The command line of `vprof` in this Python."""
    return [sys.executable, "-c", "from vprof.cli import main; main()", *map(str, arguments)]


def cache_folder() -> Path:
    """VPROF_CACHE, else the system's place for root (servers run as another account there), else the user's."""
    if "VPROF_CACHE" in os.environ:
        return Path(os.environ["VPROF_CACHE"]).resolve()
    if os.geteuid() == 0:
        return Path("/var/cache/vprof")
    return Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "vprof"


@contextmanager
def built(
    name: str, cache: Path, tools: Path, say: Callable[[str], None], cures: tuple[str, ...] = ()
) -> Iterator[Built]:
    """The build of a target, with cures, for the caller alone until the way out; made if it is not there.

    Raises SourceUnavailableError when the source cannot be fetched, VprofError when `vprof instrument` fails.
    """
    cache.mkdir(parents=True, exist_ok=True)
    with lock(cache / f"{Path(name).name}.lock", say):
        found = Built(name, cache / f"{Path(name).name}-{_key(_target(name, cures), tools)}")
        stamp = found.folder / "complete"
        if not stamp.exists():
            shutil.rmtree(found.folder, ignore_errors=True)
        install(tools, found.prefix)
        if not stamp.exists():
            _make(found, cures, say)
        stamp.touch()
        _remove_old(found, cache)
        yield found


@contextmanager
def lock(file: Path, say: Callable[[str], None]) -> Iterator[None]:
    """Held by one process at a time; `say` is told when it has to be waited for."""
    with file.open("w") as held:
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("waiting for another run of these tests")
            fcntl.flock(held, fcntl.LOCK_EX)
        yield


def _target(name: str, cures: tuple[str, ...]) -> Target:
    return Target.of(name, None, BuildChoices(cures=cures))


def _key(target: Target, tools: Path) -> str:
    compiler = os.environ.get("VPROF_REAL_CC", "clang-19")
    version = subprocess.run([*compiler.split(), "--version"], capture_output=True, check=True).stdout
    descriptor = target.descriptor
    texts = [descriptor.rewriter_json(), json.dumps(descriptor.source), json.dumps(descriptor.build)]
    texts += [repr(cure.edits) for cure in descriptor.chosen_cures]
    texts += [os.environ[name] for name in ("VPROF_PROBES",) if name in os.environ]
    digest = hashlib.sha256(version + "\0".join(texts).encode())
    shared = sorted(annotations_folder().glob("*.h")) if "{annotations}" in texts[2] else []
    for file in [*shared, *_sources(descriptor)]:
        digest.update(file.name.encode() + hashlib.sha256(file.read_bytes()).digest())
    for file in _tool_files(tools):
        if file.name not in _NOT_IN_THE_BUILD:
            digest.update(file.name.encode() + hashlib.sha256(file.read_bytes()).digest())
    return digest.hexdigest()[:16]


def _sources(descriptor: Descriptor) -> list[Path]:
    """What a target's build may take from the folder of its descriptor: what is in folders there, but for cures."""
    folder = descriptor.file.parent
    edits = {cure.file for cure in descriptor.cures.values()}
    files = (file for file in folder.glob("*/**/*") if file.is_file() and "__pycache__" not in file.parts)
    return sorted(file for file in files if file not in edits)


def _tool_files(tools: Path) -> list[Path]:
    """Of a checkout or an installed package. Debian's has its Python beside the native parts."""
    parts = sorted(part for part in (tools / "lib/vprof").iterdir() if part.name != "venv")
    below = [file for part in parts for file in (sorted(part.rglob("*")) if part.is_dir() else [part])]
    return [tools / "bin/vprof-cc", tools / "bin/vprof-c++", *(file for file in below if file.is_file())]


def install(tools: Path, prefix: Path) -> None:
    """Replaces each file as a whole: a process that has the old one mapped keeps it."""
    for file in _tool_files(tools):
        copy = prefix / file.relative_to(tools)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(file, copy.with_name("new"))
        copy.with_name("new").rename(copy)


def _make(found: Built, cures: tuple[str, ...], say: Callable[[str], None]) -> None:
    target = found.target
    target.folder.mkdir(parents=True)
    with (target.folder / "fetch.log").open("w", encoding="utf-8") as log:
        target.fetch(say, log)
    say(f"building {target.descriptor.name} in {found.folder}, once; it is kept there")
    options = [f"--cure={cure}" for cure in cures]
    done = found.vprof("instrument", "--target", found.name, *options, timeout=_BUILD_SECONDS)
    if done.returncode:
        raise RuntimeError(f"vprof instrument: {done.stderr.strip()}")
    say(done.stdout.strip())


def _remove_old(used: Built, cache: Path) -> None:
    others = [folder for folder in cache.glob(f"{Path(used.name).name}-*") if folder != used.folder]
    others.sort(key=_last_use, reverse=True)
    for folder in others[KEPT - 1 :]:
        shutil.rmtree(folder)


def _last_use(folder: Path) -> float:
    stamp = folder / "complete"
    return stamp.stat().st_mtime if stamp.exists() else 0
