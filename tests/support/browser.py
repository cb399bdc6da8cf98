"""Pages in a real browser: whatever they complain of, or ask for elsewhere, fails the test."""

from __future__ import annotations

import shutil
from contextlib import contextmanager

import pytest

__all__ = ["SIZES", "chromium", "visits"]

SIZES = {"desktop": (1280, 900), "tablet": (800, 900), "phone": (390, 844)}


@contextmanager
def chromium():
    """The system's Chromium; skips the test if playwright is not installed."""
    playwright = pytest.importorskip("playwright.sync_api")
    path = shutil.which("chromium") or shutil.which("chromium-browser")
    assert path, "these tests need Chromium: apt-get install chromium"
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()


@contextmanager
def visits(browser, own):
    """Yields a function that opens an address. Complaints of pages, and requests for what does not
    begin with `own`, fail the test.

    The function takes the name of a size, and what playwright's contexts take.
    """
    contexts, complaints = [], []

    def visit(address, *, size="desktop", **options):
        width, height = SIZES[size]
        context = browser.new_context(viewport={"width": width, "height": height}, **options)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("dialog", lambda dialog: complaints.append(dialog.message))
        page.on("request", lambda r: r.url.startswith(own) or complaints.append(r.url))
        page.goto(address)
        return page

    yield visit
    for context in contexts:
        context.close()
    assert complaints == []
