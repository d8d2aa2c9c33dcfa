"""`vprof watch --openmetrics`: what a scraper reads beside a program that knows how many transactions it served."""

from __future__ import annotations

import re
import signal
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from patience import PATIENCE_SECONDS, wait_for
from prometheus_client.openmetrics.parser import text_string_to_metric_families as openmetrics_families
from prometheus_client.parser import text_string_to_metric_families as text_families
from watched import LIMIT_MS, built, collector, kept_ids, listed, read_until, run, serve, session_directory, watching

from vprof.metrics import names

ROOT = Path(__file__).parents[2]
_TRANSACTIONS = 1500

Samples = dict[tuple[str, ...], float]


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built(tmp_path_factory.mktemp("watched"))


@pytest.fixture
def session() -> Iterator[Path]:
    with session_directory() as path:
        yield path


def scraped(at: str) -> dict[str, Samples]:
    """By name, then by the values of the labels in the order of their names."""
    headers = {"Accept": "application/openmetrics-text; version=1.0.0"}
    with urllib.request.urlopen(urllib.request.Request(f"http://{at}/metrics", headers=headers), timeout=60) as reply:
        text = reply.read().decode()
    found: dict[str, Samples] = {}
    for family in openmetrics_families(text):
        for sample in family.samples:
            found.setdefault(sample.name, {})[tuple(v for _, v in sorted(sample.labels.items()))] = sample.value
    return found


def test_a_scrape_has_every_transaction_and_what_an_analysis_found(
    program: Path, tmp_path: Path, session: Path
) -> None:
    folder = tmp_path / "slow"
    # An analysis needs 100 intervals in a piece, which a busy machine may take seconds for.
    arguments = ["--slower-than", f"{LIMIT_MS}ms", "--session", session, "--sites", "*", "--piece-seconds", 5]
    with collector(session), watching(folder, *arguments, "--openmetrics", "0") as watch:
        at = read_until(watch, "vprof watch: metrics ").rpartition("at=")[2].strip()
        assert at.startswith("127.0.0.1:")
        truth = serve(program, session, _TRANSACTIONS, 400, 40, LIMIT_MS)
        latest: dict[str, Samples] = {}

        def is_all_there() -> bool:
            latest.clear()
            latest.update(scraped(at))
            counted = latest.get("vprof_interval_seconds_count", {}).get(("pay",), 0)
            return counted >= _TRANSACTIONS and latest["vprof_analyses_total"][("done",)] >= 1

        wait_for(is_all_there, "all transactions, and an analysis")
        assert latest.keys() == {name for metric in names.ALL for name in metric.samples}
        assert latest["vprof_interval_seconds_count"] == {("pay",): _TRANSACTIONS}
        slow = int(latest["vprof_intervals_slow_total"][("pay",)])
        assert len(truth.stalls) <= slow <= len(truth.stalls) + len(truth.slow)
        assert _TRANSACTIONS - latest["vprof_interval_seconds_bucket"]["0.025", "pay"] >= len(truth.stalls)

        def is_decided() -> bool:
            """On a busy machine one of the first may be slow, whose records a flip of the plan made useless."""
            now = scraped(at)
            return now["vprof_intervals_kept_total"][()] + now["vprof_intervals_not_kept_total"][()] == slow

        wait_for(is_decided, "all kept, or not")
        kept = int(scraped(at)["vprof_intervals_kept_total"][()])
        assert latest["vprof_analyses_total"][("failed",)] == 0
        assert 0 < latest["vprof_analyzed_intervals_total"][()] <= _TRANSACTIONS
        factors = {factor: share for (factor, type_), share in latest["vprof_factor_variance_share"].items()}
        assert factors and all(share >= 0.05 for share in factors.values())
        assert any(object_.startswith("mutex ") for (object_,) in latest["vprof_wait_seconds_total"])
        watch.send_signal(signal.SIGTERM)
        assert watch.wait(timeout=PATIENCE_SECONDS) == 0
        with pytest.raises(OSError, match="refused"):
            scraped(at)
    assert len(listed(folder)) == kept
    assert truth.stalls.keys() <= kept_ids(folder)
    assert sorted(path.name for path in folder.iterdir()) == ["kept"]


def test_a_file_has_the_last_word(program: Path, tmp_path: Path) -> None:
    folder, path = tmp_path / "slow", tmp_path / "vprof.prom"
    arguments = ["--slower-than", f"{LIMIT_MS}ms", "--root", "serve", "--piece-seconds", 0.5, "--openmetrics", path]
    done = run(folder, *arguments, "--", program, 600, 300, 40, LIMIT_MS)
    assert done.returncode == 0, done.stderr
    samples = {sample.name: sample for family in text_families(path.read_text()) for sample in family.samples}
    counted = samples["vprof_interval_seconds_count"]
    assert (counted.labels, counted.value) == ({"type": "serve"}, 600)
    assert samples["vprof_intervals_kept_total"].value == len(listed(folder))


def test_bad_places_are_one_line_and_nothing_begins(program: Path, tmp_path: Path) -> None:
    watched, missing = tmp_path / "slow", tmp_path / "no" / "vprof.prom"
    usual = [watched, "--slower-than", "1ms"]
    cases: list[tuple[list[object], int, str]] = [
        (["--openmetrics", "0.0.0.0:0"], 2, "--openmetrics 0.0.0.0:0: others could read names of functions and locks"),
        (["--openmetrics-address", "0.0.0.0"], 2, "--openmetrics-address goes with --openmetrics PORT"),
        (["--openmetrics", missing], 1, f"--openmetrics {missing}: there is no folder {missing.parent}: make it"),
    ]
    for arguments, code, line in cases:
        done = run(*usual, *arguments, "--", program, 1, 1, 1, 1)
        assert done.returncode == code and done.stdout == "", done.stdout
        assert len(done.stderr.splitlines()) == 1 and done.stderr.startswith(f"vprof: {line}"), done.stderr
    done = run("--list", watched, "--openmetrics", 9464)
    assert done.stderr == "vprof: --list, --show and --report read the folder: leave out what records\n"


def test_examples_of_the_manual_are_read_by_their_form() -> None:
    folder = ROOT / "docs" / "metrics"
    scrape = yaml.safe_load((folder / "prometheus.yml").read_text(encoding="utf-8"))
    assert [job["job_name"] for job in scrape["scrape_configs"]] == ["vprof"]
    assert all(
        re.fullmatch(r"localhost:\d+", target) for target in scrape["scrape_configs"][0]["static_configs"][0]["targets"]
    )
    known = {name for metric in names.ALL for name in metric.samples}
    alerts = yaml.safe_load((folder / "alerts.yml").read_text(encoding="utf-8"))
    rules = [rule for group in alerts["groups"] for rule in group["rules"]]
    asked = {name for rule in rules for name in re.findall(r"vprof_\w+", rule["expr"])}
    assert len(rules) == 2 and asked and asked <= known
