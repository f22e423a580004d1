"""What the console costs: console.py PROGRAMS [--seconds 20] [--rounds 3] [--pixels], where PROGRAMS is the directory of the release programs.

One viewer on 10 streams, then 50 viewers on 100 streams, each of 100 Hz, beside none; and 50 beside one, since the console subscribes to samples for the
first. Rounds take turns, with one session each, since machines drift. For each it prints the processor time and memory of console, recorder and
publisher, how long samples take to be durable, and how long until a viewer has them. Viewers are this program, on the same machine.

With --pixels it measures in Chromium instead, with what `make browser-setup` has got: a signal steps between two values, and the time counts from the
first sample after a step until the canvas has it.
"""

import argparse
import json
import os
import selectors
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request

TICKS = os.sysconf("SC_CLK_TCK")
ANY = ["--publish", "tcp://127.0.0.1:*", "--reply", "tcp://127.0.0.1:*"]
# A stream whose steps can be seen on a plot.
STEP = "left-wrist/step"


def start(programs, directory, name, *options):
    """Starts a program, and waits until it says that it is ready."""
    errors = open(os.path.join(directory, f"{name}.log"), "w", encoding="utf-8")
    process = subprocess.Popen([os.path.join(programs, name), *options], cwd=directory, stdout=subprocess.PIPE, stderr=errors)
    said = []
    for line in process.stdout:
        said.append(line.decode())
        if line.startswith(b"{"):
            return process, json.loads(line), said[0]
    raise SystemExit(f"{name} did not start: see {directory}/{name}.log")


def cost(process):
    """Seconds of processor time, and the memory in MB: now, and at most so far."""
    with open(f"/proc/{process.pid}/stat", encoding="utf-8") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    with open(f"/proc/{process.pid}/status", encoding="utf-8") as file:
        memory = {line.split(":")[0]: line.split()[1] for line in file if line.startswith("Vm")}
    return (int(fields[11]) + int(fields[12])) / TICKS, int(memory["VmRSS"]) / 1024, int(memory["VmHWM"]) / 1024


def view(address, count, seconds):
    """Reads as so many viewers; returns bytes, samples left out, and the latencies of the first one's samples in milliseconds."""
    host, port = address.split("//")[1].rstrip("/").split(":")
    selector = selectors.DefaultSelector()
    for number in range(count):
        viewer = socket.create_connection((host, int(port)))
        viewer.sendall(f"GET /api/events HTTP/1.0\r\nHost: {host}:{port}\r\n\r\n".encode())
        viewer.setblocking(False)
        selector.register(viewer, selectors.EVENT_READ, number)
    received, behind, rest, latencies = 0, 0, b"", []
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if not count:
            time.sleep(max(0, end - time.monotonic()))
            break
        for key, _ in selector.select(0.5):
            data = key.fileobj.recv(1 << 20)
            now = time.time()
            received += len(data)
            behind += data.count(b"event: behind")
            if key.data == 0:
                *lines, rest = (rest + data).split(b"\n")
                for line in lines:
                    at = line.find(b'"times":[')
                    if at >= 0 and line.startswith(b"data: {\"device\""):
                        times = line[at + 9:line.index(b"]", at)].split(b",")
                        latencies.append((now - float(times[-1])) * 1000)
    for key in list(selector.get_map().values()):
        key.fileobj.close()
    return received, behind, latencies


