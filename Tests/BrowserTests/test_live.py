"""The view of moving plots, against a server whose signals are known exactly."""

import json
import math
import time

from mock import Mock, Stream, iso, sine
from rig import PageTest

ACCELEROMETER = "left-wrist/accelerometer"

# For each column of a plot, the mean row of a color's ink, in CSS pixels; and the plot's span,
# range and place.
INK = """(async () => {
    const { plotOf } = await import("/assets/plot.js");
    const { palette } = await import("/assets/theme.js");
    const canvas = document.querySelector(%s);
    const plot = plotOf(canvas);
    if (!plot) return { plot: null, rows: [], ink: 0 };
    const ratio = canvas.width / canvas.clientWidth;
    const [r, g, b] = palette()[%s].match(/[\\d.]+/g).map(Number);
    const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext("2d", { willReadFrequently: true });
    copy.drawImage(canvas, 0, 0);
    const image = copy.getImageData(0, 0, canvas.width, canvas.height).data;
    const rows = [];
    for (let x = Math.ceil(plot.left); x < plot.right; x += 1) {
        let ink = 0, sum = 0, least = null, most = null;
        for (let y = Math.floor(plot.top * ratio); y < plot.bottom * ratio; y += 1) {
            const at = (y * canvas.width + Math.floor(x * ratio)) * 4;
            const distance = Math.abs(image[at] - r) + Math.abs(image[at + 1] - g) + Math.abs(image[at + 2] - b);
            if (image[at + 3] < 40 || distance > 60) continue;
            const weight = image[at + 3] / 255;
            ink += weight; sum += weight * (y + 0.5) / ratio; least ??= y / ratio; most = (y + 1) / ratio;
        }
        rows.push(ink > 0 ? [x + 0.5, sum / ink, least, most] : null);
    }
    return { plot, rows, ink: rows.filter(Boolean).length };
})()"""


