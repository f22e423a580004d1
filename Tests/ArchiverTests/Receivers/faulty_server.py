"""A web server with faults that real servers do not have on demand. The first part of a path selects the fault:

    /cut/NAME       PUT: the connection breaks after 100,000 bytes
    /once/NAME      PUT: the first breaks like that, later ones are kept
    /torso/NAME     PUT: the first breaks like that, and its received part is kept; later ones replace only what they name
    /silent/NAME    PUT: takes everything and never answers
    /slow/NAME      PUT: takes nothing and never answers
    /wrong/NAME     PUT: takes everything, and answers with the hash of something else
    /half/NAME      PUT is kept; GET breaks in the middle
    /digest/NAME    PUT is kept, and answered with its Repr-Digest
    /busy/NAME      PUT: answers with a date for the next try

GET /requests returns a line of JSON for each request so far. Prints a line of JSON with the endpoint when it listens, and
ends when its parent process has ended.
"""
import base64
import email.utils
import hashlib
import json
import os
import socket
import struct
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

kept = {}
requests = []


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def note(self):
        requests.append({"method": self.command, "path": self.path, "headers": dict(self.headers)})

    def answer(self, status, body=b"", **headers):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        if "Content_Length" not in headers:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def cut(self):
        # A reset instead of an orderly end.
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.connection.close()
        self.close_connection = True

    def tag(self, body):
        return {"ETag": '"length%d"' % len(body)} if self.path.startswith("/torso/") else {}

    def do_HEAD(self):
        self.note()
        body = kept.get(self.path)
        self.answer(404) if body is None else self.answer(200, body, **self.tag(body))

    def do_GET(self):
        if self.path == "/requests":
            return self.answer(200, "".join(json.dumps(request) + "\n" for request in requests).encode())
        self.note()
        body = kept.get(self.path)
        if body is None:
            return self.answer(404)
        if self.path.startswith("/half/"):
            self.answer(200, body[: len(body) // 2], Content_Length=str(len(body)))
            return self.cut()
        self.answer(200, body)

    def do_PUT(self):
        again = any(request["path"] == self.path and request["method"] == "PUT" for request in requests)
        self.note()
        kind = self.path.split("/")[1]
        length = int(self.headers["Content-Length"])
        if kind == "busy":
            later = email.utils.formatdate(time.time() + 100, usegmt=True)
            self.close_connection = True
            return self.answer(503, Retry_After=later)
        if kind == "slow":
            return time.sleep(3600)
        if kind == "cut" or kind == "once" and not again:
            self.rfile.read(min(length, 100_000))
            return self.cut()
        if kind == "torso" and not again:
            kept[self.path] = self.rfile.read(min(length, 100_000))
            return self.cut()
        body = self.rfile.read(length)
        if kind == "torso" and self.headers["If-Match"] != self.tag(kept[self.path])["ETag"]:
            return self.answer(412)
        if kind == "silent":
            return time.sleep(3600)
        hash = hashlib.sha256(b"something else" if kind == "wrong" else body).digest()
        kept[self.path] = body
        digest = "sha-256=:%s:" % base64.b64encode(hash).decode()
        self.answer(201, **({"Repr_Digest": digest} if kind in ("digest", "wrong") else {}))


def main():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(json.dumps({"endpoint": "http://127.0.0.1:%d" % server.server_address[1]}), flush=True)
    parent = os.getppid()
    while os.getppid() == parent:
        time.sleep(1)
    os._exit(0)


main()
