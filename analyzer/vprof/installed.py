"""Where the installed parts are: native tools below a prefix, descriptors beside the checkout or in its share/.

From a checkout the prefix is Python's own (`make setup`). An installed package looks where it lies itself, for pip puts
both below one prefix: that of a venv, `~/.local` (--user), or /usr/local. (`pip install --target` leaves out the native
parts.) Debian's package has an environment for Python alone, /usr/lib/vprof/venv, and everything else below /usr.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from vprof.errors import UsageError, VprofError

LOAD_DRIVER = "lib/vprof/vprof-load-driver"
"""The native part that puts workloads on servers (workloads/README.md)."""

_CHECKOUT = Path(__file__).resolve().parents[2]


def _is_checkout() -> bool:
    return (_CHECKOUT / "pyproject.toml").is_file()


def _prefix() -> Path:
    """What the native parts lie below (VPROF_PREFIX decides)."""
    named = os.environ.get("VPROF_PREFIX")
    if named:
        return Path(named)
    if _is_checkout():
        return Path(sys.prefix)
    package = Path(__file__).resolve().parent
    # PREFIX/lib/pythonX.Y/site-packages/vprof, PREFIX/lib/python/vprof, PREFIX/lib/vprof/venv/lib/pythonX.Y/...
    places = [package.parents[depth] for depth in (3, 2, 6) if depth < len(package.parents)]
    return next((place for place in places if (place / "lib/vprof").is_dir()), Path(sys.prefix))


def native(relative: str) -> Path:
    """Path of a native part, e.g. `bin/vprof-cc`, below the prefix. Raises VprofError when it is not installed."""
    path = _prefix() / relative
    if not path.exists():
        mend = "build and install the native parts with `make setup`" if _is_checkout() else "install vprof again"
        raise VprofError(f"{path} is missing: {mend}")
    return path


def compiling_tools() -> str:
    """What `vprof-cc` compiles and links with, but for the shared libvprof: a build by others is another build."""
    files = [
        "bin/vprof-cc",
        *(f"lib/vprof/{name}" for name in ("vprof-rewrite", "__vprof_prelude.h", "vprof_begin.o", "vprof_start.o")),
    ]
    import hashlib  # not for those who only ask where things lie

    digest = hashlib.sha256()
    for file in files:
        digest.update(native(file).read_bytes())
    return digest.hexdigest()


def _data(folder: str) -> Path:
    """The folder `targets` or `annotations`: of the checkout when we run from one, else the installed copy."""
    checkout = _CHECKOUT / folder
    return checkout if checkout.is_dir() else _prefix() / "share" / "vprof" / folder


def annotations_folder() -> Path:
    """The folder of what descriptors share."""
    return _data("annotations")


def annotation_file(name: str) -> Path:
    return annotations_folder() / f"{name}.toml"


def target_names() -> list[str]:
    return sorted(path.parent.name for path in _data("targets").glob("*/target.toml"))


def target_file(name: str) -> Path:
    """The descriptor of a target: a known name, or the path of a folder or target.toml. Raises UsageError.

    What has a slash is a path, also if its last folder is called like a target of ours.
    """
    known_file = [] if "/" in name else [_data("targets") / name / "target.toml"]
    for path in (*known_file, Path(name) / "target.toml", Path(name)):
        if path.is_file():
            return path
    known = ", ".join(target_names()) or "none"
    raise UsageError(f"no target '{name}': give one of {known}, or the path of a target.toml")
