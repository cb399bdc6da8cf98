"""The site in a real browser: wide and narrow, light and dark, and links that hold a choice."""

from __future__ import annotations

import pytest
from site_runs import QUICK, SLOW, STEADY
from support.browser import SIZES, chromium, visits

from mbench.site.build import build

pytestmark = pytest.mark.extras


@pytest.fixture(scope="module")
def browser():
    with chromium() as browser:
        yield browser


@pytest.fixture
def folder(made, tmp_path):
    """A site with three frameworks on two machines, one of which has two runs."""
    harm = "<img src=x onerror=alert(1)>"
    three = {"tiny": STEADY, "flaky": QUICK, "tiny==1.26": SLOW}
    made(seconds=three, started="2026-01-02T15:04:00+00:00", mode=("train", "inference"))
    made(seconds=three, started="2026-01-03T15:04:00+00:00", mode=("train", "inference"))
    made(proofs={}, system={"hostname": f"other {harm}"}, started="2026-01-04T15:04:00+00:00")
    build([tmp_path / "results"], tmp_path / "site", title="Ours")
    return tmp_path / "site"


@pytest.fixture
def visit(browser, folder):
    """Opens a page of the site, which may request nothing but the site's own files."""
    with visits(browser, folder.as_uri()) as opened:
        yield lambda name="index.html", **options: opened(f"{folder.as_uri()}/{name}", **options)


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
