"""The page of a comparison in a browser: it sorts, fits its window, and asks nobody for anything."""

import json
import re

import pytest

from tests.chromium import CHROMIUM, DRIVER, beyond_window, open_browser, show, violations
from tests.studies.report.pages import NAMES

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def page(written):
    """The address of a page."""
    if CHROMIUM is None or DRIVER is None:
        pytest.skip("chromium and chromedriver are not both on the machine")
    return (written[0] / "report.html").as_uri()


@pytest.fixture(scope="module")
def browser(page, tmp_path_factory):
    """A browser that shows the page, with a log of what it asked for."""
    with open_browser(tmp_path_factory.mktemp("profile"), browser="ALL") as driver:
        show(driver, page)
        yield driver


def test_the_page_asks_for_nothing_and_nothing_goes_wrong(browser, page):
    browser.get_log("performance")  # what the browser did when it started
    show(browser, page)
    log = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    asked = {e["params"]["request"]["url"] for e in log if e["method"] == "Network.requestWillBeSent"}
    assert {url for url in asked if not url.startswith("data:")} == {page}
    assert browser.get_log("browser") == []
    assert browser.execute_script("return typeof ran") == "undefined"
    assert browser.execute_script("return [...document.images].every(i => i.complete && i.naturalWidth > 300)")


def column(browser, table, number):
    """The numbers of a column, or its texts, from the top row to the last."""
    return browser.execute_script(
        "return [...document.getElementById(arguments[0]).tBodies[0].rows].map(row => row.cells[arguments[1]])"
        ".map(cell => cell.dataset.value === undefined ? cell.textContent : Number(cell.dataset.value))",
        table,
        number,
    )


def unfold(browser, page):
    """Show the page afresh, with everything open."""
    show(browser, page)
    browser.execute_script("for (const part of document.querySelectorAll('details')) part.open = true")


def headers(browser, table):
    """The headers' buttons, and a function that tells their state."""
    found = browser.find_elements("css selector", f"#{table} thead th")
    return [th.find_element("tag name", "button") for th in found], lambda: [
        th.get_attribute("aria-sort") for th in found
    ]


@pytest.mark.parametrize(("table", "number"), [("log_loss", 2), ("classes", 0), ("columns", 3), ("times", 1)])
def test_a_header_sorts_and_once_more_turns_the_order(browser, page, table, number):
    unfold(browser, page)
    before = column(browser, table, number)
    buttons, order = headers(browser, table)
    assert order()[number] == "none"
    browser.execute_script("arguments[0].scrollIntoView({block: 'center', behavior: 'instant'})", buttons[number])
    buttons[number].click()
    upwards = column(browser, table, number)
    assert sorted(upwards) == sorted(before)
    if isinstance(before[0], float | int):
        assert upwards == sorted(before)
    assert order() == ["ascending" if i == number else "none" for i in range(len(buttons))]
    buttons[number].click()
    values = column(browser, table, number)
    assert sorted(values) == sorted(before)
    assert values[0] == upwards[-1]
    assert values[-1] == upwards[0]
    assert order()[number] == "descending"


def test_the_mark_of_sorting_is_no_arrow(browser, page):
    """Arrows say that higher or lower is better; the mark has bars that grow or shrink."""
    unfold(browser, page)
    for state, mark in (("ascending", "▁▃▅"), ("descending", "▅▃▁"), ("none", "none")):
        browser.execute_script("document.querySelector('#columns th').setAttribute('aria-sort', arguments[0])", state)
        content = "return getComputedStyle(document.querySelector('#columns th button'), '::after').content"
        assert mark in browser.execute_script(content)


def test_the_switch_shows_one_of_two_references(browser, page):
    unfold(browser, page)
    shown = (
        "return ['full_bayes', 'best'].map(name => [...document.querySelectorAll('.from-' + name)]"
        ".filter(e => e.checkVisibility()).length)"
    )
    before, hidden = browser.execute_script(shown)
    assert before > 10
    assert hidden == 0
    browser.find_element("id", "from-best").click()
    hidden, after = browser.execute_script(shown)
    assert hidden == 0
    assert after > 10


def test_a_link_to_a_word_opens_what_it_means(browser, page):
    show(browser, page)
    meaning = "return document.getElementById('word-interval').checkVisibility()"
    assert not browser.execute_script(meaning)
    browser.find_element("css selector", "main a[href='#word-interval']").click()
    browser.execute_async_script("requestAnimationFrame(() => requestAnimationFrame(arguments[0]))")
    assert browser.execute_script(meaning)


def test_the_keyboard_sorts_and_rows_stay_whole(browser, page):
    unfold(browser, page)
    rows = dict(zip(column(browser, "columns", 0), column(browser, "columns", 5), strict=True))
    buttons, order = headers(browser, "columns")
    assert order() == ["none"] * 5 + ["descending"]
    buttons[0].send_keys("\ue007")  # Enter
    names = column(browser, "columns", 0)
    assert sorted(names) == sorted(NAMES)
    assert names != list(rows)
    assert dict(zip(names, column(browser, "columns", 5), strict=True)) == rows
    assert order() == ["ascending"] + ["none"] * 5
    buttons[5].send_keys(" ")
    assert column(browser, "columns", 5) == sorted(rows.values())


@pytest.mark.parametrize("width", [390, 800, 1440])
def test_the_page_fits_its_window(browser, page, width):
    window = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", window)
    unfold(browser, page)
    assert browser.execute_script("return window.innerWidth") == width
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width
    assert beyond_window(browser) == []
    cut = browser.execute_script(  # what is wider than its box scrolls
        "return [...document.querySelectorAll('main *, header *')].filter(e => e.scrollWidth > e.clientWidth + 1"
        " && e.clientWidth > 0 && getComputedStyle(e).display != 'inline' && getComputedStyle(e).overflowX != 'auto')"
        ".map(e => e.outerHTML.slice(0, 80))"
    )
    assert cut == []
    fits = "const t = document.getElementById('best'); return [t.parentElement.clientWidth, t.scrollWidth]"
    room, needed = browser.execute_script(fits)
    assert needed <= room
    widths = browser.execute_script(  # text is as wide as the tables
        "return [...document.querySelectorAll('details > p, details > .scroll')].map(e => e.clientWidth)"
    )
    assert len(widths) > 10
    assert min(widths) == max(widths) > 0.8 * width


def test_what_is_folded_is_open_on_paper(browser, page):
    show(browser, page)
    seen = "return [...document.querySelectorAll('details table')].map(e => e.checkVisibility() && e.clientHeight > 0)"
    assert set(browser.execute_script(seen)) == {False}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    assert set(browser.execute_script(seen)) == {True}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})


@pytest.mark.slow
def test_in_the_dark_paper_is_dark_and_letters_are_light(browser, page):
    def sums():
        colours = "const c = getComputedStyle(document.body); return [c.backgroundColor, c.color]"
        return [sum(map(int, re.findall(r"\d+", colour)[:3])) for colour in browser.execute_script(colours)]

    show(browser, page)
    for scheme, darker in (("light", 1), ("dark", 0)):
        feature = {"name": "prefers-color-scheme", "value": scheme}
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})
        assert sums().index(min(sums())) == darker
        assert abs(sums()[0] - sums()[1]) > 500
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_is_accessible(browser, page, scheme):
    pytest.importorskip("axe_core_python", reason="axe-core-python is not installed")
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
    show(browser, page)
    browser.execute_script("for (const part of document.querySelectorAll('details')) part.open = true")
    assert violations(browser) == []
