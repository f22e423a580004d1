"""The real programs, on ports and in a directory of their own, with a connection between publisher and console that can be cut."""

import json
import os
import socket
import subprocess
import tempfile
import threading
import urllib.request

PROGRAMS = os.environ.get("HOLDFAST_PROGRAMS")
PAGES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "Shared", "CConsolePages", "Pages")
ANY = ["--publish", "tcp://127.0.0.1:*", "--reply", "tcp://127.0.0.1:*"]


def has_samples():
    """Whether the built console listens to publishers."""
    return bool(PROGRAMS) and b"--subscribe" in subprocess.run([os.path.join(PROGRAMS, "console"), "--help"], capture_output=True, check=True).stdout


class Cut:
    """Forwards connections until it is cut."""

    def __init__(self, endpoint):
        self.target = ("127.0.0.1", int(endpoint.rsplit(":", 1)[1]))
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.endpoint = f"tcp://127.0.0.1:{self.listener.getsockname()[1]}"
        self.is_open = True
        self.pairs = []
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                near, _ = self.listener.accept()
            except OSError:
                return
            if not self.is_open:
                near.close()
                continue
            try:
                far = socket.create_connection(self.target)
            except OSError:
                near.close()
                continue
            self.pairs += [near, far]
            for one, other in ((near, far), (far, near)):
                threading.Thread(target=self._pass, args=(one, other), daemon=True).start()

    @staticmethod
    def _pass(source, target):
        try:
            while data := source.recv(65536):
                target.sendall(data)
        except OSError:
            pass
        for end in (source, target):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
        # The thread of the other direction closes `target`.
        source.close()

    def cut(self):
        self.is_open = False
        for end in self.pairs:
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
        self.pairs = []

    def close(self):
        self.cut()
        self.listener.close()


class Programs:
    """The five programs and the console, as far as a test needs them."""

    def __init__(self, *publishing, files=None):
        self.directory = tempfile.TemporaryDirectory(prefix="holdfast-programs-", ignore_cleanup_errors=True)
        self.running = {}
        self.cut = None
        try:
            for name, text in (files or {}).items():
                with open(os.path.join(self.directory.name, name), "w", encoding="utf-8") as file:
                    file.write(text)
            data = ["--data", os.path.join(self.directory.name, "data")]
            self.publisher = self.start("sensor-publisher", *ANY, *publishing)
            self.recorder = self.start("recorder", *ANY, *data, "--subscribe", self.publisher["publish"])
            self.counter = self.start("step-counter", *ANY, *data, "--subscribe", self.publisher["publish"])
            self.manager = self.start("log-manager", *ANY, *data, "--subscribe", self.recorder["publish"], "--total-threshold", "20GB", "--minimum-free", "1MB")
            self.archiver = self.start("archiver", *ANY, *data, "--subscribe", self.recorder["publish"], "--log-manager", self.manager["reply"])
            self.cut = Cut(self.publisher["publish"])
            self.options = [
                "--reply", "tcp://127.0.0.1:*", "--pages", PAGES, "--sensor-publisher", self.publisher["reply"], "--recorder", self.recorder["reply"], "--step-counter", self.counter["reply"],
                "--log-manager", self.manager["reply"], "--archiver", self.archiver["reply"], *data, "--subscribe", self.cut.endpoint,
                "--recorder-events", self.recorder["publish"], "--step-counter-events", self.counter["publish"],
                "--log-manager-events", self.manager["publish"], "--archiver-events", self.archiver["publish"]]
            self.start_console("0")
        except BaseException:
            self.close()
            raise

    def start(self, name, *options, key=None):
        """Starts a program, in `running` under its name or a key, and waits for its line that reports readiness."""
        errors = open(os.path.join(self.directory.name, f"{name}.log"), "ab")
        process = subprocess.Popen([os.path.join(PROGRAMS, name), *options], cwd=self.directory.name, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors)
        errors.close()
        self.running[key or name] = process
        first = []
        for line in process.stdout:
            first.append(line.decode())
            if line.startswith(b"{"):
                break
        else:
            with open(os.path.join(self.directory.name, f"{name}.log"), encoding="utf-8") as file:
                raise AssertionError(f"{name} did not start: {file.read()[-1500:]}")
        threading.Thread(target=self.drain, args=(process.stdout,), daemon=True).start()
        return {**json.loads(first[-1]), "said": "".join(first)}

    @staticmethod
    def drain(output):
        with output:
            output.read()

    def start_console(self, listen):
        ready = self.start("console", "--listen", listen, *self.options)
        self.url = ready["said"].split("console: open ")[1].split()[0]

    def kill_console(self):
        self.running["console"].kill()
        self.running["console"].wait()

    def call(self, method, **parameters):
        request = urllib.request.Request(f"{self.url}api/call/{method}", json.dumps(parameters).encode(), {"X-Holdfast": "1"})
        with urllib.request.urlopen(request, timeout=30) as reply:
            return json.load(reply)

    def file(self, *path):
        with open(os.path.join(self.directory.name, "data", *path), encoding="utf-8") as file:
            return file.read()

    def close(self):
        if self.cut:
            self.cut.close()
        for process in reversed(self.running.values()):
            process.terminate()
        for process in self.running.values():
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self.directory.cleanup()
