"""Programs with a cause planted into their source, and whether vprof names it.

targets/NAME + plants/NAME.json + plants/  -> descriptor of planted-NAME     its build patches a copy of the source
built by `vprof instrument`                -> runs with one plant each        plant.bin says which, and the seed
`record --sites all`, `analyze`; `drill`   -> Answer                          beside the plant's own account: Truth
"""

from __future__ import annotations

import json
import re
import shutil
import struct
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from build_cache import Built

from vprof.tables.model import NONE, OBJECT_CLASSES
from vprof.tables.naming import without_place
from vprof.trace.loading import load_trace

HERE = Path(__file__).parent
TARGETS = HERE.parents[1] / "targets"
MANY_SECONDS = 900
KINDS = {"spin": 1, "held": 2}
_NO_FUNCTION = re.compile(r"\[.*\]|<interval>")
_HEAD = struct.Struct("4Q")
_SUMS = struct.Struct("8d")
_THREADS = 64
_FILE_BYTES = _HEAD.size + _THREADS * _SUMS.size + 64
"""As plant.c lays it out; a mutex is shorter than the last 64 bytes."""


@dataclass(frozen=True)
class Plant:
    """A cause in a program: its function, as reports name it, its number in the source, how it makes time vary."""

    name: str
    function: str
    number: int
    kind: str
    server_options: str = ""


FIXED = {
    "nginx": (
        Plant("spin", "ngx_http_static_handler", 1, "spin"),
        Plant("held", "ngx_http_header_filter", 2, "held", "-g 'worker_processes 2;'"),
    ),
    "nghttpd": (
        Plant("spin", "nghttp2::(anonymous namespace)::prepare_response", 1, "spin"),
        Plant("held", "nghttp2::Http2Handler::submit_file_response", 2, "held", "--workers=2"),
    ),
}
"""Where a lock is held, two workers contend for it."""


@dataclass(frozen=True)
class Truth:
    """The plant's own account: `share` is Cov(planted time, latency) / Var(latency) over all requests."""

    requests: int
    fired: int
    share: float


@dataclass(frozen=True)
class Answer:
    """What vprof said. `first`: the first factor, as the first sentence of a page calls it. `verdict`: right (that is
    the planted function), listed (it is another of those that are named, or passes its variance on to one), wrong,
    abstains. `found`: the additive share of the planted function. `lost`: the share of the intervals, or of their
    variance, that touch lost records and were left out."""

    verdict: str
    first: str
    found: float | None
    sentence: str
    lost: float = 0.0


def descriptor(name: str, folder: Path, functions: list[dict[str, Any]]) -> Path:
    """Writes the target planted-NAME below `folder`, with more plants at the begin of `functions` ({file, function,
    line, insert}). `workload` of the patches changes lines there. Returns its folder, which `--target` takes."""
    made = folder / f"planted-{name}"
    shutil.rmtree(made, ignore_errors=True)
    made.mkdir(parents=True)
    for part in ("workload", "src"):
        if (TARGETS / name / part).is_dir():
            shutil.copytree(TARGETS / name / part, made / part)
    shutil.copytree(HERE / "plants", made / "plants", ignore=shutil.ignore_patterns("*.json", "__pycache__"))
    edits = json.loads((HERE / "plants" / f"{name}.json").read_text(encoding="utf-8"))
    edits["edits"] += functions
    for change in edits.pop("workload", []):
        file = made / "workload" / change["file"]
        text = file.read_text(encoding="utf-8")
        assert text.count(change["line"]) == 1, f"{change['file']}: not once: {change['line']}"
        file.write_text(text.replace(change["line"], change["instead"]), encoding="utf-8")
    (made / "plants" / "edits.json").write_text(json.dumps(edits), encoding="utf-8")
    text = (TARGETS / name / "target.toml").read_text(encoding="utf-8")
    text = text.replace("{source}", "{build}/planted").replace(f'name = "{name}"', f'name = "planted-{name}"', 1)
    # Plants get no probe: their time is that of the function they are planted in.
    text = re.sub("^include = ", 'exclude = ["plant_*"]\ninclude = ', text, count=1, flags=re.MULTILINE)
    patch = "python3 {target}/plants/patch.py {target}/plants/edits.json planted {build}/plant.bin"
    steps = f'steps = [\n  "rm -rf planted",\n  "cp -r {{source}} planted",\n  "{patch}",\n'
    text = text.replace("steps = [\n", steps, 1)
    (made / "target.toml").write_text(text, encoding="utf-8")
    return made


def sow(built: Built, plant: Plant | None, seed: int) -> Path:
    """Says which plant acts in the server that is started next. Returns the file of its account."""
    file = built.target.build_dir / "plant.bin"
    file.unlink(missing_ok=True)
    if plant:
        head = _HEAD.pack(seed, plant.number, KINDS[plant.kind], 0)
        file.write_bytes(head.ljust(_FILE_BYTES, b"\0"))
        file.chmod(0o666)
    return file


def reaped(file: Path) -> Truth:
    """What the plant says itself, of all threads together."""
    data = file.read_bytes()
    rows = [_SUMS.unpack_from(data, _HEAD.size + i * _SUMS.size) for i in range(_THREADS)]
    n, latency, latency2, planted, _, product, fired, _ = (sum(column) for column in zip(*rows, strict=True))
    if not n:
        return Truth(0, 0, 0.0)
    variance = latency2 / n - (latency / n) ** 2
    return Truth(int(n), int(fired), (product / n - latency * planted / n**2) / variance)


