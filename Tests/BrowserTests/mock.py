"""A server that answers as documented in docs/console.md, with exactly known signals and faults on request."""

import json
import math
import mimetypes
import os
import queue
import socket
import threading
import time
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PAGES = os.path.join(os.path.dirname(__file__), "..", "..", "Shared", "CConsolePages", "Pages")


def iso(seconds):
    whole = math.floor(seconds)
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(whole)) + f".{int((seconds - whole) * 1e6):06d}Z"


def sine(field, at):
    """0.5 Hz of amplitude 1 in x, a third of a turn between the axes."""
    return math.sin(2 * math.pi * 0.5 * at + {"x": 0, "y": 2, "z": 4}.get(field, 0) * math.pi / 3)


class Stream:
    def __init__(self, name, rate=100, fields=("x", "y", "z"), signal=sine, types=None, unit="g", **more):
        self.name, self.rate, self.fields, self.signal, self.types = name, rate, list(fields), signal, types
        self.device, self.stream = name.split("/", 1)
        self.unit, self.more = unit, more

    def description(self):
        at = time.time()
        body = {"schema": "stream.v1", "source": "sensor-publisher", "sequence": 1, "device": self.device, "stream": self.stream,
                "epoch": "E1", "state": "running", "fields": ["uptime", *self.fields], "unit": self.unit, "rate": self.rate,
                "packed": False, "nextSequence": int(at * self.rate), "replay": "tcp://127.0.0.1:5551", "retention": 600,
                "clock": {"date": iso(at), "uptime": at % 10000}}
        if self.types:
            body["types"] = ["number", *self.types]
        return {**body, **self.more}

    def numbers(self, start, end):
        """The numbers of the samples in a span: sample n is taken at n / rate."""
        return range(math.ceil(start * self.rate), math.ceil(end * self.rate))

    def batch(self, start, end, received=None):
        numbers = self.numbers(start, end)
        times = [number / self.rate for number in numbers]
        return {"device": self.device, "stream": self.stream, "epoch": "E1", "first": numbers.start, "received": received or end,
                "times": times, "fields": {field: [self.signal(field, at) for at in times] for field in self.fields}}

    def columns(self, start, end, count):
        width = max((end - start) / count, 1 / self.rate)
        times, columns = [], {field: [] for field in self.fields}
        at = start
        while at < end - 1e-9:
            inside = [number / self.rate for number in self.numbers(at, at + width)]
            if inside:
                times.append(at)
                for field in self.fields:
                    values = [self.signal(field, moment) for moment in inside]
                    columns[field].append([min(values), max(values)])
            at += width
        return {"device": self.device, "stream": self.stream, "width": width, "times": times, "columns": columns, "gaps": []}


