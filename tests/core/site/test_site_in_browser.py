"""The site in a real browser: wide and narrow, light and dark, and links that hold a choice."""

from __future__ import annotations

import shutil

import pytest
from site_runs import QUICK, SLOW, STEADY

from mbench.site.build import build

pytestmark = pytest.mark.extras
# Collected, though not run, where the extras are not.
sync_playwright = pytest.importorskip("playwright.sync_api").sync_playwright

SIZES = {"desktop": (1280, 900), "tablet": (800, 900), "phone": (390, 844)}


@pytest.fixture(scope="module")
def browser():
    path = shutil.which("chromium") or shutil.which("chromium-browser")
    assert path, "these tests need Chromium: apt-get install chromium"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def folder(made, tmp_path):
    """Three frameworks on two machines, and two runs of one of them."""
    harm = "<img src=x onerror=alert(1)>"
    three = {"tiny": STEADY, "flaky": QUICK, "tiny==1.26": SLOW}
    made(seconds=three, started="2026-01-02T15:04:00+00:00", mode=("train", "inference"))
    made(seconds=three, started="2026-01-03T15:04:00+00:00", mode=("train", "inference"))
    made(proofs={}, system={"hostname": f"other {harm}"}, started="2026-01-04T15:04:00+00:00")
    build([tmp_path / "results"], tmp_path / "site", title="Ours")
    return tmp_path / "site"


@pytest.fixture
def visit(browser, folder):
    """Opens a page of the site; whatever it complains of, or asks for elsewhere, fails the test."""
    contexts, complaints = [], []

    def visit(name="index.html", *, size="desktop", **options):
        width, height = SIZES[size]
        context = browser.new_context(viewport={"width": width, "height": height}, **options)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("dialog", lambda dialog: complaints.append(dialog.message))
        page.on("request", lambda r: r.url.startswith(folder.as_uri()) or complaints.append(r.url))
        page.goto(f"{folder.as_uri()}/{name}")
        return page

    yield visit
    for context in contexts:
        context.close()
    assert complaints == []


def pages(folder):
    return [path.relative_to(folder).as_posix() for path in sorted(folder.rglob("*.html"))]


@pytest.mark.parametrize("size", SIZES)
def test_every_page_fits_its_screen_and_draws_its_charts(visit, folder, size):
    for name in pages(folder):
        page = visit(name, size=size, color_scheme="dark")
        assert page.evaluate("document.documentElement.scrollWidth") <= SIZES[size][0], name
        charts = page.evaluate(
            "[...document.querySelectorAll('.chart')].filter(c => c.checkVisibility())"
            ".map(c => c.querySelectorAll('svg').length)"
        )
        assert set(charts) <= {1}, name
        assert charts or not name.startswith("runs/")


def shown(page):
    return page.locator(".matrix tbody tr:visible").count()


def test_the_link_holds_the_choice(visit):
    page = visit()
    assert shown(page) == 3
    page.locator("select[name=mode]").select_option("inference")
    page.get_by_label("Flaky").uncheck()
    assert shown(page) == 1
    assert page.locator("th:visible").count() == 4
    assert page.url.endswith("#mode=inference&without=flaky")
    again = visit(page.url.rpartition("/")[2])
    assert shown(again) == 1
    assert again.locator("select[name=mode]").input_value() == "inference"
    again.get_by_role("button", name="Show all").click()
    again.wait_for_function("!location.hash")
    assert shown(again) == 3


@pytest.mark.parametrize(
    "choice", ["mode=nonsense&x=%3Cscript%3E", "days=-1", "without=a&=&&&", "%"]
)
def test_a_link_of_somebody_else_does_no_harm(visit, choice):
    assert shown(visit(f"index.html#{choice}")) == 3


def test_answers_and_days_are_filters(visit):
    page = visit()
    page.get_by_label("answers only").check()
    assert shown(page) == 2
    page.get_by_label("answers only").uncheck()
    page.locator("select[name=days]").select_option("30")
    assert shown(page) == 0, "the runs are of another time"


def test_tables_need_no_scripts(visit):
    page = visit(java_script_enabled=False)
    assert shown(page) == 3
    assert not page.locator("form").is_visible()
    page = visit("models/tiny-model.html", java_script_enabled=False)
    assert page.locator("table").first.is_visible()


def test_paper_has_the_table_and_no_form(visit):
    page = visit()
    page.emulate_media(media="print")
    assert page.locator(".matrix table").is_visible()
    assert not page.locator("form").is_visible()