def asked_once(built: Built, plant: Plant, seconds: int, trace: Path) -> Answer:
    """`vprof record --sites all` and `vprof analyze`. Waits for a CPU count in what was found: the plant's own account
    has them, too."""
    options = ["--server-options", plant.server_options] if plant.server_options else []
    ran(built, "record", "--target", built.name, "--sites", "all", "--seconds", seconds, *options, "-o", trace)
    text = ran(built, "analyze", trace, "--top", 200, fails=True)
    report = json.loads(ran(built, "analyze", trace, "--format", "json", fails=True))
    answer = judged(report["tree"], report["factors"], report["factors"], plant, first_sentence(text))
    whole = json.loads(ran(built, "analyze", trace, "--cpu-wait", "in", "--format", "json", fails=True))
    return replace(answer, found=share(whole["tree"], plant.function), lost=report["loss"]["lost_share"])


def drilled(built: Built, plant: Plant, budget: int, step_seconds: float) -> Answer:
    """`vprof drill --auto`."""
    options = ["--server-options", plant.server_options] if plant.server_options else []
    steps = ["--budget", budget, "--step-seconds", step_seconds]
    report = json.loads(ran(built, "drill", "--auto", "--target", built.name, *steps, *options, "--format", "json"))
    text = ran(built, "drill", "--show", "--target", built.name)
    confirmed = [finding for finding in report["findings"] if finding["confirmed"]]
    return judged(report["confirmation"]["tree"], confirmed, report["findings"], plant, first_sentence(text))


def ran(built: Built, *arguments: object, fails: bool = False) -> str:
    """What a command of vprof printed. Raises RuntimeError with its last line if it failed, unless it `fails` when it
    has no ranking to give."""
    done = built.vprof(*arguments, timeout=MANY_SECONDS)
    if done.returncode and not (fails and done.stdout):
        raise RuntimeError(f"vprof {arguments[0]}: {' '.join(done.stderr.strip().splitlines()[-1:])}")
    return done.stdout


def handed_over(trace: Path) -> tuple[float, float]:
    """How many ms requests waited for mutexes themselves, and the part of it in waits that another thread ended."""
    read = load_trace(trace)
    waits, ends = read.segments, read.wakeups
    by_other = np.zeros(len(waits.ts), np.bool_)
    by_other[ends.segment[(ends.waker != NONE) & (ends.waker != waits.thread[ends.segment])]] = True
    mutex = (waits.object_class == OBJECT_CLASSES.index("mutex")) & (waits.interval != NONE)
    ns = (waits.te - waits.ts)[mutex]
    return float(ns.sum()) / 1e6, float(ns[by_other[mutex]].sum() / max(ns.sum(), 1))


def first_sentence(text: str) -> str:
    """Of a report: its first line and what is ranked first; of a drill-down the latter."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    ranked = next((line for line in lines if line.startswith("1. ")), "")
    return " / ".join(line for line in (lines[0] if lines and not lines[0].startswith("step ") else "", ranked) if line)


def judged(
    tree: dict[str, Any], named: list[dict[str, Any]], others: list[dict[str, Any]], plant: Plant, sentence: str
) -> Answer:
    """`named` are the factors that count, first first; `others` those that are at least mentioned."""
    first = named[0]["functions"] if named else []
    if not named:
        verdict = "abstains"
    elif any(bare(deepest(tree, name)) == bare(plant.function) for name in first):
        verdict = "right"
    else:
        verdict = "listed" if any(names(tree, one, plant) for one in others) else "wrong"
    said = " | ".join(called(tree, name) for name in first) or "-"
    return Answer(verdict, said, share(tree, plant.function), sentence)


def names(tree: dict[str, Any], factor: dict[str, Any], plant: Plant) -> bool:
    """Whether a factor is the function or stands for it."""
    meant = [*(deepest(tree, name) for name in factor["functions"]), *factor["explains"]]
    return bare(plant.function) in map(bare, meant)


def called(tree: dict[str, Any], name: str) -> str:
    """A factor's function by itself, one of the C library by who calls it: `f (in nanosleep)`."""
    caller = deepest(tree, name)
    return name if caller == name else f"{caller} (in {name})"


def deepest(tree: dict[str, Any], name: str) -> str:
    """The program's function that the factor is: of the C library's the one around its heaviest place. The name itself,
    if it is the program's or no function's."""
    if bare(name) not in c_library():
        return name
    _, caller = max(_places(tree, bare(name), ""), key=lambda place: abs(place[0]), default=(0.0, ""))
    return bare(caller) or name


def _places(tree: dict[str, Any], name: str, caller: str) -> Iterator[tuple[float, str]]:
    """The share of each outermost place of a function, and the program's function around it ("": none)."""
    work = [(tree, caller)]
    while work:
        node, caller = work.pop()
        here = bare(node["node"])
        if here == name:
            yield node["share"] or 0.0, caller
            continue
        if here not in c_library() and not _NO_FUNCTION.match(here):
            caller = here
        work += [(child, caller) for child in node.get("children", [])]


@cache
def c_library() -> frozenset[str]:
    """The functions of the C library that have a site."""
    text = (HERE.parents[1] / "runtime/abi/external_functions.def").read_text(encoding="utf-8")
    return frozenset(re.findall(r"^VPROF_EXTERNAL(?:_VARIADIC)?\([^(]*?(\w+), \(", text, flags=re.MULTILINE))


def share(tree: dict[str, Any], name: str) -> float:
    return sum(node["share"] or 0.0 for node in outermost(tree, name))


def outermost(tree: dict[str, Any], name: str) -> Iterator[dict[str, Any]]:
    """The function's nodes that lie in no other of it, `tree` itself included."""
    work = [tree]
    while work:
        node = work.pop()
        if bare(node["node"]) == bare(name):
            yield node
        else:
            work += node.get("children", [])


def bare(name: str) -> str:
    """Without `body(...)`, its call site and its place."""
    return without_place(re.sub(r"^(?:body|rest)\((.*)\)$", r"\1", name).partition("@")[0])
