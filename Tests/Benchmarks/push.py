"""What pushed samples cost: push.py PROGRAMS [--devices 1000] [--seconds 60], where PROGRAMS is the directory of the release programs.

So many devices each push 50 samples of three axes a second to /samples, one message a second, numbered, and keep what was not acknowledged.
Then one publisher samples as many made streams at the same rate, in batches of 50, and only ZeroMQ is in between. The recorder records both.
For each it prints what was lost, and the processor time and memory of publisher and recorder. The devices are another process on the same machine.
"""

import asyncio
import json
import os
import signal
import subprocess
import sys
import tempfile
import time

from console import ANY, cost, start

RATE = 50


class Device:
    """Numbers its samples, and sends what was not acknowledged once a second."""

    def __init__(self, number, address):
        self.name = f"device-{number:04}"
        self.address = address
        self.acknowledged = 0
        self.failures = 0

    async def send(self, made, is_last):
        rows = ",".join(f"[{number / RATE:.2f},{number},0,1]" for number in range(self.acknowledged, made))
        body = (f'{{"device":"{self.name}","stream":"accelerometer","epoch":"e","first":{self.acknowledged},"oldest":{self.acknowledged},'
                f'"unit":"g","rate":{RATE},"last":{json.dumps(is_last)},"samples":[{rows}]}}').encode()
        host, port = self.address
        try:
            reader, writer = await asyncio.open_connection(host, port)
            writer.write(f"POST /samples HTTP/1.1\r\nHost: {host}:{port}\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body)
            answer = await reader.read(1 << 16)
            writer.close()
            self.acknowledged = json.loads(answer.split(b"\r\n\r\n", 1)[1])["next"]
        except (OSError, IndexError, KeyError, ValueError):
            self.failures += 1

    async def run(self, began, phase, seconds):
        for second in range(1, seconds + 1):
            await asyncio.sleep(max(0, began + second + phase - time.monotonic()))
            await self.send(second * RATE, second == seconds)
        while self.acknowledged < seconds * RATE:
            await asyncio.sleep(1)
            await self.send(seconds * RATE, True)


async def push(devices, address, seconds):
    began = time.monotonic()
    fleet = [Device(number, address) for number in range(devices)]
    await asyncio.gather(*(device.run(began, number / devices, seconds) for number, device in enumerate(fleet)))
    return sum(device.failures for device in fleet)


def measure(programs, devices, seconds, is_pushed):
    with tempfile.TemporaryDirectory() as directory:
        options = ["--listen-http", "0"]
        if not is_pushed:
            streams = [{"device": f"device-{number:04}", "stream": "accelerometer", "rate": RATE, "batch": RATE,
                        "signal": "sine:amplitude=1,angularFrequency=2"} for number in range(devices)]
            with open(os.path.join(directory, "streams.json"), "w", encoding="utf-8") as file:
                json.dump({"streams": streams}, file)
            options = ["--config", "streams.json"]
        publisher, sensors, said = start(programs, directory, "sensor-publisher", *ANY, *options)
        running = [publisher]
        try:
            recorder, records, _ = start(programs, directory, "recorder", *ANY, "--data", "data", "--subscribe", sensors["publish"])
            running.append(recorder)
            session = subprocess.Popen(
                [os.path.join(programs, "recorder"), "record", "--reply", records["reply"], "--session", "measured", "--streams", "*", "--before", "1s"],
                cwd=directory, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            failures = 0
            time.sleep(3)
            before = [cost(process)[0] for process in running]
            began = time.monotonic()
            if is_pushed:
                failures = asyncio.run(push(devices, ("127.0.0.1", int(said.split("127.0.0.1:")[1].split("/")[0])), seconds))
            else:
                time.sleep(seconds)
            elapsed = time.monotonic() - began
            after = [cost(process) for process in running]
            # What was acknowledged in the last second is on its way.
            time.sleep(5)
            session.send_signal(signal.SIGINT)
            session.wait()
            with open(os.path.join(directory, "data", "recordings", "measured", "report.json"), encoding="utf-8") as file:
                report = json.load(file)["streams"]
            received = sum(stream["received"] for stream in report)
            lost = sum(gap["count"] for stream in report for gap in stream["gaps"])
            print(f"{'pushed over HTTP' if is_pushed else 'ZeroMQ alone'}: {devices} devices of {RATE} Hz, {elapsed:.0f} s")
            print(f"  {len(report)} streams, {received} samples recorded{f' of {devices * RATE * seconds} sent' if is_pushed else ''}, {lost} lost, {failures} requests failed and were repeated")
            for name, used, (total, _, peak) in zip(("publisher", "recorder"), before, after):
                # Of the seconds in which the samples were made: what is sent late costs what it would have cost in time.
                print(f"  {name:10} {100 * (total - used) / seconds:6.1f} % of a core  {peak:6.1f} MB", flush=True)
        finally:
            for process in reversed(running):
                process.terminate()
            for process in running:
                process.wait(60)


def main():
    def option(name, default):
        return int(sys.argv[sys.argv.index(name) + 1]) if name in sys.argv else default

    programs = os.path.abspath(sys.argv[1])
    for is_pushed in (True, False):
        measure(programs, option("--devices", 1000), option("--seconds", 60), is_pushed)


if __name__ == "__main__":
    main()
