"""Installs the wheel on a bare Debian in a chroot, runs the demo there, and uninstalls it.

    python packaging/try_install.py WHEEL [--suite bookworm] [--compiler gcc] [--no-demo] [--keep FOLDER]

Needs root, debootstrap, and the Debian mirror and the Python index that this machine is set up for. The chroot gets
Python, the compiler and make, and no network: what vprof depends on is downloaded out here. Fails at the first step
that does; prints how long each took. On a busy machine the demo rightly confirms no finding, and fails: --no-demo
leaves it out; minidb is built, recorded and analyzed in any case.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PACKAGES = {"gcc": ["gcc", "g++"], "clang": ["clang"], "clang-19": ["clang-19"]}
BARE = ["python3", "python3-venv", "make"]
PYTHON = {"bookworm": "3.11", "trixie": "3.13"}
VENV = "/opt/vprof"
STEPS = {
    "help": f"{VENV}/bin/vprof --help >/dev/null",
    "doctor": f"{VENV}/bin/vprof doctor",
    "loop": f"cd /tmp && export PATH={VENV}/bin:$PATH && vprof instrument --target minidb && "
    "vprof record --target minidb --seconds 2 -o run.trace && vprof analyze run.trace | head -n 30",
    "demo": f"cd /tmp && {VENV}/bin/python {VENV}/share/vprof/targets/minidb/demo.py",
    # Python's and Numba's caches stay: pip does not know of them.
    "uninstall": f"{VENV}/bin/pip uninstall -q -y vprof && cd {VENV} && "
    "[ -z \"$(find . -type f -path '*vprof*' -not -path '*/__pycache__/*')\" ]",
}
"""Names, and what a shell in the chroot runs."""


def mirror() -> str:
    """The address of Debian's packages that apt is set up for."""
    form = "$(ORIGIN)|$(LABEL)|$(COMPONENT)|$(REPO_URI)"
    command = ["apt-get", "indextargets", "--format", form, "Created-By: Packages"]
    for line in subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines():
        origin, label, component, address = line.split("|")
        if (origin, label, component) == ("Debian", "Debian", "main"):
            return address
    sys.exit("try_install.py: apt has no source of Debian's main packages")


def bootstrap(root: Path, suite: str, compiler: str) -> None:
    included = ",".join([*BARE, *PACKAGES[compiler]])
    subprocess.run(
        ["debootstrap", "--variant=minbase", f"--include={included}", suite, root, mirror()],
        check=True,
        stdout=subprocess.DEVNULL,
    )


def download(wheel: Path, python: str, folder: Path) -> None:
    """The wheel, and all that it needs, for that Python."""
    shutil.copy2(wheel, folder)
    tags = [word for libc in range(36, 16, -1) for word in ("--platform", f"manylinux_2_{libc}_x86_64")]
    pip = [sys.executable, "-m", "pip", "download", "-q", "--only-binary=:all:"]
    subprocess.run(
        [*pip, "--python-version", python, *tags, "--platform", "manylinux2014_x86_64", "-d", folder, wheel], check=True
    )


class Chroot:
    """A root file system, with what programs expect to be mounted in it. Unmounts when it ends."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def __enter__(self) -> Chroot:
        for kind, place in (("proc", "proc"), ("sysfs", "sys"), ("tmpfs", "dev/shm"), ("tmpfs", "tmp")):
            (self._root / place).mkdir(exist_ok=True)
            subprocess.run(["mount", "-t", kind, kind, self._root / place], check=True)
        return self

    def __exit__(self, *_: object) -> None:
        for place in ("tmp", "dev/shm", "sys", "proc"):
            subprocess.run(["umount", "--lazy", self._root / place], check=False)

    def run(self, script: str) -> None:
        environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "LC_ALL": "C.UTF-8"}
        subprocess.run(["chroot", self._root, "/bin/sh", "-e", "-c", script], check=True, env=environment)


def timed(name: str, work: object) -> None:
    begin = time.monotonic()
    assert callable(work)
    work()
    print(f"-- {name}: {time.monotonic() - begin:.0f} s", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("wheel", type=Path)
    parser.add_argument("--suite", default="bookworm", choices=PYTHON)
    parser.add_argument("--compiler", default="gcc", choices=PACKAGES)
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="make the chroot here, or use the one that is here")
    parser.add_argument("--no-demo", action="store_true", help="leave out the demo, which needs a quiet machine")
    options = parser.parse_args()
    if os.geteuid():
        sys.exit("try_install.py: needs root, for debootstrap and chroot")
    temporary = Path(tempfile.mkdtemp(prefix="vprof-chroot-"))
    root = options.keep or temporary / "root"
    try:
        if not (root / "bin/sh").exists():
            timed("debootstrap", lambda: bootstrap(root, options.suite, options.compiler))
        wheels = root / "opt/wheels"
        shutil.rmtree(wheels, ignore_errors=True)
        wheels.mkdir(parents=True)
        timed("download", lambda: download(options.wheel, PYTHON[options.suite], wheels))
        install = f"rm -rf {VENV}; python3 -m venv {VENV}; {VENV}/bin/pip install -q --no-index -f /opt/wheels vprof"
        with Chroot(root) as chroot:
            steps = {"install": install, **STEPS}
            if options.no_demo:
                del steps["demo"]
            for name, script in steps.items():
                print(f"-- {name}", flush=True)
                timed(name, lambda script=script: chroot.run(script))
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    demo = "without the demo" if options.no_demo else "demo passed"
    print(f"{options.suite}, {options.compiler}: installed, {demo}, uninstalled")


if __name__ == "__main__":
    main()
