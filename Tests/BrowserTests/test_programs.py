"""The page against the real programs."""

import json
import math
import unittest

import test_live
from programs import ANY, PROGRAMS, Programs, has_samples
from rig import PageTest

EVIL = "<img src=x onerror=\"document.title='broken'\">"
STREAMS = {"sensor-publisher": {"streams": [
    {"device": "left-wrist", "stream": "accelerometer", "signal": "walk:placement=wrist,cadence=1.8", "rate": 100},
    {"device": "left-wrist", "stream": "sine", "signal": "sine:amplitude=2,angularFrequency=3,axes=x", "rate": 100},
    {"device": "phone", "stream": "fast", "signal": "sine:amplitude=3,angularFrequency=1000,axes=x", "rate": 1000}]}}
SINE = "[data-stream='left-wrist/sine']"
# A device with a battery level, and annotations by people.
TOLD = {"sensor-publisher": {"streams": [
    {"device": "left-wrist", "stream": "sine", "signal": "sine:amplitude=2,angularFrequency=6.283185307,axes=xy", "rate": 100},
    {"device": "chest", "stream": "heart", "replay": "heart.csv", "loop": True},
    {"device": "phone", "stream": "notes", "replay": "notes.csv", "fields": "label:text", "loop": True}]}}
TABLES = {
    "heart.csv": "t,bpm,battery,accuracy\n" + "".join(f"{number / 10},72,87,2\n" for number in range(100)),
    "notes.csv": "t,label\n" + "".join(f"{number / 5},{'<b>sit' if number % 2 else 'stand'}\n" for number in range(50))}


