"""Drives a headless Chromium over a pipe, with nothing but Python's own library."""

import base64
import fcntl
import json
import os
import subprocess
import tempfile
import threading

# In seconds: a machine ten times slower than ours still ends in this time.
LIMIT = 30


class Browser:
    """One Chromium; each test gets its own context, which is equivalent to a fresh browser."""

    def __init__(self, program):
        self.profile = tempfile.TemporaryDirectory(prefix="holdfast-browser-", ignore_cleanup_errors=True)
        commands, self.to = os.pipe()
        self.answers, answers = os.pipe()
        # Chromium expects its pipes at 3 and 4, so these must have other numbers.
        commands, answers = (self._move(descriptor) for descriptor in (commands, answers))
        arguments = [
            program, "--headless", "--remote-debugging-pipe", f"--user-data-dir={self.profile.name}", "--no-first-run",
            "--disable-background-timer-throttling", "--disable-renderer-backgrounding", "--disable-dev-shm-usage",
            "--disable-gpu", "--force-color-profile=srgb", "--hide-scrollbars",
            # Nothing outside is reachable, so that any request for it fails.
            "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
        ]
        if os.geteuid() == 0:
            arguments.append("--no-sandbox")
        self.errors = open(os.path.join(self.profile.name, "errors.txt"), "w+b")
        self.process = subprocess.Popen(
            ["bash", "-c", f'exec "$@" 3<&{commands} 4>&{answers}', "bash", *arguments, "about:blank"],
            pass_fds=(commands, answers), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=self.errors)
        os.close(commands)
        os.close(answers)
        self.changed = threading.Condition()
        self.replies = {}
        self.pages = {}
        self.number = 0
        self.is_over = False
        threading.Thread(target=self._read, daemon=True).start()
        self.version = self.ask("Browser.getVersion")["product"]

    @staticmethod
    def _move(descriptor):
        moved = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, 64)
        os.close(descriptor)
        return moved

    def _read(self):
        rest = b""
        while True:
            chunk = os.read(self.answers, 1 << 20)
            if not chunk:
                break
            *messages, rest = (rest + chunk).split(b"\0")
            for message in messages:
                self._take(json.loads(message))
        with self.changed:
            self.is_over = True
            self.changed.notify_all()

    def _take(self, message):
        with self.changed:
            if "id" in message:
                self.replies[message["id"]] = message
            else:
                page = self.pages.get(message.get("sessionId"))
                if page:
                    page.take(message["method"], message["params"])
            self.changed.notify_all()

    def ask(self, method, session=None, /, **parameters):
        with self.changed:
            self.number += 1
            number = self.number
        message = {"id": number, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self.to, data):]
        self.wait(lambda: number in self.replies, method)
        reply = self.replies.pop(number)
        if "error" in reply:
            raise AssertionError(f"{method}: {reply['error']}")
        return reply["result"]

    def wait(self, condition, what):
        """Waits for events of the browser until a condition holds."""
        with self.changed:
            if not self.changed.wait_for(lambda: condition() or self.is_over, LIMIT):
                raise AssertionError(f"there was no {what} within {LIMIT} s")
            if self.is_over and not condition():
                self.errors.seek(0)
                raise AssertionError(f"Chromium ended: {self.errors.read()[-2000:].decode(errors='replace')}")

    def page(self, **options):
        return Page(self, **options)

    def close(self):
        os.close(self.to)
        try:
            self.process.wait(LIMIT)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        os.close(self.answers)
        self.errors.close()
        self.profile.cleanup()


