"""Names of 300 characters without a place to break, in a window of 500 pixels: nothing is wider than the window."""

import json
from pathlib import Path

from browsing import Browser, Comparison, Report
from serving import serving

from vprof.report.page.data import PageSource, page_data
from vprof.report.page.html import render
from vprof.variance.analysis import AnalysisOptions

LONG = {name: f"{name}_{'x' * 300}" for name in ("serve", "lock", "work", "hold", "type")}
OPTIONS = AnalysisOptions(k=10, min_share=0.01)
WIDE = 500
TOO_WIDE = """(() => {
  const scrolls = (e) => e && (getComputedStyle(e).overflowX !== 'visible' || scrolls(e.parentElement));
  return [...document.querySelectorAll('body *')]
    .filter((e) => !e.closest('#tooltip') && e.getBoundingClientRect().right > innerWidth && !scrolls(e))
    .map((e) => `${e.tagName}#${e.id}.${e.className}: ${e.textContent.slice(0, 40)}`);
})()"""
"""Elements that reach out of the window, without one around them that can be scrolled."""


def assert_fits(browser: Browser) -> None:
    browser.resize(WIDE)
    browser.wait(lambda: browser.run("innerWidth") == WIDE)
    for details in browser.all("details"):
        browser.driver.execute_script("arguments[0].open = true", details)
    for toggle in browser.all("table .toggle[aria-expanded='false']"):
        browser.driver.execute_script("arguments[0].click()", toggle)
    browser.wait(lambda: browser.run("document.documentElement.scrollWidth") <= WIDE)
    assert browser.run(TOO_WIDE) == []
    assert browser.complaints() == []


def wraps(browser: Browser, css: str) -> bool:
    """Whether all of the text is there, within the window, without scrolling."""
    box = browser.run(
        "(() => { const e = document.querySelector(arguments[0]), r = document.createRange(); "
        "r.selectNodeContents(e); const b = r.getBoundingClientRect(); return [b.left, b.right, b.height] })()",
        css,
    )
    return box[0] >= 0 and box[1] <= WIDE and box[2] > 40


def test_the_page_of_a_run(browser: Browser, report: Report) -> None:
    browser.open(report(serving(300, LONG), "--title", "t" * 300))
    browser.click(f"#flame-chart .box[aria-label^='{LONG['lock']}']")
    assert_fits(browser)
    for css in ("h1", ".slowest", ".run bdi", "#flame-way", "#path-panels .lost", "#factor-table td.name bdi"):
        assert wraps(browser, css), css
    said = browser.one(".slowest").text
    assert "in hold_xxx" in said and "xxx, which lock_xxx" in said


def test_the_findings_of_a_drill_down(browser: Browser, tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text(json.dumps(serving(60, LONG)))
    names = [LONG["serve"], LONG["lock"]]
    finding = {"functions": names, "path": names, "share": 0.5, "ci95": [0.4, 0.6], "confirmed": True, "waiting": 0.9}
    step = {"number": 1, "intervals": 60, "mean_ns": 1.0, "stddev_ns": 1.0, "p99_ns": 1, "on": names}
    led = {"expanded": {names[0]: names}, "dropped": names, "left_out": names, "no_ranking": ""}
    drill = {"steps": [{**step, **led}], "findings": [{**finding, "is_inherent": False, "missing": []}]}
    (tmp_path / "page.html").write_text(render(page_data(PageSource([tmp_path / "run.json"], drill=drill), OPTIONS)))
    browser.open(tmp_path / "page.html")
    assert_fits(browser)
    assert wraps(browser, "#drill-tables bdi")


def test_the_page_of_a_diff(browser: Browser, comparison: Comparison) -> None:
    before, after = ([serving(300, LONG, seed + i, held) for i in range(3)] for seed, held in ((1, 400), (9, 200)))
    browser.open(comparison(before, after))
    browser.click(f"#flame-before .box[aria-label^='{LONG['lock']}']")
    assert_fits(browser)
    assert wraps(browser, "#factor-table td.name bdi")
