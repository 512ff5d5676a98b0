"""A headless Chromium for tests of pages; where there is none, its tests are skipped and say so."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.chrome.webdriver import WebDriver

NAMES = ("chromium", "chromium-browser", "google-chrome")
DESKTOP, PHONE = (1280, 900), (360, 740)


def programs() -> tuple[str, str] | None:
    """The browser and its driver, if both are installed."""
    browser = next((path for name in NAMES if (path := shutil.which(name))), None)
    driver = shutil.which("chromedriver")
    return (browser, driver) if browser and driver else None


@contextmanager
def browsing() -> Iterator[WebDriver]:
    """A browser that is closed at the end; skips the test where there is none."""
    found = programs()
    if found is None:
        pytest.skip("no chromium with a chromedriver: make browser fetches them where it may")
    options = webdriver.ChromeOptions()
    options.binary_location = found[0]
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(found[1]))
    try:
        yield driver
    finally:
        driver.quit()


def resize(driver: WebDriver, size: tuple[int, int]) -> None:
    """Give the page a width and height; narrow ones are those of a phone."""
    width, height = size
    metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)


def prefer(driver: WebDriver, scheme: str) -> None:
    """Say that the user prefers ``light`` or ``dark``."""
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})


CONTRAST = """
const channels = (color) => {
  const parts = color.match(/[\\d.]+/g).map(Number);
  return parts.length === 3 ? [...parts, 1] : parts;
};
const light = (color) => {
  const [r, g, b] = color.slice(0, 3).map((c) => (c /= 255) <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
const behind = (element) => {
  for (let at = element; at; at = at.parentElement) {
    const color = channels(getComputedStyle(at).backgroundColor);
    if (color[3] > 0) return color;
  }
  return [255, 255, 255, 1];
};
const found = [];
for (const element of document.querySelectorAll(arguments[0])) {
  const own = [...element.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim());
  const box = element.getBoundingClientRect();
  if (!own || box.width < 2 || !element.checkVisibility()) continue;
  const [a, b] = [light(channels(getComputedStyle(element).color)), light(behind(element))];
  found.push([element.textContent.slice(0, 40), (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05)]);
}
return found;
"""


def contrasts(driver: WebDriver, selector: str = "body *") -> list[tuple[str, float]]:
    """The contrast of each visible text with what is behind it, as WCAG 2 defines it.

    Args:
        driver: with a page whose colours are opaque.
        selector: which elements.
    """
    return [(text, ratio) for text, ratio in driver.execute_script(CONTRAST, selector)]
