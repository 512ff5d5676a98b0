"""The matrix as a page in a real browser: it loads nothing, is filtered, and is used by keyboard and on a phone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from selenium.webdriver.chrome.webdriver import WebDriver
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.wait import WebDriverWait

from analyzer.checkout import open_checkout
from analyzer.engine import audit
from analyzer.matrix import CELL_VERDICTS, Matrix, build, select
from analyzer.report import matrix_html
from analyzer.report.places import LinkTemplate
from rules import all_rules
from tests.browser import DESKTOP, PHONE, browsing, contrasts, prefer, resize
from tests.report_tree import WRAPPERS, make_tree

FIXTURE = Path(__file__).parent.parent / "fixtures" / "gen_0_33"
HOSTILE = "</script><script>document.title='run'</script><img src=x onerror=\"document.title='run'\">&amp;<!--"
AA = 4.5


class Page:
    """A page of a matrix in the browser."""

    def __init__(self, driver: WebDriver, folder: Path) -> None:
        self.driver, self.folder = driver, folder

    def open(self, matrix: Matrix, links: LinkTemplate | None = None, address: str = "") -> Page:
        file = self.folder / "matrix.html"
        file.write_text(matrix_html.render(matrix, links), "utf-8")
        self.driver.get("about:blank")
        self.driver.get(file.as_uri() + address)
        return self

    def all(self, selector: str) -> list[WebElement]:
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def one(self, selector: str) -> WebElement:
        return self.driver.find_element(By.CSS_SELECTOR, selector)

    def run(self, script: str, *arguments: object) -> object:
        return self.driver.execute_script(f"return {script}", *arguments)

    def until(self, condition: str) -> None:
        """Wait for what the page does when it comes to it."""
        WebDriverWait(self.driver, 10).until(lambda _: self.run(condition))

    def press(self, *keys: str) -> None:
        ActionChains(self.driver).send_keys(*keys).perform()

    def press_with_control(self, key: str) -> None:
        ActionChains(self.driver).key_down(Keys.CONTROL).send_keys(key).key_up(Keys.CONTROL).perform()

    @property
    def focused(self) -> WebElement:
        return self.driver.switch_to.active_element

    @property
    def place(self) -> tuple[str, str]:
        """The row and the column of the cell that has the focus."""
        where = self.run(
            "(() => { const cell = document.activeElement.closest('td, th');"
            "const head = document.querySelector('thead tr').cells[cell.cellIndex];"
            "return [cell.parentElement.querySelector('th').firstChild.textContent, head.textContent]; })()"
        )
        assert isinstance(where, list)
        return where[0], where[1]

    @property
    def rows(self) -> list[str]:
        """The architectures that are shown."""
        return [e.text.partition("\n")[0].replace("\u200b", "") for e in self.all("tbody tr:not([hidden]) th")]

    def choose(self, value: str) -> None:
        self.one(f"input[value='{value}']").click()

    def search(self, words: str) -> None:
        box = self.one("#search")
        box.clear()
        box.send_keys(words)
        self.driver.execute_async_script("setTimeout(arguments[0], 200)")  # it waits for the end of the word

    @property
    def open_cell(self) -> bool:
        return bool(self.run("document.querySelector('dialog').open"))


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    with browsing() as driver:
        yield Page(driver, tmp_path_factory.mktemp("page"))


@pytest.fixture
def page(browser: Page) -> Page:
    resize(browser.driver, DESKTOP)
    prefer(browser.driver, "light")
    return browser


@pytest.fixture(scope="module")
def faults(tmp_path_factory: pytest.TempPathFactory) -> Matrix:
    """One contract; works, broken, undeclared, unsupported."""
    return build(audit(open_checkout(make_tree(tmp_path_factory.mktemp("tree"))), all_rules()))


@pytest.fixture(scope="module")
def several() -> Matrix:
    """Seven contracts, four roles, two variants."""
    return build(audit(open_checkout(FIXTURE), all_rules()))


@pytest.fixture(scope="module")
def wide(several: Matrix) -> Matrix:
    """As wide and long as that of a release."""
    contracts = [replace(c, name=f"{c.name}Number{number}") for number in range(4) for c in several.contracts]
    names = {c.name: c.name.partition("Number")[0] for c in contracts}
    rows = [
        replace(
            row, architecture=f"{row.architecture}Number{number}", cells={n: row.cells[o] for n, o in names.items()}
        )
        for number in range(12)
        for row in several.rows
    ]
    return replace(several, contracts=tuple(contracts), rows=tuple(rows), leading=frozenset(names))


# -- loading ---------------------------------------------------------------------------------------


def test_the_table_is_the_matrix_and_nothing_else_is_loaded(page: Page, several: Matrix) -> None:
    page.driver.get_log("browser")  # type: ignore[no-untyped-call]
    page.open(several)
    assert page.rows == [row.architecture for row in several.rows]
    page.one("summary").click()
    page.one("[data-columns=all]").click()
    heads = [e.text.replace("\n", "") for e in page.all("thead button")]
    assert heads == [contract.name for contract in several.contracts]
    shown = [[cell.text.split("\n")[-1] for cell in page.all(f"tr[data-row='{n}'] td")] for n in range(2)]
    assert [[text.lstrip("✓!·?✗~– ") for text in row] for row in shown] == [
        [cell.verdict for cell in row.cells.values()] for row in several.rows[:2]
    ]
    assert page.run("performance.getEntriesByType('resource').length") == 0
    assert page.driver.get_log("browser") == []  # type: ignore[no-untyped-call]


def test_texts_of_a_checkout_are_only_shown(page: Page, faults: Matrix) -> None:
    row = faults.rows[0]
    cell = replace(row.cells["SupportsEagle3"], reason=HOSTILE)
    hostile = replace(row, architecture=f"A{HOSTILE}", cells={"SupportsEagle3": cell})
    page.open(replace(faults, rows=(hostile,)))
    assert page.rows == [f"A{HOSTILE}"]
    page.one("td button").click()
    assert HOSTILE in page.one("#body").text
    assert page.driver.title == "Contracts of vLLM 0.33.0"
    assert page.all("img") == []


def test_an_empty_selection(page: Page, faults: Matrix) -> None:
    page.open(select(faults, only=["unknown"]))
    assert page.one("#count").text == "0 of 0 rows"
    assert page.rows == []


# -- filters ---------------------------------------------------------------------------------------


def test_filters(page: Page, faults: Matrix) -> None:
    page.open(faults)
    everything = page.rows
    page.choose("broken")
    assert page.rows == ["BoastfulVL"]
    page.choose("undeclared")
    assert page.rows == ["BoastfulVL", "ChosenVL", "LackingVL"]
    assert page.one("#count").text == "3 of 7 rows"
    page.choose("text")
    assert page.rows == []
    page.choose("wrapper")
    page.search("lack")
    assert page.rows == ["LackingVL"]
    page.one("button[type=reset]").click()
    page.driver.execute_async_script("setTimeout(arguments[0], 50)")
    assert page.rows == everything


@pytest.mark.parametrize(
    ("words", "left"),
    [
        ("sound", ["SoundVL"]),
        ("PLAIN", ["BareForCausalLM", "PlainForCausalLM", "PlainTextForCausalLM"]),
        ("wrappers.py vl", ["BoastfulVL", "ChosenVL", "LackingVL", "SoundVL"]),
        ("nothing like it", []),
    ],
)
def test_search(page: Page, faults: Matrix, words: str, left: list[str]) -> None:
    page.open(faults).search(words)
    assert page.rows == left


def test_contracts_are_columns_to_choose_and_verdicts_are_those_of_the_columns(page: Page, several: Matrix) -> None:
    page.open(several)
    assert [e.text.replace("\n", "") for e in page.all("thead button")] == ["SupportsEagle3"]
    page.one("summary").click()
    page.choose("SupportsPP")
    page.choose("SupportsEagle3")
    assert [e.text.replace("\n", "") for e in page.all("thead button")] == ["SupportsPP"]
    page.choose("unsupported")
    expected = [r.architecture for r in several.rows if r.cells["SupportsPP"].verdict == "unsupported"]
    assert page.rows == expected
    page.choose("SupportsPP")
    assert page.rows == []


# -- the keyboard ----------------------------------------------------------------------------------


def tab_to_the_table(page: Page) -> int:
    """Presses Tab until a cell has the focus; how often."""
    for presses in range(1, 40):
        page.press(Keys.TAB)
        if page.run("document.activeElement.closest('#table td, #table th') !== null"):
            return presses
    raise AssertionError("the table cannot be reached")


def test_the_table_is_one_stop_and_arrows_move_in_it(page: Page, faults: Matrix) -> None:
    page.open(faults)
    tab_to_the_table(page)
    assert page.place == ("BareForCausalLM", "SupportsEagle3")
    page.press(Keys.ARROW_DOWN, Keys.ARROW_DOWN)
    assert page.place[0] == "ChosenVL"
    page.press(Keys.ARROW_UP)
    assert page.place[0] == "BoastfulVL"
    page.press(Keys.ARROW_RIGHT, Keys.ARROW_LEFT)
    assert page.place[0] == "BoastfulVL"
    page.press(Keys.PAGE_DOWN)
    assert page.place[0] == "SoundVL"
    page.press(Keys.PAGE_UP)
    assert page.place[0] == "Architecture"
    page.press_with_control(Keys.END)
    assert page.place[0] == "SoundVL"
    page.press_with_control(Keys.HOME)
    assert page.place[0] == "Architecture"
    assert len(page.all("#table [tabindex='0']")) == 1
    page.press(Keys.TAB)
    assert page.run("document.activeElement.closest('#table') === null")


def test_arrows_pass_over_empty_cells_and_hidden_rows(page: Page, several: Matrix) -> None:
    page.open(replace(select(several, only=["works"]), leading=frozenset(c.name for c in several.contracts)))
    page.search("forcausallm")
    page.run("document.querySelector('tbody tr:not([hidden]) td button').focus()")
    for key in [Keys.ARROW_RIGHT] * 8 + [Keys.ARROW_DOWN] * 12 + [Keys.ARROW_LEFT] * 8 + [Keys.ARROW_UP] * 12:
        page.press(key)
        assert page.focused.tag_name == "button"
        assert page.focused.is_displayed()
    page.press(Keys.HOME)
    assert page.place[1] == page.all("thead button")[0].text.replace("\n", "")


def test_enter_opens_escape_closes_and_the_focus_returns(page: Page, faults: Matrix) -> None:
    page.open(faults)
    tab_to_the_table(page)
    page.press(Keys.ARROW_DOWN, Keys.ENTER)
    assert page.open_cell
    assert page.run("document.activeElement.closest('dialog') !== null")
    for _ in range(6):  # nothing behind the dialog can be reached
        page.press(Keys.TAB)
        assert page.run("document.activeElement === document.body || document.activeElement.closest('dialog') !== null")
    page.press(Keys.ESCAPE)
    page.until("location.hash === ''")
    assert not page.open_cell
    assert page.place == ("BoastfulVL", "SupportsEagle3")
    page.press(Keys.SPACE)
    assert page.open_cell
    page.one("#close").click()
    page.until("location.hash === ''")
    assert not page.open_cell
    assert page.place == ("BoastfulVL", "SupportsEagle3")


def test_the_focus_is_seen(page: Page, wide: Matrix) -> None:
    page.open(wide)
    tab_to_the_table(page)
    for key in (Keys.ARROW_DOWN, Keys.PAGE_DOWN, Keys.END, Keys.PAGE_UP, Keys.HOME, Keys.ARROW_UP):
        page.press(key)
        style = page.run(
            "(({outlineStyle, outlineWidth}) => [outlineStyle, outlineWidth])(getComputedStyle(document.activeElement))"
        )
        assert style == ["solid", "2px"]
        seen = page.run(
            "(() => { const box = document.activeElement.getBoundingClientRect();"
            "return [[box.left + 4, box.top + 4], [box.right - 4, box.bottom - 4]].every(([x, y]) =>"
            "  document.activeElement.contains(document.elementFromPoint(x, y))); })()"
        )
        assert seen, f"{page.place} is covered or out of sight"


def test_the_link_past_the_filters_leads_into_the_table(page: Page, faults: Matrix) -> None:
    page.open(faults)
    page.press(Keys.TAB)
    assert page.focused.text == "Skip to the table"
    page.press(Keys.ENTER)
    assert page.place == ("BareForCausalLM", "SupportsEagle3")


def test_roles_and_names(page: Page, several: Matrix) -> None:
    page.open(several)
    assert (page.one("#table").aria_role, page.one("#table").accessible_name) == ("grid", "Contracts of vLLM 0.33.0")
    assert page.one("tbody th").aria_role == "rowheader"
    assert page.one("thead th:last-child").aria_role == "columnheader"
    assert page.one("tbody td").aria_role == "gridcell"
    assert (page.one("tbody td button").aria_role, page.one("tbody td button").accessible_name) == ("button", "works")
    assert page.one("#search").accessible_name == "Search"
    assert page.one("#count").aria_role == "status"
    assert [e.accessible_name for e in page.all("form fieldset")][:2] == ["Verdict", "Role"]
    page.one("tbody td button").click()
    dialog = page.one("dialog")
    assert dialog.aria_role == "dialog"
    assert dialog.accessible_name.replace(" ", "") == "AlphaForCausalLM:SupportsEagle3"
    assert page.one("#close").accessible_name == "Close"
    marks = {e.accessible_name for e in page.all("#body li .mark")}
    assert marks == {"holds"}


# -- a cell ----------------------------------------------------------------------------------------


def test_a_cell_shows_its_chain_with_the_gates_first(page: Page, faults: Matrix) -> None:
    page.open(faults)
    page.one("td.undeclared button").click()
    items = [e.text.replace("\n", " ") for e in page.all("#body ol li")]
    kinds = [item.split()[1] for item in items]
    assert kinds[:3] == ["gate:", "check:", "inner:"]
    assert items[0].startswith("✓ gate: asks the outer model: supports_eagle3(self.get_model()), else ")
    assert items[0].endswith("vllm/v1/runner.py:6")
    assert items[1].startswith("✗ check: ChosenVL fails supports_eagle3")
    assert items[1].endswith(f"{WRAPPERS}:39")
    body = page.one("#body").text
    assert "VC001 undeclared-support (warning, config-dependent)" in body
    assert "the inner model may support it, this class does not declare it" in body
    assert page.all("#body a") == []


def test_a_column_shows_its_contract(page: Page, faults: Matrix) -> None:
    page.open(faults)
    page.one("thead button").click()
    assert page.one("#title").text == "SupportsEagle3"
    body = page.one("#body").text
    assert "supports_eagle3" in body
    assert "vllm/v1/runner.py:9" in body


def test_places_are_links_where_there_is_a_template(page: Page, faults: Matrix) -> None:
    page.open(faults, LinkTemplate("https://example.org/{path}?line={line}"))
    page.one("td.undeclared button").click()
    addresses = {link.get_attribute("href") for link in page.all("#body a")}
    assert f"https://example.org/{WRAPPERS}?line=39" in addresses
    assert all(link.get_attribute("rel") == "noopener noreferrer" for link in page.all("#body a"))


def test_a_cell_has_an_address(page: Page, several: Matrix) -> None:
    page.open(several)
    page.all("td button")[-1].click()
    address = page.run("location.hash")
    assert address == "#ZetaForCausalLM%20%5Bnvidia%5D/SupportsEagle3"
    page.press(Keys.ESCAPE)
    page.until("location.hash === ''")
    page.open(several, address="#ZetaForCausalLM%20%5Bnvidia%5D/SupportsPP")
    assert page.open_cell
    assert page.one("#title").text == "ZetaForCausalLM [nvidia]: SupportsPP"
    page.open(several, address="#Nothing/SupportsPP")
    assert not page.open_cell


# -- how it looks ----------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_only_the_table_scrolls_sideways_and_its_first_column_stays(
    page: Page, wide: Matrix, size: tuple[int, int]
) -> None:
    resize(page.driver, size)
    page.open(wide)
    overflow = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
    assert page.run(overflow) == 0
    assert page.run("(box => box.scrollWidth > box.clientWidth)(document.getElementById('scroll'))")
    left = "document.querySelector('tbody th').getBoundingClientRect().left"
    before = page.run(left)
    page.run("document.getElementById('scroll').scrollTo(600, 300)")
    assert page.run("document.getElementById('scroll').scrollLeft") == 600
    assert page.run(left) == before
    width = page.run("document.querySelector('tbody th').offsetWidth / innerWidth")
    assert isinstance(width, float)
    assert width < 0.55
    top = "(id => document.querySelector(id).getBoundingClientRect().top)"
    assert page.run(f"Math.abs({top}('thead th') - {top}('#scroll')) < 2")
    page.run("document.querySelector('summary').click()")
    assert page.run(overflow) == 0
    page.run("document.querySelector('td button').click()")
    assert page.run("(box => box.scrollWidth - box.clientWidth)(document.querySelector('dialog'))") == 0
    assert page.run(overflow) == 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_can_be_read_in_light_and_dark(page: Page, faults: Matrix, several: Matrix, scheme: str) -> None:
    prefer(page.driver, scheme)
    first = faults.rows[0]
    cell = first.cells["SupportsEagle3"]
    others = [
        replace(first, architecture=verdict, cells={"SupportsEagle3": replace(cell, verdict=verdict)})
        for verdict in ("config-dependent", "unknown", "not-asked")
    ]
    page.open(replace(faults, rows=(*faults.rows, *others)), LinkTemplate("https://example.org/{path}"))
    page.one("summary").click()
    seen = contrasts(page.driver)
    page.one("td.broken button").click()
    seen += contrasts(page.driver, "dialog *")
    poor = sorted({(text, round(ratio, 2)) for text, ratio in seen if ratio < AA})
    assert not poor
    texts = {text.lstrip("✓✗!·~?–") for text, _ in seen}
    assert set(CELL_VERDICTS) <= texts
    assert len(seen) > 60
    back = page.run("getComputedStyle(document.body).backgroundColor")
    assert isinstance(back, str)
    assert (sum(map(int, back[4:-1].split(","))) > 380) is (scheme == "light")
