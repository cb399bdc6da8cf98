"""The page as text: it has the numbers of the other reports, and obeys nothing in a run's file."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest
from cases import make_case
from click.testing import CliRunner
from summaries import disturbed, with_case

import mbench
from mbench.api.result import Result
from mbench.cli.main import group
from mbench.reports import html as html_report
from mbench.reports.cases import case_table
from mbench.reports.html import facts
from mbench.reports.text import interval, number
from mbench.results.figures import Figure
from mbench.results.gate import INCONCLUSIVE, Gate
from mbench.results.history import History, Point
from mbench.spec.adaptive import Adaptive


class Reader(HTMLParser):
    """Collects the elements of a page, their text, and the rows of all tables."""

    def __init__(self, page):
        super().__init__()
        self.elements, self.rows, self.ids, self.links = [], [], [], []
        self.text = {}
        self.open = []
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")
        self.ids += [value for name, value in attributes if name == "id"]
        self.links += [value for name, value in attributes if name == "href"]

    def handle_endtag(self, tag):
        while self.open and self.open.pop() != tag:
            pass

    def handle_data(self, data):
        if self.open:
            self.text.setdefault(self.open[-1], []).append(data)
            if self.open[-1] in ("td", "th"):
                self.rows[-1][-1] += data


def point(day, processes, low=None, high=None):
    """A point of a history."""
    return Point(
        run=f"run{day}", started=f"2026-01-0{day + 1}T10:00:00+00:00", version="1",
        label="tiny", framework="tiny", protocol="adaptive", host="here", cpu="made-up",
        axes=make_case(model="m"), change=None,
        figure=Figure(value=10.0, low=low, high=high, unit="samples/s", processes=processes),
    )  # fmt: skip


def scripts(page):
    return re.findall(r"<script>(.*?)</script>", page, re.DOTALL)


def test_the_page_says_the_numbers_of_the_other_reports(full):
    read = Reader(html_report.render(full))
    cells = [cell for row in read.rows for cell in row]
    for one, row in zip(full.cases, case_table(full).rows, strict=True):
        if one.outcome == "ok":
            assert row[8].split()[0] in cells
            assert row[9] in cells
            assert row[10] in cells
            assert number(one.peak_memory_bytes / 2**20) in cells
        else:
            assert f"{one.outcome}: {one.reason}" in cells
    for pair in full.comparisons:
        assert number(pair.ratio) in cells
        assert interval(pair.low, pair.high) in cells
    rounds = {number(value) for one in full.cases if one.throughput
              for process in one.throughput.rounds for value in process}  # fmt: skip
    assert rounds <= {word for cell in cells for word in cell.split()}


def test_every_chart_has_its_data_and_a_table(full):
    page = html_report.render(full)
    data = json.loads(re.search(r'id="charts">(.*?)</script>', page, re.DOTALL)[1])
    places = [at for tag, at in Reader(page).elements if at.get("class") == "chart"]
    assert len(places) == len(data["charts"]) > 5
    assert all(place["role"] == "img" and place["aria-label"] for place in places)
    figures = [f for f in re.findall(r"<figure>(.*?)</figure>", page, re.DOTALL) if "chart" in f]
    assert figures
    assert all("<table>" in figure for figure in figures)


def test_a_percentile_that_lacks_says_why(full):
    read = Reader(html_report.render(full))
    assert full.cases[0].step_time_ms.lacking["p99"] == "needs 100 steps, but there are only 20"
    assert any("p99 needs 100 steps, but there are only 20" in text for text in read.text["li"])
    (latency,) = [row for row in read.rows if row[-2:] == ["-", "-"]]
    assert latency[0] == "Tiny"


COMMAND = [
    "mbench", "compare", "--frameworks", "tiny@/home/me/bin/python,flaky==1",
    "--results", "/home/me/results", "--output=/home/me/x.html", "--models", "a b", "--until", "2%",
]  # fmt: skip


def test_the_command_to_repeat_names_no_folder_of_whoever_ran_it(full):
    page = html_report.render(replace(full, command=COMMAND))
    section = page[page.index("How to repeat it</h2>") :]
    words = re.findall(r'<span class="whole">(.*?)</span>', section.split("<code>")[1])
    said = "mbench compare --frameworks tiny,flaky==1 --models 'a b' --until 2%"
    assert html.unescape(" ".join(words)) == said
    assert "paths of the author" in section
    own = replace(full, command=COMMAND[:2])
    assert "paths of the author" not in html_report.render(own)


def test_what_labels_tell_is_not_said_beside_them(summary):
    arms = ("tiny", "tiny:fp64:X=1", "flaky:steady")
    page = html_report.render(summary(seconds=dict.fromkeys(arms, SECONDS["tiny"])))
    assert ">Tiny:fp64:X=1</td>" in page
    assert not re.findall("<h3>[^<]*(?:fp64|X=1)", page), "all are in one figure"


def test_disturbances_are_a_table(full):
    load = disturbed("other processes used {:.1f} of 2 cores", 1.3, share=0.81)
    rows = Reader(html_report.render(with_case(full, 0, disturbances=[load]))).rows
    assert ["Tiny", "other processes used 1.3 of 2 cores", "81 %"] in rows


def test_what_all_cases_share_is_said_once(full):
    heads = [
        row for row in Reader(html_report.render(full)).rows if row[0] in ("case", "framework")
    ]
    assert len(heads) > 3
    assert not any({"batch", "precision", "case"} & set(row) for row in heads)


def test_history_says_why_a_point_has_no_interval():
    points = [point(0, [10.0]), point(1, [10.0, 11.0, 10.5], low=9.0, high=12.0)]
    page = html_report.page([], history=History(points=points))
    read = Reader(page)
    (column,) = {row.index("95 % interval") for row in read.rows if "95 % interval" in row}
    assert [row[column] for row in read.rows[1:]] == ["none: 1 process", "9 .. 12"]
    assert "No interval for 1 of 2 points: an interval needs 3 processes" in page


def test_links_within_the_page_lead_somewhere(full):
    read = Reader(html_report.page([full, full]))
    assert len(read.ids) == len(set(read.ids))
    targets = [link for link in read.links if link.startswith("#")]
    assert len(targets) > 10
    assert {target[1:] for target in targets} <= set(read.ids)


def test_a_state_leads_to_its_details(full, summary):
    assert '<a href="#run1-proof">equal work</a>' in html_report.render(full)
    assert "#run1-proof" not in html_report.render(summary(seconds=SECONDS))


def test_nothing_is_fetched_and_nothing_runs_but_ours(full):
    page = html_report.render(full)
    read = Reader(page)
    assert not any("src" in attributes for _, attributes in read.elements)
    assert {link for link in read.links if not link.startswith("#")} == {"data:,"}
    digests = [
        base64.b64encode(hashlib.sha256(s.encode()).digest()).decode() for s in scripts(page)
    ]
    assert len(digests) == 4
    policy = next(at["content"] for _, at in read.elements if at.get("http-equiv"))
    assert policy.startswith("default-src 'none'; ")
    assert re.findall(r"sha256-([^']+)", policy) == digests


def test_hostile_text_is_shown_as_text(hostile, harm):
    system = replace(hostile.system, cpu=harm, hostname=harm, gpus=[{"name": harm}])
    page = html_report.render(replace(hostile, system=system, command=["mbench", harm]))
    read = Reader(page)
    assert sum(tag == "script" for tag, _ in read.elements) == 5
    assert "<script>alert" not in page
    cells = [cell for row in read.rows for cell in row]
    assert sum(harm in cell for cell in cells) > 5
    assert not any(name.startswith("on") for _, at in read.elements for name in at)


def with_speed(summary, **changes):
    return with_case(summary, 0, throughput=replace(summary.cases[0].throughput, **changes))


@pytest.mark.parametrize(
    "change",
    [
        lambda made: replace(made, cases=[], comparisons=[]),
        lambda made: replace(made, command=[]),
        lambda made: with_case(made, 0, label="x" * 100_000),
        lambda made: with_case(made, 0, label="", framework_title="", version=""),
        lambda made: with_speed(made, value=1e300, low=1e-300, high=1e308),
        lambda made: replace(made, status="unfinished", finished=None, cut_off=True),
    ],
)
def test_strange_summaries_make_a_page(full, change):
    assert html_report.render(change(full)).endswith("</html>\n")


def test_what_is_cut_off_or_unfinished_is_said(full):
    page = html_report.render(replace(full, status="unfinished", cut_off=True))
    chips = re.findall(r'<li class="warn">(.*?)</li>', page, re.DOTALL)
    assert any("ends in the middle of a line" in text for text in chips)
    assert any("unfinished" in text for text in chips)


def charts(summary):
    page = html_report.render(summary)
    return json.loads(re.search(r'id="charts">(.*?)</script>', page, re.DOTALL)[1])["charts"]


def test_answer_chart_and_table_have_one_direction(summary):
    made = summary(seconds=SECONDS)
    (pair,) = made.comparisons
    page = html_report.render(made)
    assert ">Flaky is 0.499 times as fast as Tiny</span>" in page
    assert "95 % interval: 0.49 to 0.509 times; 39.8 against 79.74 samples/s" in page
    (row,) = charts(made)[0]["rows"]
    assert (row["name"], row["value"]) == ("Flaky", pair.ratio)
    assert charts(made)[0]["label"] == "← slower · Flaky, times as fast as Tiny · faster →"
    (cells,) = [one for one in Reader(page).rows if one[:2] == ["Flaky", "Tiny"]]
    assert number(pair.ratio) in cells


def test_the_answer_and_its_chart_stand_before_all_else(full):
    made = replace(full, gate=Gate(fail_if_slower=0.03, allow_inconclusive=False, cases=[],
                                   outcome=INCONCLUSIVE))  # fmt: skip
    page = html_report.render(made)
    parts = ('class="gate open">gate inconclusive', "<h1", 'class="about"',
             '<figure class="answer">', 'class="chips"', "<nav", "<section")  # fmt: skip
    places = [page.find(part) for part in parts]
    assert -1 not in places
    assert places == sorted(places)


def test_nothing_of_the_head_is_said_twice(summary):
    made = summary(seconds=SECONDS)
    assert html_report.render(made).count("Flaky is 0.499 times as fast as Tiny") == 2, "title, h1"
    row = next(one for one in Reader(html_report.render(made)).rows if "ratio" in one)
    assert not {"verdict", "equal work"} & set(row)


def test_a_run_without_a_comparison_has_its_figure_and_chart_first(summary):
    made = summary(seconds={"tiny": SECONDS["tiny"]})
    page = html_report.render(made)
    says, sure = (re.search(rf'class="{kind}">(.*?)<', page)[1] for kind in ("line", "sure"))
    assert says.startswith("Tiny: ")
    assert says.endswith(" samples/s")
    assert sure.startswith("95 % interval: ")
    assert [chart["kind"] for chart in charts(made)].count("intervals") == 1
    assert page.index('class="chart"') < page.index("<nav")


def test_charts_of_rounds_share_an_axis_and_count_processes_from_1(summary):
    made = summary(seconds=SECONDS)
    slow, fast = (chart for chart in charts(made) if chart["kind"] == "rounds")
    assert slow["domain"] == fast["domain"]
    values = [value for chart in (slow, fast) for of in chart["processes"] for value in of]
    assert slow["domain"] == [min(values), max(values)]
    rows = Reader(html_report.render(made)).rows
    at = next(i for i, row in enumerate(rows) if row[:2] == ["framework", "process"])
    assert [row[1] for row in rows[at + 1 : at + 4]] == ["1", "2", "3"]


def test_the_machine_is_said_in_words(summary):
    made = summary(seconds=SECONDS)
    system = replace(made.system, gpus=[{"name": "A100", "power_limit": "400 W"}],
                     variables={"A_B": "1"})  # fmt: skip
    read = Reader(html_report.render(replace(made, system=system)))
    rows = dict(row for row in read.rows if len(row) == 2)
    assert rows["GPU 0"] == "name A100, power limit 400 W"
    assert rows["variables that tune workers"] == "A_B=1"


def test_how_it_measured_is_said_in_words(summary):
    rows = dict(row for row in Reader(html_report.render(summary(seconds=SECONDS))).rows
                if len(row) == 2)  # fmt: skip
    said = rows["how it measured"]
    assert said == ("5 processes of each framework, taking turns; 3 to 30 rounds of 0.25 s each; "
                    "at most 3 min for each comparison")  # fmt: skip
    until = facts.method(Adaptive(half_width_goal=0.02, builds=2, rounds=7))
    assert until.startswith("5 to 30 processes, until all intervals are within ±2 %, of each ")
    assert "built 2 times each, taking turns; 7 rounds of" in until


SECONDS = {"tiny": [[1.0], [1.01], [1.0]], "flaky": [[2.0], [2.01], [2.02]]}


def test_speedups_are_of_one_framework_against_itself(summary):
    made = summary(seconds={"tiny": SECONDS["tiny"]}, precision=("fp32", "bf16"))
    speed = made.cases[1].throughput
    doubled = {end: 2 * getattr(speed, end) for end in ("value", "low", "high")}
    processes = [2 * value for value in speed.processes]
    made = with_case(made, 1, throughput=replace(speed, **doubled, processes=processes))
    rows = [row for row in Reader(html_report.render(made)).rows if row[2:4] == ["bf16", "fp32"]]
    assert [row[4] for row in rows] == ["2"]


@pytest.mark.parametrize("change", [{"clip": False}, {"threads": 2}, {"sizes": {"n": 2}}])
def test_a_speedup_is_over_a_case_that_differs_in_nothing_else(summary, change):
    made = summary(seconds={"tiny": SECONDS["tiny"]}, precision=("fp32", "bf16"))
    assert "bf16 over fp32" in html_report.render(made)
    assert "bf16 over fp32" not in html_report.render(with_case(made, 0, **change))


def test_several_devices_are_held_against_one(summary):
    made = summary(seconds={"tiny": SECONDS["tiny"]}, precision=("fp32", "bf16"))
    made = with_case(made, 1, precision="fp32", scale="1x2", devices=2, global_batch_size=9)
    page = html_report.render(made)
    assert "on 1x2 devices: global batch 9; 1 times as fast as one device" in page


def test_the_command_writes_the_page(write_run, tmp_path):
    runs = [write_run(seconds=SECONDS), write_run(seconds=SECONDS)]
    output = tmp_path / "page.html"
    found = CliRunner().invoke(group, ["report", *map(str, runs), "--output", str(output)])
    assert found.exit_code == 0, found.output
    assert found.stdout == ""
    page = output.read_text()
    assert page.count("<article") == 2
    assert all(run.name in page for run in runs)


def test_files_of_others_are_unchanged():
    vendor = html_report.HERE / "vendor"
    rows = re.findall(
        r"^\| `(\S+\.js)` .* `(\w{64})` \|$", (vendor / "README.md").read_text(), re.M
    )
    assert {name for name, _ in rows} == {path.name for path in vendor.glob("*.js")}
    for name, digest in rows:
        assert hashlib.sha256((vendor / name).read_bytes()).hexdigest() == digest


def test_a_notebook_shows_the_verdicts_and_tables(write_run, monkeypatch):
    folder = write_run(seconds=SECONDS)
    monkeypatch.setenv("MBENCH_RESULTS", str(folder.parent))
    result = mbench.read()
    shown = Reader(result._repr_html_())
    assert shown.text["h3"] == ["Flaky is 0.499 times as fast as Tiny"]
    assert "95 % interval: 0.49 to 0.509 times; 39.8 against 79.74 samples/s" in shown.text["p"]
    cells = {cell for row in shown.rows for cell in row}
    assert number(result.summary.comparisons[0].ratio) in cells
    assert folder.name in repr(result)
    assert repr(mbench.read(folder)) == repr(result)


def test_a_notebook_shows_hostile_text_as_text(hostile):
    shown = Result(hostile, Path())._repr_html_()
    assert "<script" not in shown
