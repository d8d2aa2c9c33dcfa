"""The lowest rung: no descriptor. `make CC=vprof-cc`, `vprof record --sites`, `vprof analyze --root`."""

import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from patience import PATIENCE_SECONDS, wait_for

from vprof import load
from vprof.installed import native

PROGRAM = Path(__file__).parents[1] / "programs" / "requests"
IN = ("--cpu-wait", "in")
"""Nothing stands beside the functions then, on a busy machine too."""


def vprof(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", "from vprof.cli import main; main()", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_SECONDS)


@pytest.fixture(scope="module")
def requests(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("requests")
    shutil.copytree(PROGRAM, folder, dirs_exist_ok=True)
    before = hashlib.sha256((folder / "requests.c").read_bytes()).digest()
    environment = {key: value for key, value in os.environ.items() if key != "VPROF_DESCRIPTOR"}
    subprocess.run(["make", "-C", folder, f"CC={native('bin/vprof-cc')}"], check=True, env=environment)
    assert hashlib.sha256((folder / "requests.c").read_bytes()).digest() == before
    return folder / "requests"


def test_without_a_session_the_program_is_dormant(requests: Path) -> None:
    done = subprocess.run([requests], capture_output=True, text=True, cwd=requests.parent)
    assert (done.returncode, done.stdout, done.stderr) == (0, "1\n", "")


def test_record_all_and_analyze_by_root(requests: Path, tmp_path: Path) -> None:
    trace = tmp_path / "run.trace"
    done = vprof("record", "--sites", "all", "-o", trace, "--", requests)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "1\n"

    done = vprof("analyze", trace, "--root", "handle_request", *IN, "--format", "json")
    assert done.returncode == 0, done.stderr
    analysis = json.loads(done.stdout)
    assert analysis["intervals"]["count"] == 400
    main = analysis["tree"]["children"]
    assert [node["node"] for node in main] == ["main"]
    root = main[0]["children"]
    assert [node["node"] for node in root] == ["handle_request"]
    shares = {node["node"]: node["share"] for node in root[0]["children"]}
    assert {"parse", "transform", "reply"} <= set(shares)
    assert abs(sum(shares.values()) - 1) < 1e-6
    # On a busy machine the constant parts vary as well, but never as much as the planted one.
    assert shares["transform"] > 0.5
    assert shares["transform"] == max(shares.values())
    # Once preempted for 10 ms, transform's own body has more than the twentieth that says "not all of it is in spin".
    done = vprof("analyze", trace, "--root", "handle_request", "--cpu-wait", "apart", "--format", "json")
    first = json.loads(done.stdout)["factors"][0]
    assert first["functions"] == ["spin"]  # the leaf below transform
    assert "transform" in first["explains"]


def test_a_factor_is_explained_by_intervals_that_can_be_looked_at(requests: Path, tmp_path: Path) -> None:
    trace = tmp_path / "run.trace"
    assert vprof("record", "--sites", "all", "-o", trace, "--", requests).returncode == 0
    done = vprof("analyze", trace, "--root", "handle_request", "--explain", "transform", "--format", "json")
    found = json.loads(done.stdout)
    [side] = found["sides"]
    assert side["occurs"] == 400
    assert side["callers"][0]["name"] == "main > handle_request"
    assert side["inside"][0]["name"] == "spin"
    [slowest] = [one for one in found["exemplars"] if one["which"] == "slowest"]
    done = vprof("analyze", trace, "--root", "handle_request", "--path", slowest["interval"], "--format", "json")
    assert json.loads(done.stdout)["latency_ns"] == slowest["latency_ns"]

    run = load(trace, root="handle_request")
    assert run.intervals.latency_ns[slowest["interval"]] == slowest["latency_ns"]
    filled = run.pieces.groupby("interval", observed=True).duration_ns.sum()
    assert filled.to_dict() == run.intervals.latency_ns.to_dict()
    [transform] = run.tree.find("transform")
    assert transform.times.max() == slowest["time_ns"]


def test_globs_choose_the_sites(requests: Path, tmp_path: Path) -> None:
    trace = tmp_path / "run.trace"
    assert vprof("record", "--sites", "handle_*,transform", "-o", trace, "--", requests).returncode == 0
    analysis = json.loads(vprof("analyze", trace, "--root", "handle_request", *IN, "--format", "json").stdout)
    [root] = analysis["tree"]["children"]
    assert root["node"] == "handle_request"
    off_cpu = {"[preempted]", "[blocked]", "[fault]", "[disk]", "[memory]", "[off cpu]"}
    assert {node["node"] for node in root["children"]} - off_cpu == {"transform", "rest(handle_request)"}


def test_a_name_that_matches_nothing_is_said_with_near_misses(requests: Path, tmp_path: Path) -> None:
    done = vprof("record", "--sites", "handle_requests", "-o", tmp_path / "run.trace", "--", requests)
    assert done.returncode == 1
    assert "no site matches 'handle_requests'; near misses: handle_request" in done.stderr


def test_a_function_too_small_for_a_probe_is_said_to_be(tmp_path: Path) -> None:
    (tmp_path / "p.c").write_text("int tiny(int x) { return x + 1; }\nint main(void) { return tiny(-1); }\n")
    environment = {key: value for key, value in os.environ.items() if key != "VPROF_DESCRIPTOR"}
    subprocess.run([native("bin/vprof-cc"), "p.c", "-o", "p"], check=True, cwd=tmp_path, env=environment)
    done = vprof("record", "--sites", "tiny", "-o", tmp_path / "run.trace", "--", tmp_path / "p")
    assert done.returncode == 1
    assert "'tiny' has no probe (small); build it with a descriptor that has probe = [\"tiny\"]" in done.stderr


def test_the_status_of_the_program_is_passed_on(requests: Path, tmp_path: Path) -> None:
    done = vprof("record", "--sites", "all", "-o", tmp_path / "run.trace", "--", "sh", "-c", f"{requests}; exit 7")
    assert done.returncode == 7
    assert "the program ended with status 7" in done.stderr


def test_a_killed_record_leaves_a_whole_trace_and_no_collector(requests: Path, tmp_path: Path) -> None:
    trace = tmp_path / "run.trace"
    record = ["record", "--sites", "all", "-o", trace, "--", "sh", "-c", f"{requests}; sleep 30"]
    command = [sys.executable, "-c", "from vprof.cli import main; main()", *map(str, record)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True)
    assert process.stdout and process.stdout.readline() == "1\n"  # the program is through, its shell is not
    [collector] = collectors_of(trace)
    words = Path(f"/proc/{collector}/cmdline").read_text().split("\0")
    session = Path(words[words.index("--session") + 1])
    assert session.is_dir()
    process.kill()
    process.wait()
    wait_for(lambda: collectors_of(trace) == [])
    assert not session.exists()
    subprocess.run(["pkill", "--session", str(process.pid)], check=True)  # the shell we left behind
    analysis = json.loads(vprof("analyze", trace, "--root", "handle_request", "--format", "json").stdout)
    assert analysis["intervals"]["count"] == 400
    assert not any("ends inside" in note for note in analysis["notes"])


def collectors_of(trace: Path) -> list[str]:
    done = subprocess.run(["pgrep", "-f", f"vprof-collector.*{trace}"], capture_output=True, text=True)
    return done.stdout.split()


def test_a_trace_cut_short_is_analyzed_up_to_the_cut(requests: Path, tmp_path: Path) -> None:
    trace = tmp_path / "run.trace"
    assert vprof("record", "--sites", "all", "-o", trace, "--", requests).returncode == 0
    cut = tmp_path / "cut.trace"
    whole = trace.read_bytes()
    cut.write_bytes(whole[: len(whole) - 100])
    done = vprof("analyze", cut, "--root", "handle_request")
    assert done.returncode == 0, done.stderr
    assert "the file ends inside a chunk" in done.stdout


OVERLOADS = """\
struct Queue {
  int push(int n) { while (n > 9) n /= 2; return n; }
  int push(long n) { while (n > 9) n /= 3; return static_cast<int>(n) + push(2147483647); }
};
int main() { return Queue().push(0L) - 7; }
"""
"""The inner one halves for longer than a step of the clock (10 ns on some): a call of no time is in no tree."""


def test_an_overload_is_switched_on_by_the_name_that_reports_print(tmp_path: Path) -> None:
    (tmp_path / "queue.cc").write_text(OVERLOADS)
    environment = {**os.environ, "VPROF_DESCRIPTOR": str(PROGRAM.parents[1] / "all_sites.json")}
    subprocess.run([native("bin/vprof-c++"), "queue.cc", "-o", "queue"], check=True, cwd=tmp_path, env=environment)

    def reported(sites: str) -> set[str]:
        trace = tmp_path / "run.trace"
        assert vprof("record", "--sites", sites, "-o", trace, "--", tmp_path / "queue").returncode == 0
        tree = json.loads(vprof("analyze", trace, "--root", "main", *IN, "--format", "json").stdout)["tree"]
        nodes = [tree]
        for node in nodes:
            nodes += node.get("children", [])
        return {node["node"] for node in nodes if node["node"].startswith("Queue")}

    assert reported("all") == {"Queue::push (queue.cc:2)", "Queue::push (queue.cc:3)"}
    assert reported("main,Queue::push (queue.cc:2)") == {"Queue::push (queue.cc:2)"}
    assert reported("main,Queue::push") == {"Queue::push (queue.cc:2)", "Queue::push (queue.cc:3)"}
