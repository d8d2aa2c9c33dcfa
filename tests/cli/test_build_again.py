"""`vprof instrument` once more, after a build that failed."""

import subprocess
import sys
from pathlib import Path

DESCRIPTOR = """
name = "asks"
[source]
kind = "tree"
path = "."
[build]
steps = ["sh {source}/configure", "sh {source}/make"]
programs = ["asks"]
"""
CONFIGURE = """
if ! test -f answer; then
  if test -f "$(dirname "$0")/library"; then echo yes > answer; else echo no > answer; fi
fi
grep yes answer || { echo "configure: error: there is no library" >&2; exit 1; }
"""
"""Like CMake and autoconf it remembers what it did not find."""
MAKE = """
touch made.$(ls made.* 2>/dev/null | wc -l)
test -f "$(dirname "$0")/complete" || exit 1
printf '#!/bin/sh\\n' > asks
"""


def instrument(target: Path, work: Path) -> subprocess.CompletedProcess[str]:
    command = [Path(sys.executable).with_name("vprof"), "instrument", "--target", target, "--dir", work]
    return subprocess.run(command, capture_output=True, text=True)


def test_what_configuring_did_not_find_is_looked_for_again(tmp_path: Path) -> None:
    """A package is installed meanwhile. What a later step has made is kept."""
    target, work = tmp_path / "asks", tmp_path / "work"
    target.mkdir()
    for name, text in {"target.toml": DESCRIPTOR, "configure": CONFIGURE, "make": MAKE}.items():
        (target / name).write_text(text)
    first = instrument(target, work)
    assert first.returncode == 1
    assert "the build failed: configure: error: there is no library" in first.stderr
    (target / "library").touch()
    for _ in range(2):
        assert "there is no library" not in instrument(target, work).stderr
    assert (work / "build" / "answer").read_text() == "yes\n"
    assert sorted(file.name for file in (work / "build").glob("made.*")) == ["made.0", "made.1"]
