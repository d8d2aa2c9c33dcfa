"""The demo: one build, three planted causes of variance, one drill-down each. Run by `make demo`.

Each [[demo]] of target.toml names a pathology, a seed, and the function that a profiler should find. The exit code is 1 if one of
the drill-downs ends elsewhere.
"""

import json
import subprocess
import sys
import time
import tomllib
from pathlib import Path

HERE = Path(__file__).parent
VPROF = Path(sys.executable).parent / "vprof"


def run(*arguments: object) -> str:
    """Prints the command as a user would type it, runs it, returns its output."""
    words = ["vprof", *map(str, arguments)]
    print(f"\n$ {' '.join(words)}", flush=True)
    done = subprocess.run([VPROF, *words[1:]], stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        sys.exit(done.returncode)
    return done.stdout


def drill(pathology: str, seed: int, expected: str) -> bool:
    """One drill-down; true if its first finding is the planted function, confirmed."""
    svg, result = Path(f".vprof/minidb/{pathology}.svg"), Path(f".vprof/minidb/{pathology}.json")
    options = ["--target", "minidb", "--svg", svg, "--json", result]
    print(run("drill", "--auto", *options, "--", "--pathology", pathology, "--seed", seed), end="")
    finding = json.loads(result.read_text())["findings"][0]
    found = finding["functions"] == [expected] and finding["confirmed"]
    print(f"planted: {expected}; first finding: {', '.join(finding['functions'])}: {'found' if found else 'MISSED'}")
    print(f"tree: {svg}")
    return found


def main() -> None:
    begin = time.monotonic()
    cases = tomllib.loads((HERE / "target.toml").read_text())["demo"]
    print(run("instrument", "--target", "minidb"), end="")
    found = [drill(case["pathology"], case["seed"], case["finding"]) for case in cases]
    print(f"\n{sum(found)} of {len(found)} planted causes found, in one build and {time.monotonic() - begin:.0f} s")
    sys.exit(0 if all(found) else 1)


if __name__ == "__main__":
    main()
