"""The page of `vprof report`, used as a reader uses it: in a browser, by mouse and by keyboard."""

import json
from pathlib import Path
from typing import Any

import pytest
from browsing import Browser, Report
from selenium.webdriver.common.keys import Keys
from serving import serving

from vprof.drill.file import DrillFile
from vprof.drill.loop import Step
from vprof.drill.settings import DrillSettings
from vprof.report.page.data import PageSource, page_data
from vprof.report.page.html import render
from vprof.variance.analysis import AnalysisOptions

REQUESTS = 3000
COMPUTE = "compute@serve.c:15"


@pytest.fixture(scope="module")
def page(report: Report) -> Path:
    return report(serving(REQUESTS))


@pytest.fixture
def opened(browser: Browser, page: Path) -> Browser:
    browser.open(page)
    return browser


def data_of(browser: Browser) -> dict[str, Any]:
    return json.loads(browser.run("document.getElementById('data').textContent"))


def box(name: str) -> str:
    return f"#flame-chart .box[aria-label^='{name}']"


def width(browser: Browser, css: str) -> float:
    return float(browser.one(f"{css} rect").get_attribute("width"))


def test_the_answer_comes_first_and_nothing_is_fetched(opened: Browser) -> None:
    best, intervals = data_of(opened)["analysis"]["factors"][0], data_of(opened)["analysis"]["intervals"]
    heading = opened.one("h1").text
    assert heading.startswith(f"{best['functions'][0]} makes latency vary most")
    assert f"{best['share'] * 100:.1f} %" in heading
    tiles = dict(zip(opened.texts(".tiles dt"), opened.texts(".tiles dd"), strict=True))
    assert list(tiles) == ["intervals", "mean", "sd", "p50", "p99", "p99.9", "max"]
    assert tiles["intervals"] == f"{REQUESTS:,}"
    assert tiles["p99"] == f"{intervals['p99_ns'] / 1e6:.2f} ms"
    assert opened.run("performance.getEntriesByType('resource').length") == 0
    assert "default-src 'none'" in opened.one("meta[http-equiv]").get_attribute("content")


def test_every_section_has_content(opened: Browser) -> None:
    assert len(opened.all("#histogram .bars rect")) >= 8
    assert len(opened.all("#timeline .dots path")) == 2
    assert sorted(opened.texts("#latency .legend li")) == ["pay", "refund"]
    assert len(opened.all("#path-panels .lanes svg")) == 2
    assert opened.all("#path-panels .wake-head")
    assert "ended by a known thread" in opened.one("#wait-tables").text
    assert opened.texts("#type-table tbody td:first-child") == ["pay", "refund"]
    assert "not measured" in opened.one("#trust").text
    assert len(opened.all("#gain-chart .steps path")) == 2
    assert any("=constant" in text for text in opened.texts("#gain-table td bdi"))


def test_zooming_in_and_out(opened: Browser) -> None:
    whole = width(opened, box("<interval>"))
    before = width(opened, box("lock_wait"))
    assert before < 0.999 * whole
    opened.click(box("lock_wait"))
    assert width(opened, box("lock_wait")) == pytest.approx(whole)
    assert not opened.all(box("compute"))
    opened.click("#unzoom")
    assert width(opened, box("lock_wait")) == pytest.approx(before)


def test_the_keyboard_is_enough(opened: Browser) -> None:
    opened.driver.execute_script("document.querySelector('#flame-chart .box[tabindex=\"0\"]').focus()")
    for key in (Keys.ARROW_DOWN, Keys.ARROW_DOWN):
        opened.driver.switch_to.active_element.send_keys(key)
    focused = opened.driver.switch_to.active_element
    assert focused.get_attribute("aria-label").startswith("lock_wait@serve.c:12,")
    assert "share of variance" in opened.one("#tooltip").text
    focused.send_keys(Keys.ENTER)
    assert not opened.all(box("compute"))
    opened.driver.switch_to.active_element.send_keys(Keys.ESCAPE)
    assert opened.all(box("compute"))


def test_the_address_of_a_view_opens_it_again(browser: Browser, page: Path) -> None:
    browser.open(page)
    whole = width(browser, box("<interval>"))
    browser.click(box("lock_wait"))
    browser.one("#search").send_keys("wait")
    browser.click("#metric label:last-child")
    address = browser.driver.current_url
    browser.driver.get("about:blank")
    browser.driver.get(address)
    assert width(browser, box("lock_wait")) == pytest.approx(whole)
    assert browser.one("#search").get_attribute("value") == "wait"
    assert "boxes, together" in browser.one("#matches").text
    assert browser.run("document.querySelector('#metric input:checked').value") == "mean_share"


def test_back_returns_to_the_view_before(opened: Browser) -> None:
    before = width(opened, box("lock_wait"))
    opened.click(box("lock_wait"))
    assert width(opened, box("lock_wait")) > before
    opened.driver.back()
    assert width(opened, box("lock_wait")) == pytest.approx(before)


