"""What documents and comments refer to exists: numbered sections, quoted headings, files, functions.

    FORMAT.md section 2.1     a heading of that number in that document
    section 2.1               the same, of the document itself, or of the one that the file has named last
    SESSION.md "Who trusts"   a heading of that text
    `ring.h`, [x](ring.h)     in documents: a file of the repository

A document is named by its path from the folder of the file that cites it, or from a folder around that one (so a
README.md is the nearest one), or by its bare name if no other document has it. Sections of a thesis are not checked.
"""

import re
import subprocess
from collections.abc import Iterator
from fnmatch import fnmatch
from functools import cache
from os.path import normpath
from pathlib import Path, PurePosixPath

import pytest

ROOT = Path(__file__).parents[2]
HISTORY = "CHANGELOG.md"
"""Says what was: its files may be gone."""
OTHERS = {
    "dist/d3.min.js",
    "heapam.c",
    "lock.c",
    "lwlock.c",
    "math.h",
    "sql_parse.cc",
    "string.h",
    "tests/ee",
    "voltdbipc.cpp",
    "voltdbjni.cpp",
    "voltdbshm.cpp",
}
"""Files and folders of other projects that documents name."""

_NUMBER = r"\d+(?:\.\d+)*"
_NUMBERS = rf"{_NUMBER}(?:(?:,\s+and|,|\s+and)\s+{_NUMBER})*"
CITATION = re.compile(
    rf"""(?P<outside>thesis,?\s+sections?\s+\d)
       | (?P<document>[\w./-]*\b[\w-]+\.md)
       | \b(?P<stem>[A-Z_]{{5,}})\s+(?=sections?\s+\d)
       | \b[Ss]ections?\s+(?P<numbers>{_NUMBERS})(?:\s+of\s+`?(?P<of>[\w./-]+\.md))?""",
    re.VERBOSE,
)
QUOTED = re.compile(r"([\w./-]*\b[\w-]+\.md)`?,?\s+\"([^\"\n]+)\"")
FILE = re.compile(r"[\w./*-]+\.(?:c|cc|cpp|css|def|h|jinja|js|json|md|png|py|S|svg|toml|txt)")
FOLDERS = (
    "analyzer/",
    "annotations/",
    "bench/",
    "docs/",
    "instrumenter/",
    "runtime/",
    "targets/",
    "tests/",
    "workloads/",
)
CODE = {".py", ".c", ".cpp", ".h", ".S", ".def", ".toml", ".md", ".txt"}


@cache
def files() -> frozenset[str]:
    """What git knows, or would after `git add`."""
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return frozenset(name for name in listed.stdout.splitlines() if (ROOT / name).is_file())


@cache
def endings() -> frozenset[str]:
    """The paths of all files and folders; and as */END, in how their paths end."""
    paths = [PurePosixPath(name) for name in files()]
    whole = {str(path) for name in paths for path in (name, *name.parents)}
    return frozenset(whole | {f"*/{'/'.join(path.parts[k:])}" for path in paths for k in range(len(path.parts))})


