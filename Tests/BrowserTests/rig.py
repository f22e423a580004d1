"""Shared by all browser tests: one browser, a page for each test, and the checks of the page at each test's end."""

import atexit
import glob
import os
import re
import unittest

from chromium import Browser

CACHE = os.environ.get("HOLDFAST_BROWSER", os.path.join(os.path.dirname(__file__), "..", "..", ".build-browser"))
PICTURES = os.environ.get("HOLDFAST_PICTURES")
if PICTURES:
    os.makedirs(PICTURES, exist_ok=True)

_browser = None


def browser():
    """The one browser of this run."""
    global _browser
    if _browser is None:
        _browser = Browser(os.path.join(CACHE, "chromium"))
        atexit.register(_browser.close)
    return _browser


def axe():
    """The source of axe-core; None if PyPI could not be reached."""
    files = glob.glob(os.path.join(CACHE, "axe.min.js"))
    if not files:
        return None
    with open(files[0], encoding="utf-8") as file:
        return file.read()


class PageTest(unittest.TestCase):
    """A test with a page. At its end, the browser's console must have no error, and no other server may have received a request."""

    # Patterns of messages that a test provokes.
    expected = ()

    def open(self, url, view="live", **options):
        self.base = url
        self.page = browser().page(**options)
        self.addCleanup(self.page.close)
        self.addCleanup(self._judge, self.page)
        self.page.open(f"{url}#/{view}")
        return self.page

    def _judge(self, page):
        if PICTURES:
            page.picture(os.path.join(PICTURES, f"{self._testMethodName}.png"))
        errors = [f"{kind}: {text}" for kind, text in page.errors if not any(re.search(pattern, text) for pattern in self.expected)]
        self.assertEqual(errors, [], "the browser's console has errors")
        foreign = [url for url in page.requests if not url.startswith((self.base, "about:", "data:", "blob:"))]
        self.assertEqual(foreign, [], "another server was asked")

    def text(self, selector="body"):
        return self.page.text(selector)
