"""A hostile publisher: samples of its stream are missing, and it answers as it likes whoever asks for them. Needs nothing
but the standard library.

replay.py listen SECONDS replay ATTACK   prints the port of its PUB socket. Its stream is evil-ATTACK/accelerometer. Each
                                         time that it is interrupted, samples are missing five times a second until
                                         the time is over; before that it answers that it has none.
Prints how often it was asked so far, with the number of the time before it. An attack without end has one connection,
and counts when that is cut: however fast it is, it has taken all that it can take.
"""
import itertools
import json
import signal
import socket
import struct
import sys
import threading
import time
import uuid

from attack import COMMAND, LONG, MORE, frame, greeting, message, ready

# What whoever asks just takes.
BIG = 15 << 20
FIELDS = ["uptime", "x", "y", "z"]
# The frames of answers without end.
ENDLESS = {"endless": bytes(200), "empty": b""}


def read(connection, count):
    data = b""
    while len(data) < count:
        piece = connection.recv(count - len(data))
        if not piece:
            raise ConnectionError
        data += piece
    return data


def read_frame(connection):
    flags = read(connection, 1)[0]
    size = struct.unpack(">Q", read(connection, 8))[0] if flags & LONG else read(connection, 1)[0]
    return flags, read(connection, size)


def read_message(connection):
    """The frames of the next message; heartbeats are answered."""
    frames = []
    while True:
        flags, body = read_frame(connection)
        if flags & COMMAND:
            if body.startswith(b"\x04PING"):
                connection.sendall(frame(b"\x04PONG" + body[7:], COMMAND))
            continue
        frames.append(body)
        if not flags & MORE:
            return frames


def shake_hands(connection, kind):
    connection.sendall(greeting())
    read(connection, 64)
    connection.sendall(ready(kind))
    read_frame(connection)


class Publisher:
    """A PUB socket, and who subscribes to it. What takes a connection has a thread for it, until it ends."""

    def __init__(self):
        self.subscribers = []
        self.publish = socket.create_server(("127.0.0.1", 0), backlog=64)

    def listen(self, *sockets):
        """Serves the PUB socket, and other ones that listen, each with what takes its connections."""
        for listener, take in ((self.publish, self.publish_to), *sockets):
            threading.Thread(target=self.serve, args=(listener, take), daemon=True).start()

    def serve(self, listener, take):
        while True:
            threading.Thread(target=self.quietly, args=(take, listener.accept()[0]), daemon=True).start()

    @staticmethod
    def quietly(take, connection):
        try:
            take(connection)
        except (OSError, ConnectionError):
            pass
        connection.close()

    def publish_to(self, connection):
        shake_hands(connection, "PUB")
        self.subscribers.append(connection)
        while True:
            read_message(connection)

    def send_event(self, area, device, body):
        data = message(area + b"/" + device.encode() + b"/accelerometer", body, b"1795219200.1")
        for connection in list(self.subscribers):
            try:
                connection.sendall(data)
            except OSError:
                self.subscribers.remove(connection)

    @staticmethod
    def clock():
        date = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime()) + ".000000Z"
        return {"date": date, "uptime": time.monotonic()}


class HostilePublisher(Publisher):
    def __init__(self, attack):
        super().__init__()
        self.attack = attack
        self.device = "evil-" + attack
        self.epoch = str(uuid.uuid4())
        self.start = time.monotonic()
        self.next = 0
        self.asked = 0
        self.has_begun = False
        self.has_flooded = False
        self.reply = socket.create_server(("127.0.0.1", 0), backlog=64)

    def description(self):
        return {
            "clock": self.clock(), "device": self.device, "epoch": self.epoch, "fields": FIELDS,
            "nextSequence": self.next, "packed": False, "rate": 5, "replay": self.endpoint(), "schema": "stream.v1",
            "sequence": 0, "source": "nobody", "state": "running", "stream": "accelerometer", "unit": "g",
        }

    def endpoint(self):
        return "tcp://127.0.0.1:%d" % self.reply.getsockname()[1]

    def samples(self, sequence, count, epoch=None):
        body = {
            "clock": self.clock(), "count": count, "device": self.device, "epoch": epoch or self.epoch, "fields": FIELDS,
            "schema": "samples.v1", "sequence": sequence, "source": "nobody", "stream": "accelerometer",
            "values": [[self.start + (sequence + i) / 1000, 0, 0, 1] for i in range(min(count, 1000))],
        }
        return json.dumps(body).encode()

    def tick(self, missing):
        self.next += missing
        self.send_event(b"samples", self.device, self.samples(self.next, 1))
        self.next += 1
        self.send_event(b"stream", self.device, json.dumps(self.description()).encode())

    def answer(self, connection):
        if self.has_flooded:
            return
        if self.attack == "refuse" and self.has_begun:
            self.asked += 1
            return
        shake_hands(connection, "ROUTER")
        while True:
            *envelope, request = read_message(connection)
            request = json.loads(request)
            asked = request.get("params", {})
            number = request.get("id")
            if not self.has_begun:
                nothing = self.result(number, asked.get("from", 0), 0)
                connection.sendall(b"".join(frame(f, MORE) for f in envelope) + nothing)
                continue
            if self.attack in ENDLESS:
                return self.flood(connection, frame(b"{}", MORE), frame(ENDLESS[self.attack], MORE) * 5000)
            self.asked += 1
            reply = self.frames(number, asked)
            if reply is None:
                return
            data = b"".join(frame(f, MORE) for f in envelope) + reply
            if self.attack == "trickle":
                for byte in data:
                    connection.sendall(bytes([byte]))
                    time.sleep(0.02)
            else:
                connection.sendall(data)

    def flood(self, connection, first, piece):
        """Sends frames until the connection is cut. Other connections are not answered."""
        self.has_flooded = True
        try:
            connection.sendall(first)
            while True:
                connection.sendall(piece)
        except OSError:
            self.asked += 1

    @staticmethod
    def result(number, first, count, *batches):
        reply = {"from": first, "count": count, "first": first, "last": first + count - 1}
        return message(json.dumps({"jsonrpc": "2.0", "id": number, "result": reply}).encode(), *batches)

    def frames(self, number, asked):
        """What is answered; nothing to end the connection."""
        first, count = asked.get("from", 0), asked.get("count", 0)
        match self.attack:
            case "mute":
                return b""
            case "close":
                return None
            case "garbage":
                return message(b"\xff{")
            case "huge":
                return self.result(number, first, count, bytes(BIG))
            case "other-epoch":
                return self.result(number, first, count, self.samples(first, count, str(uuid.uuid4())))
            case "numbers":
                return self.result(
                    number, 2**62, 2**62, self.samples(first, 2**62), self.samples(2**62, 1),
                    self.samples(2**63 - 1, 2**63 - 1))
            case "nothing":
                return self.result(number, first, 0)
            case "drip" | "trickle":
                return self.result(number, first, 1, self.samples(first, 1))
        sys.exit("there is no attack '%s'" % self.attack)


def main():
    seconds, attack = float(sys.argv[2]), sys.argv[4]
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    publisher = HostilePublisher(attack)
    publisher.listen((publisher.reply, publisher.answer))
    print(publisher.publish.getsockname()[1], flush=True)
    for time_number in itertools.count(1):
        while signal.sigtimedwait([signal.SIGINT], 0.2) is None:
            publisher.tick(0)
        publisher.has_begun = True
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            publisher.tick(1000)
            time.sleep(0.2)
        print("%d: asked %d times" % (time_number, publisher.asked), flush=True)


if __name__ == "__main__":
    main()
