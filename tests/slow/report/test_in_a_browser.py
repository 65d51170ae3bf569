"""A report in a real browser: it sorts and filters, and asks nothing of the network."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webelement import WebElement

from kpd.report.render import page
from tests.support.recorded import recorded_facts

FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"]


@pytest.fixture(scope="module", name="browser")
def _browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[webdriver.Chrome]:
    chromium, driver = shutil.which("chromium"), shutil.which("chromedriver")
    assert chromium and driver, "apt install chromium chromium-driver"
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for flag in FLAGS:
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    browser = webdriver.Chrome(options, webdriver.ChromeService(driver))
    path: Path = tmp_path_factory.mktemp("report") / "report.html"
    path.write_text(page(recorded_facts()))
    browser.get(path.as_uri())
    yield browser
    browser.quit()


def rows(browser: webdriver.Chrome) -> list[WebElement]:
    return [row for row in browser.find_elements(By.CSS_SELECTOR, "#candidates tbody tr") if row.is_displayed()]


def test_a_heading_sorts_by_its_numbers_and_the_other_way_again(browser: webdriver.Chrome) -> None:
    head = browser.find_element(By.XPATH, "//table[@id='candidates']//button[.='over the baseline']")
    for direction in (1, -1):
        head.click()
        texts = [row.find_elements(By.TAG_NAME, "td")[3].text for row in rows(browser)]
        known = [float(text.removesuffix("×")) for text in texts if text]
        assert len(known) == 12 and known == sorted(known, reverse=direction < 0)
        assert texts[len(known) :] == [""] * 3, "what was not judged comes last"


def test_what_is_printed_has_every_change_open(browser: webdriver.Chrome) -> None:
    changes = browser.find_elements(By.TAG_NAME, "details")
    assert changes and not any(one.get_attribute("open") for one in changes)
    browser.execute_script("dispatchEvent(new Event('beforeprint'))")
    assert all(one.get_attribute("open") for one in changes)


def test_the_filter_keeps_what_has_all_its_words(browser: webdriver.Chrome) -> None:
    field = browser.find_element(By.CSS_SELECTOR, "input[data-filters]")
    everything = len(rows(browser))
    field.send_keys("SLOWER less")
    assert rows(browser) == []
    field.clear()
    field.send_keys("slower")
    assert 0 < len(rows(browser)) < everything
    field.send_keys("\b" * 6)
    assert len(rows(browser)) == everything


def test_the_browser_has_nothing_to_complain_of(browser: webdriver.Chrome) -> None:
    assert browser.get_log("browser") == []
    fetched = browser.execute_script("return performance.getEntriesByType('resource').map(one => one.name)")
    assert fetched == []


def test_nothing_is_wider_than_a_narrow_window(browser: webdriver.Chrome) -> None:
    browser.set_window_size(600, 900)
    assert browser.execute_script("return document.documentElement.scrollWidth <= window.innerWidth")
