"""Which releases of LLVM build the rewriter, and which compilers compile what it writes: one table.

    python packaging/compilers.py                       the compilers of this machine, with the installed rewriter
    python packaging/compilers.py clang-16 gcc-11       some of them
    python packaging/compilers.py --llvm 14 --llvm 16   also builds the rewriter with these (5 minutes of CPU each)
    python packaging/compilers.py --corpus              and the quick projects of the corpus, 3 minutes each compiler
    python packaging/compilers.py --root FOLDER         also the compilers of another Debian, in a chroot (needs root)

Behind each compiler the golden rewrites (tests/instrumenter/rewrites) are compiled plain and with vprof: the rewritten
text must be the expected one, and both programs must print the same. Then minidb is built and recorded with all sites
on. In a chroot the corpus (tests/corpus) needs vprof's Debian package and `apt install git gcc g++ libtool-bin meson
pkg-config`, and takes the sources that it has on this machine: let it run here first. Compilers that are not installed
are left out; `apt install clang-14 gcc-11 libclang-16-dev` brings some. Exit code 1 if anything failed.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "tests/shared"))

from build_cache import cache_folder

from vprof.installed import native

ROOT = Path(__file__).resolve().parents[1]
REWRITES = ROOT / "tests/instrumenter/rewrites"
MINIDB = ROOT / "targets/minidb/src"
KNOWN = [*(f"clang-{n}" for n in range(14, 20)), *(f"gcc-{n}" for n in range(11, 15))]
QUICK = ("zlib", "lua5.1", "jsoncpp")
PACKAGED = "/usr/lib/vprof/venv/bin/python3"
"""Of vprof's Debian package."""
VPROF = [sys.executable, "-c", "from vprof.cli import main; main()"]


@dataclass
class Place:
    """This machine, or a root file system on it."""

    root: Path | None = None

    def run(self, *words: object, folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
        command = [str(word) for word in words]
        if self.root:
            command = ["chroot", str(self.root), "/bin/sh", "-c", 'cd "$0" && exec "$@"', str(folder), *command]
        return subprocess.run(
            command, cwd=folder, capture_output=True, text=True, check=False, env=os.environ | environment
        )

    def compilers(self, chosen: list[str]) -> list[str]:
        folder = (self.root or Path("/")) / "usr/bin"
        return [name for name in chosen or KNOWN if (folder / name).exists()]

    def name(self) -> str:
        release = ((self.root or Path("/")) / "etc/os-release").read_text()
        found = re.search(r'^PRETTY_NAME="([^"]*)"', release, re.MULTILINE)
        return found[1].replace("GNU/Linux ", "") if found else "unknown"


@dataclass
class Row:
    place: str
    llvm: str
    compiler: str
    total: int = 0
    right: int = 0
    faults: list[str] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)  # what the compiler does not know itself
    minidb: str = "-"
    corpus: str = "-"

    def failed(self) -> bool:
        return bool(self.faults) or "records" not in self.minidb or "not " in self.minidb

    def line(self) -> str:
        golden = f"{self.right} of {self.total}" if self.total else "-"
        told = "; ".join([*self.faults, *(f"{name}: {self.compiler} itself refuses it" for name in self.left_out)])
        return f"| {self.place} | {self.llvm} | {self.compiler} | {golden} | {self.minidb} | {self.corpus} | {told} |"


def cxx_of(compiler: str) -> str:
    return compiler.replace("clang", "clang++").replace("gcc", "g++")


REFUSED = "refused"


