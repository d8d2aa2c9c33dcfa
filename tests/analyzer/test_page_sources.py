"""Links to places of functions, and the lines that are defined there."""

import os
from pathlib import Path

import pytest

from vprof.errors import UsageError
from vprof.report.page.sources import built_in, check_template, first_lines, link

BLOB = "https://git.example.org/blob/main/{file}#L{line}"


@pytest.mark.parametrize("template", [BLOB, "vscode://file/{file}:{line}", "http://x/?q={function}"])
def test_templates_of_links(template: str) -> None:
    assert check_template(template) == template


@pytest.mark.parametrize(
    "template",
    [
        "javascript:alert('{file}')",
        " javascript:{file}",
        "data:text/html,{file}",
        "{file}",
        "{file}://{line}",
        "https://x/{path}",
        "https://x/{",
        "https://x/{0}",
        "https://x/{line:>99999999}",
        "https://x/{file!r}",
        "https://x/{file.__class__}",
    ],
)
def test_what_is_no_template_is_refused_in_one_line(template: str) -> None:
    with pytest.raises(UsageError) as error:
        check_template(template)
    assert "\n" not in str(error.value)


def test_a_link_escapes_names() -> None:
    assert link(BLOB, "src/a b.c:17", "f") == "https://git.example.org/blob/main/src/a%20b.c#L17"
    assert link("https://x/?q={function}", "a.c:1", "ns::f<int>&") == "https://x/?q=ns%3A%3Af%3Cint%3E%26"
    assert link(BLOB, "", "f") == link(BLOB, "the C library", "f") == link("", "a.c:1", "f") == ""


@pytest.mark.parametrize(
    ("template", "absolute", "relative"),
    [
        (BLOB, "https://git.example.org/blob/main/src/a.c#L17", "https://git.example.org/blob/main/b/a.c#L17"),
        ("vscode://file/{file}:{line}", "vscode://file/src/a.c:17", "vscode://file/b/a.c:17"),
        ("file://{file}", "file:///src/a.c", "file://b/a.c"),
        ("https://x/?path=/{file}", "https://x/?path=/src/a.c", "https://x/?path=/b/a.c"),
    ],
)
def test_an_absolute_name_makes_no_second_slash(template: str, absolute: str, relative: str) -> None:
    assert [link(template, place, "f") for place in ("/src/a.c:17", "b/a.c:17")] == [absolute, relative]


def test_a_link_that_a_page_would_shorten_is_none() -> None:
    assert link("https://x/?q={function}", "a.c:1", "f" * 1000) == ""


def test_relative_names_are_below_the_current_folder_or_where_it_was_built(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, built = tmp_path / "here", tmp_path / "there" / "build"
    for folder, text in ((here, "int here;"), (built.parent, "int there;"), (built, "int built;")):
        (folder / "src").mkdir(parents=True)
        (folder / "src" / f"{folder.name}.c").write_text(text + "\n")
    monkeypatch.chdir(here)
    folders = built_in([str(built / "server"), "server"], ["src/there.c:1"])
    assert folders == [built, built.parent]
    for name, line in (("here", "int here;"), ("there", "int there;"), ("build", "int built;")):
        found = first_lines(f"src/{name}.c:1", None, folders)
        assert found is not None
        assert found["lines"] == [line]
    assert first_lines("src/there.c:1", None) is None
    assert built_in([], ["/a/b/x.c:1", "/a/y.c:2", "the C library: x"]) == [Path("/a")]
    assert built_in([], ["/a/x.c:1", "/b/y.c:2"]) == []


def test_the_lines_of_a_definition_end_with_the_function(tmp_path: Path) -> None:
    file = tmp_path / "a.c"
    file.write_text("int x;\nint f(void) {\n\treturn x;\n}\nint g(void);\n")
    after = file.stat().st_mtime_ns + 1
    assert first_lines(f"{file}:2", after) == {
        "first": 2,
        "lines": ["int f(void) {", "    return x;", "}"],
        "remark": "",
    }
    found = first_lines(f"{file}:2", after - 2)
    assert found is not None
    assert found["remark"] == "newer than the recording"


def test_what_cannot_be_read_as_source_has_no_lines(tmp_path: Path) -> None:
    binary, huge, text, other = (tmp_path / name for name in ("binary.c", "huge.c", "text.c", "shadow"))
    other.write_text("root:secret\n")
    binary.write_bytes(b"\0\xff" * 100)
    text.write_text("one line\n")
    with huge.open("wb") as file:
        file.truncate(1 << 30)
    pipe = tmp_path / "pipe.c"
    os.mkfifo(pipe)
    places = [f"{binary}:1", f"{huge}:1", f"{other}:1", f"{pipe}:1", f"{text}:7", f"{tmp_path}/none:1", f"{text}:0"]
    assert [first_lines(place, None) for place in [*places, "the C library", "", "a\0b:1"]] == [None] * 10
