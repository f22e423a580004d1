"""Makes docs/console.png and docs/report.png for README: the live page of a real run, and the report of its session."""

import json
import os
import sys

from chromium import Browser
from programs import Programs
from rig import CACHE

DOCS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "docs")
LIVE, REPORT = os.path.join(DOCS, "console.png"), os.path.join(DOCS, "report.png")
MAXIMUM = 200_000
STEPS = "Number(/(\\d+) steps/.exec(document.querySelector('#live').textContent)?.[1]) >= %d"


def walk(placement, seed=1):
    return {"signal": f"walk:placement={placement},cadence=1.8,seed={seed}", "rate": 100, "unit": "g"}


STREAMS = {"sensor-publisher": {"streams": [
    {"device": "left-wrist", "stream": "accelerometer", **walk("wrist")},
    {"device": "right-wrist", "stream": "accelerometer", **walk("wrist", seed=2)},
    {"device": "waist", "stream": "accelerometer", **walk("waist")},
    {"device": "phone", "stream": "accelerometer", **walk("pocket")},
    {"device": "chest", "stream": "breath", "signal": "sine:amplitude=0.4,angularFrequency=1.6,axes=x + noise:amplitude=0.02,seed=3,axes=x", "rate": 50},
    {"device": "phone", "stream": "gyroscope", "signal": "sine:amplitude=1.2,angularFrequency=11.3,axes=xy + noise:amplitude=0.15,seed=4", "rate": 100}]}}


def main():
    programs = Programs("--config", "streams.json", files={"streams.json": json.dumps(STREAMS)})
    browser = Browser(os.path.join(CACHE, "chromium"))
    try:
        page = browser.page(width=1180, height=625)
        page.open(f"{programs.url}#/live")
        page.until("document.querySelectorAll('.card').length === 6")
        programs.call("recording.start", session="walk-1", task="Walk", step="outbound", streams=["*"])
        # A gap, once the plot has samples.
        page.until(STEPS % 5)
        programs.cut.cut()
        page.until("document.querySelector('.note:not([hidden])')?.innerText.startsWith('Silent')")
        programs.cut.is_open = True
        page.until("[...document.querySelectorAll('#live .gaps')].every((gaps) => /^no gaps, .* recovered$/.test(gaps.innerText))")
        programs.call("recording.annotate", session="walk-1", label="stairs")
        page.until(STEPS % 14)
        page.picture(LIVE)
        programs.call("recording.stop", session="walk-1")
        page.close()
        page = browser.page(width=1000, height=760)
        page.open(f"{programs.url}api/sessions/walk-1/report")
        page.picture(REPORT)
    finally:
        browser.close()
        programs.close()
    for path in (LIVE, REPORT):
        size = os.path.getsize(path)
        print(f"{os.path.relpath(path)}: {size} bytes")
        if size > MAXIMUM:
            sys.exit(f"pictures: {size} bytes are more than the {MAXIMUM} that a picture may have")


if __name__ == "__main__":
    main()
