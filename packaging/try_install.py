"""Installs the wheel or the Debian packages on a bare Debian in a chroot, runs the demo there, and uninstalls it.

    python packaging/try_install.py WHEEL [--suite bookworm] [--compiler gcc] [--no-demo] [--keep FOLDER]
    python packaging/try_install.py vprof*.deb [...]

Needs root, debootstrap, and the Debian mirror and the Python index that this machine is set up for. For the wheel the
chroot gets Python, the compiler and make, and no network: what vprof depends on is downloaded out here. For Debian
packages it gets nothing: apt finds there what they depend on. Fails at the first step that does; prints how long each
took. On a busy machine the demo rightly confirms no finding, and fails: --no-demo leaves it out; minidb is built,
recorded and analyzed in any case.
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

from suites import SUITES

PACKAGES = {"gcc": ["gcc", "g++"], "clang": ["clang"], "clang-19": ["clang-19"]}
BARE = ["python3", "python3-venv", "make"]
VENV = "/opt/vprof"
MOUNTS = (("proc", "proc"), ("sysfs", "sys"), ("devpts", "dev/pts"), ("tmpfs", "dev/shm"), ("tmpfs", "tmp"))
OWN = "int work(int n) { while (n > 9) n /= 2; return n; } int main(void) { return work(0); }"
USED = {
    "help": "vprof --help >/dev/null",
    "doctor": "vprof doctor",
    "loop": "cd /tmp && vprof instrument --target minidb && "
    "vprof record --target minidb --seconds 2 -o run.trace && vprof analyze run.trace | head -n 30",
}
"""Names, and what a shell in the chroot runs."""


def of_wheel() -> dict[str, str]:
    demo = f"{VENV}/share/vprof/targets/minidb/demo.py"
    return {
        "install": f"rm -rf {VENV}; python3 -m venv {VENV}; "
        f"{VENV}/bin/pip install -q --no-index -f /opt/packages vprof",
        **USED,
        "demo": f"cd /tmp && {VENV}/bin/python {demo}",
        # Python's and Numba's caches stay: pip does not know of them.
        "uninstall": f"{VENV}/bin/pip uninstall -q -y vprof && cd {VENV} && "
        "[ -z \"$(find . -type f -path '*vprof*' -not -path '*/__pycache__/*')\" ]",
    }


def of_debs(compiler: str) -> dict[str, str]:
    apt = "DEBIAN_FRONTEND=noninteractive apt-get -qq -y"
    needed = " ".join([*PACKAGES[compiler], "make"])
    return {
        "install": f"{apt} update; {apt} install --no-install-recommends /opt/packages/*.deb {needed} >/dev/null",
        **USED,
        "demo": "cd /tmp && /usr/lib/vprof/venv/bin/python3 /usr/share/vprof/targets/minidb/demo.py",
        "program": f"cd /tmp && echo '{OWN}' >own.c && vprof-cc -O1 own.c -o own && vprof bundle ./own -o bundle",
        "runtime alone": f"{apt} purge vprof >/dev/null && cd /tmp && ./own && /usr/lib/vprof/vprof-collector "
        "--run bundle/plan --output own.trace -- ./own 2>&1 | tee told && grep -q '[1-9] records' told",
        "uninstall": f"{apt} purge vprof-runtime >/dev/null && "
        "left=$(find / -xdev -path /opt/packages -prune -o -name '*vprof*' -print) && "
        'echo "left: $left" && [ -z "$left" ]',
    }


def mirror() -> str:
    """The address of Debian's packages that apt is set up for."""
    form = "$(ORIGIN)|$(LABEL)|$(COMPONENT)|$(REPO_URI)"
    command = ["apt-get", "indextargets", "--format", form, "Created-By: Packages"]
    for line in subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines():
        origin, label, component, address = line.split("|")
        if (origin, label, component) == ("Debian", "Debian", "main"):
            return address
    sys.exit("try_install.py: apt has no source of Debian's main packages")


def bootstrap(root: Path, suite: str, included: list[str]) -> None:
    more = [f"--include={','.join(included)}"] if included else []
    command = ["debootstrap", "--variant=minbase", *more, suite, root, mirror()]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def download(wheel: Path, suite: str, folder: Path) -> None:
    """The wheel, and all that it needs, for that Python."""
    pip = [sys.executable, "-m", "pip", "download", "-q", *SUITES[suite].for_pip()]
    subprocess.run([*pip, "-d", folder, wheel], check=True)


class Chroot:
    """A root file system, with what programs expect to be mounted in it. Unmounts when it ends."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def __enter__(self) -> Chroot:
        for kind, place in MOUNTS:
            (self._root / place).mkdir(exist_ok=True)
            subprocess.run(["mount", "-t", kind, kind, self._root / place], check=True)
        return self

    def __exit__(self, *_: object) -> None:
        for _, place in reversed(MOUNTS):
            subprocess.run(["umount", "--lazy", self._root / place], check=False)

    def run(self, script: str) -> None:
        environment = {"PATH": f"{VENV}/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "LC_ALL": "C.UTF-8"}
        subprocess.run(["chroot", self._root, "/bin/sh", "-e", "-c", script], check=True, env=environment)


def timed(name: str, work: object) -> None:
    begin = time.monotonic()
    assert callable(work)
    work()
    print(f"-- {name}: {time.monotonic() - begin:.0f} s", flush=True)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("packages", type=Path, nargs="+", metavar="PACKAGE", help="the wheel, or Debian packages")
    parser.add_argument("--suite", default="bookworm", choices=SUITES)
    parser.add_argument("--compiler", default="gcc", choices=PACKAGES)
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="make the chroot here, or use the one that is here")
    parser.add_argument("--no-demo", action="store_true", help="leave out the demo, which needs a quiet machine")
    options = parser.parse_args()
    kinds = {path.suffix for path in options.packages}
    if kinds != {".deb"} and (kinds != {".whl"} or len(options.packages) > 1):
        parser.error("give one wheel, or Debian packages")
    return options


def try_it(options: argparse.Namespace, root: Path) -> None:
    debs = options.packages[0].suffix == ".deb"
    if not (root / "bin/sh").exists():
        included = [] if debs else [*BARE, *PACKAGES[options.compiler]]
        timed("debootstrap", lambda: bootstrap(root, options.suite, included))
    packages = root / "opt/packages"
    shutil.rmtree(packages, ignore_errors=True)
    packages.mkdir(parents=True)
    for path in options.packages:
        shutil.copy2(path, packages)
    if not debs:
        timed("download", lambda: download(options.packages[0], options.suite, packages))
    steps = of_debs(options.compiler) if debs else of_wheel()
    if options.no_demo:
        del steps["demo"]
    with Chroot(root) as chroot:
        for name, script in steps.items():
            print(f"-- {name}", flush=True)
            timed(name, lambda script=script: chroot.run(script))


def main() -> None:
    options = parse()
    if os.geteuid():
        sys.exit("try_install.py: needs root, for debootstrap and chroot")
    temporary = Path(tempfile.mkdtemp(prefix="vprof-chroot-"))
    try:
        try_it(options, options.keep or temporary / "root")
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    demo = "without the demo" if options.no_demo else "demo passed"
    print(f"{options.suite}, {options.compiler}: installed, {demo}, uninstalled")


if __name__ == "__main__":
    main()
