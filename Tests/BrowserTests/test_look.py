"""Every view on every screen size, in light and dark, by appearance, keyboard and screen reader."""

import os
import time
import unittest

import rig
import test_control
from mock import iso
from rig import PageTest
from test_control import SESSION

VIEWS = ("live", "record", "recording", "sessions", f"sessions/{SESSION}", "system")


class LookTests(PageTest):
    started, change, ended, stopped, annotated, store = (getattr(test_control.ControlTests, name) for name in ("started", "change", "ended", "stopped", "annotated", "store"))

    def setUp(self):
        test_control.ControlTests.setUp(self)
        self.store()
        self.store("a-session-whose-name-is-as-long-as-names-of-sessions-may-be-and-has-no-space-to-break-a-line-at-anywhere")

    def show(self, view):
        """Opens a view with all content that it can have."""
        if view == "recording":
            self.started({"streams": ["*"], "task": "Walk", "step": "outbound", "duration": 120})
        else:
            self.mock.recordings = []
        self.mock.viewers.clear()
        self.page.open(f"{self.mock.url}#/{'record' if view == 'recording' else view}")
        self.mock.wait_viewer()
        if view == "live":
            self.page.until("document.querySelectorAll('.card').length === 2")
            now = time.time()
            for name in self.mock.streams:
                self.mock.feed(name, now - 12, now)
            self.mock.send("gap", {"device": "phone", "stream": "gyroscope", "first": 1, "count": 50, "from": now - 4, "to": now - 3, "state": "open"})
            self.page.until("document.querySelector('.card.has-gap')")
        elif view == "recording":
            self.mock.bus({"schema": "recording.v1", "change": "annotation", "session": "s1", "status": "running", "step": "Walk/outbound", "date": iso(self.start), "annotation": {"number": 1, "label": "fall", "date": iso(self.start)}})
            self.page.until("document.querySelectorAll('.annotations li').length === 1")
        elif view == "record":
            self.page.until("document.querySelectorAll('.choice').length === 2")
        elif view == "sessions":
            self.page.until("document.querySelectorAll('.session-list li').length === 2")
        elif view == "system":
            self.page.until("document.querySelectorAll('.tile').length === 5 && document.querySelector('meter')")
        else:
            self.page.until("document.querySelectorAll('#sessions table').length > 3")

    def keep(self, view, width):
        """Saves screenshots for people to look at: a view on a screen, in light and dark."""
        for dark in (False, True) if rig.PICTURES else ():
            self.page.media(dark)
            self.page.js("new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(() => resolve(true))))")
            name = f"{view.split('/')[0]}{'-one' if '/' in view else ''}-{width}-{'dark' if dark else 'light'}.png"
            self.page.picture(os.path.join(rig.PICTURES, name), x=0, y=0, width=width, height=self.page.js("document.scrollingElement.scrollHeight"))
        self.page.media()

    def test_no_view_scrolls_sideways_from_320_to_1920_pixels(self):
        self.open(self.mock.url)
        wide = []
        for view in VIEWS:
            self.show(view)
            for width in (320, 390, 600, 768, 1024, 1440, 1920):
                self.page.size(width)
                measured = self.page.js("new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(() => resolve([document.scrollingElement.scrollWidth, innerWidth]))))")
                if measured[0] > width or measured[1] != width:
                    wide.append((view, width, measured))
                if width in (320, 768, 1920):
                    self.keep(view, width)
        self.assertEqual(wide, [])

    def test_fingers_find_every_control_of_a_phone(self):
        self.open(self.mock.url, width=390, height=844, scale=2, touch=True)
        for view in VIEWS:
            self.show(view)
            self.assertEqual(self.page.js("innerWidth"), 390)
            small = self.page.js("""[...document.querySelectorAll("button, .button, select, input:not([type=checkbox]):not([type=radio]):not([type=range]), nav a")]
                .filter((element) => element.getClientRects().length > 0 && element.getBoundingClientRect().height < 24).map((element) => element.outerHTML.slice(0, 80))""")
            self.assertEqual(small, [], view)

    def judge(self, dark):
        source = rig.axe()
        if source is None:
            raise unittest.SkipTest("axe-core could not be had from PyPI")
        self.open(self.mock.url, dark=dark)
        found = []
        for view in VIEWS:
            self.show(view)
            self.page.js(source + "; 1")
            found += [(view, *entry) for entry in self.page.js("""axe.run().then(({ violations }) => violations.flatMap(({ id, nodes }) => nodes.map((node) => [id, node.html.slice(0, 160), node.failureSummary])))""")]
        self.assertEqual(found, [])

    def test_axe_finds_nothing_in_light(self):
        self.judge(False)

    def test_axe_finds_nothing_in_dark(self):
        self.judge(True)

    def test_the_button_for_colors_switches_and_is_remembered(self):
        self.open(self.mock.url)
        light = self.page.js("getComputedStyle(document.body).backgroundColor")
        self.page.click("Colors: automatic")
        self.page.click("Colors: light")
        self.page.until("document.getElementById('theme').innerText === 'Colors: dark'")
        dark = self.page.js("getComputedStyle(document.body).backgroundColor")
        self.assertNotEqual(light, dark)
        self.page.reload()
        self.page.until("document.getElementById('theme').innerText === 'Colors: dark'")
        self.assertEqual(self.page.js("getComputedStyle(document.body).backgroundColor"), dark)

    def test_a_keyboard_alone_reaches_every_view_and_control(self):
        self.open(self.mock.url)
        self.page.until("document.querySelectorAll('.card').length === 2")
        order = []
        for _ in range(40):
            self.page.key("Tab")
            if self.page.js("document.activeElement === document.body"):
                break
            order.append(self.page.focus())
            self.assertEqual(self.page.js("""(() => { const e = document.activeElement; const s = getComputedStyle(e.matches(".segments input") ? e.nextElementSibling : e); return s.outlineStyle !== "none" && parseFloat(s.outlineWidth) >= 2 ? "" : s.outline; })()"""), "", order[-1])
        self.assertEqual(order[:7], ["Skip to the content", "Holdfast", "Live", "Record", "Sessions", "System", "Colors: automatic"])
        for control in ("Pause", "Zoom out: show more time", "Scroll back", "Filter streams", "Enlarge the plot of left-wrist/accelerometer"):
            self.assertIn(control, order)
        self.page.js("document.querySelector('nav a[data-view=record]').focus()")
        self.page.key("Enter")
        self.page.until("!document.getElementById('record').hidden")
        self.assertEqual(self.page.js("document.activeElement.id"), "main")
        self.assertEqual(self.page.js("document.querySelector('nav a[aria-current]').innerText"), "Record")
        self.assertEqual(self.page.js("document.title"), "Record · Holdfast")

    def test_a_screen_reader_hears_what_a_plot_shows(self):
        self.open(self.mock.url)
        self.show("live")
        self.page.until("/^left-wrist\\/accelerometer, x .+, y .+, z .+ g, no gaps$/.test(document.querySelector('.card canvas').getAttribute('aria-label'))")

    def test_a_console_that_this_browser_may_not_use_says_what_to_open(self):
        self.expected = ("401",)
        get = self.mock.get
        self.mock.get = lambda handler: self.mock.refuse(handler, 401, "open the link") if handler.path.startswith("/api/") else get(handler)
        self.open(self.mock.url)
        self.page.until("document.getElementById('notice').innerText.includes('Open the link that the console printed')")

    def test_an_address_of_no_view_shows_the_plots(self):
        self.open(self.mock.url, "%E0%A4%A/nothing")
        self.page.until("!document.getElementById('live').hidden")
