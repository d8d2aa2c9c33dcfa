"""Both programs, in a folder of their own: the transaction's file is compiled as its compiler's options say."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from vprof.errors import UsageError
from vprof.transaction.client_program import ClientProgram
from vprof.transaction.program import command_of
from vprof.verify.main_text import main_text
from vprof.verify.plan import Plan


@dataclass(frozen=True)
class Building:
    """What both programs have in common. `options`: of the compiler."""

    file: Path
    calls: Sequence[str]
    plan: Plan
    client: ClientProgram
    options: Sequence[str]


def build(of: Building, text: bytes, name: str, folder: Path) -> Path:
    """The program with `text` in the place of the file's. Raises UsageError with the first error if it does not
    build."""
    file = of.file
    own = folder / name
    own.mkdir()
    source, main, program = own / file.name, own / f"vprof_main{file.suffix}", own / "program"
    source.write_bytes(text)
    main.write_text(main_text(source, of.calls, of.client), encoding="utf-8")
    words, where = _command(file, of.options)
    link = [str(of.plan.folder / word) if not word.startswith("-") else word for word in of.plan.link]
    done = subprocess.run(
        [*words, "-iquote", str(file.resolve().parent), "-o", str(program), str(main), *link, *of.client.link],
        cwd=where,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        said = [line for line in done.stderr.splitlines() if "error" in line or "undefined" in line]
        why = (said or done.stderr.splitlines() or ["without a word"])[0].replace(f"{own}/", "")
        raise UsageError(f"the program with the {name} {file.name} does not build: {why}")
    return program


def _command(file: Path, options: Sequence[str]) -> tuple[list[str], Path]:
    """The compiler with its options, but for what it makes of which file; and where to run it."""
    (compiler, *words), folder = command_of(file.resolve(), options)
    if compiler in ("clang", "clang++"):  # no compilation database says which
        compiler = os.environ.get("CC", "cc") if compiler == "clang" else os.environ.get("CXX", "c++")
    kept: list[str] = []
    skipped = False
    for word in words:
        if skipped or word in ("-c", "-o", "-MD", "-MMD", "-MF", "-MT", "-MQ"):
            skipped = not skipped and word in ("-o", "-MF", "-MT", "-MQ")
        elif word.startswith("-") or (folder / word).resolve() != file.resolve():
            kept.append(word)
    return [compiler, *kept], folder
