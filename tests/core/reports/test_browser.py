"""The page in a real browser: wide and narrow, light and dark, printed, by keyboard and aloud."""

from __future__ import annotations

import base64
import itertools
import re
from dataclasses import replace

import pytest
from cases import make_case
from summaries import disturbed, with_case
from support.browser import SIZES, chromium, visits

from mbench.reports import html as html_report
from mbench.results.facts import EnvironmentRecord
from mbench.results.figures import Figure
from mbench.results.history import History, Point
from mbench.results.machine import Energy

pytestmark = pytest.mark.extras
# Pairs of labels whose boxes overlap by more than 1 pixel across and 3 pixels down.
OVERLAPS = """() => [...document.querySelectorAll('.chart svg')].flatMap(svg => {
    const boxes = [...svg.querySelectorAll('text')].filter(text => text.textContent.trim())
        .map(text => [text.textContent, text.getBoundingClientRect()]);
    return boxes.flatMap(([one, a], at) => boxes.slice(at + 1).filter(([, b]) =>
        Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1 &&
        Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 3).map(([other]) => [one, other]));
})"""
# The number of colours that a picture has at each chart's place.
COLOURS = """async ([picture, places]) => {
    const image = new Image();
    image.src = picture;
    await image.decode();
    const canvas = new OffscreenCanvas(image.width, image.height)
        .getContext('2d', { willReadFrequently: true });
    canvas.drawImage(image, 0, 0);
    return places.map(([x, y, width, height]) => {
        const { data } = canvas.getImageData(x, y, width, height);
        return new Set(new Uint32Array(data.buffer)).size;
    });
}"""
# Colours of text and of charts that have too little contrast with the page.
CONTRASTS = """() => {
    const probe = document.body.appendChild(document.createElement('i'));
    const light = colour => {
        probe.style.color = colour;
        const parts = getComputedStyle(probe).color.match(/[0-9.]+/g).slice(0, 3).map(part => {
            const share = part / 255;
            return share <= .04045 ? share / 12.92 : ((share + .055) / 1.055) ** 2.4;
        });
        return .2126 * parts[0] + .7152 * parts[1] + .0722 * parts[2] + .05;
    };
    const between = (one, other) => {
        const [low, high] = [light(one), light(other)].sort((a, b) => a - b);
        return high / low;
    };
    const page = 'var(--page)';
    const text = ['--ink', '--soft', '--link', '--good', '--bad', '--caution']
        .map(n => [n, `var(${n})`, page, 4.5]);
    const marks = [0, 1, 2, 3, 4, 5, 6, 7].map(n => [`--s${n}`, `var(--s${n})`, page, 3]);
    return [...text, ...marks].filter(([, a, b, least]) => between(a, b) < least)
        .map(([n]) => n);
}"""


@pytest.fixture(scope="module")
def browser():
    with chromium() as browser:
        yield browser


@pytest.fixture
def visit(browser, tmp_path):
    """A function that opens a page, given as text; the page must not load anything else."""
    count = itertools.count()
    with visits(browser, tmp_path.as_uri()) as opened:

        def visit(text, **options):
            path = tmp_path / f"page{next(count)}.html"
            path.write_text(text, encoding="utf-8", errors="replace")
            return opened(path.as_uri(), **options)

        yield visit


@pytest.fixture
def rich(summary, proven):
    """Training and inference, three batch sizes, two precisions, one framework of one process."""
    steady = [[1.0, 1.1], [1.02, 1.0], [1.0, 1.05]]
    quick = [[0.5 * seconds for seconds in process] for process in steady]
    made = summary(
        seconds={"tiny": steady, "flaky": quick, "tiny==1": [[3.0]]},
        single={"tiny": [*map(float, range(1, 200))], "flaky": [*map(float, range(1, 50))]},
        mode=("train", "inference"), batch_size=(2, 4, 8), precision=("fp32", "bf16"),
        proofs={"tiny": proven.yes, "flaky": proven.yes},
        system={"cpu": "EPYC", "hostname": "here", "usable_cores": 2, "gpus": []},
    )  # fmt: skip
    energy = Energy(joules_per_sample=2.5, mean_watts=50.0, source="made up")
    return with_case(made, mfu=0.4, energy=energy)


def unfold(page):
    page.evaluate("document.querySelectorAll('details').forEach(fold => { fold.open = true })")
    page.wait_for_function("[...document.querySelectorAll('.chart')].every(c => c.firstChild)")


