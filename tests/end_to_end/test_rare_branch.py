"""A function on a rare branch is found by name, however small it is: nothing in a descriptor asks for it."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from vprof.installed import native

PROGRAM = Path(__file__).parents[1] / "programs" / "rare_branch"


def below(node: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The children by name."""
    return {child["node"]: child for child in node["children"]}


def without_waits(function: dict[str, Any]) -> float:
    """The variance of the function's body; of the function itself where it had no wait for a CPU, so no children."""
    body = below(function)[f"body({function['node']})"] if "children" in function else function
    return float(body["var_ns2"])


def spins(node: dict[str, Any]) -> list[float]:
    """Of the calls of the helper there, by where they are made if that is known."""
    return [without_waits(child) for name, child in below(node).items() if name.partition("@")[0] == "spin"]


def test_the_rare_branch_has_its_share_of_the_shared_helper(tmp_path: Path) -> None:
    shutil.copytree(PROGRAM, tmp_path, dirs_exist_ok=True)
    environment = {key: value for key, value in os.environ.items() if key != "VPROF_DESCRIPTOR"}
    subprocess.run(["make", "-C", tmp_path, f"CC={native('bin/vprof-cc')}"], check=True, env=environment)
    command = [sys.executable, "-c", "from vprof.cli import main; main()"]
    trace = tmp_path / "run.trace"
    record = [*command, "record", "--sites", "all", "-o", trace, "--", tmp_path / "rare_branch"]
    assert subprocess.run(record, capture_output=True, text=True, timeout=120).stdout == "done\n"
    analyze = [*command, "analyze", trace, "--root", "handle_request", "--format", "json"]
    tree = json.loads(subprocess.run(analyze, capture_output=True, check=True, timeout=120).stdout)["tree"]

    root = below(below(tree)["main"])["handle_request"]
    decode = below(root).get("decode", root)  # without a probe of its own: a part of the request
    # The helper is the same: only the way to it tells its rare, long calls from the short ones. Waits for a CPU, which
    # meet both on a busy machine, are left out.
    [rare], constant = (spins(node) for node in (below(decode)["slow_decode"], decode))
    assert constant
    assert rare > 10 * max(constant)

    explain = [*analyze, "--explain", "spin"]
    [side] = json.loads(subprocess.run(explain, capture_output=True, check=True, timeout=120).stdout)["sides"]
    assert side["merged"] == ["burn", "decode", "parse_header", "render"]