class Programs:
    """A publisher, a recorder and a console."""

    def __init__(self, programs, streams, files=None):
        self.place = tempfile.TemporaryDirectory()
        directory = self.place.name
        for name, text in {**(files or {}), "streams.json": json.dumps({"streams": streams})}.items():
            with open(os.path.join(directory, name), "w", encoding="utf-8") as file:
                file.write(text)
        self.running = {}
        self.running["publisher"], sensors, _ = start(programs, directory, "sensor-publisher", *ANY, "--config", "streams.json")
        self.running["recorder"], records, _ = start(programs, directory, "recorder", *ANY, "--data", "data", "--subscribe", sensors["publish"])
        self.running["console"], _, said = start(
            programs, directory, "console", "--reply", "tcp://127.0.0.1:*", "--listen", "0", "--data", "data", "--subscribe", sensors["publish"], "--sensor-publisher", sensors["reply"],
            "--recorder", records["reply"], "--recorder-events", records["publish"])
        self.address = said.split()[2]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in reversed(self.running.values()):
            process.terminate()
        for process in self.running.values():
            process.wait(30)
        self.place.cleanup()

    def call(self, method, **parameters):
        request = urllib.request.Request(f"{self.address}api/call/{method}", json.dumps(parameters).encode(), {"X-Holdfast": "1"})
        with urllib.request.urlopen(request, timeout=60) as reply:
            return json.load(reply)


def percentile(values, part):
    return sorted(values)[min(len(values) - 1, int(len(values) * part))]


def measure(directory, streams, viewers, seconds, rounds, fewer=0):
    signals = [{"device": "d", "stream": f"s{number}", "signal": "sine:amplitude=1,angularFrequency=2", "rate": 100} for number in range(streams)]
    with Programs(directory, signals) as programs:
        found = {}
        for number in range(rounds):
            # Each goes first as often.
            for count in (fewer, viewers) if number % 2 == 0 else (viewers, fewer):
                session = f"round-{number}-{count}"
                programs.call("recording.start", session=session, streams=["*"])
                time.sleep(2)
                before = {name: cost(process)[0] for name, process in programs.running.items()}
                began = time.monotonic()
                received, behind, latencies = view(programs.address, count, seconds)
                elapsed = time.monotonic() - began
                row = {name: 100 * (cost(process)[0] - before[name]) / elapsed for name, process in programs.running.items()}
                report = programs.call("recording.stop", session=session)["report"]
                assert report["isWhole"], report
                row |= {"durable median": report["commitLatency"]["median"] * 1000, "durable 99 %": report["commitLatency"]["p99"] * 1000}
                if latencies:
                    row |= {"viewer median": statistics.median(latencies), "viewer 99 %": percentile(latencies, 0.99), "MB/s": received / elapsed / 1e6, "times behind": behind}
                found.setdefault(count, []).append(row)
        print(f"\n{streams} streams of 100 Hz, {rounds} rounds of {seconds:.0f} s; medians of the rounds, and each round")
        without, seen = found[fewer], found[viewers]
        for name in seen[0]:
            values = [row[name] for row in seen]
            unit = " % of a core" if name in programs.running else " ms" if "median" in name or "99" in name else ""
            line = f"  {name:15} {viewers} viewers {statistics.median(values):8.2f}{unit}  [{' '.join(f'{value:.1f}' for value in values)}]"
            if name in without[0] and name != "console":
                other = [row[name] for row in without]
                line += f"  {fewer or 'none'} {statistics.median(other):8.2f}{unit}  [{' '.join(f'{value:.1f}' for value in other)}]"
                if statistics.median(other) > 0:
                    line += f"  ratio {statistics.median(values) / statistics.median(other):.3f}"
            print(line)
        for name, process in programs.running.items():
            _, now, peak = cost(process)
            print(f"  {name:15} {now:.0f} MB, at most {peak:.0f} MB")


