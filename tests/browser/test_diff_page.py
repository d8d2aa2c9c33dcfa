"""The page of `vprof diff`, used as a reader uses it: in a browser, by mouse and by keyboard."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from browsing import Browser, Comparison
from selenium.webdriver.common.keys import Keys
from serving import US, serving
from test_report_hostile import HOSTILE

from vprof.compare.diff import diff
from vprof.compare.load_runs import load_runs
from vprof.report.page.diff import diff_data
from vprof.report.page.html import DIFF, render
from vprof.tables.model import Recorded

GRAPHS = ("before", "after", "difference")


@pytest.fixture(scope="module")
def page(comparison: Comparison) -> Path:
    """Of three runs a side; the lock is held for less time after."""
    before = [serving(300, seed=seed) for seed in (1, 2, 3)]
    return comparison(before, [serving(300, seed=seed, mean_held_us=200) for seed in (4, 5, 6)])


@pytest.fixture
def opened(browser: Browser, page: Path) -> Browser:
    browser.open(page)
    return browser


def calls(rows: list[dict[str, int]]) -> dict[str, Any]:
    """Intervals one after the other, each a call of serve that calls these functions for so many us."""
    trace: dict[str, Any] = {"intervals": [], "segments": [], "functions": []}
    now = 0
    for i, row in enumerate(rows):
        begin = now
        for name, us in row.items():
            trace["functions"].append([1, i, name, "", now, now + us * US])
            now += us * US
        trace["functions"].append([1, i, "serve", "", begin, now])
        trace["segments"].append([1, i, begin, now, "exec"])
        trace["intervals"].append({"sid": i, "begin": {"tid": 1, "t": begin}, "end": {"tid": 1, "t": now}})
        now += 1000
    return trace


def by_hand(comparison: Comparison) -> Path:
    """Before, all the variance is work's: 125 us2. After, work takes 10 us, and all the variance is other's: 31.25."""
    before = [{"work": us, "steady": 5} for us in (10, 20, 30, 40)]
    after = [{"work": 10, "steady": 5, "other": us} for us in (5, 10, 15, 20)]
    return comparison([calls(before)], [calls(after)])


def data_of(browser: Browser) -> dict[str, Any]:
    return json.loads(browser.run("document.getElementById('data').textContent"))


def boxes(browser: Browser, graph: str) -> dict[str, str]:
    """What the boxes of a graph say, by name."""
    labels = browser.run(
        "[...document.querySelectorAll(arguments[0])].map((box) => box.getAttribute('aria-label'))",
        f"#flame-{graph} .box",
    )
    return dict(label.rsplit(", ", 1) for label in labels)


def box(graph: str, name: str) -> str:
    return f"#flame-{graph} .box[aria-label^='{name},']"


def is_whole(browser: Browser, graph: str, name: str) -> bool:
    """Whether the box is as wide as the graph: zoomed, or around what is."""
    css = f"#flame-{graph} svg"
    return float(browser.one(f"{box(graph, name)} rect").get_attribute("width")) == float(
        browser.one(css).get_attribute("width")
    )


def test_the_verdict_comes_first_and_nothing_is_fetched(opened: Browser) -> None:
    diff = data_of(opened)["diff"]
    assert diff["verdict"] == "better"
    assert opened.one("h1").text == diff["sentence"]
    assert opened.one("h1 b").text == "better"
    assert opened.one("h1").rect["y"] < 150
    assert opened.run("performance.getEntriesByType('resource').length") == 0
    assert "default-src 'none'" in opened.one("meta[http-equiv]").get_attribute("content")


def test_remarks_are_warnings(browser: Browser, comparison: Comparison) -> None:
    browser.open(comparison([serving(300)], [serving(60, seed=2)]))
    [remark] = browser.texts(".warning")
    assert remark.startswith("all runs cut to")
    assert data_of(browser)["diff"]["remarks"] == [remark]


def test_the_metrics_are_those_of_the_json(opened: Browser) -> None:
    metrics = data_of(opened)["diff"]["metrics"]
    rows = {row.split()[0]: row for row in opened.texts("#metric-table tbody tr")}
    assert list(rows) == [row["metric"] for row in metrics]
    assert {"mean", "variance", "p50", "p99", "p99.9", "max"} <= set(rows)
    variance = metrics[0]
    assert f"{variance['ratio']:.3f} better" in " ".join(rows["variance"].split())
    assert f"{variance['ci95'][0]:.3f} to {variance['ci95'][1]:.3f}" in rows["variance"]
    [mean] = [row for row in metrics if row["metric"] == "mean"]
    assert [f"{mean[side] / 1e3:.0f}" for side in ("before", "after")] == rows["mean"].split()[1:4:2]
    assert "needs 1000 intervals" in opened.one("#metric-note").text


def test_latencies_of_both_sides_lie_over_each_other(opened: Browser) -> None:
    latency = data_of(opened)["latency"]
    assert sum(latency["before"]) == sum(latency["after"]) == 900
    assert len(opened.all("#overlay .histogram.before")) == len(opened.all("#overlay .histogram.after")) == 1
    assert {"p50", "p99"} <= set(opened.texts("#overlay .mark.before text")) & set(
        opened.texts("#overlay .mark.after text")
    )
    drawn = opened.one("#overlay .histogram.before").get_attribute("d")
    opened.click("#log-shares")
    assert opened.one("#overlay .histogram.before").get_attribute("d") != drawn


def test_the_difference_of_a_case_worked_out_by_hand(browser: Browser, comparison: Comparison) -> None:
    browser.open(by_hand(comparison))
    assert boxes(browser, "before") == {"<interval>": "100.0 %", "serve": "100.0 %", "work": "100.0 %"}
    assert boxes(browser, "after") == {"<interval>": "100.0 %", "serve": "100.0 %", "other": "100.0 %"}
    assert boxes(browser, "difference") == {
        "<interval>": "-75.0 %", "serve": "-75.0 %", "work": "-100.0 %", "other": "+25.0 %",
    }  # fmt: skip
    assert "lost" in browser.one(box("difference", "work")).get_attribute("class")
    assert "gained" in browser.one(box("difference", "other")).get_attribute("class")
    wide = {
        name: float(browser.one(f"{box('difference', name)} rect").get_attribute("width")) for name in ("work", "other")
    }
    assert wide["work"] == pytest.approx(4 * wide["other"], rel=0.01)
    changes = {row.split()[0]: row.split() for row in browser.texts("#factor-table tbody tr")}
    assert changes["work"][1:7] == ["100.0", "%", "0.0", "%", "-100.0", "%"]
    assert changes["other"][1:7] == ["0.0", "%", "25.0", "%", "+25.0", "%"]


def test_who_points_at_a_box_sees_both_sides_and_the_change(browser: Browser, comparison: Comparison) -> None:
    browser.open(by_hand(comparison))
    browser.driver.execute_script("arguments[0].focus()", browser.one(box("difference", "other")))
    rows = dict(zip(browser.texts("#tooltip td:first-child"), browser.texts("#tooltip td + td"), strict=True))
    assert rows["before"] == "did not run"
    assert rows["after"] == "100.0 % of the variance, mean 12.5 µs"
    assert rows["change"] == "+25.0 % of the variance before, now 25.0 % of it"


def test_a_frame_is_zoomed_in_all_graphs(opened: Browser) -> None:
    assert not is_whole(opened, "after", "lock_wait")
    opened.click(box("before", "lock_wait"))
    for graph in GRAPHS:
        assert is_whole(opened, graph, "lock_wait"), graph
        assert "compute" not in boxes(opened, graph), graph
    opened.click(box("difference", "serve"))
    for graph in GRAPHS:
        assert "compute" in boxes(opened, graph), graph
    assert opened.one("#unzoom").is_enabled()
    opened.click("#unzoom")
    assert not any(is_whole(opened, graph, "lock_wait") for graph in GRAPHS)
    assert not opened.one("#unzoom").is_enabled()


def test_where_a_path_is_not_its_callers_are_shown(browser: Browser, comparison: Comparison) -> None:
    browser.open(by_hand(comparison))
    browser.click(box("after", "other"))
    assert boxes(browser, "before") == {"<interval>": "100.0 %", "serve": "100.0 %", "work": "100.0 %"}
    assert browser.one("#note-before").text.startswith("other has no box here")
    assert (browser.one("#note-after").text, browser.one("#note-difference").text) == ("", "")
    assert "work" not in boxes(browser, "difference")
    browser.click("#unzoom")
    assert browser.one("#note-before").text == ""


def test_the_keyboard_is_enough(opened: Browser) -> None:
    opened.driver.execute_script("document.querySelector('#flame-after .box[tabindex=\"0\"]').focus()")
    for key in (Keys.ARROW_DOWN, Keys.ARROW_DOWN, Keys.ENTER):
        opened.driver.switch_to.active_element.send_keys(key)
    focused = opened.driver.switch_to.active_element
    assert focused.get_attribute("aria-label").startswith("lock_wait,")
    assert "of the variance before, now" in opened.one("#tooltip").text
    assert is_whole(opened, "before", "lock_wait") and is_whole(opened, "difference", "lock_wait")
    focused.send_keys(Keys.ESCAPE)
    assert not any(is_whole(opened, graph, "lock_wait") for graph in GRAPHS)


def test_searching_marks_all_graphs(opened: Browser) -> None:
    opened.one("#search").send_keys("COMPUTE")
    for graph in GRAPHS:
        assert len(opened.all(f"#flame-{graph} .match")) == 1
    said = [f"{side} 1 boxes, together {boxes(opened, side)['compute']}" for side in ("before", "after")]
    assert opened.one("#matches").text == "; ".join(said)


def test_the_address_of_a_view_opens_it_again(browser: Browser, page: Path) -> None:
    browser.open(page)
    browser.click(box("before", "lock_wait"))
    browser.one("#search").send_keys("wait")
    address = browser.driver.current_url
    browser.driver.get("about:blank")
    browser.driver.get(address)
    assert all(is_whole(browser, graph, "lock_wait") for graph in GRAPHS)
    assert browser.one("#search").get_attribute("value") == "wait"
    assert "boxes, together" in browser.one("#matches").text
    assert browser.complaints() == []


def test_back_returns_to_the_view_before(opened: Browser) -> None:
    opened.click(box("before", "serve"))
    opened.click(box("after", "lock_wait"))
    opened.driver.back()
    assert not any(is_whole(opened, graph, "lock_wait") for graph in GRAPHS)
    assert all(is_whole(opened, graph, "serve") for graph in GRAPHS)
    opened.driver.forward()
    assert all(is_whole(opened, graph, "lock_wait") for graph in GRAPHS)


@pytest.mark.parametrize("fragment", ["zoom=%5B1%2C%22x%22%5D", "zoom={&search=", "%ff&&==", "zoom=%5B%22none%22%5D"])
def test_an_address_that_names_no_view_opens_the_whole(browser: Browser, page: Path, fragment: str) -> None:
    browser.open(page)
    browser.driver.get("about:blank")
    browser.driver.get(f"{page.as_uri()}#{fragment}")
    assert all("compute" in boxes(browser, graph) for graph in GRAPHS)
    assert [browser.one(f"#note-{graph}").text for graph in GRAPHS] == [""] * 3
    assert browser.complaints() == []


def test_what_ran_is_listed_by_run(opened: Browser) -> None:
    assert opened.one("#ran-table").text == "The traces do not say what ran."
    rows = opened.texts("#run-table tbody tr")
    assert [row.split()[0] for row in rows] == ["before"] * 3 + ["after"] * 3
    assert all(" 300 none " in " ".join(row.split()) for row in rows)


def test_where_another_command_or_kernel_ran_is_marked(browser: Browser, tmp_path: Path) -> None:
    paths = [tmp_path / f"{name}.json" for name in ("before", "after")]
    for path in paths:
        path.write_text(json.dumps(serving(30)))
    before, after = load_runs(paths[:1], paths[1:], None, None)
    ran = Recorded(command="serve", host="a", cpu="Xeon", cpus=2, kernel="Linux 6.1", begun_ns=10**18)
    now = replace(ran, command=HOSTILE["lock"], begun_ns=2 * 10**18)
    page = tmp_path / "page.html"
    sides = [replace(before[0], recorded=[ran])], [replace(after[0], recorded=[now])]
    page.write_text(render(diff_data(diff(*sides)), DIFF), encoding="utf-8")
    browser.open(page)
    assert browser.texts("#ran-table tbody th") == ["recorded by\ndiffers", "machine", "recorded at"]
    assert browser.texts("#ran-table tr.differs td") == ["serve", HOSTILE["lock"]]
    assert browser.all("img") == []


def test_without_factors_there_are_latencies_only(browser: Browser, comparison: Comparison) -> None:
    browser.open(comparison([serving(40)], [serving(40, seed=2)], "--no-factors"))
    assert browser.one("h1").text.startswith("no verdict across runs: 1 run against 1, 3 of each side needed")
    assert len(browser.all("#overlay .histogram")) == 2
    assert "not asked for (--no-factors)" in browser.one("#flame-empty").text
    assert not browser.one("#flame-graphs").is_displayed()
    assert "not asked for" in browser.one("#factor-table").text


def test_hostile_names_are_shown_and_do_nothing(browser: Browser, comparison: Comparison) -> None:
    page = comparison([serving(60, HOSTILE)], [serving(60, HOSTILE, seed=2, mean_held_us=40)])
    assert page.stat().st_size < 2_000_000
    browser.open(page)
    assert "taken" not in browser.driver.title
    assert browser.all("img") == []
    assert HOSTILE["lock"] in browser.texts("#factor-table td.name bdi")
    for graph in GRAPHS:
        names = boxes(browser, graph)
        assert HOSTILE["serve"] in names
        assert any("drah\\u202e.c\\x00\\x1b[31m 名前 🙂 &lt;b&gt; {{ 7*7 }}" in name for name in names)
    browser.click("#flame-after .box:nth-of-type(2)")
    browser.resize(400)
    browser.wait(lambda: browser.run("document.documentElement.scrollWidth") <= 400)
    assert browser.complaints() == []


@pytest.mark.parametrize("width", [500, 800, 2000])
def test_it_fits_any_width(opened: Browser, width: int) -> None:
    opened.resize(width)
    opened.wait(lambda: opened.run("document.querySelector('#flame-difference svg').clientWidth") <= width)
    opened.wait(lambda: opened.run("document.documentElement.scrollWidth") <= width)
    beside = opened.one("#flame-before").rect["y"] == opened.one("#flame-after").rect["y"]
    assert beside == (width > 1000)
    assert opened.complaints() == []


def test_dark_by_the_system(opened: Browser) -> None:
    def colours() -> list[str]:
        fill = "getComputedStyle(document.querySelector(arguments[0])).fill"
        return [opened.run(fill, "#flame-difference .box.lost rect"), opened.run(fill, "#overlay .histogram.before")]

    light = colours()
    opened.resize(1400, "dark")
    assert all(a != b for a, b in zip(colours(), light, strict=True))