def judge_golden(place: Place, prefix: Path, compiler: str, golden: Path, folder: Path) -> str:
    """What is wrong, "" for nothing; REFUSED if the compiler does not compile the original."""
    shutil.copytree(golden, folder)
    [source] = [path for path in folder.iterdir() if path.stem == "input"]
    cxx = source.suffix == ".cpp"
    real = cxx_of(compiler) if cxx else compiler
    wrapper = prefix / ("bin/vprof-c++" if cxx else "bin/vprof-cc")
    given = folder / "options"
    options = given.read_text().split() if given.exists() else ["-std=c++17" if cxx else "-std=gnu11"]
    descriptor = folder / "descriptor.json"
    chosen = descriptor if descriptor.exists() else ROOT / "tests/all_sites.json"
    shutil.copy2(chosen, folder / "chosen.json")
    words = [*options, source.name, "-pthread"]
    if place.run(real, *words, "-o", "plain", folder=folder).returncode:
        return REFUSED
    environment = {
        "VPROF_REAL_CXX" if cxx else "VPROF_REAL_CC": real,
        "VPROF_DESCRIPTOR": str(folder / "chosen.json") if descriptor.exists() else "",
    }
    made = place.run(wrapper, "--emit-tree", "tree", *words, "-o", "ours", folder=folder, **environment)
    if made.returncode:
        return f"{golden.name}: {made.stderr.strip().splitlines()[0] if made.stderr.strip() else 'not compiled'}"
    rewritten = folder / f"tree{folder}" / source.name
    if not rewritten.exists():
        return f"{golden.name}: left as it was"
    if rewritten.read_text() != (golden / "expected" / source.name).read_text():
        return f"{golden.name}: another text"
    printed = [place.run(folder / name, folder=folder) for name in ("plain", "ours")]
    same = printed[0].stdout == printed[1].stdout and printed[0].returncode == printed[1].returncode
    return "" if same else f"{golden.name}: does something else"


def judge_minidb(place: Place, prefix: Path, compiler: str, folder: Path) -> str:
    """How many records a run of a second made, or what failed."""
    shutil.copytree(MINIDB, folder / "src")
    real = {"VPROF_REAL_CC": compiler, "VPROF_REAL_CXX": cxx_of(compiler)}
    command = ["make", "-C", "src", f"CC={prefix}/bin/vprof-cc", f"OUT={folder}/out"]
    built = place.run(*command, folder=folder, **real)
    program = folder / "out/minidb"
    if built.returncode or not program.exists():
        return "not built: " + (built.stderr.strip().splitlines() or [""])[-1]
    start = ["chroot", str(place.root)] if place.root else []
    record = [*VPROF, "record", "--sites", "all", "-o", "run.trace", "--", *start, str(program), "--seconds", "1"]
    done = subprocess.run(record, cwd=folder, capture_output=True, text=True, check=False)
    told = re.search(r"(\d+) records, (\d+) dropped", done.stderr)
    return f"{int(told[1]):,} records" if told and int(told[1]) else f"not recorded: {done.stderr.strip()[-80:]}"


def judge_corpus(place: Place, compiler: str, row: Row) -> None:
    """Each project's own tests pass, behind this compiler, as they do without vprof."""
    script = ROOT / "tests/corpus/corpus.py"
    environment = {"VPROF_REAL_CC": compiler, "VPROF_REAL_CXX": cxx_of(compiler)}
    if place.root:
        environment |= {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "VPROF_PREFIX": "/usr"}
    good = 0
    for project in QUICK:
        python = PACKAGED if place.root else sys.executable
        done = place.run(python, script, project, folder=ROOT, **environment)
        told = (done.stdout + done.stderr).strip().splitlines()
        good += done.returncode == 0
        row.faults += [f"{project}: {told[-1] if told else 'not run'}"] if done.returncode else []
    row.corpus = f"{good} of {len(QUICK)}"


def judge(place: Place, prefix: Path, llvm: str, compiler: str, folder: Path) -> Row:
    row = Row(place.name(), llvm, compiler)
    folder.mkdir()
    for golden in sorted(path for path in REWRITES.iterdir() if path.is_dir()):
        fault = judge_golden(place, prefix, compiler, golden, folder / golden.name)
        if fault == REFUSED:
            row.left_out.append(golden.name)
            continue
        row.total += 1
        row.right += not fault
        row.faults += [fault] if fault else []
    row.minidb = judge_minidb(place, prefix, compiler, folder / "minidb")
    return row


