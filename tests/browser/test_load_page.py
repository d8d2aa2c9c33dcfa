"""The page of `vprof load`, used as a reader uses it: its charts, its tables, hostile names, narrow screens."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from browsing import Browser
from latencies import BEGIN_REALTIME, MS, S, lateness, records, run_json, write
from selenium.webdriver.common.action_chains import ActionChains
from test_report_hostile import HOSTILE

from vprof.report.page.html import LOAD, render
from vprof.report.page.load import load_data
from vprof.workload.driver import Run
from vprof.workload.result import result_of

TYPES = ("new_order", "payment")


def page_of(folder: Path, label: str = "gc", types: tuple[str, ...] = TYPES, count: int = 20_000, **run: Any) -> Path:
    """Of 10 s; from 4 s to 5 s nothing goes on, and a pause says so."""
    at = np.linspace(0, 10 * S - MS, count).astype(np.int64)
    stalled = (at >= 4 * S) & (at < 5 * S)
    took = np.where(stalled, 5 * S - at + MS, MS + at % MS)
    rows = records(at, took, np.arange(count) % len(types), tries=1 + np.arange(count) % 50 // 49)
    late = lateness(np.arange(0, 10 * S, MS), np.where(np.arange(10_000) % 900 == 899, 3 * MS, 60_000), len(types))
    (folder / "pauses.csv").write_text(f'{BEGIN_REALTIME / S + 4},{BEGIN_REALTIME / S + 5},"{label}"\n')
    report = run_json(types=types, rate=count / 10, arrivals="even", **run)
    result = result_of(Run(report, ""), write(folder / "f", rows, late, types=types), [folder / "pauses.csv"])
    (folder / "page.html").write_text(render(load_data(result), LOAD), encoding="utf-8")
    return folder / "page.html"


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return page_of(tmp_path_factory.mktemp("load"))


@pytest.fixture
def opened(browser: Browser, page: Path) -> Browser:
    browser.open(page)
    return browser


def test_the_answer_is_the_headline(opened: Browser) -> None:
    assert opened.one("h1").text.startswith("ycsb: 2,000.0 transactions a second, p99 ")
    assert opened.texts(".tiles dt") == ["transactions/s", "mean", "CV", "p50", "p99", "p99.9", "max"]
    assert "explained" in opened.one("#pauses .about").text


def test_the_timeline_draws_percentiles_the_slowest_and_each_pause(opened: Browser) -> None:
    assert len(opened.all("#timeline .band")) == 3
    assert len(opened.all("#timeline .pause.lane.s1")) == 1
    assert len(opened.all("#timeline .pause.lane.s0")) == len(opened.all("#timeline .pause.shade.s0")) == 11
    paths = [path.get_attribute("d") for path in opened.all("#timeline .dots path")]
    assert sum(path.count("M") for path in paths) == 1000
    legend = opened.texts("#timeline-legend li")
    assert legend == ["p50", "p99", "max", *TYPES, "the machine: late by 1 ms or more", "pauses.csv: gc"]
    lane = opened.one("#timeline .pause.lane.s1").rect
    chart = opened.one("#timeline svg").rect
    assert lane["width"] == pytest.approx((chart["width"] - 76) / 10, abs=2)


def test_the_curves_end_at_their_slowest(opened: Browser) -> None:
    data = json.loads(opened.run("document.getElementById('data').textContent"))
    assert [curve["kind"] for curve in data["curves"]] == ["all", "type", "type", "lateness"]
    assert data["curves"][0]["points"][-1] == [20_000, data["load"]["all"]["max_ns"]]
    assert len(opened.all("#curves .curve")) == 4
    assert opened.texts("#curve-legend li")[0] == "all"
    ticks = opened.texts("#curves .axis:nth-of-type(2) .tick")
    assert {"50 %", "90 %", "99 %", "99.9 %"} <= {*ticks}


def test_the_slowest_are_drawn_whole(opened: Browser) -> None:
    """With room for half the width of a line or a dot."""
    of = "[...document.querySelectorAll('#timeline .band, #timeline .dots path, #curves .curve')]"
    highest = opened.run(f"Math.min(...{of}.filter((path) => path.getAttribute('d')).map((path) => path.getBBox().y))")
    top = opened.run("Number(document.querySelector('#curves .rule').getAttribute('y1'))")
    assert highest > top + 2


def test_the_pointer_explains_both_charts(opened: Browser) -> None:
    for chart, words in (("#timeline", ("transactions", "pause", "pauses.csv: gc")), ("#curves", ("all", "payment"))):
        place = opened.one(f"{chart} svg")
        opened.run("arguments[0].scrollIntoView({block: 'center', behavior: 'instant'})", place)
        x = 0 if chart == "#curves" else round(-place.rect["width"] / 2 + 52 + (place.rect["width"] - 76) * 0.48)
        ActionChains(opened.driver).move_to_element_with_offset(place, x, 105 if chart == "#timeline" else 0).perform()
        tooltip = opened.one("#tooltip")
        opened.wait(tooltip.is_displayed)
        for word in words:
            assert word in tooltip.text, tooltip.text


def test_tables_sort_and_say_what_pauses_explain(opened: Browser) -> None:
    assert opened.texts("#type-table tbody tr td:first-child") == ["all", *TYPES]
    assert [row.split()[-1] for row in opened.texts("#outcome-table tbody tr")] == ["400", "0", "400"]
    row = next(text for text in opened.texts("#pause-table tbody tr") if text.startswith("pauses.csv"))
    assert "100.0 %" in row
    opened.click("#type-table th:nth-child(2) button")
    assert opened.one("#type-table th:nth-child(2)").get_attribute("aria-sort") == "descending"


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [500, 900])
def test_narrow_screens_scroll_tables_only(opened: Browser, width: int, scheme: str) -> None:
    opened.resize(width, scheme)
    opened.wait(lambda: opened.one("#timeline svg").rect["width"] <= width)
    assert opened.run("document.documentElement.scrollWidth") <= width
    assert opened.complaints() == []


def test_hostile_names_are_text(browser: Browser, tmp_path: Path) -> None:
    name, label = HOSTILE["type"], HOSTILE["lock"].replace('"', '""').replace("\n", " ")
    browser.open(page_of(tmp_path, label=label, types=(name, "b"), server=HOSTILE["serve"], first_error=name))
    assert browser.texts("#type-table tbody td bdi") == ["all", name, "b"]
    assert not browser.all("main img, main script")


@pytest.mark.parametrize("count", [1, 3])
def test_few_transactions_are_drawn(browser: Browser, tmp_path: Path, count: int) -> None:
    browser.open(page_of(tmp_path, count=count, types=("only",)))
    assert len(browser.all("#timeline .band")) == 3 and browser.complaints() == []
