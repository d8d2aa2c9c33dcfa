"""A copy of a program's source with cures applied: the source itself is never written to.

    source, edited texts -> tree/   what is up to date there keeps its time, so that a build makes no more than it must
                            tree.files   what was copied: what the source lost since is removed from the copy

A build may leave its own files in the tree; they stay.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

from vprof.errors import VprofError
from vprof.target.cures import ENCODING


def update(source: Path, tree: Path, edited: Mapping[str, str], left_out: Path) -> None:
    """Makes `tree` the source with `edited`, texts by path, but without the folder `left_out`, where our own work may
    lie in the source. Raises VprofError."""
    files = tree.with_suffix(".files")
    try:
        now = list(_files(source, left_out.resolve()))
        if behind := set(edited) - set(now):
            raise VprofError(f"cannot change {min(behind)} in a copy of the source: it lies behind a link")
        for gone in set(_listed(files)) - set(now):
            (tree / gone).unlink(missing_ok=True)
        for name in now:
            if name not in edited and (source / name).is_symlink():
                _link(_aim(source / name, source, tree), tree / name)
            else:
                _copy(source / name, tree / name, edited.get(name))
        files.write_bytes("\n".join(now).encode(*ENCODING))
    except OSError as error:
        raise VprofError(f"cannot copy the source: {error.filename}: {error.strerror}") from None


def remove(tree: Path) -> None:
    """Also if it is not there."""
    shutil.rmtree(tree, ignore_errors=True)
    tree.with_suffix(".files").unlink(missing_ok=True)


def _listed(files: Path) -> list[str]:
    return files.read_bytes().decode(*ENCODING).split("\n") if files.exists() else []


def _files(source: Path, left_out: Path) -> Iterator[str]:
    """The paths of files and links in the source, sockets and the like left out."""
    for folder, folders, names in os.walk(source, onerror=_raise):
        inside = Path(folder)
        folders[:] = sorted(name for name in folders if (inside / name).resolve() != left_out)
        for name in (*names, *(name for name in folders if (inside / name).is_symlink())):
            path = inside / name
            if path.is_symlink() or path.is_file():
                yield path.relative_to(source).as_posix()


def _raise(error: OSError) -> None:
    raise error


def _copy(file: Path, copy: Path, text: str | None) -> None:
    """`text`: in place of what the file has."""
    copy.parent.mkdir(parents=True, exist_ok=True)
    if text is not None:
        _write(file, copy, text.encode(*ENCODING))
    elif not _same(file, copy):
        copy.unlink(missing_ok=True)
        shutil.copy2(file, copy)


def _aim(link: Path, source: Path, tree: Path) -> Path:
    """Where the copy of a link leads: inside the copy if the link stays in the source, else to the same place."""
    to = link.readlink()
    there = Path(os.path.normpath(link.parent / to))
    if not there.is_relative_to(source):
        return there
    return tree / there.relative_to(source) if to.is_absolute() else to


def _link(to: Path, copy: Path) -> None:
    copy.parent.mkdir(parents=True, exist_ok=True)
    if not copy.is_symlink() or copy.readlink() != to:
        copy.unlink(missing_ok=True)
        copy.symlink_to(to)


def _write(file: Path, copy: Path, data: bytes) -> None:
    if copy.exists() and copy.read_bytes() == data:
        return
    copy.unlink(missing_ok=True)
    copy.write_bytes(data)
    shutil.copymode(file, copy)


def _same(file: Path, copy: Path) -> bool:
    """By size and time, which the copy has from the file."""
    if copy.is_symlink() or not copy.exists():
        return False
    a, b = file.stat(), copy.stat()
    return (a.st_size, a.st_mtime_ns) == (b.st_size, b.st_mtime_ns)