@cache
def text(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def document(name: str, citing: str) -> str | None:
    """The document that a file calls by this name; None: there is none, or there are several."""
    upwards = [normpath(folder / name) for folder in PurePosixPath(citing).parents]
    found = [path for path in upwards if path in files()]
    alike = [path for path in files() if path.endswith(f"/{name}")]
    return found[0] if found else alike[0] if len(alike) == 1 else None


def headings(content: str) -> tuple[set[str], set[str]]:
    """The numbers and the texts of a document's headings."""
    lines = re.findall(r"^#+ +(.+?) *$", re.sub(r"^```.*?^```", "", content, flags=re.M | re.S), re.M)
    numbered = [re.fullmatch(rf"({_NUMBER})\.? +(.*)", line) for line in lines]
    return {found[1] for found in numbered if found}, {*lines, *(found[2] for found in numbered if found)}


def wrong_sections(name: str, content: str) -> Iterator[str]:
    """Citations in a file of sections that are not there. A name right before the number counts; else a document that
    has numbers cites itself, and other files the document that they named last."""
    own = name if name.endswith(".md") and headings(content)[0] else None
    last, end = own, 0
    for found in CITATION.finditer(content):
        if found["document"] or found["stem"]:
            last, end = found["document"] or f"{found['stem']}.md", found.end()
        elif found["numbers"]:
            beside = re.fullmatch(r"`?,?\s*\(?(?:its\s+)?", content[end : found.start()])
            cited = found["of"] or (last if beside or own is None else own)
            where = None if cited is None else document(cited, name) if cited != own else own
            known = headings(content if where == name else text(where))[0] if where else set()
            for number in re.findall(_NUMBER, found["numbers"]):
                if number not in known:
                    yield f"{name}:{content.count(chr(10), 0, found.start()) + 1}: {cited} section {number}"


def wrong_headings(name: str, content: str) -> Iterator[str]:
    for cited, heading in QUOTED.findall(content):
        where = document(cited, name)
        known = headings(text(where))[1] if where else ()
        if not any(one == heading or one.startswith(f"{heading} (") for one in known):
            yield f'{name}: {cited} "{heading}"'


def prose(content: str) -> str:
    """Without blocks of code, which show files that are made, or users'."""
    fenced = re.sub(r"^ *```.*?^ *```", "", content, flags=re.M | re.S)
    return "\n".join(line for line in fenced.splitlines() if not line.startswith("    "))


def named_files(content: str) -> Iterator[str]:
    """In backticks: names of files, and paths below a folder of ours. And where links lead in the repository."""
    for name in re.findall(r"`([^`\n]+)`", prose(content)):
        if FILE.fullmatch(name) or (name.startswith(FOLDERS) and re.fullmatch(r"[\w./*-]+", name)):
            yield name
    yield from re.findall(r"\]\(([^)#\s:]+)(?:#[^)]*)?\)", prose(content))


def exists(name: str, citing: str) -> bool:
    """A file or folder by its path from here or from the root, or a file by the end of its path. NAME and * are any."""
    near = normpath(PurePosixPath(citing).parent / name)
    wanted = {near, name.rstrip("/"), *([f"*/{name}"] if FILE.fullmatch(name) else [])}
    patterns = [re.sub(r"\bNAME\b", "*", one) for one in wanted] if re.search(r"\bNAME\b|\*", name) else []
    return bool(wanted & endings()) or any(fnmatch(path, one) for path in endings() for one in patterns)


def missing_files(name: str, content: str) -> list[str]:
    return [f"{name}: {file}" for file in named_files(content) if file not in OTHERS and not exists(file, name)]


def missing_functions(name: str, content: str) -> Iterator[str]:
    """`f()` in backticks: a word of one of the files that the same section of the document names."""
    for section in re.split(r"^(?=## )", prose(content), flags=re.M):
        named = [file for file in named_files(section) if FILE.fullmatch(file)]
        there = "\n".join(text(path) for file in named for path in files() if f"/{path}".endswith(f"/{file}"))
        for function in re.findall(r"`([\w.:]+)\(\)`", section):
            if not re.search(rf"\b{re.split(r'[.:]+', function)[-1]}\b", there):
                yield f"{name}: {function}() is in none of {named}"


HERE = "tests/shared/test_citations.py"
SOURCES = sorted(name for name in files() if Path(name).suffix in CODE and name not in (HISTORY, HERE))
DOCUMENTS = [name for name in SOURCES if name.endswith(".md")]


def test_sections_that_are_cited_exist() -> None:
    assert [wrong for name in SOURCES for wrong in wrong_sections(name, text(name))] == []


def test_headings_that_are_quoted_exist() -> None:
    assert [wrong for name in SOURCES for wrong in wrong_headings(name, text(name))] == []


@pytest.mark.parametrize("name", DOCUMENTS)
def test_files_that_a_document_names_exist(name: str) -> None:
    assert missing_files(name, text(name)) == []


def test_the_functions_of_a_record_s_life_are_where_it_says() -> None:
    name = "docs/life-of-a-record.md"
    assert list(missing_functions(name, text(name))) == []


def test_others_files_are_named_somewhere_and_are_not_ours() -> None:
    named = {file for name in DOCUMENTS for file in named_files(text(name))}
    assert named >= OTHERS
    assert [file for file in OTHERS if exists(file, "README.md")] == []


FORMAT = "runtime/TRACE_FORMAT.md"
NO = 99
"""No document has a section of this number."""


@pytest.mark.parametrize(
    ("citing", "said"),
    [
        ("a.py", f"ALGORITHMS section {NO}"),
        ("a.py", f"docs/algorithms.md section {NO}"),
        ("a.py", f"docs/nothing.md section {2}"),
        ("a.py", f"Source: {FORMAT}, sections 1, 2 and {NO}"),
        ("a.py", f"see {FORMAT}\n    section {NO}."),
        ("a.py", f"{FORMAT} says so.\nSection {NO}: more"),
        ("a.py", f"no document is named: section {2}"),
        (FORMAT, f"# T\n## 1. One\nsee section {1}.1\n"),
    ],
)
def test_a_planted_citation_is_found(citing: str, said: str) -> None:
    assert len(list(wrong_sections(citing, said))) == 1


def test_a_citation_that_is_right_is_not() -> None:
    said = f"docs/algorithms.md sections 2 and 7; {FORMAT} section 2.1; section 3 of TRACE_FORMAT.md; thesis section 9"
    assert list(wrong_sections("analyzer/a.py", said)) == []
    assert list(wrong_sections(FORMAT, f"## 1. One\n`docs/algorithms.md` (section {2}), then section {1}")) == []
    assert list(wrong_headings("runtime/a.md", '`PROBE_ABI.md` "Calls"')) == []


def test_a_planted_heading_a_file_and_a_function_are_found() -> None:
    assert list(wrong_headings("runtime/a.md", '`PROBE_ABI.md` "No such heading"')) != []
    page = "`ring.h`, `no_ring.h`, [a](ring.h), [b](../LICENSE), `tests/nowhere/`\n\n    `in_code.py`\n"
    assert missing_files("docs/a.md", page) == [f"docs/a.md: {name}" for name in ("no_ring.h", "tests/nowhere/")]
    told = "## One\n`runtime/src/ring.h`: `push()`, `Ring::peek()`\n## Two\n`runtime/src/ring.h`: `shove()`\n"
    assert len(list(missing_functions("docs/a.md", told))) == 1
