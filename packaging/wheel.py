"""Builds the wheel of vprof: the Python package, and the native parts, descriptors and minidb in its data folder.

    python packaging/wheel.py BUILD OUTPUT           BUILD: configured with -DVPROF_PORTABLE=ON, and built
    python packaging/wheel.py --here BUILD OUTPUT    of any build, for this machine alone: for tests

pip puts data below the prefix (`bin/`, `lib/vprof/`, `include/`, `share/vprof/`), where analyzer/vprof/installed.py
looks. Python finds no extension module in it, so the wheel fits every Python 3; the programs make it a wheel of one
platform, which auditwheel names (packaging/README.md). Prints the wheel's path, its size and what auditwheel said.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
OF_SERVERS = "lib/vprof/vprof-load-driver"
"""The program that needs libpq and libmariadb: they come with the clients of the servers that it puts load on."""
DATA = ("annotations", "targets")
SCRIPTS = ("vprof-cc", "vprof-c++")


def run(*command: object, cwd: Path | None = None) -> str:
    """What it printed. The reason of a failure goes to standard error as it comes."""
    words = [str(word) for word in command]
    return subprocess.run(words, cwd=cwd, check=True, text=True, stdout=subprocess.PIPE).stdout


def pure_wheel(folder: Path) -> Path:
    """The wheel of the Python package alone, made from the files that git knows (no build/ beside them, no caches)."""
    source = folder / "source"
    listed = run("git", "ls-files", "-z", "analyzer", "pyproject.toml", "LICENSE", *DATA, cwd=ROOT)
    for name in filter(None, listed.split("\0")):
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, source / name)
    run(sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation", "-w", folder, source)
    return next(folder.glob("vprof-*.whl"))


def add_native(unpacked: Path, build: Path) -> None:
    """Puts what CMake installs into the wheel's data folder, and descriptors beside it."""
    [information] = unpacked.glob("*.dist-info")
    data = unpacked / f"{information.stem}.data"
    run("cmake", "--install", build, "--prefix", data / "data")
    (data / "scripts").mkdir()
    for name in SCRIPTS:  # pip notes scripts as such; what is below data/bin would be installed just the same
        (data / "data" / "bin" / name).rename(data / "scripts" / name)
    (data / "data" / "bin").rmdir()
    for folder in DATA:
        shutil.copytree(unpacked.parent / "source" / folder, data / "data" / "share" / "vprof" / folder)


def packed(unpacked: Path, tag: str, output: Path) -> Path:
    """A wheel for any Python 3 and this platform."""
    [information] = unpacked.glob("*.dist-info")
    text = (information / "WHEEL").read_text()
    text = text.replace("Root-Is-Purelib: true", "Root-Is-Purelib: false")
    (information / "WHEEL").write_text(re.sub(r"^Tag: .*$", f"Tag: py3-none-{tag}", text, flags=re.MULTILINE))
    run(sys.executable, "-m", "wheel", "pack", "-d", output, unpacked)
    return next(output.glob(f"vprof-*-{tag}.whl"))


def audited(unpacked: Path, folder: Path) -> str:
    """The platform that auditwheel names: the oldest systems where all symbols are that the native parts need.

    Exits if they need a library that those systems need not have. OF_SERVERS is what may need others, and is left out:
    auditwheel would copy both clients with all that they need (Kerberos, LDAP, ...), and wrap each program in a script.
    """
    [driver] = unpacked.glob(f"*.data/data/{OF_SERVERS}")
    driver.rename(folder / driver.name)
    wheel = packed(unpacked, "linux_x86_64", folder)
    told = json.loads(run(sys.executable, "-m", "auditwheel", "show", "--json", wheel))
    (folder / driver.name).rename(driver)
    if not told["overall_tag"].startswith("manylinux"):
        sys.exit(f"wheel.py: auditwheel says that this is no manylinux wheel: {told}")
    print(f"auditwheel show (without {OF_SERVERS}): {told['overall_tag']}")
    return str(told["overall_tag"])


def main() -> None:
    here = sys.argv[1] == "--here"
    build, output = (Path(word).resolve() for word in sys.argv[-2:])
    if not here and "VPROF_PORTABLE:BOOL=ON" not in (build / "CMakeCache.txt").read_text():
        sys.exit(f"wheel.py: {build} is not configured with -DVPROF_PORTABLE=ON")
    output.mkdir(parents=True, exist_ok=True)
    for old in output.glob("vprof-*.whl"):
        old.unlink()
    with tempfile.TemporaryDirectory(prefix="vprof-wheel-") as temporary:
        folder = Path(temporary)
        run(sys.executable, "-m", "wheel", "unpack", "-d", folder, pure_wheel(folder))
        [unpacked] = (path for path in folder.glob("vprof-*") if path.is_dir())
        add_native(unpacked, build)
        wheel = packed(unpacked, "linux_x86_64" if here else audited(unpacked, folder), output)
    print(f"{wheel}: {wheel.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
