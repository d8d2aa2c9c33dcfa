"""The demo: one build, three planted causes of variance, one drill-down each. Run by `make demo`.

Each [[demo]] of target.toml names a pathology, a seed, and the function that a profiler should find; those that are
`shown` run here. The exit code is 1 if one of the drill-downs ends elsewhere.
"""

import json
import shutil
import subprocess
import sys
import time
import tomllib
from pathlib import Path

HERE = Path(__file__).parent
VPROF = Path(sys.executable).parent / "vprof"


def run(*arguments: object) -> None:
    """Prints the command as a user would type it, and runs it."""
    words = ["vprof", *map(str, arguments)]
    print(f"\n$ {' '.join(words)}", flush=True)
    done = subprocess.run([VPROF, *words[1:]], check=False)
    if done.returncode:
        sys.exit(done.returncode)


def drill(pathology: str, seed: int, expected: list[str]) -> bool:
    """One drill-down; true if its first finding is the planted function, confirmed."""
    work = Path(".vprof/minidb")
    svg = work / f"{pathology}.svg"
    drawn = ["--svg", svg] if shutil.which("dot") else []
    options = ["--auto", "--target", "minidb", "--step-seconds", 1.5, *drawn]
    run("drill", *options, "--", "--pathology", pathology, "--seed", seed)
    findings = json.loads((work / "drill" / "session.json").read_text())["findings"]
    top = findings[0] if findings else {"functions": ["nothing"], "confirmed": False}
    found = top["functions"] == expected and top["confirmed"]
    first, verdict = ", ".join(top["functions"]), "found" if found else "MISSED"
    print(f"planted: {', '.join(expected)}; first finding: {first}: {verdict}")
    print(f"tree: {svg}" if drawn else "tree: not drawn, for Graphviz's `dot` is not installed (apt install graphviz)")
    return found


def main() -> None:
    begin = time.monotonic()
    cases = tomllib.loads((HERE / "target.toml").read_text())["demo"]
    cases = [case for case in cases if case.get("shown")]
    run("instrument", "--target", "minidb")
    found = [drill(case["pathology"], case["seed"], case["finding"]) for case in cases]
    print(f"\n{sum(found)} of {len(found)} planted causes found, in one build and {time.monotonic() - begin:.0f} s")
    sys.exit(0 if all(found) else 1)


if __name__ == "__main__":
    main()