@unittest.skipUnless(has_samples(), "this console sends no samples yet")
@unittest.skipUnless(PROGRAMS, "the programs are not built: make browser builds them")
class ProgramsTests(PageTest):
    # Expected: a connection that a test cuts, a console that has just started and does not know
    # every stream yet, and a recorder that asks for confirmation before it discards the only copy.
    expected = ("ERR_", "404.*/api/history", "409.*/recording.discard")

    def setUp(self):
        self.programs = Programs("--config", "streams.json", files={"streams.json": json.dumps(STREAMS)})
        self.addCleanup(self.programs.close)

    def live(self, **options):
        self.open(self.programs.url, **options)
        self.page.until("document.querySelectorAll('.card').length === 3")
        self.page.until(f"/^\\d.* Hz$/.test(document.querySelector(\"{SINE} .rate\").innerText) && document.querySelector(\"{SINE} .number\").innerText !== '–'")

    def ink(self, name="left-wrist/sine", color="x"):
        return self.page.js(test_live.INK % (json.dumps(f"[data-stream='{name}'] canvas"), json.dumps(color)))

    def until_ink(self, count, color="x"):
        """Waits until a plot's number of columns with ink fulfils a condition."""
        for _ in range(600):
            shown = self.ink(color=color)
            if count(shown["ink"]):
                return shown
            self.page.js("new Promise((resolve) => setTimeout(resolve, 50))")
        self.fail(f"the plot has {shown['ink']} columns of {color}")

    def until_drawn(self, seconds, color="x"):
        """Waits until a plot has ink for this many of its seconds."""
        for _ in range(600):
            shown = self.ink(color=color)
            plot = shown["plot"]
            drawn = shown["ink"] / len(shown["rows"]) * (plot["to"] - plot["from"]) if plot else 0
            if drawn > seconds:
                return
            self.page.js("new Promise((resolve) => setTimeout(resolve, 50))")
        self.fail(f"the plot has {drawn} s of {color}")

    def until_plot(self, holds):
        """Waits until a plot shows a span."""
        for _ in range(600):
            plot = self.ink()["plot"]
            if plot and holds(plot):
                return
            self.page.js("new Promise((resolve) => setTimeout(resolve, 50))")
        self.fail(f"the plot shows {plot}")

    def test_a_plot_shows_the_sine_that_is_published(self):
        self.live()
        self.until_ink(lambda count: count > 150)
        self.page.click("Pause")
        self.page.until("[...document.querySelectorAll('button')].some((button) => button.innerText === 'Continue')")
        # The publisher may have described its last second after the page first asked for the past:
        # the page asks again.
        for _ in range(600):
            amplitude, error = self.fit(self.ink())
            if abs(amplitude - 2) < 0.05 and error < 1.2:
                return
            self.page.js("new Promise((resolve) => setTimeout(resolve, 50))")
        self.fail(f"the plot has an amplitude of {amplitude}, and is {error} pixels off")

    @staticmethod
    def fit(shown):
        """The amplitude of the sine of 3 rad/s that best fits a plot, and their deviation in pixels."""
        plot = shown["plot"]
        rows = [row for row in shown["rows"] if row and row[0] > plot["left"] + 2][2:-4]
        times = [plot["from"] + (x - plot["left"]) / (plot["right"] - plot["left"]) * (plot["to"] - plot["from"]) for x, *_ in rows]
        values = [plot["low"] + (plot["bottom"] - y) / (plot["bottom"] - plot["top"]) * (plot["high"] - plot["low"]) for _, y, *_ in rows]
        # The phase matches the publisher's.
        parts = [(math.sin(3 * (time - times[0])), math.cos(3 * (time - times[0]))) for time in times]
        ss, cc, sc = sum(s * s for s, _ in parts), sum(c * c for _, c in parts), sum(s * c for s, c in parts)
        vs, vc = sum(v * s for v, (s, _) in zip(values, parts)), sum(v * c for v, (_, c) in zip(values, parts))
        determinant = ss * cc - sc * sc
        a, b = (vs * cc - vc * sc) / determinant, (vc * ss - vs * sc) / determinant
        error = math.sqrt(sum((v - a * s - b * c) ** 2 for v, (s, c) in zip(values, parts)) / len(values))
        return math.hypot(a, b), error / (plot["high"] - plot["low"]) * (plot["bottom"] - plot["top"])

    def test_a_fast_stream_is_drawn_from_its_least_to_its_greatest_value(self):
        self.live()
        self.page.until("document.querySelector(\"[data-stream='phone/fast'] .number\").innerText !== '–'")
        self.page.until("document.querySelector(\"[data-stream='phone/fast'] .gaps\").innerText === 'no gaps'")
        for _ in range(600):
            shown = self.ink("phone/fast")
            plot = shown["plot"]
            if not plot:
                # Nothing is drawn yet.
                self.page.js("new Promise((resolve) => setTimeout(resolve, 50))")
                continue
            height = 6 / (plot["high"] - plot["low"]) * (plot["bottom"] - plot["top"])
            if len([row for row in shown["rows"] if row and row[3] - row[2] > height * 0.9]) > 60:
                return
            self.page.js("new Promise((resolve) => setTimeout(resolve, 50))")
        self.fail("the envelope has not the signal's height")

    def test_a_gap_is_red_and_then_normal(self):
        self.live()
        self.until_ink(lambda count: count > 60)
        self.programs.cut.cut()
        # The publisher continues without the console.
        self.page.until(f"document.querySelector(\"{SINE} .note\").innerText.startsWith('Silent')")
        self.page.js("""window.seen = ""; new MutationObserver(() => { const text = document.querySelector("[data-stream='left-wrist/sine'] .gaps").innerText; if (/missing/.test(text)) window.seen = text; })
            .observe(document.querySelector("[data-stream='left-wrist/sine']"), { subtree: true, childList: true, characterData: true }); 1""")
        self.programs.cut.is_open = True
        self.page.until(f"/recovered/.test(document.querySelector(\"{SINE} .gaps\").innerText) && /no gaps/.test(document.querySelector(\"{SINE} .gaps\").innerText)")
        self.until_ink(lambda count: count == 0, color="gap")

    def test_the_streams_of_all_publishers_are_listed(self):
        signal = ["--signal", "sine:amplitude=1,angularFrequency=2,axes=x", "--device", "ankle", "--stream", "gyroscope", "--rate", "100"]
        second = self.programs.start("sensor-publisher", *ANY, *signal, key="second publisher")
        self.programs.kill_console()
        self.programs.options += ["--subscribe", second["publish"]]
        self.programs.start_console("0")
        self.open(self.programs.url)
        self.page.until("document.querySelectorAll('.card').length === 4")
        self.page.click("Record", selector="nav a")
        self.page.until("document.querySelectorAll('.choice').length === 4")

    def test_a_session_is_recorded_steered_annotated_and_found_whole(self):
        self.open(self.programs.url, "record")
        self.page.until("document.querySelectorAll('.choice').length === 3")
        self.page.js(f"const set = (name, text) => {{ document.querySelector(`[name=${{name}}]`).value = text; }}; set('session', 'browser-1'); set('steps', 'out\\nback'); set('labels', {json.dumps(EVIL + chr(10) + 'fall')}); 1")
        self.page.click("phone/fast", selector=".choice")
        self.page.click("Start recording")
        self.page.until("document.querySelector('.running').hidden === false")
        self.page.until("/\\d+ samples/.test(document.querySelector('.logs').innerText) && document.querySelector('.durable').innerText.startsWith('Durable up to')")
        self.page.click("Next: back")
        self.page.until("document.querySelector('.step').innerText === 'Now: Walk/back'")
        self.page.js("document.activeElement.blur()")
        self.page.key("1")
        self.page.until("document.querySelector('.annotations').innerText.includes('<img')")
        self.page.key("2")
        self.page.until("document.querySelectorAll('.annotations li').length === 2")
        self.page.key("p")
        self.page.until("document.querySelector('.of').innerText.includes('paused')")
        self.page.click("Resume")
        self.page.until("document.querySelector('.of').innerText === 'until stopped'")
        self.page.click("Stop")
        self.page.until("document.querySelector('#sessions h1')?.innerText === 'browser-1'")
        self.page.until("document.querySelector('#sessions .badge.good')?.innerText === 'whole'")
        self.page.until("document.querySelectorAll('#sessions .card').length === 2 && document.querySelector('#sessions .card').innerText.includes('no gaps here')")
        report = json.loads(self.programs.file("recordings", "browser-1", "report.json"))
        self.assertTrue(report["isWhole"])
        self.assertEqual(sorted(stream["stream"] for stream in report["streams"]), ["left-wrist/accelerometer", "left-wrist/sine"])
        self.assertEqual([entry["label"] for entry in report["annotations"]], [EVIL, "fall"])
        session = json.loads(self.programs.file("recordings", "browser-1", "session.json"))
        self.assertEqual([session["step"]] + [step["step"] for step in session["steps"]], ["out", "back"])
        self.page.click("Verify now")
        self.page.until("document.querySelector('.verified').innerText.startsWith('Verified: whole')")
        self.assertIn("<img", self.text("#sessions"))
        self.assertEqual(self.page.js("document.querySelectorAll('main img').length"), 0)
        self.assertNotEqual(self.page.js("document.title"), "broken")
        self.page.click("← All sessions")
        self.page.until("document.querySelector('.session-list').innerText.includes('browser-1')")

        self.page.click("browser-1", selector=".session-list a")
        self.page.until("document.querySelector('#sessions h1')?.innerText === 'browser-1' && document.querySelector('#sessions table')")
        # Every file and export downloads, and the report is a page.
        links = self.page.js("Promise.all([...document.querySelectorAll('#sessions a[download], #sessions a[target]')].map(async (link) => { const answer = await fetch(link.href); return [link.innerText, answer.status, (await answer.arrayBuffer()).byteLength]; }))")
        self.assertGreater(len(links), 5)
        for name, status, size in links:
            self.assertTrue(status == 200 and size > 100, (name, status, size))
        self.assertEqual(len([name for name, *_ in links if name == "CSV"]), 2)
        self.page.click("Archive")
        self.page.until("document.querySelector('#messages').innerText.includes('browser-1 is being archived')")
        self.page.click("Discard …")
        self.page.click("Discard it")
        self.page.until("document.querySelector('dialog')?.innerText.length > 100 || location.hash === '#/sessions'")
        if self.page.js("document.querySelector('dialog') !== null"):
            self.page.click("Discard it anyway")
        self.page.until("location.hash === '#/sessions' && document.querySelector('#sessions .summary').innerText.startsWith('No sessions yet')")

    def test_a_time_before_now_and_a_duration_end_by_themselves(self):
        self.live()
        self.until_ink(lambda count: count > 100)
        self.page.click("Record", selector="nav a")
        self.page.until("document.querySelectorAll('.choice').length === 3")
        self.page.js("for (const [name, text] of [['session', 'browser-2'], ['duration', '2s'], ['before', '1s']]) document.querySelector(`[name=${name}]`).value = text; 1")
        self.page.click("Start recording")
        self.page.until("document.querySelector('.running').hidden === false")
        self.page.until("document.getElementById('messages').innerText.includes('browser-2 is stored')")
        report = json.loads(self.programs.file("recordings", "browser-2", "report.json"))
        self.assertTrue(report["isWhole"])
        for stream in report["streams"]:
            # The second before the command, and two after it.
            self.assertGreater(stream["received"] / (1000 if stream["stream"] == "phone/fast" else 100), 2.5, stream)

    def test_each_control_of_the_plots_does_what_it_says(self):
        self.programs.close()
        self.programs = Programs("--config", "streams.json", files={"streams.json": json.dumps(TOLD), **TABLES})
        self.addCleanup(self.programs.close)
        self.live()
        self.page.until("/battery\\s*87/.test(document.querySelector(\"[data-stream='chest/heart'] .states\").innerText)")
        self.assertRegex(self.text("[data-stream='chest/heart'] .states"), r"accuracy\s*2")
        self.page.until("document.querySelectorAll(\"[data-stream='phone/notes'] .texts li\").length > 3")
        self.page.until("document.querySelector(\"[data-stream='phone/notes'] .texts\").innerText.includes('<b>sit')")
        # x and y are the same sine: the magnitude is √2 times as high, and its peak is at 1 Hz. y
        # hides x.
        self.until_ink(lambda count: count > 100, color="y")
        self.page.click("Magnitude", selector=".segments label")
        shown = self.until_ink(lambda count: count > 100, color="magnitude")
        self.assertTrue(2.6 < shown["plot"]["high"] < 3.6, shown["plot"])
        self.page.click("Spectrum", selector=".segments label")
        self.page.until(f"/^(0\\.9|1\\.0)\\d* Hz$/.test(document.querySelector(\"{SINE} .number\").innerText)", "a peak at 1 Hz")
        self.page.click("x y z", selector=".segments label")
        # There must be samples to scroll back to.
        self.until_drawn(8, color="y")
        self.page.click("Zoom in: show less time")
        self.page.until("document.querySelector('.window').innerText === '5 s'")
        self.until_plot(lambda plot: abs(plot["to"] - plot["from"] - 5) < 0.001)
        self.until_ink(lambda count: count > 100, color="y")
        self.page.click("Pause")
        self.page.until("[...document.querySelectorAll('button')].some((button) => button.innerText === 'Continue')")
        self.page.js("new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(() => requestAnimationFrame(() => requestAnimationFrame(resolve)))))")
        held = self.ink()["plot"]["to"]
        self.page.click("Scroll back")
        self.page.until("/ago\\)/.test(document.querySelector('.where').innerText)")
        # By half of the visible span.
        self.until_plot(lambda plot: abs(plot["to"] - (held - 2.5)) < 0.01)
        self.until_ink(lambda count: count > 100, color="y")
        self.page.click("Live", selector=".toolbar button")
        self.page.until("document.querySelector('.where').innerText === 'now'")

    def test_killing_the_console_costs_nothing_and_the_page_comes_back(self):
        self.programs.call("recording.start", session="kept", streams=["left-wrist/accelerometer"])
        self.live()
        self.programs.kill_console()
        self.page.until("document.getElementById('connection').innerText === 'not connected'")
        port = self.programs.url.rsplit(":", 1)[1].strip("/")
        self.programs.start_console(port)
        self.page.until("document.getElementById('connection').innerText === 'connected'")
        self.page.until(f"/9\\d|10\\d/.test(document.querySelector(\"{SINE} .rate\").innerText)")
        self.assertTrue(self.programs.call("recording.stop", session="kept")["report"]["isWhole"])

    def test_the_system_is_that_of_the_programs(self):
        self.open(self.programs.url, "system")
        self.page.until("document.querySelectorAll('.tile .badge').length === 5 && [...document.querySelectorAll('.tile .badge')].every((badge) => badge.innerText !== 'no answer')")
        self.page.until("/Free on the disk/.test(document.querySelector('#system').innerText)")
        self.page.until("/Connected[\\s\\S]*127\\.0\\.0\\.1/.test(document.querySelector('#system').innerText)")
        page = self.text("#system")
        # The page shows all that the console knows about this program: free space, thresholds,
        # queues, clocks and connected clients.
        for words in ("left-wrist/sine", "Finished files", "of 20.0 GB", "Keep free", "Queues", "behind", "backlog", "Clock offsets", "Round trip", "Connected", "page", "delete"):
            self.assertIn(words, page)
        for program in ("sensor-publisher", "recorder", "step-counter", "log-manager", "archiver"):
            self.assertGreaterEqual(page.count(program), 2, "a tile, and a clock")