def test_a_link_to_a_section_keeps_the_view(opened: Browser) -> None:
    whole = width(opened, box("<interval>"))
    opened.click(box("lock_wait"))
    opened.click("nav a[href='#waits']")
    assert width(opened, box("lock_wait")) == pytest.approx(whole)
    opened.wait(lambda: opened.run("document.querySelector('#waits').getBoundingClientRect().top") < 900)
    address = opened.driver.current_url
    opened.driver.get("about:blank")
    opened.driver.get(address)
    assert width(opened, box("lock_wait")) == pytest.approx(whole)
    opened.wait(lambda: opened.run("document.querySelector('#waits').getBoundingClientRect().top") < 900)


@pytest.mark.parametrize(
    "fragment", ["zoom=%5B1%2C%22x%22%5D", "zoom={&metric=no&type=<b>&interval=..", "%ff&&==", "zoom=%7B%22a%22:1%7D"]
)
def test_an_address_that_names_no_view_opens_the_whole(browser: Browser, page: Path, fragment: str) -> None:
    browser.driver.get("about:blank")
    browser.driver.get(f"{page.as_uri()}#{fragment}")
    assert browser.all(box("compute"))
    assert len(browser.all("#path-panels .lanes svg")) == 2
    assert browser.run("document.querySelector('#metric input:checked').value") == "share"


def test_the_slowest_interval_says_where_its_excess_lies(opened: Browser) -> None:
    """The time for which the lock is held varies most: of the slowest interval it is nearly all of the excess."""
    [slowest, *_] = data_of(opened)["paths"]
    said = opened.one(".slowest").text
    assert said.startswith(f"The slowest interval ({slowest['path']['interval']}) took ")
    assert "of the excess lies in holder, which lock_wait waited for." in said
    assert said.endswith(f"{slowest['lost']} Its critical path")


def test_each_path_says_where_its_time_went(opened: Browser) -> None:
    paths = data_of(opened)["paths"]
    median = next(one for one in paths if one["label"] == "median")
    assert opened.texts("#path-panels .lost") == [paths[0]["lost"], median["lost"]]
    opened.click("#path-panels select option:nth-child(2)")
    assert opened.texts("#path-panels .lost")[0] == paths[1]["lost"]


def test_searching_adds_up_the_shares(opened: Browser) -> None:
    share = next(
        child for child in data_of(opened)["analysis"]["tree"]["children"][0]["children"] if child["node"] == COMPUTE
    )["share"]
    opened.one("#search").send_keys("COMPUTE")
    assert [match.get_attribute("aria-label") for match in opened.all(".box.match")] == [
        f"{COMPUTE}, {share * 100:.1f} %"
    ]
    assert opened.one("#matches").text == f"1 boxes, together {share * 100:.1f} %"


def test_the_metric_and_the_type_change_the_graph(opened: Browser) -> None:
    def said() -> str:
        return opened.one(box("compute")).get_attribute("aria-label")

    analysis = data_of(opened)["analysis"]

    def expected(tree: dict[str, Any], metric: str) -> str:
        [serve] = tree["children"]
        [node] = [child for child in serve["children"] if child["node"] == COMPUTE]
        return f"{COMPUTE}, {node[metric] * 100:.1f} %"

    assert said() == expected(analysis["tree"], "share")
    opened.click("#metric input[value='mean_share']")
    assert said() == expected(analysis["tree"], "mean_share")
    opened.click("#which option[value='2']")
    assert said() == expected(analysis["by_type"]["types"][1]["tree"], "mean_share")


def test_factors_are_sorted_and_opened(opened: Browser) -> None:
    factors = data_of(opened)["analysis"]["factors"]
    assert any(factor["ci95"] for factor in factors)
    assert opened.all("#factor-table .error")

    def column(n: int) -> list[str]:
        return opened.texts(f"#factor-table > .table > table > tbody > tr:not(.detail) > td:nth-child({n})")

    def header(name: str) -> Any:
        return next(button for button in opened.all("#factor-table th button") if button.text.startswith(name))

    assert [text.lstrip("▸") for text in column(1)] == [str(i + 1) for i in range(len(factors))]
    opened.click(header("height"))
    assert [int(text) for text in column(6)] == sorted((f["height"] for f in factors), reverse=True)
    opened.click(header("height"))
    assert [int(text) for text in column(6)] == sorted(f["height"] for f in factors)
    opened.click("#factor-table .toggle")
    assert "Called from" in opened.one("#factor-table tr.detail:not([hidden])").text


def test_the_tree_opens_and_closes(opened: Browser) -> None:
    rows = len(opened.all("#tree-table tbody tr"))
    opened.click("#collapse")
    assert opened.texts("#tree-table td.name bdi") == ["<interval>", "serve@main.c:7"]
    opened.click(opened.all("#tree-table .toggle")[1])
    assert {"lock_wait@serve.c:12", "compute@serve.c:15"} <= set(opened.texts("#tree-table td.name bdi"))
    opened.click("#covariances")
    assert any(text.startswith("2 Cov") for text in opened.texts("#tree-table tr.cov"))
    assert rows >= 5