def build_rewriter(llvm: int, prefix: Path) -> str:
    """Fills a prefix with what is installed here, but for a rewriter of that LLVM. Returns why not, "" if it did."""
    build = ROOT / f"build/llvm-{llvm}"
    root = f"/usr/lib/llvm-{llvm}"
    configure = ["cmake", "-G", "Ninja", "-S", ROOT, "-B", build, f"-DLLVM_ROOT={root}"]
    compilers = ["-DCMAKE_C_COMPILER=clang-19", "-DCMAKE_CXX_COMPILER=clang++-19"]
    targets = ["--target", "vprof-rewrite", "vprof-units", "vprof-cc", "vprof-c++"]
    for command in ([*configure, *compilers], ["cmake", "--build", build, *targets]):
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
        if done.returncode:
            told = [line for line in (done.stdout + done.stderr).splitlines() if "rror" in line]
            return told[0] if told else "not built"
    (prefix / "bin").mkdir(parents=True)
    shutil.copytree(native("lib/vprof"), prefix / "lib/vprof", copy_function=os.link)
    for name in ("bin/vprof-cc", "bin/vprof-c++", "lib/vprof/vprof-rewrite", "lib/vprof/vprof-units"):
        (prefix / name).unlink(missing_ok=True)
        shutil.copy2(build / name, prefix / name)
    return ""


def headers(prefix: Path) -> list[Path]:
    """What the rewriter reads as clang's own headers, where they do not lie below its prefix."""
    if (prefix / "lib/vprof/clang").is_dir():
        return []
    told = subprocess.run(["clang-19", "-print-resource-dir"], capture_output=True, text=True, check=True).stdout
    return [Path(told.strip()).resolve().parent]


def unmount(place: Path) -> None:
    subprocess.run(["umount", "--lazy", place], check=False)


@contextmanager
def bound(root: Path, *folders: Path) -> Iterator[None]:
    """Folders of this machine, under their own names in a root file system."""
    with ExitStack() as stack:
        for folder in (Path("/proc"), Path("/dev"), Path("/dev/shm"), *folders):
            place = root / folder.relative_to("/")
            place.mkdir(parents=True, exist_ok=True)
            subprocess.run(["mount", "--bind", folder, place], check=True)
            stack.callback(unmount, place)
        yield


def rows(options: argparse.Namespace, work: Path) -> Iterator[Row]:
    here, prefix = Place(), native("bin/vprof-cc").parents[1]
    for compiler in here.compilers(options.compilers):
        row = judge(here, prefix, "installed", compiler, work / compiler)
        if options.corpus:
            judge_corpus(here, compiler, row)
        yield row
    for llvm in options.llvm:
        own = work / f"llvm-{llvm}"
        why = build_rewriter(llvm, own)
        compiler = f"clang-{llvm}"
        if why:
            yield Row(here.name(), str(llvm), compiler, faults=[why])
        else:
            yield judge(here, own, str(llvm), compiler, work / f"with-{llvm}")
    if options.root:
        there = Place(options.root)
        with bound(options.root, work, prefix, ROOT, cache_folder(), *headers(prefix)):
            for compiler in there.compilers(options.compilers):
                row = judge(there, prefix, "installed", compiler, work / f"there-{compiler}")
                if options.corpus:
                    judge_corpus(there, compiler, row)
                yield row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("compilers", nargs="*", metavar="COMPILER", help="such as clang-16; default: all installed")
    parser.add_argument("--llvm", type=int, action="append", default=[], help="a release to build the rewriter with")
    parser.add_argument("--corpus", action="store_true", help="also the quick projects of the corpus")
    parser.add_argument("--root", type=Path, metavar="FOLDER", help="a root file system with compilers and make")
    options = parser.parse_args()
    if unknown := set(options.compilers) - set(KNOWN):
        parser.error(f"unknown: {', '.join(sorted(unknown))}; known are {', '.join(KNOWN)}")
    print("| system | rewriter's LLVM | compiler | golden rewrites | minidb | corpus | what failed |")
    print("|---|---|---|---|---|---|---|")
    failed = False
    with tempfile.TemporaryDirectory(prefix="vprof-compilers-") as work:
        for row in rows(options, Path(work)):
            print(row.line(), flush=True)
            failed |= row.failed()
    sys.exit(failed)


if __name__ == "__main__":
    main()
