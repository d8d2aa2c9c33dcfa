"""One headless Chromium for all tests of this folder, and pages as `vprof report` writes them."""

import json
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from selenium.webdriver import Chrome
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

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
_SECONDS = 60


class Browser:
    """What tests do with a page, and what they see of it."""

    def __init__(self, driver: Chrome) -> None:
        self.driver = driver

    def open(self, page: Path) -> None:
        """Waits until its scripts have run. Fails if they complained."""
        self.resize(1400)
        self.driver.get(page.as_uri())
        self.wait(lambda: self.driver.execute_script("return document.readyState") == "complete")
        assert self.complaints() == []

    def complaints(self) -> list[str]:
        return [entry["message"] for entry in self.driver.get_log("browser")]

    def resize(self, width: int, scheme: str = "light") -> None:
        metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})

    def run(self, script: str, *arguments: Any) -> Any:
        return self.driver.execute_script(f"return {script}", *arguments)

    def all(self, css: str) -> list[Any]:
        return self.driver.find_elements(By.CSS_SELECTOR, css)

    def one(self, css: str) -> Any:
        return self.driver.find_element(By.CSS_SELECTOR, css)

    def texts(self, css: str) -> list[str]:
        return [element.text for element in self.all(css)]

    def click(self, what: Any) -> None:
        """An element, or the first that a selector finds."""
        element = self.one(what) if isinstance(what, str) else what
        self.driver.execute_script("arguments[0].scrollIntoView({block: 'center', behavior: 'instant'})", element)
        element.click()

    def wait(self, condition: Callable[[], bool]) -> None:
        WebDriverWait(self.driver, _SECONDS).until(lambda _: condition())


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


Report = Callable[..., Path]


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