class Mock:
    """Sessions, recordings and streams that a test configures, and every received request."""

    def __init__(self, *streams):
        self.streams = {stream.name: stream for stream in streams}
        self.recordings = []
        self.roles = ["listen", "command", "delete"]
        self.sessions = []
        self.details = {}
        self.replies = {}
        self.missing = set()
        self.health = {name: {"status": "ok", "uptime": 12.5, "version": "0.7.0", "measures": {}}
                       for name in ("sensor-publisher", "recorder", "step-counter", "log-manager", "archiver")}
        self.health["recorder"]["measures"] = {"commitLatencyMedianSeconds": 0.052, "commitLatency99PercentSeconds": 0.098, "behindSeconds": 0.01}
        self.system = {}
        self.changed = threading.Condition()
        self.calls = []
        self.requests = []
        self.viewers = []
        self.history_from = 0
        self._serve(0)

    # The server

    def _serve(self, port):
        mock = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *arguments):
                pass

            def do_GET(self):
                mock.get(self)

            def do_POST(self):
                mock.post(self)

        class Server(ThreadingHTTPServer):
            allow_reuse_address = True
            daemon_threads = True

            def handle_error(self, request, address):
                # A browser that goes away is no error.
                pass

            def process_request(self, request, address):
                mock.sockets.append(request)
                super().process_request(request, address)

        self.sockets = []
        self.server = Server(("127.0.0.1", port), Handler)
        self.port = self.server.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}/"
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()

    def _cut(self):
        for connection in self.sockets:
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
        self.sockets = []
        self.viewers = []

    def stop(self):
        """Disappears, as after kill -9."""
        self.server.shutdown()
        self.server.server_close()
        self._cut()

    def start_again(self):
        self._serve(self.port)

    # What it answers

    def answer(self, handler, body, status=200, kind="application/json", **headers):
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        handler.send_response(status)
        handler.send_header("Content-Type", kind)
        handler.send_header("Content-Length", str(len(data)))
        handler.send_header("Content-Security-Policy", "default-src 'self'; frame-ancestors 'none'")
        handler.send_header("X-Content-Type-Options", "nosniff")
        for name, value in headers.items():
            handler.send_header(name.replace("_", "-"), value)
        handler.end_headers()
        handler.wfile.write(data)

    def refuse(self, handler, status, message, code="notFound"):
        self.answer(handler, {"error": {"code": code, "message": message}}, status)

    def state(self):
        return {"programs": [{"name": name, "endpoint": "tcp://127.0.0.1:5551", "health": health} for name, health in self.health.items()],
                "streams": [stream.description() for stream in self.streams.values()], "recordings": self.recordings,
                "roles": self.roles, "version": "0.7.0"}

    def note(self, path, query):
        with self.changed:
            self.requests.append((path, query))
            self.changed.notify_all()

    def get(self, handler):
        url = urllib.parse.urlsplit(handler.path)
        path, query = url.path, dict(urllib.parse.parse_qsl(url.query, keep_blank_values=True))
        self.note(path, query)
        if any(path.startswith(prefix) for prefix in self.missing):
            return self.refuse(handler, 404, "there is nothing at this address")
        if path == "/":
            return self.file(handler, "index.html")
        if path.startswith("/assets/"):
            return self.file(handler, path.removeprefix("/assets/"))
        if path == "/api/state":
            return self.answer(handler, self.state())
        if path == "/api/events":
            return self.events(handler, query)
        if path == "/api/history":
            stream = self.streams[f"{query['device']}/{query['stream']}"]
            start = max(float(query["from"]), self.history_from)
            return self.answer(handler, stream.columns(start, float(query["to"]), int(query["columns"])))
        if path == "/api/system":
            return self.answer(handler, self.system)
        if path == "/api/sessions":
            found = [entry for entry in self.sessions if query.get("search", "") in entry["session"]]
            start = int(query.get("after", 0))
            page = {"sessions": found[start:start + 50]}
            if len(found) > start + 50:
                page["next"] = str(start + 50)
            return self.answer(handler, page)
        if path.startswith("/api/sessions/"):
            name, _, rest = path.removeprefix("/api/sessions/").partition("/")
            name = urllib.parse.unquote(name)
            if name not in self.details:
                return self.refuse(handler, 404, f"there is no session {name}")
            if rest == "":
                return self.answer(handler, self.details[name])
            if rest == "overview":
                past = self.streams[query["stream"]].columns(float(query["from"]), float(query["to"]), int(query["columns"]))
                past["gaps"] = [{"from": float(query["from"]) + 1, "to": float(query["from"]) + 2}]
                return self.answer(handler, past)
            if rest.startswith("files/"):
                return self.answer(handler, b"a file", kind="application/octet-stream")
            if rest == "report":
                return self.answer(handler, b"<!DOCTYPE html><title>Report</title>", kind="text/html; charset=utf-8")
        self.refuse(handler, 404, "there is nothing at this address")

    def file(self, handler, name):
        path = os.path.join(PAGES, os.path.basename(name))
        if not os.path.exists(path):
            return self.refuse(handler, 404, "there is nothing at this address")
        with open(path, "rb") as file:
            kind = "text/javascript" if name.endswith(".js") else mimetypes.guess_type(name)[0]
            self.answer(handler, file.read(), kind=kind)

    def post(self, handler):
        body = json.loads(handler.rfile.read(int(handler.headers.get("Content-Length", 0))) or b"{}")
        path = urllib.parse.unquote(handler.path)
        if handler.headers.get("X-Holdfast") != "1":
            return self.refuse(handler, 403, "a POST needs the header X-Holdfast: 1")
        method = path.removeprefix("/api/call/") if path.startswith("/api/call/") else path
        with self.changed:
            self.calls.append((method, body))
            self.changed.notify_all()
        if any(path.startswith(prefix) for prefix in self.missing):
            return self.refuse(handler, 404, "there is nothing at this address")
        reply = self.replies.get(method)
        if reply is None:
            return self.refuse(handler, 404, f"there is no {method}")
        reply = reply(body) if callable(reply) else reply
        if isinstance(reply, tuple):
            return self.refuse(handler, reply[0], reply[1])
        self.answer(handler, reply)

    def events(self, handler, query):
        handler.send_response(200)
        handler.send_header("Content-Type", "text/event-stream")
        handler.send_header("Cache-Control", "no-store")
        handler.end_headers()
        waiting = queue.Queue(10_000)
        waiting.put(("state", self.state()))
        with self.changed:
            self.viewers.append((waiting, query))
            self.changed.notify_all()
        while True:
            entry = waiting.get()
            if entry is None:
                break
            kind, data = entry
            handler.wfile.write(f"event: {kind}\ndata: {json.dumps(data)}\n\n".encode())
            handler.wfile.flush()

    # What a test does

    def send(self, kind, data):
        with self.changed:
            for waiting, _ in self.viewers:
                waiting.put((kind, data))

    def send_state(self):
        self.send("state", self.state())

    def feed(self, name, start, end, **options):
        """Sends the samples of a span."""
        self.send("samples", self.streams[name].batch(start, end, **options))

    def bus(self, event):
        self.send("bus", {"topic": event.get("schema", ""), "event": event})

    def cut(self):
        """Ends the connections of all viewers."""
        self._cut()

    def wait(self, condition, what):
        with self.changed:
            if not self.changed.wait_for(condition, 30):
                raise AssertionError(f"there was no {what}; calls: {self.calls[-8:]}, requests: {self.requests[-8:]}")

    def wait_call(self, method, **parameters):
        """Waits for a call with these parameters, and returns all of its parameters."""
        def find():
            return next((body for name, body in self.calls if name == method and all(body.get(key) == value for key, value in parameters.items())), None)
        self.wait(lambda: find() is not None, f"call of {method} with {parameters}")
        return find()

    def wait_request(self, path, **query):
        def find():
            return next((asked for at, asked in self.requests if at == path and all(asked.get(key) == value for key, value in query.items())), None)
        self.wait(lambda: find() is not None, f"request of {path} with {query}")
        return find()

    def wait_viewer(self, **query):
        self.wait(lambda: any(all(asked.get(key) == value for key, value in query.items()) for _, asked in self.viewers), "viewer")

    def close(self):
        self.stop()
