"""Command lines of build systems: what is said, the exit code and the files left are those of the real compiler.

Not compared is that a compiler that finds no file says also that there is none.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from workshop import PLAIN, PREFIX

VPROF_CC = PREFIX / "bin/vprof-cc"
FILES = {
    "work.c": "int work(int n) { while (n > 9) n /= 2; return n; }\n",
    "main.c": "int work(int); int main(void) { return work(0); }\n",
    "text": "int text(int n) { while (n > 9) n /= 2; return n; }\n",
    "low.s": '.globl low\nlow: ret\n.section .note.GNU-stack,"",@progbits\n',
    "pre.S": '#include "name.h"\n.globl NAME\nNAME: ret\n.section .note.GNU-stack,"",@progbits\n',
    "name.h": "#define NAME named\n",
    "good.rsp": "-c work.c",
    "nothing.rsp": "",
}


def outcome(folder: Path, line: str, compiler: Path | str) -> tuple[int, str, set[str]]:
    """Exit code, all that was said, names of the files there afterwards."""
    (folder / "sub").mkdir(parents=True)
    for name, text in FILES.items():
        (folder / name).write_text(text)
    done = subprocess.run(
        ["sh", "-c", line.replace("CC", str(compiler))],
        cwd=folder,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    said = done.stdout.replace(str(compiler), "CC").replace(PLAIN, "CC").replace(str(folder), "FOLDER")
    said = said.replace("CC: error: no input files\n", "")
    said = said.replace(f" {PREFIX}/lib/vprof/__vprof_prelude.h", "")
    return done.returncode, said, {str(path.relative_to(folder)) for path in folder.rglob("*")}


@pytest.mark.parametrize(
    "line",
    [
        "CC -c low.s",
        "CC -c pre.S -o sub/pre.o",
        "CC -x assembler-with-cpp -c pre.S",
        "CC -c work.c pre.S low.s",
        "CC -c work.c main.c -o both.o",
        "CC -c work.c pre.S -o both.o",
        "CC work.c main.c low.s pre.S -o sub/program && sub/program",
        "CC -x c text -c",
        "CC -xc -c text && CC -c -x c text -x none work.c",
        "echo 'int main(void) { return 0; }' | CC -x c - && ./a.out",
        "echo 'int main(void) { return 0; }' | CC -xc - -E -P",
        "echo 'int main(void) { return 0; }' | CC -xc - -c && CC ./-.o && ./a.out",
        "echo 'int work(int); int main(void) { return work(0); }' | CC -x c work.c - && ./a.out",
        "CC -x assembler low.s -x c text -x none main.c work.c && ./a.out",
        "cp low.s asm && CC main.c -x c work.c -x assembler asm && ./a.out",
        "CC -c -MD work.c -MF sub/work.d && cat sub/work.d",
        "CC -c -MMD -MP -MT target work.c && cat work.d",
        "CC -c -Wp,-MD,sub/work.d work.c -o sub/work.o && cat sub/work.d",
        "CC -include name.h -c work.c",
        "CC -x c-header name.h -o sub/name.h.gch && CC -include-pch sub/name.h.gch -c work.c",
        "CC -x c-header name.h -o sub/name.h.pch && CC -include sub/name.h -c work.c",
        "cd sub && CC ../work.c $PWD/../main.c && ./a.out",
        "CC -S work.c -o - | grep -c work:",
        "CC -c work.c -o /dev/null",
        "CC -c work.c -o sub/none/work.o",
        "CC -c --output=sub/work.o work.c",
        "CC -c -o sub/work.o -- work.c",
        "CC -save-temps -c work.c",
        "CC --coverage -c work.c -o sub/work.o",
        "CC -g -gsplit-dwarf -c work.c -o sub/work.o",
        "CC -c -emit-llvm work.c",
        "CC -flto -c work.c && CC -flto -r work.o -o sub/again.o",
        "CC @good.rsp",
        "CC @good.rsp @nothing.rsp",
        "CC -c nothing.c",
        "CC -c work.c nothing.c",
        "CC work.c main.c nothing.o -o sub/program",
        "CC -c main.c -o sub/main.o && CC -c work.c sub/main.o -o sub/work.o",
        "CC -c",
        "CC",
        "CC -v 2>&1 | head -1",
        "CC -Wl,--version | head -1",
    ],
)
def test_as_the_real_compiler(tmp_path: Path, line: str) -> None:
    assert outcome(tmp_path / "ours", line, VPROF_CC) == outcome(tmp_path / "plain", line, PLAIN)