class LiveTests(PageTest):
    def setUp(self):
        self.mock = Mock(
            Stream(ACCELEROMETER), Stream("phone/gyroscope", rate=50, unit="rad/s"),
            Stream("chest/heart", rate=1, fields=["bpm", "battery", "accuracy"], signal=lambda field, at: {"bpm": 72, "battery": 87, "accuracy": 2}[field]),
            Stream("phone/events", rate=2, fields=["label", "x"], types=["text", "number"], signal=lambda field, at: "sit" if field == "label" else 1))
        self.mock.replies["steps.startUpdates"] = {"subscription": "3F2A", "numberOfSteps": 12}
        self.addCleanup(self.mock.close)

    def live(self, seconds=12, **options):
        """Opens the page and feeds the seconds until now."""
        self.open(self.mock.url, **options)
        self.mock.wait_viewer()
        self.page.until("document.querySelectorAll('.card').length === 4", "four cards")
        self.start = time.time()
        for name in self.mock.streams:
            self.mock.feed(name, self.start - seconds, self.start)
        # This works however long the rest takes: samples fed now scroll out of the plots.
        self.page.until(f"document.querySelector(\"{self.card()} .number\").innerText !== '–'", "a value")
        self.page.js(f"""(async () => {{
            const {{ plotOf }} = await import("/assets/plot.js");
            while (!plotOf(document.querySelector("{self.card()} canvas"))) await new Promise(requestAnimationFrame);
            return true;
        }})()""")

    def card(self, name=ACCELEROMETER):
        return f"[data-stream='{name}']"

    def ink(self, color="x", name=ACCELEROMETER):
        return self.page.js(INK % (json.dumps(self.card(name) + " canvas"), json.dumps(color)))

    def pause(self):
        self.page.click("Pause")
        self.page.until("[...document.querySelectorAll('button')].some((button) => button.innerText === 'Continue')")
        self.frames()

    def hold(self):
        """Scrolls to the end of the fed samples, however long ago they were fed."""
        self.page.js(f"import('/assets/live.js').then(({{ moveTo }}) => {{ moveTo({self.start}); return true; }})")
        self.frames()

    def frames(self, count=4):
        """Waits for a number of the page's frames."""
        self.page.js(f"new Promise((resolve) => {{ let left = {count}; const frame = () => (left -= 1) > 0 ? requestAnimationFrame(frame) : resolve(true); frame(); }})")

    def deviation(self, shown, signal):
        """The root mean square deviation of the ink from the signal, as a share of the plot's height, without the columns at the edges."""
        plot, errors = shown["plot"], []
        for row in shown["rows"]:
            if row is None or row[0] < plot["left"] + 2 or row[0] > plot["right"] - 2:
                continue
            at = plot["from"] + (row[0] - plot["left"]) / (plot["right"] - plot["left"]) * (plot["to"] - plot["from"])
            if at > self.start - 0.1:
                continue
            wanted = plot["bottom"] - (signal(at) - plot["low"]) / (plot["high"] - plot["low"]) * (plot["bottom"] - plot["top"])
            errors.append((row[1] - wanted) ** 2)
        self.assertGreater(len(errors), 100)
        return math.sqrt(sum(errors) / len(errors)) / (plot["bottom"] - plot["top"])

    # Plots

    def test_a_plot_shows_the_published_signal(self):
        # Two lines would hide each other where they cross: one axis is enough.
        self.mock.streams[ACCELEROMETER].fields = ["x"]
        self.live()
        self.hold()
        self.assertLess(self.deviation(self.ink(), lambda at: sine("x", at)), 0.01)

    def test_a_plot_with_more_samples_than_pixels_shows_the_published_signal(self):
        self.mock.streams[ACCELEROMETER].fields = ["x"]
        self.live(seconds=40)
        for _ in range(2):
            self.page.key("-")
        self.page.until("document.querySelector('.window').innerText === '1 min'")
        self.page.key("+")
        self.hold()
        # In a wave that is 22 pixels wide, the middle of a steep column's ink is the line's.
        self.assertLess(self.deviation(self.ink(), lambda at: sine("x", at)), 0.03)

    def test_columns_of_a_fast_stream_are_drawn_from_their_least_to_their_greatest_value(self):
        self.open(self.mock.url)
        self.mock.wait_viewer()
        self.mock.history_from = math.inf
        self.start = time.time()
        count = 240
        self.mock.send("samples", {
            "device": "phone", "stream": "gyroscope", "epoch": "E1", "first": 0, "received": self.start, "width": 0.05,
            "times": [self.start - 12 + index * 0.05 for index in range(count)], "columns": {"x": [[-2, 3]] * count}})
        self.page.until("document.querySelector(\"[data-stream='phone/gyroscope'] .number\")?.innerText === '0.500'")
        self.hold()
        shown = self.ink(name="phone/gyroscope")
        plot = shown["plot"]
        row = lambda value: plot["bottom"] - (value - plot["low"]) / (plot["high"] - plot["low"]) * (plot["bottom"] - plot["top"])
        full = [entry for entry in shown["rows"] if entry and abs(entry[2] - row(3)) < 2 and abs(entry[3] - row(-2)) < 2]
        self.assertGreater(len(full), 100)

    def test_plots_move_at_no_more_than_30_frames_a_second(self):
        self.live()
        moves = self.page.js("""(async () => {
            const { plotOf } = await import("/assets/plot.js");
            const canvas = document.querySelector("[data-stream='left-wrist/accelerometer'] canvas");
            const seen = new Set(), began = performance.now();
            while (performance.now() - began < 1000) { await new Promise(requestAnimationFrame); seen.add(plotOf(canvas).to); }
            return seen.size;
        })()""")
        self.assertGreaterEqual(moves, 2)
        self.assertLessEqual(moves, 33)

    def test_people_who_want_no_motion_see_two_frames_a_second(self):
        self.live(still=True)
        moves = self.page.js("""(async () => {
            const { plotOf } = await import("/assets/plot.js");
            const canvas = document.querySelector("[data-stream='left-wrist/accelerometer'] canvas");
            const seen = new Set(), began = performance.now();
            while (performance.now() - began < 1000) { await new Promise(requestAnimationFrame); seen.add(plotOf(canvas).to); }
            return seen.size;
        })()""")
        self.assertLessEqual(moves, 4)

    def test_magnitude_and_spectrum_replace_the_axes(self):
        self.mock.streams[ACCELEROMETER].signal = lambda field, at: 3 * math.sin(2 * math.pi * 2 * at) if field == "x" else 4 if field == "y" else 0
        self.live()
        self.page.click("Magnitude", selector=".segments label")
        self.page.until(f"document.querySelector(\"{self.card()} .value\").innerText.startsWith('magnitude')")
        self.page.until(f"Number(document.querySelector(\"{self.card()} .number\").innerText) >= 3.99")
        self.hold()
        self.assertGreater(self.ink("magnitude")["ink"], 50)
        self.page.click("Spectrum", selector=".segments label")
        self.page.until(f"/^(1\\.99|2\\.0)\\d* Hz$/.test(document.querySelector(\"{self.card()} .number\").innerText)", "peak at 2 Hz")
        shown = self.ink()
        top = min((row for row in shown["rows"] if row), key=lambda row: row[2])
        plot = shown["plot"]
        at = (top[0] - plot["left"]) / (plot["right"] - plot["left"]) * plot["to"]
        self.assertAlmostEqual(at, 2, delta=0.4)

    def test_a_fast_stream_has_no_spectrum(self):
        # Midpoints of columns swing at 2 Hz: an alias of something faster.
        self.open(self.mock.url)
        self.mock.wait_viewer()
        self.mock.history_from = math.inf
        self.start = time.time()
        swings = [math.sin(2 * math.pi * 2 * index * 0.01) for index in range(1200)]
        self.mock.send("samples", {
            "device": "phone", "stream": "gyroscope", "epoch": "E1", "first": 0, "received": self.start, "width": 0.01,
            "times": [self.start - 12 + index * 0.01 for index in range(1200)],
            "columns": {"x": [[-2 + swing, 3 + swing] for swing in swings]}})
        number = "document.querySelector(\"[data-stream='phone/gyroscope'] .number\")"
        self.page.until(f"/^[\\d.−-]+$/.test({number}?.innerText)")
        self.page.click("Spectrum", selector=".segments label")
        self.page.until(f"{number}.innerText === '–'")
        self.frames(40)
        self.assertEqual(self.page.js(f"{number}.innerText"), "–")

    def test_the_rate_of_a_fast_stream_is_that_of_its_samples(self):
        self.mock.streams["phone/gyroscope"].rate = 1000
        self.open(self.mock.url)
        self.mock.wait_viewer()
        self.mock.history_from = math.inf
        self.start = time.time()
        rate = "document.querySelector(\"[data-stream='phone/gyroscope'] .rate\")"
        # Taken later than now, so that the stream is not silent however long this takes.
        for later, count, shown, is_bad in ((100, 50, "9\\d\\d", False), (200, 25, "4\\d\\d", True)):
            for event in range(40):
                begin = math.floor(self.start) + later + event * 0.05
                self.mock.send("samples", {
                    "device": "phone", "stream": "gyroscope", "epoch": "E1", "first": event * 50, "count": count,
                    "received": self.start, "width": 0.01,
                    "times": [round(begin + column * 0.01, 2) for column in range(6)], "columns": {"x": [[-2, 3]] * 6}})
            bad = "" if is_bad else "!"
            self.page.until(
                f"/^{shown} of 1000 Hz$/.test({rate}?.innerText) && {bad}{rate}.classList.contains('bad')",
                f"rate of {count} samples in 0.05 s")

    # Gaps

    def test_a_gap_is_red_at_once_and_normal_when_it_is_recovered(self):
        self.live()
        self.hold()
        self.assertEqual(self.ink("gap")["ink"], 0)
        gap = {"device": "left-wrist", "stream": "accelerometer", "first": 100, "count": 80, "from": self.start - 5, "to": self.start - 4.2}
        self.mock.send("gap", {**gap, "state": "open"})
        self.page.until(f"/1 gap: 80 missing/.test(document.querySelector(\"{self.card()}\").innerText)")
        self.page.until("document.getElementById('announcements').innerText.includes('80 samples missing')")
        self.frames()
        shown = self.ink("gap")
        width = 0.8 / 10 * (shown["plot"]["right"] - shown["plot"]["left"])
        self.assertAlmostEqual(shown["ink"], width, delta=3)
        self.mock.send("gap", {**gap, "state": "recovered"})
        self.page.until(f"/no gaps, 80 recovered/.test(document.querySelector(\"{self.card()}\").innerText)")
        self.frames()
        self.assertEqual(self.ink("gap")["ink"], 0)

    def test_samples_that_come_late_are_drawn_in_their_place(self):
        self.mock.streams[ACCELEROMETER].fields = ["x"]
        self.open(self.mock.url)
        self.mock.wait_viewer()
        self.mock.history_from = math.inf
        self.start = time.time()
        gap = {"device": "left-wrist", "stream": "accelerometer", "first": 100, "count": 200, "from": self.start - 6.01, "to": self.start - 4}
        self.mock.feed(ACCELEROMETER, self.start - 12, self.start - 6)
        self.mock.send("gap", {**gap, "state": "open"})
        self.mock.feed(ACCELEROMETER, self.start - 4, self.start)
        self.page.until(f"/200 missing/.test(document.querySelector(\"{self.card()}\")?.innerText)")
        self.hold()
        before = self.ink()["ink"]
        self.mock.feed(ACCELEROMETER, self.start - 6, self.start - 4, received=self.start)
        self.mock.send("gap", {**gap, "state": "recovered"})
        self.page.until(f"/200 recovered/.test(document.querySelector(\"{self.card()}\").innerText)")
        self.frames()
        shown = self.ink()
        self.assertGreater(shown["ink"], before + 20)
        self.assertLess(self.deviation(shown, lambda at: sine("x", at)), 0.01)

    def test_a_gap_that_is_lost_stays_red(self):
        self.live()
        gap = {"device": "left-wrist", "stream": "accelerometer", "first": 100, "count": 30, "from": self.start - 5, "to": self.start - 4.7}
        self.mock.send("gap", {**gap, "state": "open"})
        self.mock.send("gap", {**gap, "state": "lost"})
        self.page.until(f"/1 gap: 30 lost/.test(document.querySelector(\"{self.card()}\").innerText)")
        self.hold()
        self.assertGreater(self.ink("gap")["ink"], 5)

    def test_a_gap_before_the_first_sample_has_no_beginning(self):
        self.live()
        self.mock.send("gap", {"device": "left-wrist", "stream": "accelerometer", "first": 0, "count": 100, "from": None, "to": self.start - 5, "state": "open"})
        self.page.until(f"/100 missing/.test(document.querySelector(\"{self.card()}\").innerText)")
        self.hold()
        self.assertGreater(self.ink("gap")["ink"], 10)

    def test_a_gap_after_the_last_sample_has_no_end(self):
        self.live()
        gap = {"device": "left-wrist", "stream": "accelerometer", "first": 0, "count": 100, "state": "open"}
        self.mock.send("gap", {**gap, "from": self.start - 5, "to": None})
        self.page.until(f"/100 missing/.test(document.querySelector(\"{self.card()}\").innerText)")
        self.hold()
        self.assertGreater(self.ink("gap")["ink"], 10)

    def test_of_a_gap_that_is_lost_in_part_only_that_part_is_counted(self):
        self.live()
        gap = {"device": "left-wrist", "stream": "accelerometer", "from": self.start - 5, "to": self.start - 4.9}
        self.mock.send("gap", {**gap, "first": 1, "count": 5, "state": "open"})
        self.mock.send("gap", {**gap, "first": 3, "count": 2, "state": "lost"})
        self.page.until(f"/1 gap: 2 lost/.test(document.querySelector(\"{self.card()}\").innerText)")

    # Time

    def test_pause_holds_the_plots_and_continue_lets_them_move(self):
        self.live()
        self.pause()
        held = self.ink()["plot"]["to"]
        self.frames(20)
        self.assertEqual(self.ink()["plot"]["to"], held)
        self.page.key("p")
        self.page.until("[...document.querySelectorAll('button')].some((button) => button.innerText === 'Pause')")
        self.frames(10)
        self.assertGreater(self.ink()["plot"]["to"], held)

    def test_zoom_shows_less_or_more_time_and_asks_for_what_is_missing(self):
        self.live()
        self.page.click("Zoom in: show less time")
        self.page.until("document.querySelector('.window').innerText === '5 s'")
        self.frames()
        plot = self.ink()["plot"]
        self.assertAlmostEqual(plot["to"] - plot["from"], 5, places=6)
        for _ in range(3):
            self.page.click("Zoom out: show more time")
        self.page.until("document.querySelector('.window').innerText === '1 min'")
        self.mock.wait(lambda: any(path == "/api/history" and query["stream"] == "accelerometer" and float(query["from"]) < self.start - 50 for path, query in self.mock.requests), "history")
        self.page.until("document.querySelector('.window').innerText === '1 min'")
        self.until_ink_at(self.start - 40)

    def until_ink_at(self, moment):
        for _ in range(200):
            shown = self.ink()
            plot = shown["plot"]
            if plot is None:
                self.frames()
                continue
            x = plot["left"] + (moment - plot["from"]) / (plot["to"] - plot["from"]) * (plot["right"] - plot["left"])
            if plot["left"] < x < plot["right"] and shown["rows"][int(x - plot["left"])]:
                return
            self.frames(5)
        self.fail("the past was not drawn")

    def test_scrolling_back_shows_what_the_publisher_keeps(self):
        self.mock.streams[ACCELEROMETER].fields = ["x"]
        self.live()
        for _ in range(12):
            self.page.click("Scroll back")
        self.page.until("/\\(\\d+( min)?.* ago\\)/.test(document.querySelector('.where').innerText)")
        self.mock.wait(lambda: any(path == "/api/history" and query["stream"] == "accelerometer" and float(query["to"]) < self.start - 50 for path, query in self.mock.requests), "history")
        self.until_ink_at(self.start - 65)
        self.assertLess(self.deviation(self.ink(), lambda at: sine("x", at)), 0.03)
        self.page.click("Live", selector=".toolbar button")
        self.page.until("document.querySelector('.where').innerText === 'now'")

    def test_the_past_of_a_stream_that_the_console_does_not_know_yet_is_asked_for_again(self):
        self.expected = ("404",)
        self.live()
        self.mock.missing = {"/api/history"}
        self.mock.requests.clear()
        self.page.js(f"import('/assets/live.js').then(({{ moveTo }}) => {{ moveTo({self.start - 60}); return true; }})")
        self.mock.wait(lambda: len([path for path, query in self.mock.requests if path == "/api/history" and query["stream"] == "accelerometer" and float(query["to"]) < self.start - 50]) > 1, "second request")
        self.mock.missing = set()
        self.until_ink_at(self.start - 65)

    def test_arrow_keys_and_dragging_scroll(self):
        self.live()
        self.page.js("document.activeElement.blur()")
        for _ in range(4):
            self.page.key("ArrowLeft")
        # The plot keeps its samples, and their age grows each second.
        self.page.until("Number(/\\((\\d+) s ago/.exec(document.querySelector('.where').innerText)?.[1]) >= 10")
        place = self.page.js(f"(() => {{ const box = document.querySelector(\"{self.card()} canvas\").getBoundingClientRect(); return {{ x: box.x + 100, y: box.y + 60, w: box.width }}; }})()")
        before = self.ink()["plot"]["to"]
        self.page.drag(place["x"], place["y"], place["x"] + 100)
        for _ in range(200):
            if self.ink()["plot"]["to"] < before - 1:
                break
            self.frames()
        else:
            self.fail("dragging did not scroll")
        self.page.key("l")
        self.page.until("document.querySelector('.where').innerText === 'now'")

    # Numbers and texts

    def test_steps_and_cadence_stand_at_the_acceleration(self):
        self.live()
        self.mock.wait_call("steps.startUpdates", device="left-wrist", name="console")
        self.page.until(f"document.querySelector(\"{self.card()} .steps\").innerText === '12 steps'")
        update = {"schema": "steps.v1", "device": "left-wrist", "change": "update", "cadence": 1.75, "date": iso(self.start)}
        self.mock.bus({**update, "subscription": "3F2A", "numberOfSteps": 310})
        self.page.until(f"document.querySelector(\"{self.card()} .steps\").innerText === '310 steps, 1.75 per second'")
        # Another client's subscription began earlier.
        self.mock.bus({**update, "subscription": "9B2C", "numberOfSteps": 4812, "cadence": 1.8})
        self.page.until(f"document.querySelector(\"{self.card()} .steps\").innerText === '310 steps, 1.80 per second'")

    def test_battery_and_accuracy_are_numbers_and_text_is_a_list(self):
        self.live()
        self.page.until("/battery\\s*87/.test(document.querySelector(\"[data-stream='chest/heart'] .states\").innerText)")
        self.assertRegex(self.text("[data-stream='chest/heart'] .states"), r"accuracy\s*2")
        self.page.until("document.querySelectorAll(\"[data-stream='phone/events'] .texts li\").length > 10")
        self.assertRegex(self.text("[data-stream='phone/events'] .texts li"), r"label\s*sit")

    def test_what_was_not_measured_says_so(self):
        self.mock.streams[ACCELEROMETER].more = {"origin": "simulated"}
        self.mock.streams["phone/gyroscope"].more = {"origin": "measured"}
        self.live()
        self.assertIn("simulated", self.text(f"{self.card()} header"))
        self.assertNotIn("measured", self.text("#live"))

    def test_a_stream_that_failed_says_why_and_a_silent_one_says_so(self):
        self.mock.streams["phone/gyroscope"].more = {"state": "failed", "reason": "standard input was closed"}
        self.live()
        self.page.until("document.querySelector(\"[data-stream='phone/gyroscope'] .note\").innerText === 'Failed: standard input was closed'")
        self.page.until(f"document.querySelector(\"{self.card()} .note\").innerText.startsWith('Silent for')")

    def test_a_clock_that_is_wrong_is_named(self):
        self.open(self.mock.url)
        self.mock.wait_viewer()
        self.mock.feed(ACCELEROMETER, time.time() - 3700, time.time() - 3690, received=time.time())
        self.page.until(f"/The times of this device are 1 h .*behind/.test(document.querySelector(\"{self.card()} .note\")?.innerText)")

    def test_the_filter_leaves_streams_out_of_the_grid_and_of_what_is_asked_for(self):
        self.live()
        self.page.type("Filter streams", "wrist acc")
        self.page.until("document.querySelectorAll('.card').length === 1")
        self.mock.wait_viewer(streams=ACCELEROMETER)
        self.page.type("Filter streams", "nothing like it")
        self.page.until("document.querySelector('#live .empty').innerText.includes('No stream matches')")

    def test_a_hundred_streams_are_shown_24_at_a_time(self):
        for number in range(100):
            self.mock.streams[f"d{number:03}/a"] = Stream(f"d{number:03}/a")
        self.open(self.mock.url)
        self.page.until("document.querySelectorAll('.card').length === 24")
        self.mock.wait(lambda: any(len(query.get("streams", "").split(",")) == 24 for _, query in self.mock.viewers), "viewer of 24 streams")
        self.page.click("Show more streams")
        self.page.until("document.querySelectorAll('.card').length === 48")

    def test_if_an_address_can_not_name_the_streams_all_are_asked_for(self):
        for number in range(100):
            name = f"d{number:03}/{'a' * 250}"
            self.mock.streams[name] = Stream(name)
        self.open(self.mock.url)
        self.mock.wait(lambda: any(len(query.get("streams", "").split(",")) == 24 for _, query in self.mock.viewers), "viewer of 24 streams")
        self.page.click("Show more streams")
        self.mock.wait(lambda: "streams" not in self.mock.viewers[-1][1], "viewer of all streams")

    # Connections

    def test_a_reloaded_page_is_full_at_once(self):
        self.live()
        self.page.reload()
        self.page.until("document.querySelectorAll('.card').length === 4")
        self.mock.wait_viewer()
        self.start = time.time()
        self.mock.feed(ACCELEROMETER, self.start - 0.1, self.start)
        self.until_ink_at(self.start - 3)

    def test_a_past_that_ends_too_early_is_asked_for_again(self):
        columns = self.mock.streams[ACCELEROMETER].columns
        short = []

        def early(start, end, count):
            # The first reply lacks the last second.
            short.append(end)
            return columns(start, end - 1 if len(short) == 1 else end, count)

        self.mock.streams[ACCELEROMETER].columns = early
        self.open(self.mock.url)
        self.mock.wait_viewer()
        self.start = time.time()
        self.mock.feed(ACCELEROMETER, self.start - 0.1, self.start)
        self.until_ink_at(self.start - 3)
        self.mock.wait(lambda: len(short) > 1, "second request")
        self.until_ink_at(self.start - 0.5)

    def test_a_lost_connection_resumes_by_itself_and_the_hole_is_filled(self):
        self.expected = ("ERR_CONNECTION|ERR_EMPTY|ERR_INCOMPLETE|Failed to load|net::",)
        self.live()
        self.mock.stop()
        self.page.until("document.getElementById('connection').innerText === 'not connected'")
        self.assertIn("The page retries automatically", self.text("#notice"))
        self.mock.start_again()
        self.mock.wait_viewer()
        self.page.until("document.getElementById('connection').innerText === 'connected'")
        self.page.until("document.getElementById('notice').hidden")
        self.mock.requests.clear()
        # The page may connect once more, with the streams that it shows: samples fed before that
        # are lost.
        ends, asked = [], None
        while asked is None and len(ends) < 100:
            ends.append(time.time())
            self.mock.feed(ACCELEROMETER, ends[-1] - 0.1, ends[-1])
            self.page.js("new Promise((resolve) => setTimeout(resolve, 200))")
            asked = next((query for path, query in self.mock.requests if path == "/api/history" and query["stream"] == "accelerometer"), None)
        self.assertIsNotNone(asked, "the hole was not asked for")
        self.assertGreater(float(asked["from"]), max(self.start, ends[0] - 10) - 0.2)
        self.assertLess(float(asked["from"]), max(self.start, ends[-1] - 10) + 0.2)
        self.until_ink_at(ends[0] - 0.6)

    def test_a_hole_that_is_longer_than_the_plot_is_filled_where_it_is_looked_at(self):
        self.expected = ("ERR_CONNECTION|ERR_EMPTY|ERR_INCOMPLETE|Failed to load|net::",)
        self.live()
        for _ in range(2):
            self.page.click("Zoom in: show less time")
        self.page.until("document.querySelector('.window').innerText === '2 s'")
        self.mock.stop()
        self.page.until("document.getElementById('connection').innerText === 'not connected'")
        self.mock.start_again()
        self.mock.wait_viewer()
        self.page.until("document.getElementById('connection').innerText === 'connected'")
        # A minute passes, on the console's clock too.
        newest = f"import('/assets/store.js').then(({{ seriesOf }}) => seriesOf('{ACCELEROMETER}').last)"
        end = self.start + 60
        for _ in range(100):
            end += 0.2
            self.mock.feed(ACCELEROMETER, end - 0.1, end)
            self.frames()
            if self.page.js(newest) > self.start + 50:
                break
        else:
            self.fail("no sample came")
        self.page.js(f"import('/assets/live.js').then(({{ moveTo }}) => {{ moveTo({self.start + 30}); return true; }})")

        def is_asked(path, query):
            if path != "/api/history" or query["stream"] != "accelerometer":
                return False
            return abs(float(query["from"]) - self.start - 28) < 0.1 and abs(float(query["to"]) - self.start - 30) < 0.1

        self.mock.wait(lambda: any(is_asked(path, query) for path, query in self.mock.requests), "request of the hole")
        self.until_ink_at(self.start + 29)

    def test_a_clock_that_is_set_back_a_little_is_followed(self):
        self.live()
        clock = "import('/assets/store.js').then(({ now }) => now() - performance.now() / 1000)"
        newest = f"import('/assets/store.js').then(({{ seriesOf }}) => seriesOf('{ACCELEROMETER}').last)"
        before = self.page.js(clock)
        for later in (31, 62):
            self.page.js("""(() => {
                const real = performance.now.bind(performance);
                performance.now = () => real() + 31000;
            })()""")
            end = time.time() + later - 3
            self.mock.feed(ACCELEROMETER, end - 0.1, end)
            for _ in range(200):
                if self.page.js(newest) > end - 0.5:
                    break
                self.frames()
        self.assertAlmostEqual(self.page.js(clock), before - 3, delta=2.5)

    def test_a_cut_viewer_comes_back(self):
        self.expected = ("ERR_|Failed to load",)
        self.live()
        self.mock.cut()
        self.mock.wait_viewer()
        self.page.until("document.getElementById('connection').innerText === 'connected'")

    def test_a_console_that_sends_no_events_is_said_in_words(self):
        self.expected = ("404",)
        self.mock.missing = {"/api/events"}
        self.open(self.mock.url)
        self.page.until("document.getElementById('notice').innerText.includes('sends no live samples to this page')")
        self.page.until("document.querySelectorAll('.card').length === 4")
        self.mock.streams["new/stream"] = Stream("new/stream")
        self.page.until("document.querySelectorAll('.card').length === 5")

    def test_no_streams_is_said_with_what_to_do(self):
        self.mock.streams.clear()
        self.open(self.mock.url)
        self.page.until("document.querySelector('#live .empty').innerText.includes('sensor-publisher --signal walk')")
        self.mock.health["sensor-publisher"] = None
        self.mock.send_state()
        self.page.until("document.querySelector('#live .empty').innerText.includes('sensor-publisher does not answer')")

    def test_a_page_that_was_too_slow_says_so(self):
        self.live()
        self.mock.send("behind", {"samples": 1234})
        self.page.until("document.querySelector('.summary').innerText.includes('too slow for 1,234 samples')")

    # Script

    def test_script_in_names_units_reasons_and_records_is_text(self):
        self.expected = ("404",)
        evil = "<img src=x onerror=\"document.title='broken'\"><script>document.title='broken'</script>"
        self.mock.streams = {}
        for stream in (Stream(f"{evil}/{evil}", fields=["x", evil], unit=evil, state="failed", reason=evil),
                       Stream("phone/notes", rate=2, fields=["label"], types=["text"], signal=lambda field, at: evil)):
            self.mock.streams[stream.name] = stream
        self.open(self.mock.url)
        self.mock.wait_viewer()
        now = time.time()
        self.mock.send("samples", {"device": evil, "stream": evil, "epoch": evil, "first": 0, "received": now, "times": [now], "fields": {"x": [1], evil: [2]}})
        self.mock.feed("phone/notes", now - 5, now)
        self.mock.bus({"schema": evil, "change": evil, "session": evil, "annotation": {"label": evil, "date": iso(now)}, "date": iso(now)})
        self.mock.bus({"schema": "recording.v1", "change": "annotation", "session": evil, "annotation": {"label": evil, "number": 1, "date": iso(now)}, "date": iso(now), "step": evil})
        self.page.until("document.querySelectorAll('.texts li').length > 3")
        self.assertIn("<script>", self.text("[data-stream='phone/notes'] .texts"))
        self.assertIn("<img", self.text(".card h2"))
        self.page.click("System", selector="nav a")
        self.page.until("document.querySelector('.events').innerText.includes('<script>')")
        self.assertEqual(self.page.js("document.querySelectorAll('main img, main script').length"), 0)
        self.assertNotEqual(self.page.js("document.title"), "broken")