@pytest.fixture
def single(summary, proven):
    """One comparison of two frameworks, disturbed, with many packages and a long command."""
    seconds = {"tiny": [[1.0, 1.1], [1.02, 1.0], [1.0, 1.05]], "flaky": [[0.5, 0.55]] * 3}
    made = summary(seconds=seconds, proofs={"tiny": proven.yes, "flaky": proven.yes})
    found = [disturbed("other processes used {:.1f} of 2 cores", 1.3),
             disturbed("the hypervisor took {:.1f} of 2 cores", 0.4)]  # fmt: skip
    for at, case in enumerate(made.cases):
        environment = EnvironmentRecord(
            python=f"/home/somebody/environments/{case.label}-py3.11/bin/python",
            python_version="3.11.7", managed=True, digest="f" * 64,
            packages={f"a-package-{number}": f"1.{number}.0" for number in range(50)},
        )  # fmt: skip
        made = with_case(made, at, mfu=0.4, environment=environment, disturbances=found)
    command = ["mbench", "compare", *[f"--option-{at} value" for at in range(20)]]
    return replace(made, command=command)


@pytest.mark.parametrize("size", SIZES)
def test_every_view_renders_with_data(visit, rich, size):
    page = visit(html_report.render(rich), size=size)
    unfold(page)
    marks = page.evaluate(
        "[...document.querySelectorAll('.chart')].map(c => "
        "c.querySelectorAll('svg :is(circle, path, rect, line)').length)"
    )
    assert len(marks) > 30
    assert min(marks) > 3
    names = {heading.inner_text() for heading in page.query_selector_all("h2")}
    assert names >= {
        "How much faster", "Throughput", "Latency", "Mixed precision and compilers",
        "Peak memory, first step, FLOPs utilisation, energy", "Every round", "Equal work",
        "What differs between the frameworks", "Machine and environments", "How to repeat it",
    }  # fmt: skip
    assert page.evaluate(OVERLAPS) == []
    assert page.evaluate("document.body.scrollWidth") <= SIZES[size][0]
    beyond = page.evaluate(
        "[...document.querySelectorAll('.table')].filter(t => t.scrollWidth > t.clientWidth)"
        ".map(t => t.getAttribute('aria-label'))"
    )
    assert beyond == [], "every table fits here"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_colours_stand_out(visit, full, scheme):
    page = visit(html_report.render(full), color_scheme=scheme)
    assert page.evaluate(CONTRASTS) == []


def test_a_picture_of_the_whole_page_has_every_chart(visit, full):
    page = visit(html_report.render(full))
    places = page.evaluate(
        "[...document.querySelectorAll('.chart')].filter(c => c.checkVisibility()).map(c => "
        "[c.offsetLeft, c.offsetTop, c.clientWidth, c.clientHeight])"
    )
    picture = base64.b64encode(page.screenshot(full_page=True)).decode()
    found = page.evaluate(COLOURS, [f"data:image/png;base64,{picture}", places])
    assert len(found) > 5
    assert min(found) > 5


@pytest.mark.parametrize("name", ["single", "full"])
def test_a_phone_shows_the_answer_its_chart_and_the_proof_first(visit, request, name):
    page = visit(html_report.render(request.getfixturevalue(name)), size="phone")
    for seen in (page.locator("h1"), page.locator(".chart").first, page.locator(".chips li").first):
        box = seen.bounding_box()
        assert box["y"] + box["height"] < SIZES["phone"][1]


def test_dots_tell_their_values(visit, full):
    page = visit(html_report.render(full))
    chart = page.locator(".chart").first
    dot = chart.locator("[aria-label=dot] > *").first.bounding_box()
    page.mouse.move(dot["x"] + dot["width"] / 2, dot["y"] + dot["height"] / 2)
    said = chart.locator("[aria-label=tip] text").text_content()
    assert "Flaky" in said
    assert "one process: 0.6" in said


@pytest.mark.parametrize("clipboard", [True, False])
def test_the_command_is_copied(visit, single, clipboard):
    page = visit(html_report.render(single), permissions=["clipboard-read", "clipboard-write"])
    if not clipboard:
        page.evaluate("() => { navigator.clipboard.writeText = () => Promise.reject() }")
    page.get_by_role("button", name="Copy").click()
    page.get_by_role("button", name="Copied").wait_for()
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied.startswith("mbench compare '--option-0 value' ")
    assert copied == page.locator("code").text_content()