def test_functions_are_links_wherever_they_are_named(browser: Browser, tmp_path: Path) -> None:
    """A trace in JSON has no places: they are put into what the page shows."""
    (tmp_path / "run.json").write_text(json.dumps(serving(300)))
    data = page_data(PageSource([tmp_path / "run.json"]), AnalysisOptions(k=10, min_share=0.01))
    url = "https://git.example.org/src/{}.c#L1".format
    data["links"] = {name: url(name) for name in ("lock_wait", "holder", "compute")}
    data["site_links"] = {"serve.c:12": url("serve")}
    (tmp_path / "page.html").write_text(render(data), encoding="utf-8")
    browser.open(tmp_path / "page.html")

    def linked(css: str) -> set[str]:
        return {str(link.get_attribute("href")) for link in browser.all(f"{css} a")}

    assert linked("#factor-table td.name") >= {url("lock_wait"), url("compute"), url("serve")}
    assert {url("lock_wait"), url("compute"), url("holder")} <= linked("#tree-table td.name")
    assert url("lock_wait") in linked("#path-panels details")
    assert linked("#flame-way") == set()
    browser.click(box("lock_wait"))
    assert linked("#flame-way") == {url("lock_wait")}
    assert browser.one("#flame-way").text.startswith("Zoomed: serve@main.c:7 > lock_wait@serve.c:12")
    assert browser.complaints() == []


def test_hosts_are_beside_each_other(browser: Browser, report: Report, page: Path, tmp_path: Path) -> None:
    """The host of a trace in JSON is its folder; one host is no section."""
    (tmp_path / "<b>slow").mkdir()
    other = tmp_path / "<b>slow" / "run.json"
    other.write_text(json.dumps(serving(REQUESTS // 3)))
    browser.open(report(serving(REQUESTS), other))
    split = data_of(browser)["analysis"]["by_host"]
    rows = [row.split("\n") for row in browser.texts("#host-table tbody tr")]
    assert len(rows) == 2 and sorted(row["count"] for row in split["hosts"]) == [REQUESTS // 3, REQUESTS]
    assert [cell.text for cell in browser.all("#host-table tbody td:first-child")] == [
        row["host"] for row in split["hosts"]
    ]
    assert "<b>slow" in {row["host"] for row in split["hosts"]}
    within, why = browser.texts("#hosts .note")
    assert "of the variance lies within hosts" in within and why.startswith("no host can be told to be unlike")
    assert browser.texts("nav a[href='#hosts']") == ["Hosts"]
    browser.open(page)
    assert not browser.all("#hosts, nav a[href='#hosts']")


def test_another_interval_is_drawn(opened: Browser) -> None:
    before = opened.one("#path-panels svg").get_attribute("aria-label")
    opened.click("#path-panels select option:nth-child(2)")
    assert opened.one("#path-panels svg").get_attribute("aria-label") != before
    opened.click("#path-panels summary")
    assert "holder" in opened.one("#path-panels details").text


@pytest.mark.parametrize("width", [400, 800, 2000])
def test_it_fits_any_width(opened: Browser, width: int) -> None:
    opened.resize(width)
    opened.wait(lambda: opened.run("document.querySelector('#flame-chart svg').clientWidth") <= width)
    opened.wait(lambda: opened.run("document.documentElement.scrollWidth") <= width)
    assert opened.complaints() == []


def test_dark_by_the_system_or_by_choice(opened: Browser) -> None:
    def background() -> str:
        return opened.run("getComputedStyle(document.body).backgroundColor")

    light = background()
    opened.resize(1400, "dark")
    dark = background()
    assert dark != light
    for expected in (dark, light, dark):  # dark, light, and as the system has it
        opened.click("#theme")
        assert background() == expected


def test_the_history_of_a_drill_down(browser: Browser, report: Report, tmp_path: Path) -> None:
    steps = [
        Step(
            number=1,
            plan=frozenset({"serve"}),
            intervals=900,
            mean_ns=5e5,
            stddev_ns=4e5,
            p99_ns=2_000_000,
            calls=1.0,
            shares={"serve": 1.0},
            no_ranking="",
            expanded={"serve": ["lock_wait"]},
            dropped=[],
        ),
        Step(
            number=2,
            plan=frozenset({"serve", "lock_wait"}),
            intervals=950,
            mean_ns=5e5,
            stddev_ns=4e5,
            p99_ns=2_000_000,
            calls=2.0,
            shares={},
            no_ranking="",
            expanded={},
            dropped=["compute"],
        ),
    ]
    history = DrillFile(tmp_path / "session.json", DrillSettings(), steps, "done", {"findings": []})
    history.save()
    browser.open(report(serving(50), "--drill", history.path))
    rows = [" ".join(text.split()) for text in browser.texts("#drill-tables tbody tr")]
    assert rows[0].startswith("1 900 500 µs 400 µs 2 ms 1 serve → lock_wait")
    assert rows[1].endswith("2 off again: compute")
    assert "No findings" in browser.one("#drill-tables").text
