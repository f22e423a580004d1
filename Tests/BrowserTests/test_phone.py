"""The page for phones, with virtual sensors, the real programs, TLS, and a network that is cut."""

import glob
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import unittest

from programs import ANY, PROGRAMS, Cut, Programs
from rig import PageTest, axe, browser

# Records each event that the page listens to, across reloads.
WATCH = """
    const seen = JSON.parse(sessionStorage.getItem("seen") ?? "[]");
    const { addEventListener: add, removeEventListener: remove } = window;
    const wrappers = new Map();
    window.addEventListener = (kind, listener, ...rest) => {
        if (kind === "devicemotion") {
            wrappers.set(listener, (event) => {
                const { x, y, z } = event.accelerationIncludingGravity ?? {};
                if (typeof x === "number" && typeof y === "number" && typeof z === "number") seen.push([x, y, z]);
                listener(event);
            });
        }
        add.call(window, kind, wrappers.get(listener) ?? listener, ...rest);
    };
    window.removeEventListener = (kind, listener, ...rest) => remove.call(window, kind, wrappers.get(listener) ?? listener, ...rest);
    add.call(window, "pagehide", () => sessionStorage.setItem("seen", JSON.stringify(seen)));
    globalThis.seen = seen;
"""


# Debian installs nginx outside a normal user's PATH.
NGINX = shutil.which("nginx", path=f"{os.environ.get('PATH', '')}:/usr/sbin")

# From docs/phones.md.
PROXY = """
daemon off; pid nginx.pid; error_log nginx.log; events {}
http {
  access_log off;
  client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path f; uwsgi_temp_path u; scgi_temp_path s;
  server {
    listen 127.0.0.1:%(port)d ssl;
    ssl_certificate identity/certificate.pem;
    ssl_certificate_key identity/private-key.pem;
    location / {
      proxy_pass https://127.0.0.1:%(target)d;
      proxy_set_header Host $http_host;
    }
  }
}
"""


