"""Two calls of one function in one caller, from the compiler to the tree: which of them varies."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from vprof.paths import native

PROGRAM = """\
#include <unistd.h>
EXTERN void work(int microseconds) { usleep(microseconds); }
void request(int i) {
  work(50);
  work(i % 2 ? 8000 : 50);
}
int main(void) {
  for (int i = 0; i < 40; i++) request(i);
  return 0;
}
"""


def vprof(*arguments: object) -> str:
    command = [sys.executable, "-c", "from vprof.cli import main; main()", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout


@pytest.mark.parametrize(
    ("compiler", "file", "linkage"),
    [("vprof-cc", "p.c", "static inline"), ("vprof-c++", "p.cpp", "")],
    ids=["inlined C", "C++"],
)
def test_the_place_that_varies_is_told(tmp_path: Path, compiler: str, file: str, linkage: str) -> None:
    (tmp_path / file).write_text(PROGRAM.replace("EXTERN ", f"{linkage} ".lstrip()))
    environment = {**os.environ, "VPROF_DESCRIPTOR": str(Path(__file__).parents[1] / "all_sites.json")}
    subprocess.run([native(f"bin/{compiler}"), "-O2", file, "-o", "p"], cwd=tmp_path, check=True, env=environment)
    trace = tmp_path / "run.trace"
    vprof("record", "--sites", "all", "-o", trace, "--", tmp_path / "p")
    analysis = json.loads(vprof("analyze", trace, "--root", "request", "--format", "json"))

    [main] = analysis["tree"]["children"]
    [request] = main["children"]
    share = {node["node"]: node["share"] for node in request["children"]}
    first, second = f"work@{file}:4", f"work@{file}:5"
    assert share.keys() >= {first, second}
    assert share[second] > 0.5 > share[first]
    [work] = [factor for factor in analysis["factors"] if factor["functions"] == ["work"]]
    assert work["sites"] == [f"{file}:4", f"{file}:5"]
