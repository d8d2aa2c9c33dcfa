"""Links to places of functions, and the lines that are defined there."""

import os
from pathlib import Path

import pytest

from vprof.errors import UsageError
from vprof.report.page.sources import check_template, first_lines, link

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
