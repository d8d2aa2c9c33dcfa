"""The page of `vprof tune`, used as a reader uses it: points with error bars, tables, hostile texts, widths."""

from pathlib import Path

import pytest
from browsing import Browser
from selenium.webdriver.common.action_chains import ActionChains
from simulated_tune import RISKY, Simulated, names, sweep
from test_report_hostile import HOSTILE

from vprof.report.page.html import TUNE, render
from vprof.report.page.tune import tune_data
from vprof.tune.auto import Findings, Governed
from vprof.tune.outcome import outcome_of
from vprof.tune.settings import Setting

Effects = dict[str, float]
EFFECTS = {"delay=2": 0.5, "delay=3": 3.0, "sync=off": 0.2}


def page_of(folder: Path, why: str = "the server ended", finding: str = "flush", effects: Effects = EFFECTS) -> Path:
    measure = Simulated(effects, sd=0.1, means={"sync=off": 0.7}, failing={"delay=4": why})
    one = sweep(folder, [*names(4), Setting((RISKY.assigned("off"),))], measure)
    one.go()
    findings = Findings([Governed(finding, 0.4, ["delay"]), Governed("parse", 0.1, [])], [])
    page = folder / "page.html"
    page.write_text(render(tune_data(outcome_of(one), findings), TUNE), encoding="utf-8")
    return page


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return page_of(tmp_path_factory.mktemp("tune"))


@pytest.fixture
def opened(browser: Browser, page: Path) -> Browser:
    browser.open(page)
    return browser


def test_the_answer_its_line_and_what_it_trades_are_on_top(opened: Browser) -> None:
    assert opened.one("h1").text.startswith("better, at the price of durability: with sync=off variance is 0.")
    first, second, found = (one.text for one in opened.all(".recommended"))
    assert "-c sync=off" in first and "it trades sync: durability" in first
    assert "-c delay=2" in second and "it trades nothing" in second
    assert "parse (10.0 % of the variance): no knob governs it" in found


def test_each_setting_is_a_point_with_error_bars_and_the_front_leads_through_the_best(opened: Browser) -> None:
    for chart in ("#trade-0", "#trade-1"):
        names_ = opened.texts(f"{chart} .point text")
        assert sorted(names_) == ["baseline", "delay=1", "delay=2", "delay=3", "sync=off"]
        for path in opened.all(f"{chart} .point path"):
            assert path.get_attribute("d").count("M") == 2
        assert opened.one(f"{chart} .front").get_attribute("d")
    assert "better" in opened.one("#trade-1 .point:last-child").get_attribute("class")


def test_the_pointer_says_the_figures(opened: Browser) -> None:
    tooltip = opened.one("#tooltip")

    def points() -> bool:
        """Comes from beside it: the chart may have been drawn anew below a pointer that rests, which tells nobody."""
        spot = opened.one("#trade-1 .point.baseline circle")
        opened.run("arguments[0].scrollIntoView({block: 'center', behavior: 'instant'})", spot)
        pointer = ActionChains(opened.driver)
        pointer.move_to_element_with_offset(spot, 0, 40).move_to_element(spot).perform()
        return bool(tooltip.is_displayed())

    opened.wait(points)
    assert "mean" in tooltip.text and "variance" in tooltip.text


def test_tables_sort_and_rows_open(opened: Browser) -> None:
    assert opened.texts("#setting-table tbody tr:not(.detail) td:first-child bdi")[0] == "baseline"
    opened.click("#setting-table tbody tr:nth-child(2) .toggle")
    detail = opened.one("#setting-table tr.detail:not([hidden])").text
    assert "given up: it cannot be better by 30%" in detail and "trades nothing" in detail
    opened.click("#setting-table th:nth-child(5) button")
    assert opened.one("#setting-table th:nth-child(5)").get_attribute("aria-sort") == "descending"
    assert "lost" in opened.one("#factor-tables").text
    assert len(opened.all("#run-table tbody tr")) > 10


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [500, 900])
def test_narrow_screens_scroll_tables_only(opened: Browser, width: int, scheme: str) -> None:
    opened.resize(width, scheme)
    opened.wait(lambda: opened.one("#trade-0 svg").rect["width"] <= width)
    assert opened.run("document.documentElement.scrollWidth") <= width
    assert opened.complaints() == []


def test_hostile_texts_are_text(browser: Browser, tmp_path: Path) -> None:
    browser.open(page_of(tmp_path, why=HOSTILE["type"], finding=HOSTILE["serve"]))
    assert not browser.all("main img, main script, header img, header script")
    assert HOSTILE["type"] in browser.one("#run-table").text


def test_a_null_result_has_a_page(browser: Browser, tmp_path: Path) -> None:
    browser.open(page_of(tmp_path, effects={}))
    assert browser.one("h1").text.startswith("nothing helps: ")
    assert len(browser.all(".recommended")) == 1
