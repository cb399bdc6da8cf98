"""Strangers' files in a site: damage is listed, hostile text is shown as text, nothing is run."""

from __future__ import annotations

import html
import json
import re
from html.parser import HTMLParser
from xml.etree import ElementTree

import pytest
from site_runs import files, left_out, page, rewrite

from mbench.site import build as building

ATOM = "{http://www.w3.org/2005/Atom}"


DAMAGED = {
    "empty": b"", "binary": bytes(range(256)), "object": b"{}\n", "deep": b"[" * 100_000,
    "newer": b'{"event":"run","schema":99,"mbench":"9.0"}\n',
    "number": b'{"event":"run","schema":1,"mbench":1' + b"0" * 400 + b"}\n",
    "line": b"x" * (2**23 + 2),
}  # fmt: skip


@pytest.mark.parametrize("name", DAMAGED)
def test_a_damaged_file_is_listed_and_not_fatal(made, site, tmp_path, name):
    made()
    bad = tmp_path / "results" / "bad"
    bad.mkdir()
    (bad / "run.jsonl").write_bytes(DAMAGED[name])
    output = site()
    (one,) = left_out(output)
    assert one["file"] == "results/bad/run.jsonl"
    assert str(tmp_path) not in one["reason"]
    assert "bad" in one["reason"]
    assert "\n" not in one["reason"]
    assert "Left out" in page(output)


def test_a_newer_version_is_named(made, site, tmp_path):
    made()
    bad = tmp_path / "results" / "bad"
    bad.mkdir()
    (bad / "run.jsonl").write_bytes(DAMAGED["newer"])
    assert "mbench 9.0" in left_out(site())[0]["reason"]


def test_a_huge_file_is_refused_by_name(made, site, tmp_path):
    made()
    bad = tmp_path / "results" / "huge"
    bad.mkdir()
    with (bad / "run.jsonl").open("wb") as file:
        file.truncate(2**31)
    assert re.search(r"huge/run\.jsonl: it has 2048 MiB", left_out(site())[0]["reason"])


def test_a_line_that_is_damaged_later_is_listed_too(made, site):
    made()
    folder = made()
    file = folder / "run.jsonl"
    lines = file.read_text().splitlines(keepends=True)
    lines[5] = lines[5].replace(":", ":1e400;", 1)
    file.write_text("".join(lines))
    (one,) = left_out(site())
    assert "line 6" in one["reason"]


def test_values_that_no_measurement_has_end_that_run_alone(made, site, monkeypatch):
    made()
    made(system={"hostname": "evil"})
    whole = building.publish.__globals__["analyse"]

    def analyse(run):
        if run.header.system.hostname == "evil":
            raise ZeroDivisionError("float division by zero")
        return whole(run)

    monkeypatch.setitem(building.publish.__globals__, "analyse", analyse)
    (one,) = left_out(site())
    assert "cannot be evaluated (ZeroDivisionError" in one["reason"]


HARM = (
    "<script>alert(1)</script><img src=x onerror=alert(2)>\"'&]]>\x1b[31m\u202egnp.exe\u2066\u0000"
)


class Tags(HTMLParser):
    """Collects all tags and attributes that a page has."""

    def __init__(self):
        super().__init__()
        self.tags, self.attributes = set(), set()

    def handle_starttag(self, tag, attributes):
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attributes}


@pytest.mark.parametrize("harm", [HARM, "../../../../etc/passwd", "a" * 10_000, "\ud800x", "-->"])
def test_texts_of_a_run_are_data(made, site, harm):
    """This holds for all texts of a run: names of hosts, models, frameworks, versions, devices."""
    folder = made(version="9.87")
    rewrite(folder, {"9.87": harm, "made-up": harm, "by hand": harm})
    lines = [json.loads(line) for line in (folder / "run.jsonl").read_text().splitlines()]
    for line in lines:
        if line["event"] == "case":
            line["label"] += harm
            line["framework_title"] = line["framework"] = line["spec"] = harm
            line["axes"]["model"] = harm
    lines[0]["id"], lines[0]["arguments"] = harm, ["mbench", harm]
    (folder / "run.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    rewrite(folder, {})
    output = site()
    assert left_out(output) == []
    for path in output.rglob("*"):
        assert path.resolve().is_relative_to(output.resolve())
        if path.is_dir() or path.parent.name in ("raw", "assets"):
            continue
        assert re.fullmatch(r"[a-z0-9-]{1,80}\.[a-z]+", path.name)
        text = path.read_bytes().decode()
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f\u202a-\u202e\u2066-\u2069]", text)
        if path.suffix == ".html":
            tags = Tags()
            tags.feed(re.sub(r"<script[^>]*>.*?</script>", "", text, flags=re.DOTALL))
            assert "img" not in tags.tags
            assert not any(name.startswith("on") for name in tags.attributes)
            assert "alert(1)</script>" not in text
    ElementTree.parse(output / "feed.atom")


def test_pages_run_no_scripts_but_ours(made, site):
    made()
    output = site()
    for path in output.rglob("*.html"):
        policy = re.search(r'Content-Security-Policy" content="([^"]*)"', path.read_text())[1]
        allowed = "'sha256-" if path.name == "index.html" else "'self'; style-src"
        assert html.unescape(policy).startswith(f"default-src 'none'; script-src {allowed}")


def test_a_link_to_elsewhere_is_no_run(made, site, tmp_path):
    made()
    secret = tmp_path / "secret"
    secret.write_text("password\n")
    bad = tmp_path / "results" / "bad"
    bad.mkdir()
    (bad / "run.jsonl").symlink_to(secret)
    output = site()
    assert len(left_out(output)) == 1
    assert all(b"password" not in text for text in files(output).values())