class Page:
    """A page in its own context, and everything that it logged and requested."""

    def __init__(self, browser, width=1280, height=900, dark=False, scale=1, touch=False, still=False):
        self.browser = browser
        self.errors = []
        self.requests = []
        self.loads = 0
        self.context = browser.ask("Target.createBrowserContext")["browserContextId"]
        self.target = browser.ask("Target.createTarget", url="about:blank", browserContextId=self.context)["targetId"]
        self.session = browser.ask("Target.attachToTarget", targetId=self.target, flatten=True)["sessionId"]
        browser.pages[self.session] = self
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.ask(f"{domain}.enable")
        self.ask("Emulation.setFocusEmulationEnabled", enabled=True)
        self.size(width, height, scale, touch)
        self.media(dark, still)

    def ask(self, method, /, **parameters):
        return self.browser.ask(method, self.session, **parameters)

    def take(self, method, parameters):
        if method == "Runtime.consoleAPICalled" and parameters["type"] in ("error", "warning", "assert"):
            self.errors.append(("console", " ".join(str(part.get("value", part.get("description"))) for part in parameters["args"])))
        elif method == "Runtime.exceptionThrown":
            details = parameters["exceptionDetails"]
            self.errors.append(("exception", details.get("exception", {}).get("description", details["text"])))
        elif method == "Log.entryAdded" and parameters["entry"]["level"] in ("error", "warning"):
            entry = parameters["entry"]
            self.errors.append((entry["source"], f"{entry['text']} {entry.get('url', '')}"))
        elif method == "Network.requestWillBeSent":
            self.requests.append(parameters["request"]["url"])
        elif method == "Page.loadEventFired":
            self.loads += 1

    def size(self, width, height=900, scale=1, touch=False):
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=scale, mobile=touch)
        self.ask("Emulation.setTouchEmulationEnabled", enabled=touch)

    def media(self, dark=False, still=False):
        self.ask("Emulation.setEmulatedMedia", features=[
            {"name": "prefers-color-scheme", "value": "dark" if dark else "light"},
            {"name": "prefers-reduced-motion", "value": "reduce" if still else "no-preference"}])

    def open(self, url):
        # If only the part behind # differs, a page would not reload: leave it first.
        for address in ("about:blank", url):
            loads = self.loads
            self.ask("Page.navigate", url=address)
            self.browser.wait(lambda: self.loads > loads, f"page at {address}")

    def reload(self):
        loads = self.loads
        self.ask("Page.reload")
        self.browser.wait(lambda: self.loads > loads, "reloaded page")

    def js(self, expression, wait=True):
        """The value of an expression; of a promise, its result."""
        reply = self.ask("Runtime.evaluate", expression=expression, awaitPromise=wait, returnByValue=True, userGesture=True)
        if "exceptionDetails" in reply:
            details = reply["exceptionDetails"]
            raise AssertionError(f"{details.get('exception', {}).get('description', details['text'])}\nin {expression[:300]}")
        return reply["result"].get("value")

    def until(self, expression, what=None):
        """Waits until an expression is true. It is evaluated after each change of the page and each second."""
        reached = self.js(f"""new Promise((resolve) => {{
            const holds = () => {{ try {{ return Boolean({expression}); }} catch {{ return false; }} }};
            const end = (value) => {{ watcher.disconnect(); clearInterval(timer); clearTimeout(limit); resolve(value); }};
            const look = () => {{ if (holds()) end(true); }};
            const watcher = new MutationObserver(look);
            const timer = setInterval(look, 200);
            const limit = setTimeout(() => end(false), {LIMIT * 700});
            watcher.observe(document, {{ subtree: true, childList: true, attributes: true, characterData: true }});
            look();
        }})""")
        if not reached:
            raise AssertionError(f"within {LIMIT} s there was no {what or expression}; the page says:\n{self.text()[:1500]}")

    def text(self, selector="body"):
        return self.js(f"document.querySelector({json.dumps(selector)})?.innerText ?? ''")

    def find(self, name, selector="button, a, input, select, summary, [role=button], label"):
        """The place of the visible control with this name, as people see or hear it."""
        place = self.js(f"""(() => {{
            const name = {json.dumps(name)};
            const isShown = (element) => element.getClientRects().length > 0;
            const named = (element) => [element.getAttribute("aria-label"), element.innerText, element.placeholder, element.value].map((text) => text?.trim());
            const all = [...document.querySelectorAll({json.dumps(selector)})].filter(isShown);
            const element = all.find((candidate) => named(candidate).includes(name)) ?? all.find((candidate) => named(candidate).some((text) => text?.startsWith(name)));
            if (!element) return null;
            element.scrollIntoView({{ block: "center" }});
            const box = element.getBoundingClientRect();
            return {{ x: box.x + box.width / 2, y: box.y + box.height / 2 }};
        }})()""")
        if place is None:
            raise AssertionError(f"there is no control “{name}”; the page says:\n{self.text()[:1500]}")
        return place

    def click(self, name, **options):
        self.press(**self.find(name, **options))

    def press(self, x, y):
        for kind in ("mousePressed", "mouseReleased"):
            self.ask("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def drag(self, x, y, to):
        self.ask("Input.dispatchMouseEvent", type="mousePressed", x=x, y=y, button="left", clickCount=1)
        for step in (0.5, 1):
            self.ask("Input.dispatchMouseEvent", type="mouseMoved", x=x + (to - x) * step, y=y, button="left", buttons=1)
        self.ask("Input.dispatchMouseEvent", type="mouseReleased", x=to, y=y, button="left", clickCount=1)

    def key(self, key, text=None):
        codes = {"Tab": 9, "Enter": 13, "Escape": 27, "ArrowLeft": 37, "ArrowRight": 39}
        text = text if text is not None else ("\r" if key == "Enter" else key if len(key) == 1 else "")
        code = codes.get(key, ord(key.upper()) if len(key) == 1 else 0)
        self.ask("Input.dispatchKeyEvent", type="keyDown", key=key, text=text, windowsVirtualKeyCode=code)
        self.ask("Input.dispatchKeyEvent", type="keyUp", key=key, windowsVirtualKeyCode=code)

    def type(self, name, text):
        """Replaces a field's text."""
        self.click(name, selector="input, textarea")
        self.js("document.activeElement.select()")
        if text:
            self.ask("Input.insertText", text=text)
        else:
            self.js("document.activeElement.value = ''; document.activeElement.dispatchEvent(new Event('input', { bubbles: true }))")

    def focus(self):
        return self.js("""(() => { const e = document.activeElement; return e.getAttribute("aria-label") ?? e.innerText?.trim() ?? e.tagName; })()""")

    def picture(self, path, **clip):
        """Saves a screenshot."""
        options = {"clip": {**clip, "scale": 1}, "captureBeyondViewport": True} if clip else {}
        data = self.ask("Page.captureScreenshot", format="png", **options)["data"]
        with open(path, "wb") as file:
            file.write(base64.b64decode(data))

    def close(self):
        self.browser.ask("Target.disposeBrowserContext", browserContextId=self.context)
        self.browser.pages.pop(self.session, None)