def test_the_time_axis_fits_its_span(visit):
    def labels(*started):
        points = [{"time": at, "version": "1.0+cpu", "value": 1.0, "low": None, "high": None}
                  for at in started]  # fmt: skip
        page = visit(html_report.page([], history=history_of(points)), size="phone")
        assert page.evaluate(OVERLAPS) == []
        return page.locator("[aria-label='x-axis tick label'] text").all_text_contents()

    assert labels("2026-01-02T13:28:00Z", "2026-01-02T13:31:00Z") == ["13:28:00", "13:31:00"]
    assert labels("2026-01-02T13:28:00Z", "2026-01-02T19:31:00Z") == ["13:28", "19:31"]
    assert labels("2026-01-02T13:28:00Z", "2026-07-02T19:31:00Z") == ["2026-01-02", "2026-07-02"]
    many = labels(*(f"2026-01-{day:02}T10:00:00Z" for day in range(1, 31)))
    assert 1 < len(many) < 5
    assert all(re.fullmatch(r"2026-01-\d\d", label) for label in many)


def history_of(points):
    """A history with a run for each of `points`, which say what a chart shows of it."""
    return History(
        points=[
            Point(
                run="r", started=point["time"], version=point["version"], label="tiny",
                framework="tiny", protocol="adaptive", host="here", cpu="made-up",
                axes=make_case(model="m"), change=None,
                figure=Figure(value=point["value"], low=None, high=None, unit="samples/s",
                                  processes=[point["value"]]),
            )
            for point in points
        ]
    )  # fmt: skip


def test_marks_have_places_on_the_page(visit, full):
    page = visit(html_report.render(full))
    unfold(page)
    broken = page.evaluate(
        "[...document.querySelectorAll('.chart svg *')].filter(mark => "
        "[...mark.attributes].some(a => a.value.includes('NaN'))).length"
    )
    assert broken == 0


def test_labels_and_tables_are_reached_by_keyboard(visit, full):
    page = visit(html_report.render(full))
    wanted = page.evaluate(
        "[...document.querySelectorAll('a, summary, .table, pre, button')].filter(e => "
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


def test_a_phone_reads_tables_aloud_as_tables(visit, single):
    """Cells that are stacked on a phone are still cells of a table to a screen reader."""
    page = visit(html_report.render(single), size="phone")
    tree = page.context.new_cdp_session(page).send("Accessibility.getFullAXTree")["nodes"]
    roles = {}
    for node in tree:
        if not node.get("ignored"):
            name = node.get("name", {}).get("value", "")
            roles.setdefault(node["role"]["value"], []).append(name)
    assert "Ratios of throughput" in roles["table"]
    assert len(roles["row"]) > 10
    assert {"ratio", "baseline", "95 % interval"} <= set(roles["columnheader"])
    assert "Copy" in roles["button"]
    assert all(name.endswith("The table has the numbers.") for name in roles["image"])


def test_one_comparison_prints_on_four_pages(visit, single, tmp_path):
    page = visit(html_report.render(single))
    shut = page.locator("details:not([open])").count()
    assert shut > 3
    page.evaluate("""addEventListener('beforeprint', () => { window.printed = [
        [...document.querySelectorAll('details')].every(fold => fold.open),
        [...document.querySelectorAll('.chart')].every(chart => chart.firstChild)] })""")
    pdf = page.pdf(path=tmp_path / "page.pdf", format="A4")
    assert len(re.findall(rb"/Type\s*/Page\b", pdf)) <= 4
    assert page.evaluate("window.printed") == [True, True]
    assert page.locator("details:not([open])").count() == shut
    page.emulate_media(media="print")
    for what, style in (("h2, h3, .lead", "breakAfter"), ("table, .charts > div", "breakInside")):
        found = page.evaluate(
            "([what, style]) => [...document.querySelectorAll(what)].map(e => "
            "getComputedStyle(e)[style])", [what, style],
        )  # fmt: skip
        assert set(found) == {"avoid"}


def test_a_hostile_run_shows_as_text(visit, hostile, harm):
    harm += '"><img src=x onerror=alert(1)><svg onload=alert(2)></script><script>alert(3)</script>'
    hostile = with_case(
        hostile, model=harm, compiler=harm, precision=harm, label=harm, framework_title=harm,
        reason=harm, version=harm,
    )  # fmt: skip
    system = replace(hostile.system, cpu=harm, gpus=[{harm: harm}], hostname="x" * 50_000)
    hostile = replace(hostile, system=system, command=[harm, ""])
    page = visit(html_report.render(hostile))
    unfold(page)
    assert page.query_selector("img") is None
    assert len(page.query_selector_all("script")) == 5
    shown = page.inner_text("body")
    assert "<script>alert(3)</script>" in shown
    assert "onerror=alert(1)" in shown
    assert page.query_selector(".chart svg") is not None


def test_the_page_is_usable_without_scripts(visit, full):
    page = visit(html_report.render(full), java_script_enabled=False)
    assert page.locator("table").first.is_visible()
    assert page.locator("h1").is_visible()
    assert not page.locator("button").is_visible()
