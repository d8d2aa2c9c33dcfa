"""minidb described at its calls instead of at its functions: requests are followed through the queue all the same,
whichever compiler builds it."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile
from patience import PATIENCE_SECONDS

from vprof.installed import target_file

AT_FUNCTIONS = {
    'function = "queue_pop"\n': 'function = ["worker_main", "pool_worker_main"]\ncall = "queue_pop"\n',
    '"on_behalf"\nfunction = "serve_txn"\n': '"on_behalf"\nfunction = "worker_main"\ncall = "serve_txn"\n',
}


def vprof(cwd: Path, *arguments: object, **environment: str) -> str:
    command = [sys.executable, "-c", "from vprof.cli import main; main()", *map(str, arguments)]
    env = {**os.environ, **environment}
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_SECONDS, cwd=cwd, env=env)
    assert done.returncode == 0, done.stderr
    return done.stdout


def producers(program: Path) -> set[str]:
    """The compilers of its units, as their debug information names them."""
    with program.open("rb") as file:
        units = ELFFile(file).get_dwarf_info().iter_CUs()
        return {unit.get_top_DIE().attributes["DW_AT_producer"].value.decode() for unit in units}


@pytest.mark.parametrize(("compiler", "producer"), [("clang-19", "clang"), ("gcc", "GNU C")])
def test_tasks_dequeued_and_served_at_calls_are_followed(tmp_path: Path, compiler: str, producer: str) -> None:
    target = tmp_path / "minidb"
    shutil.copytree(target_file("minidb").parent, target)
    text = (target / "target.toml").read_text()
    for at_function, at_call in AT_FUNCTIONS.items():
        assert at_function in text
        text = text.replace(at_function, at_call)
    (target / "target.toml").write_text(text)
    vprof(tmp_path, "instrument", "--target", target, VPROF_REAL_CC=compiler)
    [said] = producers(tmp_path / ".vprof/minidb/build/minidb")
    assert producer in said
    vprof(tmp_path, "record", "--target", target, "--seconds", 2, "-o", "run.trace")
    analysis = json.loads(vprof(tmp_path, "analyze", "run.trace", "--intervals", "--format", "json"))
    assert analysis["intervals"]["count"] > 100
    paths = [row["critical_path"] for row in analysis["per_interval"].values()]
    through_queue = [path for path in paths if any(piece[0] == "queue" for piece in path)]
    assert len(through_queue) > len(paths) / 2
    assert all(len({piece[1] for piece in path}) > 1 for path in through_queue)
