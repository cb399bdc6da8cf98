"""The page in a real browser: every view drawn, no error, no request, by keyboard, on paper."""

from __future__ import annotations

import json
import shutil

import pytest

from mbench.reports import html as html_report

pytestmark = pytest.mark.extras
# Collected, though not run, where the extras are not.
sync_playwright = pytest.importorskip("playwright.sync_api").sync_playwright

SIZES = {"desktop": (1200, 900), "phone": (375, 700)}


@pytest.fixture(scope="module")
def browser():
    path = shutil.which("chromium") or shutil.which("chromium-browser")
    assert path, "these tests need Chromium: apt-get install chromium"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def visit(browser, tmp_path):
    """Opens a page; whatever it complains of or asks for fails the test."""
    contexts, complaints = [], []

    def visit(text, *, size="desktop", **options):
        path = tmp_path / f"page{len(contexts)}.html"
        path.write_text(text, encoding="utf-8", errors="replace")
        width, height = SIZES[size]
        context = browser.new_context(viewport={"width": width, "height": height}, **options)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("dialog", lambda dialog: complaints.append(dialog.message))
        page.on("request", lambda r: r.url == path.as_uri() or complaints.append(r.url))
        page.goto(path.as_uri())
        return page

    yield visit
    for context in contexts:
        context.close()
    assert complaints == []


@pytest.fixture
def rich(document, proven):
    """Training and inference, three batch sizes, two precisions, one framework out of memory."""
    steady = [[1.0, 1.1], [1.02, 1.0], [1.0, 1.05]]
    quick = [[0.5 * seconds for seconds in process] for process in steady]
    made = document(
        seconds={"tiny": steady, "flaky": quick, "tiny==1": [[3.0]]},
        single={"tiny": [*map(float, range(1, 200))], "flaky": [*map(float, range(1, 50))]},
        mode=("train", "inference"), batch_size=(2, 4, 8), precision=("fp32", "bf16"),
        proofs={"tiny": proven.yes, "flaky": proven.yes},
        system={"cpu": "EPYC", "hostname": "here", "usable_cores": 2, "gpus": []},
    )  # fmt: skip
    for case in made["cases"]:
        case["mfu"] = 0.4
        case["energy"] = {"joules_per_sample": 2.5, "mean_watts": 50.0, "source": "made up"}
    return made


def scroll_through(page):
    """As a reader would, so that every chart comes into sight."""
    height = page.evaluate("document.documentElement.scrollHeight")
    for top in range(0, height + 800, 600):
        page.evaluate("top => window.scrollTo(0, top)", top)
        page.wait_for_timeout(30)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_view_renders_with_data(visit, rich, size, scheme):
    page = visit(html_report.render(rich), size=size, color_scheme=scheme)
    for fold in page.query_selector_all("details"):
        fold.evaluate("fold => fold.open = true")
    charts = page.query_selector_all(".chart")
    assert len(charts) > 30
    for chart in charts:
        chart.scroll_into_view_if_needed()
        chart.wait_for_selector("svg")
        marks = chart.evaluate("c => c.querySelectorAll('circle, path, rect, line').length")
        assert marks > 3, chart.get_attribute("aria-label")
    names = {heading.inner_text() for heading in page.query_selector_all("h2")}
    assert names >= {
        "How much faster", "Throughput", "Latency", "Mixed precision and compilers",
        "Model FLOPs utilisation", "Peak memory", "First step", "Energy", "Every round",
        "Equal work", "What differs between the frameworks", "The machine", "Environments",
        "How to repeat it",
    }  # fmt: skip
    width = page.evaluate("document.documentElement.scrollWidth")
    assert width <= SIZES[size][0], "nothing lies beside the page"


def test_marks_have_places_on_the_page(visit, full):
    page = visit(html_report.render(full))
    page.wait_for_selector(".chart svg")
    broken = page.evaluate(
        "[...document.querySelectorAll('.chart svg *')].filter(mark => "
        "[...mark.attributes].some(a => a.value.includes('NaN'))).length"
    )
    assert broken == 0


def test_labels_and_tables_are_reached_by_keyboard(visit, full):
    page = visit(html_report.render(full))
    wanted = page.evaluate(
        "[...document.querySelectorAll('a, summary, .table, pre')].filter(e => "
        "e.checkVisibility()).map(e => e.textContent)"
    )
    reached = []
    for _ in range(len(wanted) + 2):
        page.keyboard.press("Tab")
        reached.append(page.evaluate("document.activeElement.textContent"))
    assert set(wanted) <= set(reached)
    summary = page.locator("summary").first
    summary.focus()
    page.keyboard.press("Enter")
    assert summary.locator("..").evaluate("fold => fold.open")
    assert page.evaluate(
        "[...document.querySelectorAll('.table')].every(t => t.getAttribute('aria-label'))"
    )


def test_the_page_prints_with_everything_open(visit, full, tmp_path):
    page = visit(html_report.render(full))
    pdf = page.pdf(path=tmp_path / "page.pdf", format="A4")
    assert pdf.startswith(b"%PDF")
    assert page.evaluate("[...document.querySelectorAll('details')].every(fold => fold.open)")
    assert page.evaluate("[...document.querySelectorAll('.chart')].every(c => c.firstChild)")


def test_a_hostile_run_shows_as_text(visit, hostile, harm):
    harm += '"><img src=x onerror=alert(1)><svg onload=alert(2)></script><script>alert(3)</script>'
    text = json.dumps(hostile)
    for name in ("label", "framework_title", "reason", "version", "model", "compiler", "precision"):
        for case in hostile["cases"]:
            case[name] = harm
    hostile["system"] = {"cpu": harm, "gpus": [{harm: harm}], "hostname": "x" * 50_000}
    hostile["protocol"] = {harm: [harm, {}, None, 10**15, ""]}
    hostile["command"] = [harm, ""]
    assert text != json.dumps(hostile)
    page = visit(html_report.render(hostile))
    scroll_through(page)
    assert page.query_selector("img") is None
    assert len(page.query_selector_all("script")) == 4
    shown = page.inner_text("body")
    assert "<script>alert(3)</script>" in shown
    assert "onerror=alert(1)" in shown
    assert page.query_selector(".chart svg") is not None


def test_the_page_is_usable_without_scripts(visit, full):
    page = visit(html_report.render(full), java_script_enabled=False)
    assert page.locator("table").first.is_visible()
    assert page.locator("h1").is_visible()
