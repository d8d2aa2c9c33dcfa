"""Builds the Debian packages `vprof` and `vprof-runtime` from vprof's wheel, for one release of Debian.

    python packaging/deb.py WHEEL OUTPUT [--suite bookworm]

Native parts, headers and targets go below /usr as in any prefix. vprof's Python package and what it depends on
(requirements.txt) go into an environment of their own, /usr/lib/vprof/venv: Debian has these packages, but older than
vprof needs. Compiled packages fit one version of Python, hence the release. Prints each package's path and size.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from email.utils import formatdate
from pathlib import Path

from suites import SUITES, Suite

HERE = Path(__file__).parent
VENV = Path("usr/lib/vprof/venv")
SCRIPT = f"""\
#!/{VENV}/bin/python3
import sys

from vprof.cli import main

sys.exit(main())
"""
NO_USE = ("tests", "__pycache__")
"""Folders of Python packages that nobody needs who uses them."""


def make_importable(file: Path) -> None:
    """Modules are no programs: some came executable, some name an interpreter that Debian does not have."""
    if not file.is_file():
        return
    file.chmod(0o644)
    if file.suffix == ".py" and file.read_bytes().startswith(b"#!"):
        file.write_bytes(b"#" + file.read_bytes()[2:])


def make_environment(suite: Suite, root: Path) -> Path:
    """With all that vprof depends on, and its command. Returns the folder of packages."""
    packages = root / VENV / f"lib/python{suite.python}/site-packages"
    pip = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--no-compile", *suite.for_pip()]
    subprocess.run([*pip, "--target", packages, "-r", HERE / "requirements.txt"], check=True)
    for folder in sorted(packages.rglob("*"), reverse=True):
        if folder.name in NO_USE and folder.is_dir():
            shutil.rmtree(folder)
    shutil.rmtree(packages / "bin")
    for file in packages.rglob("*"):
        make_importable(file)
    programs = root / VENV / "bin"
    programs.mkdir()
    (programs / "python3").symlink_to(f"/usr/bin/python{suite.python}")
    (root / VENV / "pyvenv.cfg").write_text(
        f"home = /usr/bin\ninclude-system-site-packages = false\nversion = {suite.python}\n"
    )
    (programs / "vprof").write_text(SCRIPT)
    (programs / "vprof").chmod(0o755)
    return packages


def unpack(wheel: Path, folder: Path, packages: Path, usr: Path) -> None:
    """What is Python goes to the environment, what is not to where any prefix has it."""
    subprocess.run(
        [sys.executable, "-m", "wheel", "unpack", "-d", folder, wheel], check=True, stdout=subprocess.DEVNULL
    )
    [unpacked] = folder.glob("vprof-*")
    [data] = unpacked.glob("*.data")
    shutil.copytree(data / "data", usr, dirs_exist_ok=True)
    shutil.copytree(data / "scripts", usr / "bin")
    shutil.rmtree(data)
    shutil.copytree(unpacked, packages, dirs_exist_ok=True)


def maintainer() -> str:
    """DEBFULLNAME and DEBEMAIL, as for Debian's tools; else who made the last commit."""
    named = os.environ.get("DEBFULLNAME"), os.environ.get("DEBEMAIL")
    if all(named):
        return "{} <{}>".format(*named)
    command = ["git", "-C", str(HERE), "log", "-1", "--format=%an <%ae>"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def describe(source: Path, version: str, suite: str) -> None:
    """debian/ beside what is installed: changelog and maintainer are known only now."""
    shutil.copytree(HERE / "debian", source / "debian", dirs_exist_ok=True)
    control = source / "debian/control"
    control.write_text(control.read_text().replace("@MAINTAINER@", maintainer()))
    date = formatdate(float(os.environ.get("SOURCE_DATE_EPOCH", time.time())))
    (source / "debian/changelog").write_text(
        f"vprof ({version}+deb{SUITES[suite].debian}) {suite}; urgency=medium\n\n"
        f"  * Version {version} of vprof; its CHANGELOG.md says what is new.\n\n"
        f" -- {maintainer()}  {date}\n"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("wheel", type=Path)
    parser.add_argument("output", type=Path)
    parser.add_argument("--suite", default="bookworm", choices=SUITES)
    options = parser.parse_args()
    suite = SUITES[options.suite]
    version = options.wheel.name.split("-")[1]
    options.output.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="vprof-deb-") as temporary:
        source = Path(temporary) / "vprof"
        root = source / "debian/tmp"
        unpack(options.wheel.resolve(), Path(temporary) / "wheel", make_environment(suite, root), root / "usr")
        describe(source, version, options.suite)
        build = ["dpkg-buildpackage", "--build=binary", "--no-sign", "--no-pre-clean"]
        environment = os.environ | {"VPROF_PYTHON": suite.depends()}
        subprocess.run(build, cwd=source, check=True, env=environment, stdout=subprocess.DEVNULL)
        for package in sorted(Path(temporary).glob("*.deb")):
            print(f"{shutil.copy2(package, options.output)}: {package.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
