"""One headless Chromium for all tests of this folder, and pages as `vprof report` and `vprof diff` write them."""

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from browsing import Browser, Comparison, Report
from click.testing import CliRunner
from selenium.webdriver import Chrome
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service

from vprof.commands.diff import command as diff_command
from vprof.commands.report import command

_SWITCHES = (
    "headless",
    "no-sandbox",
    "disable-gpu",
    "disable-dev-shm-usage",
    "no-first-run",
    "disable-background-networking",
    "disable-component-update",
    "disable-sync",
)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    options = Options()
    options.binary_location = "/usr/bin/chromium"
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    with tempfile.TemporaryDirectory(prefix="vprof-browser-", ignore_cleanup_errors=True) as profile:
        for switch in (*_SWITCHES, f"user-data-dir={profile}"):
            options.add_argument(f"--{switch}")
        driver = Chrome(options=options, service=Service("/usr/bin/chromedriver"))
        try:
            yield Browser(driver)
        finally:
            driver.quit()


@pytest.fixture(scope="session")
def report(tmp_path_factory: pytest.TempPathFactory) -> Report:
    """Writes the page of a JSON trace; more arguments are options of `vprof report`."""

    def write(trace: dict[str, Any], *options: object) -> Path:
        folder = tmp_path_factory.mktemp("report")
        (folder / "run.json").write_text(json.dumps(trace))
        words = [folder / "run.json", "-o", folder / "page.html", *options]
        done = CliRunner().invoke(command, [str(word) for word in words], catch_exceptions=False)
        assert done.exit_code == 0, done.output
        return folder / "page.html"

    return write


@pytest.fixture(scope="session")
def comparison(tmp_path_factory: pytest.TempPathFactory) -> Comparison:
    """Writes the page of JSON traces before and after; more arguments are options of `vprof diff`."""

    def write(before: list[dict[str, Any]], after: list[dict[str, Any]], *options: object) -> Path:
        folder = tmp_path_factory.mktemp("diff")
        sides = []
        for name, traces in (("before", before), ("after", after)):
            paths = [folder / f"{name}{i}.json" for i in range(len(traces))]
            for path, trace in zip(paths, traces, strict=True):
                path.write_text(json.dumps(trace))
            sides.append(paths)
        words = [*sides[0], "--", *sides[1], "-o", folder / "page.html", *options]
        done = CliRunner().invoke(diff_command, [str(word) for word in words], catch_exceptions=False)
        assert done.exit_code == 0, done.output
        return folder / "page.html"

    return write