class PhonePrograms(Programs):
    """A publisher that receives samples from phones through a connection that can be cut, and a recorder."""

    def __init__(self):
        self.directory = tempfile.TemporaryDirectory(prefix="holdfast-phone-", ignore_cleanup_errors=True)
        self.running = {}
        self.cut = None
        try:
            data = ["--data", os.path.join(self.directory.name, "data")]
            # Each program must know the other's address before it starts.
            sockets = f"ipc://{self.directory.name}"
            recorder = [f"{sockets}/r-events", f"{sockets}/r"]
            self.publishing = [
                "--signal", "walk", "--device", "taken", "--http-identity", "identity", "--recorder-events", recorder[0], "--recorder", recorder[1]]
            self.publisher = self.start("sensor-publisher", *ANY, "--listen-http", "127.0.0.1:0", *self.publishing)
            self.recorder = self.start(
                "recorder", *data, "--subscribe", self.publisher["publish"], "--publish", recorder[0], "--reply", recorder[1])
            self.link = re.search(r"while it shows (\S+)", self.publisher["said"]).group(1)
            self.cut = Cut(f"tcp://{self.link.split('//')[1].split('/')[0]}")
            self.link = self.link.replace(f":{self.cut.target[1]}/", f":{self.cut.endpoint.rsplit(':', 1)[1]}/")
        except BaseException:
            self.close()
            raise

    def restart_publisher(self):
        """Kills the publisher, and starts it on the same addresses."""
        self.running["sensor-publisher"].kill()
        self.running["sensor-publisher"].wait()
        self.start(
            "sensor-publisher", "--publish", self.publisher["publish"], "--reply", self.publisher["reply"],
            "--listen-http", f"127.0.0.1:{self.cut.target[1]}", *self.publishing)

    def start_proxy(self):
        """Puts a web server between the phone and the publisher."""
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        folder = self.directory.name
        with open(os.path.join(folder, "nginx.conf"), "w", encoding="utf-8") as file:
            file.write(PROXY.replace("identity/", f"{folder}/identity/") % {"port": port, "target": self.cut.target[1]})
        self.running["nginx"] = subprocess.Popen(
            [NGINX, "-p", folder, "-c", os.path.join(folder, "nginx.conf")], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for _ in range(500):
            try:
                socket.create_connection(("127.0.0.1", port)).close()
                break
            except OSError:
                threading.Event().wait(0.1)
        self.link = re.sub(r"//[^/]+/", f"//127.0.0.1:{port}/", self.link)

    def record(self, session, *options):
        """Starts a session; `end` stops it."""
        return subprocess.Popen(
            [os.path.join(PROGRAMS, "recorder"), "record", "--reply", self.recorder["reply"], "--session", session, *options],
            cwd=self.directory.name, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    @staticmethod
    def end(command):
        command.send_signal(signal.SIGINT)
        return command.communicate(timeout=60)[0].decode(), command.returncode


@unittest.skipUnless(PROGRAMS, "the programs are not built: make browser builds them")
class PhoneTests(PageTest):
    # The test cuts the network.
    expected = ("ERR_", "Failed to load resource")

    def setUp(self):
        self.programs = PhonePrograms()
        self.addCleanup(self.programs.close)

    def open_phone(self, sensors=True, script="", **options):
        self.base = self.programs.link.split("/phone")[0]
        self.page = browser().page(width=390, height=844, scale=2, touch=True, **options)
        self.addCleanup(self.page.close)
        self.addCleanup(self._judge, self.page)
        self.page.ask("Security.setIgnoreCertificateErrors", ignore=True)
        self.page.ask("Page.addScriptToEvaluateOnNewDocument", source=f'if (location.protocol === "https:") {{ {WATCH} {script} }}')
        if sensors:
            for kind in ("accelerometer", "linear-acceleration", "gyroscope"):
                self.page.ask("Emulation.setSensorOverrideEnabled", enabled=True, type=kind)
                self.set(kind, 0, 0, 0)
        self.page.open(self.programs.link)
        self.page.until("!document.getElementById('toggle').disabled", "button that can be pressed")

    def set(self, kind, x, y, z):
        self.page.ask("Emulation.setSensorOverrideReadings", type=kind, reading={"xyz": {"x": x, "y": y, "z": z}})

    def start(self, device):
        self.page.js(f"document.getElementById('device').value = {json.dumps(device)}")
        self.page.click("Start")
        self.page.until("document.getElementById('toggle').innerText === 'Stop'")

    def move(self, seconds, clock, done):
        """Moves the phone, differently each time, until a time or an event."""
        while not done.wait(0.04) and next(clock) < seconds * 25:
            number = self.moves = self.moves + 1
            self.set("accelerometer", number % 100 / 10, number // 100 / 10, 9.8)

    def samples(self, session, stream):
        report = json.loads(self.programs.file("recordings", session, "report.json"))
        entry = next(entry for entry in report["streams"] if entry["stream"] == stream)
        self.assertEqual(entry["gaps"], [])
        self.assertEqual(len(entry["epochs"]), 1, "numbers continue over a reload")
        files = glob.glob(os.path.join(self.programs.directory.name, "data", "recordings", session, f"*{stream.replace('/', '_')}*"))
        rows = []
        for file in sorted(files):
            with open(file, encoding="utf-8") as text:
                rows += [row for row in json.load(text) if "x" in row]
        return rows

    def test_every_event_is_recorded_once_though_the_network_is_cut_and_the_page_reloaded(self):
        self.moves = 0
        never = threading.Event()
        self.open_phone()
        self.start("left-hand")
        self.page.until("/^[1-9]/.test(document.getElementById('safe').innerText)", "sample at the computer")
        session = self.programs.record("phone-1", "--streams", "left-hand/", "--before", "50s")
        self.addCleanup(session.kill)
        self.page.until("document.getElementById('recording').innerText === 'Recording in session phone-1'")
        self.move(15, iter(range(10**6)), never)
        self.programs.cut.cut()
        self.move(20, iter(range(10**6)), never)
        self.page.until("Number(document.getElementById('backlog').innerText) > 100", "backlog")
        self.page.until("document.getElementById('problem').innerText.startsWith('Nothing can be sent')")
        self.programs.cut.is_open = True
        self.page.reload()
        # The page continues by itself.
        self.page.until("document.getElementById('toggle').innerText === 'Stop'")
        self.move(20, iter(range(10**6)), never)
        self.page.click("Stop")
        self.page.until("document.getElementById('toggle').innerText === 'Start'")
        seen = self.page.js("seen")
        self.assertGreater(len(seen), 1000)
        self.page.until(f"Number(document.getElementById('recorded').innerText) >= 3 * {len(seen)}", "sample in the session")
        said, status = self.programs.end(session)
        # No sample is missing, and the session reports that the phone was not heard while the
        # network was cut.
        self.assertEqual(status, 3, said)
        self.assertEqual(said.count("failure:"), said.count("fell silent at"))
        rows = self.samples("phone-1", "left-hand/accelerometer")
        recorded = [[row["x"], row["y"], row["z"]] for row in rows]
        self.assertEqual(len(recorded), len(seen))
        self.assertEqual(recorded, seen)
        times = [row["uptime"] for row in rows]
        self.assertTrue(all(time < later for time, later in zip(times, times[1:])), "times rise")

    def test_what_came_while_something_was_sent_and_stop_was_tapped_is_sent(self):
        self.open_phone(script="""
            const real = globalThis.fetch;
            globalThis.fetch = async (...request) => {
                const response = await real(...request);
                if (globalThis.isStopping && request[0] === "/samples") {
                    globalThis.isStopping = false;
                    const axes = { x: 1, y: 2, z: 3 };
                    for (let count = 0; count < 5; count += 1) {
                        const motion = { acceleration: axes, accelerationIncludingGravity: axes, rotationRate: { alpha: 1, beta: 2, gamma: 3 } };
                        dispatchEvent(new DeviceMotionEvent("devicemotion", motion));
                    }
                    document.getElementById("toggle").click();
                }
                return response;
            };""")
        self.start("left-hand")
        self.page.until("/^[1-9]/.test(document.getElementById('safe').innerText)", "sample at the computer")
        session = self.programs.record("phone-1", "--streams", "left-hand/", "--before", "50s")
        self.addCleanup(session.kill)
        self.page.until("document.getElementById('recording').innerText === 'Recording in session phone-1'")
        self.page.js("globalThis.isStopping = true")
        self.page.until("document.getElementById('toggle').innerText === 'Start'")
        count = len(self.page.js("seen"))
        self.page.until(f"Number(document.getElementById('recorded').innerText) >= 3 * {count}", "sample in the session")
        self.page.until(f"Number(document.getElementById('safe').innerText) === 3 * {count}", "sample at the computer")
        self.assertEqual(self.page.js("document.getElementById('backlog').innerText"), "0")
        said, _ = self.programs.end(session)
        self.assertEqual(len(self.samples("phone-1", "left-hand/accelerometer")), count, said)

    def test_what_was_acknowledged_shortly_before_a_kill_is_sent_again_after_stop(self):
        self.open_phone(script="""
            const real = globalThis.fetch;
            globalThis.ends = 0;
            globalThis.taken = new Set();
            globalThis.fetch = async (...request) => {
                const response = await real(...request);
                if (request[0] === "/samples" && response.status === 200) {
                    const { stream, first, samples, last } = JSON.parse(request[1].body);
                    if (last) globalThis.ends += 1;
                    if (stream === "accelerometer") samples.forEach((_, index) => globalThis.taken.add(first + index));
                }
                return response;
            };""")
        self.start("left-hand")
        self.page.until("Number(document.getElementById('safe').innerText) > 100", "samples at the computer")
        self.page.click("Stop")
        # Accelerometer, acceleration without gravity, and gyroscope.
        self.page.until("globalThis.ends === 3", "acknowledged end")
        self.assertEqual(self.page.js("taken.size"), len(self.page.js("seen")))
        self.page.js("taken.clear(); 1")
        self.programs.restart_publisher()
        self.page.until(f"taken.size === {len(self.page.js('seen'))}", "sample that is sent again")

    def test_the_gyroscope_has_the_axes_of_the_phone(self):
        self.open_phone(script="""
            const real = globalThis.fetch;
            globalThis.fetch = (...request) => {
                if (request[0] === "/samples") {
                    const { stream, samples } = JSON.parse(request[1].body);
                    if (stream === "gyroscope") globalThis.turning = samples.at(-1).slice(1);
                }
                return real(...request);
            };""")
        self.set("gyroscope", 1, 2, 3)
        self.start("left-hand")
        self.page.until("turning.every((rate, axis) => Math.abs(rate - axis - 1) < 0.01)", "rotation about x, y and z")

    def test_a_clock_that_is_set_moves_no_samples(self):
        self.open_phone(script="""
            const real = Date.now;
            globalThis.behind = 10_000;
            Date.now = () => real() - globalThis.behind;""")
        self.start("left-hand")
        self.page.until("/^[1-9]/.test(document.getElementById('safe').innerText)", "sample at the computer")
        session = self.programs.record("phone-1", "--streams", "left-hand/", "--before", "50s")
        self.addCleanup(session.kill)
        self.page.until("document.getElementById('recording').innerText === 'Recording in session phone-1'")
        before = self.page.js("globalThis.behind = 0; seen.length")
        self.page.until(f"seen.length > {before} + 200", "events")
        self.page.click("Stop")
        self.page.until("document.getElementById('toggle').innerText === 'Start'")
        count = len(self.page.js("seen"))
        self.page.until(f"Number(document.getElementById('recorded').innerText) >= 3 * {count}", "sample in the session")
        said, _ = self.programs.end(session)
        times = [row["uptime"] for row in self.samples("phone-1", "left-hand/accelerometer")]
        self.assertEqual(len(times), count, said)
        self.assertTrue(all(time < later for time, later in zip(times, times[1:])), "times rise")

    def test_samples_are_kept_if_another_phone_has_the_same_name(self):
        self.open_phone(script="""
            const real = globalThis.fetch;
            globalThis.epochs = new Set();
            globalThis.fetch = async (...request) => {
                const response = await real(...request);
                if (request[0] === "/samples" && response.status === 200) {
                    const { device, epoch } = JSON.parse(request[1].body);
                    if (device === "right-hand") globalThis.epochs.add(epoch);
                }
                return response;
            };""")
        self.start("left-hand")
        self.page.until("/^[1-9]/.test(document.getElementById('safe').innerText)", "sample at the computer")
        status = self.page.js("""(async () => {
            const sample = [Date.now() / 1000, 0, 0, 1];
            const body = JSON.stringify({ device: "left-hand", stream: "accelerometer", epoch: "other", first: 0, samples: [sample] });
            const headers = { Authorization: `Bearer ${localStorage.getItem("token")}` };
            return (await fetch("/samples", { method: "POST", body, headers })).status;
        })()""")
        self.assertEqual(status, 200)
        self.page.until("document.getElementById('problem').innerText.includes('sends as left-hand: choose another name')")
        self.page.until("Number(document.getElementById('backlog').innerText) > 100", "sample that is kept")
        self.page.click("Stop")
        self.page.until("document.getElementById('toggle').innerText === 'Start'")
        self.start("right-hand")
        self.page.until("globalThis.epochs.size === 2", "kept and new samples under the other name")

    def test_a_phone_that_is_renamed_after_a_reload_ends_its_run(self):
        self.open_phone(script="""
            for (const kind of [DeviceMotionEvent, DeviceOrientationEvent]) {
                kind.requestPermission = async () => globalThis.isAllowed ? "granted" : "denied";
            }""")
        self.page.js("globalThis.isAllowed = true")
        self.start("left-hand")
        self.page.until("/^[1-9]/.test(document.getElementById('safe').innerText)", "sample at the computer")
        self.page.reload()
        self.page.until("!document.getElementById('toggle').disabled", "button that can be pressed")
        self.page.js("globalThis.isAllowed = true")
        self.start("right-hand")
        # A run that is over is removed when the computer has all of it.
        self.page.js("""(async () => {
            const { Store } = await import("/store.js");
            const store = await Store.open();
            globalThis.look = setInterval(async () => {
                globalThis.devices = (await store.runs()).map(({ device }) => device).join();
            }, 100);
        })()""")
        self.page.until("globalThis.devices === 'right-hand'", "end of the run before")

    def test_numbers_that_were_sent_are_not_given_again_though_the_phone_lost_their_samples(self):
        self.open_phone(script="""
            for (const kind of [DeviceMotionEvent, DeviceOrientationEvent]) {
                kind.requestPermission = async () => globalThis.isAllowed ? "granted" : "denied";
            }
            globalThis.before = seen.length;
            const opened = Date.now() / 1000;
            // The end of the numbers that were sent before the page was opened anew.
            const ended = Number(sessionStorage.getItem("ended") ?? 0);
            const real = globalThis.fetch;
            globalThis.taken = new Set();
            globalThis.fetch = async (...request) => {
                const response = await real(...request);
                if (request[0] === "/samples" && response.status === 200) {
                    const { stream, first, samples } = JSON.parse(request[1].body);
                    if (stream !== "accelerometer") return response;
                    sessionStorage.setItem("ended", Math.max(first + samples.length, Number(sessionStorage.getItem("ended") ?? 0)));
                    samples.forEach(([time], index) => {
                        if (time > opened && first + index >= ended) globalThis.taken.add(first + index);
                    });
                }
                return response;
            };""")
        self.page.js("globalThis.isAllowed = true")
        self.start("left-hand")
        self.page.until("Number(document.getElementById('safe').innerText) > 100", "samples at the computer")
        self.page.reload()
        self.page.until("!document.getElementById('toggle').disabled", "button that can be pressed")
        self.page.js("""(async () => {
            const { Store } = await import("/store.js");
            const { database } = await Store.open();
            const transaction = database.transaction("samples", "readwrite");
            for (const name of ["accelerometer", "userAcceleration", "gyroscope"]) {
                transaction.objectStore("samples").delete(IDBKeyRange.bound([1, name, 10], [1, name, Infinity]));
            }
            await new Promise((resolve) => { transaction.oncomplete = resolve; });
        })()""")
        self.page.js("globalThis.isAllowed = true")
        self.start("left-hand")
        self.page.until("seen.length > before + 50", "events")
        self.page.click("Stop")
        self.page.until("document.getElementById('toggle').innerText === 'Start'")
        self.page.until("taken.size === seen.length - before", "sample at the computer")

    def test_a_full_phone_forgets_what_the_computer_has(self):
        self.open_phone(script="""
            const put = IDBObjectStore.prototype.put;
            IDBObjectStore.prototype.put = function (...entry) {
                if (globalThis.isFull && this.name === "runs") throw new DOMException("it is full", "QuotaExceededError");
                return put.apply(this, entry);
            };""")
        self.start("left-hand")
        self.page.js("""(async () => {
            const { Store } = await import("/store.js");
            const store = await Store.open();
            const axes = { x: 1, y: 2, z: 3 };
            const motion = { acceleration: axes, accelerationIncludingGravity: axes, rotationRate: { alpha: 1, beta: 2, gamma: 3 } };
            for (let count = 0; count < 3500; count += 1) dispatchEvent(new DeviceMotionEvent("devicemotion", motion));
            globalThis.isFull = true;
            globalThis.look = setInterval(async () => {
                globalThis.oldest = (await store.read(1, "accelerometer", 0, 1)).first;
            }, 100);
        })()""")
        self.page.until("globalThis.oldest > 0", "room that was made")

    def test_a_name_that_is_taken_keeps_no_other_waiting(self):
        self.open_phone()
        self.start("taken")
        told = "document.getElementById('problem').innerText.includes('taken/accelerometer')"
        self.page.until(told)
        self.page.click("Stop")
        self.page.until("document.getElementById('toggle').innerText === 'Start'")
        self.start("left-hand")
        self.page.until("/^[1-9]/.test(document.getElementById('safe').innerText)", "sample at the computer")
        self.page.until(told, "word of what waits")

    @unittest.skipUnless(NGINX, "there is no nginx")
    def test_a_web_server_may_be_in_between(self):
        self.programs.start_proxy()
        self.open_phone()
        self.start("left-hand")
        self.page.until("Number(document.getElementById('safe').innerText) > 100", "samples at the computer")
        self.assertEqual(self.text("#problem"), "")

    def test_motion_is_asked_for_with_a_tap(self):
        self.open_phone(script="""
            globalThis.asked = [];
            for (const kind of [DeviceMotionEvent, DeviceOrientationEvent]) {
                kind.requestPermission = async () => {
                    asked.push(navigator.userActivation.isActive);
                    return globalThis.refuses ? "denied" : "granted";
                };
            }""")
        self.page.js("globalThis.refuses = true")
        self.page.click("Start")
        self.page.until("document.getElementById('problem').innerText.includes('was not allowed to read motion')")
        self.assertEqual(self.page.js("asked"), [True, True])
        self.page.js("globalThis.refuses = false")
        self.page.click("Start")
        self.page.until("document.getElementById('status').innerText === 'Sampling' && Number(document.getElementById('rate').innerText) > 0")

    def test_a_device_without_sensors_is_told_so(self):
        self.open_phone(sensors=False)
        self.page.click("Start")
        self.page.until("document.getElementById('status').innerText.startsWith('No motion data')")

    def test_a_link_without_the_token_gets_the_page_and_nothing_else(self):
        self.programs.link = self.programs.link.split("#")[0]
        self.open_phone()
        self.start("left-hand")
        self.page.until("document.getElementById('problem').innerText.includes('add ?token=TOKEN')")
        self.page.until("document.getElementById('recording').innerText === 'The computer does not answer'")

    def test_a_second_tab_is_refused(self):
        self.open_phone()
        second = browser().ask("Target.createTarget", url="about:blank", browserContextId=self.page.context)["targetId"]
        self.addCleanup(browser().ask, "Target.closeTarget", targetId=second)
        session = browser().ask("Target.attachToTarget", targetId=second, flatten=True)["sessionId"]
        browser().ask("Security.setIgnoreCertificateErrors", session, ignore=True)
        browser().ask("Page.navigate", session, url=self.programs.link)
        found = browser().ask(
            "Runtime.evaluate", session, awaitPromise=True, returnByValue=True, expression="""new Promise((resolve) => {
                const look = () => {
                    const text = document.getElementById('problem')?.innerText ?? '';
                    if (text) { clearInterval(timer); resolve(text); }
                };
                const timer = setInterval(look, 100);
            })""")
        self.assertIn("open in another tab", found["result"]["value"])

    def test_it_fits_a_phone_and_people_who_can_not_see_can_use_it(self):
        for dark in (False, True):
            self.open_phone(dark=dark)
            self.assertLessEqual(self.page.js("document.documentElement.scrollWidth"), 390)
            source = axe()
            if source is None:
                self.skipTest("axe-core could not be had")
            self.page.js(source + "; 1")
            broken = self.page.js("axe.run().then(({ violations }) => violations.map(({ id, nodes }) => [id, nodes[0].html]))")
            self.assertEqual(broken, [])


if __name__ == "__main__":
    unittest.main()
