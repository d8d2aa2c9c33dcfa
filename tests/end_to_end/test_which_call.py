"""Two calls of one function in one caller, from the compiler to the tree: which of them varies."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from patience import PATIENCE_SECONDS

from vprof.installed import native

PROGRAM = """\
#include <unistd.h>
EXTERN void work(int microseconds) { usleep(microseconds); }
void request(int i) {
  work(50);
  work(i % 2 ? 60000 : 50);  // on a busy machine a sleep of 50 may end some milliseconds later
}
int main(void) {
  for (int i = 0; i < 40; i++) request(i);
  return 0;
}
"""


def vprof(*arguments: object) -> str:
    command = [sys.executable, "-c", "from vprof.cli import main; main()", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=True).stdout


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
    # Waits for a CPU lie where the function waited, not beside it.
    analysis = json.loads(vprof("analyze", trace, "--root", "request", "--cpu-wait", "in", "--format", "json"))

    [main] = analysis["tree"]["children"]
    [request] = main["children"]
    share = {node["node"]: node["share"] for node in request["children"]}
    first, second = f"work@{file}:4", f"work@{file}:5"
    assert share.keys() >= {first, second}
    assert share[second] > 0.5 > share[first]
    assert any("work" in (*factor["functions"], *factor["explains"]) for factor in analysis["factors"])
    work = json.loads(vprof("analyze", trace, "--root", "request", "--explain", "work", "--format", "json"))
    assert {site["name"] for site in work["sides"][0]["sites"]} == {f"{file}:4", f"{file}:5"}
