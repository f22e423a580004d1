"""The views for recording, sessions and programs: each control has its effect."""

import time

from mock import Mock, Stream, iso
from rig import PageTest

SESSION = "20261125T110000Z-16e1"


class ControlTests(PageTest):
    def setUp(self):
        self.mock = Mock(Stream("left-wrist/accelerometer"), Stream("phone/gyroscope", rate=50))
        self.addCleanup(self.mock.close)
        self.start = time.time()
        self.mock.replies.update({
            "steps.startUpdates": {"subscription": "3F2A"}, "recording.start": self.started, "recording.status": lambda body: self.mock.recordings[0],
            "recording.moveTo": lambda body: self.change(step=f"Walk/{body['step']}", currentStep=body["step"]),
            "recording.pause": lambda body: self.change(paused=True), "recording.resume": lambda body: self.change(paused=False),
            "recording.annotate": self.annotated, "recording.cancel": lambda body: self.ended("cancelled"), "recording.stop": self.stopped,
            "recording.discard": lambda body: {"session": body["session"], "isComplete": True, "others": []},
            "archive.create": {"session": SESSION}, f"/api/sessions/{SESSION}/verify": {"whole": True, "problems": []},
        })
        self.mock.system = {
            "thresholds": {"totalBytes": 20_000_000_000, "pendingUploadBytes": 0, "minimumFreeBytes": 100_000_000_000},
            "usage": {"totalBytes": 12_000_000_000, "pendingUploadBytes": 0, "freeBytes": 80_000_000_000, "logs": [{"name": "a_b", "files": 3, "bytes": 2_000_000, "pendingBytes": 0}]}}
        self.annotations = 0

    def started(self, body):
        self.mock.recordings = [{
            "session": body.get("session", "s1"), "status": "running", "task": body.get("task"), "step": "Walk/outbound", "currentStep": body.get("step"), "paused": False,
            "startDate": iso(time.time() - 65), "configuration": {"streams": body["streams"], "format": "json", **({"duration": body["duration"]} if "duration" in body else {})},
            "logs": [{"stream": "left-wrist/accelerometer", "name": "a", "file": "a.json", "samples": 7500, "bytes": 1_300_000, "gaps": 1, "recovered": 12}]}]
        session = self.mock.recordings[0]["session"]
        self.mock.details[session] = {"summary": {"session": session, "status": "running", "startDate": iso(time.time() - 65), "streams": []}, "annotations": [], "gaps": [], "steps": [], "files": []}
        return {"session": session, "status": "running", "logs": []}

    def change(self, **changes):
        self.mock.recordings[0].update(changes)
        return self.mock.recordings[0]

    def annotated(self, body):
        self.annotations += 1
        return {"session": body["session"], "annotation": {"number": self.annotations, "date": iso(time.time()), "from": iso(time.time()), **{key: body[key] for key in ("label", "note", "corrects") if key in body}}}

    def ended(self, status):
        session = self.mock.recordings.pop()["session"]
        self.mock.send_state()
        return {"session": session, "status": status, "step": "", "paused": False, "logs": []}

    def stopped(self, body):
        self.ended("finished")
        self.store(body["session"])
        return {"session": body["session"], "status": "finished", "directory": "/data", "logs": [], "report": self.mock.details[body["session"]]["report"]}

    def store(self, session=SESSION, **more):
        start, end = self.start - 4600, self.start - 4540
        self.mock.sessions.append({"session": session, "startDate": iso(start), "endDate": iso(end), "status": "finished", "samples": 5970, "gaps": 1, "bytes": 2_345_678,
                                   "whole": False, "archive": {"path": "archives/s1.zip", "bytes": 4096}, "receipt": {"etag": "9b2c"}, **more})
        self.mock.details[session] = {
            "report": {"session": session, "startDate": iso(start), "endDate": iso(end), "isWhole": False, "status": "finished", "task": "Walk", "failures": [],
                       "clocks": [{"endpoint": "tcp://127.0.0.1:5551", "first": 0.0021, "last": 0.0023, "drift": -7.07e-06, "uncertainty": 0.0004, "comparisons": 2}],
                       "commitLatency": {"count": 12, "maximum": 0.11, "median": 0.05, "p99": 0.1},
                       "streams": [{"stream": "left-wrist/accelerometer", "actualRate": 99.98, "nominalRate": 100, "bytes": 4_096_000, "expected": 6000, "received": 5970, "recovered": 10, "lost": 30, "paused": 0, "gaps": []}]},
            "annotations": [{"number": 1, "label": "fall", "from": iso(start + 10), "date": iso(start + 10), "note": "seen on the video"}],
            "gaps": [{"stream": "left-wrist/accelerometer", "gap": {"epoch": "E1", "from": 3000, "count": 30, "reason": "notRetained"}},
                     {"stream": "left-wrist/accelerometer", "gap": {"epoch": "E1", "from": 4000, "count": 0, "reason": "epochEnded"}}],
            "steps": [{"step": "Walk/outbound", "date": iso(start), "timestamp": 0}, {"step": "Walk/return", "date": iso(start + 29), "timestamp": 29}],
            "files": [{"name": "left-wrist_accelerometer.json", "size": 4_096_000, "sha256": "e3b0c44298fc1c149afbf4c8996fb924"}]}
        return start, end

    def record(self, **options):
        self.open(self.mock.url, "record", **options)
        self.mock.wait_viewer()
        self.page.until("document.querySelectorAll('.choice').length === 2")

    def running(self):
        self.record()
        self.page.click("Start recording")
        self.page.until("document.querySelector('.running').hidden === false")

    def other(self):
        """A second session, besides the one that the page started."""
        self.mock.recordings.append({**self.mock.recordings[0], "session": "s2"})
        self.mock.details["s2"] = self.mock.details["s1"]

    def session(self):
        self.span = self.store()
        self.open(self.mock.url, f"sessions/{SESSION}")
        self.page.until("document.querySelector('#sessions h1').innerText === '%s' && document.querySelector('#sessions table') && document.querySelector('#sessions .danger').hidden === false" % SESSION)

    # Record

    def test_start_asks_for_what_the_form_says(self):
        self.record()
        self.page.click("phone/gyroscope", selector=".choice")
        self.page.js("document.querySelector('[name=task]').value = 'Sit'; document.querySelector('[name=session]').value = 's7'; document.querySelector('[name=duration]').value = '2m'; document.querySelector('[name=before]').value = '30s'; document.querySelector('[name=steps]').value = 'one\\n two \\n'")
        self.page.click("Start recording")
        self.assertEqual(self.mock.wait_call("recording.start"), {"streams": ["left-wrist/accelerometer"], "session": "s7", "task": "Sit", "step": "one", "duration": 120, "before": 30})
        self.page.until("document.querySelector('.running').hidden === false")

    def test_start_takes_all_streams_and_runs_until_stopped_by_default(self):
        self.running()
        self.assertEqual(self.mock.wait_call("recording.start"), {"streams": ["*"], "task": "Walk", "step": "outbound"})
        self.page.until("/^1:0[5-9]\\.\\d$|^1:[1-5]/.test(document.querySelector('.clock').innerText)")
        self.assertEqual(self.text(".of"), "until stopped")
        self.assertEqual(self.text(".durable"), "Durable up to 0.1 s ago")
        self.assertRegex(self.text(".logs"), r"7,500 samples[\s\S]*1\.3 MB[\s\S]*1 gap[\s\S]*12 recovered")
        self.assertEqual(self.page.focus(), "Stop")

    def test_an_excluded_stream_is_not_recorded_when_it_returns(self):
        self.record()
        self.page.click("phone/gyroscope", selector=".choice")
        del self.mock.streams["phone/gyroscope"]
        self.mock.send_state()
        self.page.until("document.querySelector('fieldset.streams').innerText.includes('unavailable')")
        self.assertEqual(self.page.js("[...document.querySelectorAll('.choice input')].map((input) => input.checked)"), [True, False])
        self.page.click("Start recording")
        self.assertEqual(self.mock.wait_call("recording.start")["streams"], ["left-wrist/accelerometer"])
        self.page.until("document.querySelector('.running').hidden === false")

    def test_nonsense_is_refused_with_what_to_write(self):
        self.record()
        self.page.js("document.querySelector('[name=duration]').value = 'long'")
        self.page.click("Start recording")
        self.page.until("document.querySelector('form .problem').innerText.includes('write 60s, 5m or 1h')")
        self.page.js("document.querySelector('[name=duration]').value = ''")
        for name in ("phone/gyroscope", "left-wrist/accelerometer"):
            self.page.click(name, selector=".choice")
        self.page.click("Start recording")
        self.page.until("document.querySelector('form .problem').innerText === 'Choose a stream.'")
        self.assertEqual([name for name, _ in self.mock.calls if name == "recording.start"], [])

    def test_a_refusal_of_the_recorder_is_shown(self):
        self.expected = ("409",)
        self.mock.replies["recording.start"] = (409, "s1 is running")
        self.record()
        self.page.click("Start recording")
        self.page.until("document.querySelector('form .problem').innerText.includes('s1 is running')")

    def test_next_step_pause_and_resume_by_buttons_and_keys(self):
        self.running()
        self.page.until("document.querySelector('[aria-current=step]').innerText.includes('outbound')")
        self.page.click("Next: return")
        self.mock.wait_call("recording.moveTo", step="return")
        self.page.until("document.querySelector('.steps-list [aria-current=step]').innerText.includes('return')")
        self.page.until("[...document.querySelectorAll('button')].find((button) => button.innerText === 'No next step').disabled")
        self.page.click("outbound", selector=".steps-list button")
        self.mock.wait_call("recording.moveTo", step="outbound")
        self.page.js("document.activeElement.blur()")
        self.page.key("p")
        self.mock.wait_call("recording.pause")
        self.page.until("document.querySelector('.of').innerText.includes('paused')")
        self.page.click("Resume")
        self.mock.wait_call("recording.resume")
        self.page.until("document.querySelector('.of').innerText === 'until stopped'")

    def test_annotations_by_buttons_and_keys_with_notes_and_withdrawn(self):
        self.running()
        self.page.click("fall", selector=".labels button")
        self.page.until("document.querySelectorAll('.annotations li').length === 1")
        self.page.type("Note for the next annotation", "on the 2nd stair")
        # Typing into a field must not trigger a view's shortcut.
        self.page.key("3")
        self.page.js("document.activeElement.blur()")
        self.page.key("2")
        self.assertEqual(self.mock.wait_call("recording.annotate", label="stumble")["note"], "on the 2nd stair3")
        self.page.until("document.querySelectorAll('.annotations li').length === 2")
        self.assertEqual([body["label"] for name, body in self.mock.calls if name == "recording.annotate"], ["fall", "stumble"])
        self.page.click("Withdraw annotation 1, fall")
        self.mock.wait_call("recording.annotate", label="", corrects=1)
        self.page.until("document.querySelectorAll('.annotations .withdrawn').length === 1")
        self.mock.bus({"schema": "recording.v1", "change": "annotation", "session": "s1", "status": "running", "step": "Walk/outbound", "date": iso(time.time()), "annotation": {"number": 9, "label": "seen elsewhere", "date": iso(time.time())}})
        self.page.until("document.querySelector('.annotations').innerText.includes('seen elsewhere')")

    def test_stop_ends_it_and_opens_the_session(self):
        self.running()
        self.page.click("Stop")
        self.mock.wait_call("recording.stop", session="s1")
        self.page.until("location.hash === '#/sessions/s1' && document.querySelector('#sessions h1').innerText === 's1'")
        self.assertIn("5,970 samples, 30 lost", self.text("#messages"))

    def test_cancel_asks_first(self):
        self.running()
        self.page.click("Cancel …")
        self.page.until("document.querySelector('dialog[open]')")
        self.page.key("Escape")
        self.page.until("!document.querySelector('dialog')")
        self.page.click("Cancel …")
        self.page.click("Cancel the recording")
        self.mock.wait_call("recording.cancel", session="s1")
        self.page.until("document.querySelector('#record form').hidden === false")
        self.assertEqual(len([name for name, _ in self.mock.calls if name == "recording.cancel"]), 1)

    def test_cancel_ends_the_session_that_the_dialog_names(self):
        self.expected = ("409",)
        self.mock.replies["recording.cancel"] = (409, "the session is over")
        self.running()
        self.other()
        self.mock.send_state()
        self.page.until("document.querySelectorAll('.running option').length === 2")
        self.page.click("Cancel …")
        self.page.until("document.querySelector('dialog[open]')")
        self.store("s1")
        del self.mock.recordings[0]
        self.mock.bus({"schema": "recording.v1", "change": "report", "session": "s1", "status": "finished", "step": "", "date": iso(time.time()), "report": self.mock.details["s1"]["report"]})
        self.page.until("document.getElementById('messages').innerText.includes('s1 is stored')")
        self.page.click("Cancel the recording")
        self.assertEqual(self.mock.wait_call("recording.cancel"), {"session": "s1"})
        self.page.until("document.getElementById('messages').innerText.includes('the session is over')")

    def test_one_state_without_the_shown_session_does_not_show_another(self):
        self.running()
        self.other()
        del self.mock.recordings[0]
        self.mock.send_state()
        self.page.until("document.querySelectorAll('.running option').length === 2")
        self.assertTrue(self.text("#record .session-name").startswith("s1"))
        self.mock.send_state()
        self.page.until("document.querySelector('#record .session-name').innerText.startsWith('s2')")

    def test_a_session_that_ended_meanwhile_is_loaded_again(self):
        self.running()
        self.page.js("location.hash = '#/sessions/s1'; 1")
        self.page.until("document.querySelector('#sessions .badge')?.innerText === 'recording'")
        self.page.js("location.hash = '#/record'; 1")
        self.page.until("document.querySelector('#record').hidden === false")
        self.page.click("Stop")
        self.page.until("document.querySelector('#sessions .badge')?.innerText === 'not whole'")
        self.assertIn("3,000", self.text("#sessions"))

    def test_the_overview_of_a_running_session_ends_now_on_the_consoles_clock(self):
        for stream in self.mock.streams.values():
            stream.more["clock"] = {"date": iso(time.time() + 3600), "uptime": 1}
        self.running()
        self.mock.details["s1"]["summary"]["streams"] = [{"stream": "left-wrist/accelerometer", "samples": 7500}]
        self.page.js("location.hash = '#/sessions/s1'; 1")
        asked = self.mock.wait_request("/api/sessions/s1/overview", stream="left-wrist/accelerometer")
        self.assertAlmostEqual(float(asked["to"]), time.time() + 3600, delta=60)

    def test_a_recording_that_ends_by_itself_says_so(self):
        self.running()
        self.store("s1")
        self.mock.bus({"schema": "recording.v1", "change": "report", "session": "s1", "status": "finished", "step": "", "date": iso(time.time()), "report": self.mock.details["s1"]["report"]})
        self.page.until("document.getElementById('messages').innerText.includes('s1 is stored')")

    def test_a_report_that_comes_after_the_state_without_its_session_is_not_missed(self):
        self.running()
        self.store("s1")
        self.ended("finished")
        self.mock.send_state()
        self.page.until("document.querySelector('#record form').hidden === false")
        self.mock.bus({"schema": "recording.v1", "change": "report", "session": "s1", "status": "finished", "step": "", "date": iso(time.time()), "report": self.mock.details["s1"]["report"]})
        self.page.until("document.getElementById('messages').innerText.includes('s1 is stored')")

    def test_a_reloaded_page_shows_the_running_session_and_its_annotations(self):
        self.running()
        self.mock.details["s1"]["annotations"] = [{"number": 1, "label": "fall", "date": iso(self.start)}]
        self.page.reload()
        self.page.until("document.querySelector('.running').hidden === false && document.querySelector('#recording').innerText.includes('1:')")
        self.page.until("document.querySelector('.steps-list [aria-current=step]').innerText.includes('outbound')")
        self.page.until("document.querySelector('.annotations').innerText.includes('fall')")

    def test_a_console_that_may_only_look_says_so(self):
        self.mock.roles = ["listen"]
        self.record()
        self.page.until("document.querySelector('#record .start').disabled")
        self.assertIn("view-only", self.text("#record form"))

    def test_a_recorder_that_is_away_is_named_and_its_promise_too(self):
        self.running()
        self.mock.health["recorder"] = None
        self.mock.send_state()
        self.page.until("document.querySelector('.durable').innerText.includes('Stored samples are kept')")

    # Sessions

    def test_the_list_has_what_each_session_is_and_the_search_asks_the_server(self):
        self.store()
        self.store("walk-2", whole=True, gaps=0, receipt=None)
        self.open(self.mock.url, "sessions")
        self.page.until("document.querySelectorAll('.session-list li').length === 2")
        self.assertRegex(self.text(".session-list li"), r"5,970 samples · 2\.3 MB · 1 gap[\s\S]*not whole[\s\S]*archive uploaded")
        self.assertRegex(self.text(".session-list li:nth-child(2)"), r"no gaps[\s\S]*whole[\s\S]*archive made")
        self.page.type("Search sessions", "walk")
        self.mock.wait_request("/api/sessions", search="walk")
        self.page.until("document.querySelectorAll('.session-list li').length === 1")
        self.page.type("Search sessions", "nobody")
        self.page.until("document.querySelector('#sessions .summary').innerText === 'No session matches.'")

    def test_more_sessions_follow_with_the_servers_cursor(self):
        for number in range(70):
            self.store(f"s{number}")
        self.open(self.mock.url, "sessions")
        self.page.until("document.querySelectorAll('.session-list li').length === 50")
        self.page.click("Show more")
        self.mock.wait_request("/api/sessions", after="50")
        self.page.until("document.querySelectorAll('.session-list li').length === 70")

    def test_a_session_has_plots_steps_annotations_gaps_and_files(self):
        self.session()
        start, end = self.span
        asked = self.mock.wait_request(f"/api/sessions/{SESSION}/overview", stream="left-wrist/accelerometer")
        self.assertAlmostEqual(float(asked["from"]), start, delta=0.01)
        self.assertAlmostEqual(float(asked["to"]), end, delta=0.01)
        page = self.text("#sessions")
        for words in ("not whole", "Walk/return", "29 s", "31 s", "fall", "seen on the video", "3,000", "the publisher no longer had them", "unknown", "2.1 ms", "-7.1 ppm", "left-wrist_accelerometer.json", "e3b0c44298fc…", "99.98 of 100 Hz"):
            self.assertIn(words, page)
        self.page.until("document.querySelector('#sessions .card').innerText.includes('1 gap here')")
        self.page.click("Zoom in")
        self.mock.wait(lambda: any(path.endswith("/overview") and float(query["from"]) > start + 10 for path, query in self.mock.requests), "zoomed overview")
        # A column without a value in any row is left out.
        self.assertNotIn("Corrects", page)
        links = dict(self.page.js("[...document.querySelectorAll('#sessions a')].map((link) => [link.innerText, link.getAttribute('href')])"))
        for text, path in (
                ("left-wrist_accelerometer.json", "files/left-wrist_accelerometer.json"), ("Report", "report"), ("CSV", "export?format=csv&stream=left-wrist%2Faccelerometer"),
                ("MCAP, for Foxglove", "export?format=mcap"), ("XDF, for Lab Streaming Layer tools", "export?format=xdf")):
            self.assertEqual(links.get(text), f"/api/sessions/{SESSION}/{path}")

    def test_verify_now_says_what_it_found(self):
        self.session()
        self.page.click("Verify now")
        self.page.until("document.querySelector('.verified').innerText.startsWith('Verified: whole')")
        self.mock.replies[f"/api/sessions/{SESSION}/verify"] = {"whole": False, "problems": ["left-wrist_accelerometer.json differs from SHA256SUMS"]}
        self.page.click("Verify now")
        self.page.until("document.querySelector('.verified').innerText.includes('differs from SHA256SUMS')")

    def test_discard_asks_and_asks_again_where_the_recorder_refuses(self):
        self.expected = ("409",)
        self.mock.replies["recording.discard"] = lambda body: {"session": SESSION} if body.get("force") else (409, "no receipt confirms its upload")
        self.session()
        self.page.click("Discard …")
        self.page.click("Keep it")
        self.page.until("!document.querySelector('dialog')")
        self.assertEqual([name for name, _ in self.mock.calls if name == "recording.discard"], [])
        self.page.click("Discard …")
        self.page.click("Discard it")
        self.page.until("document.querySelector('dialog')?.innerText.includes('no receipt confirms its upload')")
        self.page.click("Discard it anyway")
        self.mock.wait_call("recording.discard", session=SESSION, force=True)
        self.page.until("location.hash === '#/sessions'")

    def test_archive_asks_the_archiver(self):
        self.session()
        self.page.click("Archive")
        self.mock.wait_call("archive.create", session=SESSION)

    def test_what_can_not_be_shown_is_said_with_the_reason(self):
        self.expected = ("404",)
        self.mock.missing = {"/api/sessions", "/api/system"}
        self.open(self.mock.url, "sessions")
        self.page.until("document.querySelector('#sessions .summary').innerText.includes('there is nothing at this address')")
        self.page.js("location.hash = '#/sessions/none'; 1")
        self.page.until("document.querySelector('#sessions .session .summary')?.innerText.includes('there is nothing at this address')")
        self.page.click("System", selector="nav a")
        self.page.until("document.querySelector('#system').innerText.includes('there is nothing at this address')")

    # System

    def test_the_programs_their_storage_and_their_events(self):
        self.mock.health["log-manager"] = {"status": "degraded", "uptime": 3700, "version": "0.7.0", "reasons": ["the disk is slow"], "measures": {"freeBytes": 5}}
        self.mock.health["archiver"] = None
        self.open(self.mock.url, "system")
        self.mock.wait_viewer()
        self.page.until("document.querySelectorAll('.tile').length === 5")
        self.page.until("document.querySelector('#system').innerText.includes('Free space is below the limit')")
        self.mock.bus({"schema": "archive.v1", "change": "failed", "session": "s2", "reason": "the disk is full", "date": iso(time.time())})
        self.page.until("document.querySelector('.events').innerText.includes('s2 · failed · the disk is full')")
        page = self.text("#system")
        for words in ("the disk is slow", "up 1 h 1 min", "no answer", "12.0 GB", "listen, command, delete"):
            self.assertIn(words, page)
        self.assertNotIn("of 0 B", page)
        self.page.click("Measures")
        self.page.until("document.querySelector('.tile details[open]')")

    def test_a_phone_is_added_by_a_code(self):
        self.mock.replies["phones.link"] = {"link": "https://192.0.2.7:8443/phone#token=9b2c", "code": ["10", "01"]}
        self.open(self.mock.url, "system")
        self.page.until("document.querySelector('#system').innerText.includes('Add a phone')")
        self.page.click("Add a phone")
        self.page.until("document.querySelector('dialog canvas')")
        self.assertIn("https://192.0.2.7:8443/phone#token=9b2c", self.text("dialog"))
        # Four light modules around it, the QR code's quiet zone.
        dark = self.page.js("""(() => {
            const canvas = document.querySelector("dialog canvas"), dark = [];
            const pixels = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
            for (let y = 0; y < canvas.height; y++) for (let x = 0; x < canvas.width; x++) if (pixels[(y * canvas.width + x) * 4] === 0) dark.push([x, y]);
            return [canvas.width, canvas.height, dark];
        })()""")
        self.assertEqual(dark, [10, 10, [[4, 4], [5, 5]]])
        self.page.click("Close")
        self.page.until("!document.querySelector('dialog')")

    def test_whatever_the_server_tells_of_the_system_is_shown(self):
        self.mock.system = {
            "disk": {"totalBytes": 5, "pendingUploadBytes": 1, "freeBytes": 7_000_000, "logs": []}, "queues": [{"program": "recorder", "queue": "heldBytes", "value": 2_000_000}],
            "clocks": [{"program": "recorder", "offsetSeconds": 0.0021}], "connected": [{"kind": "page", "address": "192.0.2.7", "role": "listen"}], "unheardOf": {"heldBytes": 3_000_000}}
        self.open(self.mock.url, "system")
        self.page.until("document.querySelector('#system').innerText.includes('2.1 ms')")
        page = self.text("#system")
        for words in ("7.0 MB", "held", "2.0 MB", "Queues", "Clock offsets", "192.0.2.7", "Unheard of", "3.0 MB"):
            self.assertIn(words, page)
