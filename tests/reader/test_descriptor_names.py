"""The descriptor's names of error functions reach the heights: TOML -> rewriter -> metadata -> call graph."""

import json
import subprocess
from pathlib import Path

from vprof.installed import native
from vprof.program.callgraph import build
from vprof.program.elf import read_program


def test_ignored_names_travel_in_the_metadata(tmp_path: Path) -> None:
    descriptor = tmp_path / "descriptor.json"
    descriptor.write_text(json.dumps({"ignore_for_height": ["fail_*"]}))
    source = tmp_path / "a.c"
    source.write_text(
        "void fail_now(int x);\nint main(void) { fail_now(1); return 0; }\nvoid fail_now(int x) { (void)x; }\n"
    )
    environment = {"PATH": "/usr/bin:/bin", "VPROF_DESCRIPTOR": str(descriptor)}
    subprocess.run([native("bin/vprof-cc"), "-o", tmp_path / "a", source], check=True, env=environment)
    graph = build(read_program(tmp_path / "a"))
    assert {name for name, ignored in zip(graph.names, graph.ignored, strict=True) if ignored} == {"fail_now"}
