"""The demo engine without vprof: it builds, its pathologies show in the latencies, its requests follow the seed."""

import shutil
import signal
import subprocess
import time
import tomllib
from pathlib import Path

import pytest
from patience import PATIENCE_SECONDS

TARGET = Path(__file__).parents[2] / "targets" / "minidb"
DEMOS = tomllib.loads((TARGET / "target.toml").read_text(encoding="utf-8"))["demo"]
NAMES = [demo["pathology"] for demo in DEMOS]


def build(folder: Path, compiler: str) -> Path:
    command = ["make", "-C", TARGET / "src", "-j2", f"CC={compiler}", f"OUT={folder}"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, ""), "builds, and without a warning"
    return folder / "minidb"


@pytest.fixture(scope="module")
def minidb(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("minidb"), "clang-19")


def run(program: Path, *options: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([program, *map(str, options)], capture_output=True, text=True, timeout=PATIENCE_SECONDS)


def summary(text: str) -> dict[str, str]:
    """`name value [unit]` per line."""
    return {line.split()[0]: line.split()[1] for line in text.splitlines()}


def run_summary(program: Path, *options: object) -> dict[str, str]:
    done = run(program, *options)
    assert (done.returncode, done.stderr) == (0, "")
    return summary(done.stdout)


@pytest.fixture
def quiet_sd_us(minidb: Path) -> float:
    """The smaller of two, measured just before: a busy machine only adds to it."""
    return min(float(run_summary(minidb, "--seconds", 1.5)["sd"]) for _ in range(2))


def test_gcc_builds_it_too_and_nothing_is_written_beside_the_sources(tmp_path: Path) -> None:
    before = sorted(file.name for file in (TARGET / "src").iterdir())
    assert run_summary(build(tmp_path, "gcc"), "--seconds", 0.2)["pathology"] == "none"
    assert sorted(file.name for file in (TARGET / "src").iterdir()) == before


def test_the_summary_is_consistent(minidb: Path) -> None:
    found = run_summary(minidb, "--seconds", 1, "--pathology", "wal")
    assert list(found) == ["pathology", "requests", "transactions", "throughput", "mean", "sd", "p50", "p99", "max"]
    assert float(found["transactions"]) == pytest.approx(float(found["throughput"]), rel=0.2)
    assert 0 < float(found["p50"]) < float(found["p99"]) <= float(found["max"])
    assert float(found["mean"]) < float(found["max"])


@pytest.mark.quiet_cpus  # what else the machine does may vary more than anything planted
@pytest.mark.parametrize("demo", DEMOS, ids=lambda demo: demo["pathology"])
def test_a_pathology_makes_latencies_vary(minidb: Path, quiet_sd_us: float, demo: dict[str, str]) -> None:
    found = run_summary(minidb, "--seconds", 1.5, "--pathology", demo["pathology"], "--seed", demo["seed"])
    assert float(found["sd"]) > 2 * quiet_sd_us


def test_the_demos_plant_different_causes_that_are_functions_of_the_engine() -> None:
    source = "".join(file.read_text(encoding="utf-8") for file in (TARGET / "src").glob("*.c"))
    assert len({str(demo["finding"]) for demo in DEMOS}) == len({demo["seed"] for demo in DEMOS}) == len(DEMOS) == 7
    for demo in DEMOS:
        for function in demo["finding"]:
            assert f"{function}(" in source or function == "[queue]"


def test_requests_follow_the_seed(minidb: Path) -> None:
    def requests(*options: object) -> str:
        return run_summary(minidb, "--seconds", 0.1, "--pathology", "lru", *options)["requests"]

    first = requests("--seed", 5)
    assert requests("--seed", 5, "--workers", 2) == first
    assert requests("--seed", 6) != first


@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_run_early_with_a_summary(minidb: Path, end: signal.Signals) -> None:
    process = subprocess.Popen([minidb, "--seconds", "600"], stdout=subprocess.PIPE, text=True)
    time.sleep(0.5)
    process.send_signal(end)
    text, _ = process.communicate(timeout=PATIENCE_SECONDS)
    assert process.returncode == 0
    assert int(summary(text)["transactions"]) > 0


@pytest.mark.parametrize("workers, clients", [(1, 8), (8, 1), (2, 4)])
def test_any_number_of_workers_serves_any_number_of_clients(minidb: Path, workers: int, clients: int) -> None:
    found = run_summary(minidb, "--seconds", 0.5, "--workers", workers, "--clients", clients, "--rows", 100)
    assert int(found["transactions"]) > clients


@pytest.mark.parametrize(
    "options, message",
    [
        (["--seconds", "soon"], "minidb: --seconds soon: must be above 0 and at most 86400\n"),
        (["--seconds", "0"], "minidb: --seconds 0: must be above 0 and at most 86400\n"),
        (["--workers", "0"], "minidb: --workers 0: must be a whole number from 1 to 1000\n"),
        (["--rows", "3"], "minidb: --rows 3: must be a whole number from 100 to 10000000\n"),
        (["--pathology", "disk"], f"minidb: --pathology disk: must be none, {', '.join(NAMES[:-1])} or {NAMES[-1]}\n"),
        (
            ["--lock-policy", "hldsf"],
            "minidb: --lock-policy hldsf: must be fcfs, fifo, rs, vats, vats-theory, ldsf, bldsf, mlf, mblf or ddf\n",
        ),
        (["--rate", "0"], "minidb: --rate 0: must be above 0 and at most 1000000\n"),
        (["--contention", "some"], "minidb: --contention some: must be low, medium or high\n"),
        (["--logs", "17"], "minidb: --logs 17: must be a whole number from 1 to 16\n"),
        (["--lru", "eager"], "minidb: --lru eager: must be strict or lazy\n"),
        (["--recover"], "minidb: --recover needs --log-dir\n"),
        (["--fast"], "minidb: unrecognized option '--fast'\n"),
        (["--seed"], "minidb: option '--seed' requires an argument\n"),
        (["fast"], "minidb: 'fast' is not an option, see minidb --help\n"),
    ],
)
def test_a_bad_option_is_one_line_and_status_2(minidb: Path, options: list[str], message: str) -> None:
    done = run(minidb, *options)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", message)


def test_make_without_a_build_folder_says_so(tmp_path: Path) -> None:
    source = shutil.copytree(TARGET / "src", tmp_path / "src")
    done = subprocess.run(["make", "-C", source], capture_output=True, text=True)
    assert done.returncode == 2
    assert "name the build folder: make OUT=DIR" in done.stderr
