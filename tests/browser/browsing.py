"""A page in a browser, as tests use it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from selenium.common.exceptions import StaleElementReferenceException
from selenium.webdriver import Chrome
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

_SECONDS = 60

Report = Callable[..., Path]
"""Writes the page of a JSON trace; more arguments are options of `vprof report`."""

Comparison = Callable[..., Path]
"""Writes the page of JSON traces before and after; more arguments are options of `vprof diff`."""


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
        # What is drawn anew between two looks at it is not there yet.
        anew = [StaleElementReferenceException]
        WebDriverWait(self.driver, _SECONDS, ignored_exceptions=anew).until(lambda _: condition())