WATCH = """(async () => {
    const { plotOf } = await import("/assets/plot.js");
    const { palette } = await import("/assets/theme.js");
    const { seriesOf } = await import("/assets/store.js");
    const canvas = document.querySelector("[data-stream='%s'] canvas");
    const context = canvas.getContext("2d");
    const [r, g, b] = palette().x.match(/[\\d.]+/g).map(Number);
    let shown = null, last = 0;
    window.latencies = [];
    // The level of the newest ink: the rightmost column that has any. Where it has both, it is the new one.
    const level = (plot, ratio) => {
        const left = Math.max(0, Math.floor((plot.right - 60) * ratio)), width = Math.ceil(plot.right * ratio) - left;
        const image = context.getImageData(left, 0, width, canvas.height).data;
        const row = (value) => (plot.bottom - (value - plot.low) / (plot.high - plot.low) * (plot.bottom - plot.top)) * ratio;
        const has = (x, value) => {
            for (let y = Math.round(row(value)) - 3; y <= Math.round(row(value)) + 3; y += 1) {
                const at = (y * width + x) * 4;
                if (image[at + 3] > 40 && Math.abs(image[at] - r) + Math.abs(image[at + 1] - g) + Math.abs(image[at + 2] - b) < 90) return true;
            }
            return false;
        };
        for (let x = width - 1; x >= 0; x -= 1) {
            const [low, high] = [has(x, 0), has(x, 1)];
            if (low && high) return shown === null ? null : 1 - shown;
            if (low || high) return high ? 1 : 0;
        }
        return null;
    };
    const frame = () => {
        const plot = plotOf(canvas);
        const now = level(plot, canvas.width / canvas.clientWidth);
        if (now !== null && shown !== null && now !== shown) {
            // The first sample of the new level, as the page has it.
            const series = seriesOf("%s"), values = series.high.get("x");
            let index = series.count - 1;
            while (index > 0 && Math.round(values[index]) !== now) index -= 1;
            while (index > 0 && Math.round(values[index - 1]) === now) index -= 1;
            // An edge that is not drawn whole yet may look like the level before.
            if (series.times[index] > last) {
                if (last > 0) window.latencies.push(performance.timeOrigin + performance.now() - series.times[index] * 1000);
                last = series.times[index];
                shown = now;
            }
        }
        shown ??= now;
        requestAnimationFrame(frame);
    };
    requestAnimationFrame(frame);
})()"""


def pixels(directory, seconds):
    """From a sample's time until the plot has its ink, beside nine other streams."""
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "BrowserTests"))
    from chromium import Browser
    from rig import CACHE

    table = "t,x\n" + "".join(f"{number / 100},{number // 73 % 2}\n" for number in range(7_300))
    device, stream = STEP.split("/")
    streams = [{"device": device, "stream": stream, "replay": "step.csv", "loop": True, "rate": 100}]
    streams += [{"device": "d", "stream": f"s{number}", "signal": "sine:amplitude=1,angularFrequency=2", "rate": 100} for number in range(9)]
    with Programs(directory, streams, {"step.csv": table}) as programs:
        browser = Browser(os.path.join(CACHE, "chromium"))
        try:
            page = browser.page(width=1280, height=900)
            page.open(f"{programs.address}#/live")
            page.until("document.querySelectorAll('.card').length === 10")
            page.until(f"document.querySelector(\"[data-stream='{STEP}'] .rate\").innerText.startsWith('100')")
            page.js(WATCH % (STEP, STEP))
            before = cost(programs.running["console"])[0]
            time.sleep(seconds)
            used = (cost(programs.running["console"])[0] - before) / seconds
            latencies = page.js("window.latencies")
        finally:
            browser.close()
        print(
            f"10 streams of 100 Hz in Chromium: {len(latencies)} steps; from a sample's time to its pixel: median {statistics.median(latencies):.0f} ms, "
            f"90 % {percentile(latencies, 0.9):.0f} ms, longest {max(latencies):.0f} ms; console {100 * used:.1f} % of a core, {cost(programs.running['console'])[2]:.0f} MB at most")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", type=os.path.abspath)
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--pixels", action="store_true")
    options = parser.parse_args()
    if options.pixels:
        return pixels(options.programs, options.seconds)
    for streams, viewers, fewer in ((10, 1, 0), (100, 50, 0), (100, 50, 1)):
        measure(options.programs, streams, viewers, options.seconds, options.rounds, fewer)


if __name__ == "__main__":
    main()
