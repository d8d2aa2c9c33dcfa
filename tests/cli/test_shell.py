"""Commands that no shell reads: what would need one is named with its mend; what programs take as it stands is not."""

import subprocess
import sys
from pathlib import Path

import pytest

from vprof.errors import UsageError
from vprof.target.descriptor import load
from vprof.target.shell import needs_shell

NEEDED = [
    ("make | tee log", "'|'", "sh -c '...'"),
    ("./configure && make", "'&&'", "sh -c '...', or separate steps"),
    ("make; make install", "';'", "sh -c '...', or separate steps"),
    ("make >build.log", "'>'", "sh -c '...'"),
    ("make 2>&1", "'2>'", "sh -c '...'"),
    ("./server < input", "'<'", "sh -c '...'"),
    ("{build}/server &", "'&'", "sh -c '...'"),
    ("make -j$(nproc)", "'$(nproc)'", "sh -c '...'"),
    ("make -j`nproc`", "'`nproc`'", "sh -c '...'"),
    ("cp $HOME/app.conf .", "'$HOME'", "sh -c '...'"),
    ("cp ${{HOME}}/app.conf .", "'${{HOME}}/app.conf'", "sh -c '...'"),
    ("cp ~/app.conf .", "'~/app.conf'", "sh -c '...', or the whole path"),
    ("cp {source}/*.c .", "the pattern '{source}/*.c'", "sh -c '...'"),
    ("{cc} src/a?.c -o a", "the pattern 'src/a?.c'", "sh -c '...'"),
    ("cd src", "'cd'", "sh -c '...' around all that it is for (or make -C DIR)"),
    ("CFLAGS=-O2 ./configure", "'CFLAGS=-O2' before a command", "env CFLAGS=-O2 ..., or sh -c '...'"),
]
MEANT = [
    "sh -c 'cd src && make >log 2>&1 | tee $HOME/*.log; ls `pwd`'",
    "cmake -S {source} -DPROJECTS=clang;lld -DFLAGS='-O2 -g'",
    "wrk -d {seconds} http://127.0.0.1/?a=1&b=2",
    "{build}/test --filter=Queue.* --regex=a|b",
    "pkg-config --exists openssl >= 3",
    "make LDFLAGS=-Wl,-rpath,$ORIGIN/lib TOP=$(CURDIR)",
    r"make RPATH=\$HOME FLAGS=$$HOME PRICE=$1",
    "find . -name *.o -exec rm {{}} ;",
    r"rm 'a*.c' b\*.c",
    'bench "select * from t where a < 3; commit" {seconds}',
    "",
]


@pytest.mark.parametrize(("command", "what", "mend"), NEEDED)
def test_what_only_a_shell_understands_is_named(command: str, what: str, mend: str) -> None:
    assert needs_shell(command) == (what, mend)


@pytest.mark.parametrize("command", MEANT)
def test_what_programs_are_given_as_it_stands_is_no_mistake(command: str) -> None:
    assert needs_shell(command) is None


@pytest.mark.parametrize(
    ("table", "where"),
    [
        ('[build]\nprograms = ["x"]\nsteps = ["make", "make | tee log"]', "[build] steps number 2"),
        ('[build]\nprograms = ["x"]\n[run]\ncommand = "make | tee log"', "[run] command"),
        ('[server]\nready = "true"\nstart = "make | tee log"\n[load]\ncommand = "x"', "[server] start"),
    ],
)
def test_the_line_names_the_step(tmp_path: Path, table: str, where: str) -> None:
    file = tmp_path / "target.toml"
    file.write_text(f'name = "{tmp_path.name}"\n{table}\n')
    with pytest.raises(UsageError) as error:
        load(file)
    assert str(error.value) == (
        f"{file}: {where}, 'make | tee log': '|' needs a shell, and none reads this: write sh -c '...'"
    )


def vprof(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", "from vprof.cli import main; main()", *words]
    return subprocess.run(command, capture_output=True, text=True, cwd=folder)


POOL = 'name = "pool"\nroots = ["main"]\n[build]\nprograms = ["pool"]\n'


@pytest.mark.parametrize(
    "words",
    [
        ("record", "--sites", "all", "--"),
        ("run", "--no-open", "--"),
        ("drill", "--auto", "--root", "main", "--"),
        ("instrument", "--target", "./pool", "--source", ".", "--"),
    ],
    ids=["record", "run", "drill", "instrument"],
)
@pytest.mark.parametrize(
    ("program", "mend"),
    [
        ("make -j2", "give the words apart, or sh -c 'make -j2'"),
        ("make && ./pool", "write sh -c 'make && ./pool'"),
    ],
)
def test_a_command_given_as_one_word(tmp_path: Path, words: tuple[str, ...], program: str, mend: str) -> None:
    (tmp_path / "pool").mkdir()
    (tmp_path / "pool/target.toml").write_text(POOL)
    done = vprof(tmp_path, *words, program)
    assert (done.returncode, done.stderr) == (2, f"vprof: '{program}' is no program: {mend}\n")


def test_a_program_whose_name_has_a_blank_runs(tmp_path: Path) -> None:
    program = tmp_path / "say so"
    program.write_text("#!/bin/sh\nexit 3\n")
    program.chmod(0o755)
    done = vprof(tmp_path, "record", "--sites", "all", "--", "./say so", "a | b")
    assert "is no program" not in done.stderr
    assert "no program built by vprof-cc joined" in done.stderr
