"""Pages of programs whose names and labels are odd or hostile, and of runs that hold too little."""

import json

import pytest
from browsing import Browser, Report
from serving import serving

from vprof.report.page.plain import all_plain, plain

HOSTILE = {
    "serve": "</script><script>document.title='taken'</script>",
    "lock": "\"'><img src=x onerror=\"document.title='taken'\">",
    "work": "f" * 1_000_000,
    "hold": "drah\u202e.c\x00\x1b[31m 名前 🙂 &lt;b&gt; {{ 7*7 }}",
    "type": "<!--<script>__proto__",
}


def test_hostile_names_are_shown_and_do_nothing(browser: Browser, report: Report) -> None:
    page = report(serving(60, HOSTILE), "--title", "<b onclick=x>&amp;</b>\u202e")
    assert page.stat().st_size < 2_000_000
    browser.open(page)
    assert browser.driver.title == "<b onclick=x>&amp;</b>\\u202e - vprof"
    assert browser.all("img") == []
    assert browser.one(".run bdi").text == "<b onclick=x>&amp;</b>\\u202e"
    shown = browser.texts("#factor-table td.name bdi")
    assert HOSTILE["lock"] in shown
    assert any("999630 characters" in name for name in shown)
    names = browser.run(
        "[...document.querySelectorAll('#flame-chart .box')].map((box) => box.getAttribute('aria-label'))"
    )
    assert any(name.startswith(HOSTILE["serve"]) for name in names)
    assert any("drah\\u202e.c\\x00\\x1b[31m 名前 🙂 &lt;b&gt; {{ 7*7 }}" in name for name in names)
    assert HOSTILE["type"] in browser.texts("#type-table td bdi")
    browser.resize(400)
    browser.wait(lambda: browser.run("document.documentElement.scrollWidth") <= 400)


def test_a_name_that_is_no_text_elsewhere() -> None:
    assert plain("lone \ud800 surrogate\n") == "lone \\ud800 surrogate\\n"
    assert plain("Größe::operator<<") == "Größe::operator<<"
    nested: dict[str, object] = {"a\tb": [{"c": ("d\x07", 1.5, None)}]}
    assert all_plain(nested) == {"a\\tb": [{"c": ["d\\x07", 1.5, None]}]}


@pytest.mark.parametrize(
    ("count", "said"),
    [(1, "No ranking: one interval has no variance."), (40, "holder makes latency vary most")],
)
def test_too_little_data_is_said(browser: Browser, report: Report, count: int, said: str) -> None:
    browser.open(report(serving(count)))
    assert browser.one("h1").text.startswith(said)
    tail = browser.one("#metric input[value='tail_share']")
    assert not tail.is_enabled()
    assert "needs 100 intervals" in browser.one("#flame-note").text
    if count == 1:
        assert "There is no variance" in browser.one("#flame-note").text
        assert "one interval has no variance" in browser.one("#factor-table").text
        assert "one interval has no variance" in browser.one("#wait-tables").text
    else:
        assert "too few intervals" in browser.one(".certainty").text


def test_intervals_that_all_took_the_same(browser: Browser, report: Report) -> None:
    same = serving(1)
    [interval] = same["intervals"]
    later = json.loads(json.dumps(interval).replace("t0", "t1"))
    step = interval["end"]["t"] + 1000
    for point in ("begin", "end"):
        later[point]["t"] += step
    trace = {
        "intervals": [interval, later],
        "segments": [[1, one["sid"], one["begin"]["t"], one["end"]["t"], "exec"] for one in (interval, later)],
        "functions": [],
    }
    browser.open(report(trace))
    assert "all 2 intervals took the same time" in browser.one("h1").text
    assert len(browser.all("#histogram .bars rect")) == 1
