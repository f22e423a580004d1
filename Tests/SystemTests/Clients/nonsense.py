"""A publisher whose messages are partly nonsense: numbers that nothing can have, other types, other texts, parts that are
missing. Needs nothing but the standard library.

nonsense.py SEED COUNT   prints the port of its PUB socket. Sends so many messages when it is interrupted, then 100 samples of
                         another device, honest/accelerometer, in which all is right, and prints how many it sent;
                         answers whoever asks for samples with nonsense, too.
"""
import json
import random
import signal
import socket
import sys
import time

from attack import MORE, frame, message
from replay import Publisher, read_message, shake_hands

INTEGERS = [-(2**63), -1, 0, 1, 100, 2**31, 2**53 + 1, 2**62, 2**63 - 1, 2**63, 2**64]
NUMBERS = [-1e308, 1e308, -9.3e18, 9.3e18, -4e9, 4e9, -3.99e9, 3.99e9, 1e-308, -0.0, 0.1, 1e15, "NaN"]
TEXTS = ["", "x" * 300, "\0", "../../x", "a/b", "\N{GRINNING FACE}", "*", "9999-01-01T00:00:00.000000Z",
         "1678-01-01T00:00:00.000000Z", "2261-12-31T00:00:00.000000Z", "E1", "E2", "running", "failed", "evil-1"]
STREAM = "accelerometer"


class Nonsense(Publisher):
    def __init__(self, seed):
        super().__init__()
        self.random = random.Random(seed)
        self.answers = random.Random(seed)
        self.next = {}
        self.reply = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.honest_reply = socket.create_server(("127.0.0.1", 0), backlog=64)

    @staticmethod
    def places(value, path=()):
        """Where something stands in a document."""
        if isinstance(value, dict):
            for key in sorted(value):
                yield path + (key,)
                yield from Nonsense.places(value[key], path + (key,))
        elif isinstance(value, list):
            for index in range(min(len(value), 8)):
                yield path + (index,)
                yield from Nonsense.places(value[index], path + (index,))

    @staticmethod
    def spoiled(document, times, random):
        """The document, after something in it was replaced so often."""
        document = json.loads(json.dumps(document))
        for _ in range(times):
            places = list(Nonsense.places(document))
            if not places:
                break
            *path, last = random.choice(places)
            parent = document
            for key in path:
                parent = parent[key]
            old = parent[last]
            if isinstance(old, bool):
                new = random.choice([True, False, None])
            elif isinstance(old, int):
                new = random.choice(INTEGERS + [old + 1, old - 1, 2 * old, old + 1000])
            elif isinstance(old, float):
                new = random.choice(NUMBERS + [2 * old, old - 3600, old + 3600])
            elif isinstance(old, str):
                new = random.choice(TEXTS)
            elif isinstance(old, list):
                new = random.choice([[], old * 2, old[:1], [None], old[::-1]])
            else:
                new = random.choice([{}, None, [], 1])
            if random.random() < 0.03:
                new = random.choice([None, [], {}, "1", 1])
            parent[last] = new
        return document

    def batch(self, device, epoch, first, count):
        now = time.monotonic()
        return {
            "clock": self.clock(), "count": count, "device": device, "epoch": epoch,
            "fields": ["uptime", "x", "y", "z"], "schema": "samples.v1", "sequence": first, "source": "nonsense",
            "stream": STREAM, "values": [[now + i / 100, 0.1, 0.2, 1.0] for i in range(count)],
        }

    def description(self, device, epoch):
        reply = self.honest_reply if device == "honest" else self.reply
        return {
            "clock": dict(self.clock(), elapsed=time.monotonic()), "device": device, "epoch": epoch,
            "fields": ["uptime", "x", "y", "z"], "lastSample": time.monotonic(),
            "nextSequence": self.next.get((device, epoch), 0), "packed": False, "rate": 100.0,
            "replay": "tcp://127.0.0.1:%d" % reply.getsockname()[1], "retention": 600.0, "schema": "stream.v1",
            "sequence": 0, "source": "nonsense", "state": "running", "stream": STREAM, "unit": "g",
        }

    def send(self, area, device, body):
        self.send_event(area, device, json.dumps(body).encode())

    def send_next(self):
        device = "evil-%d" % self.random.randrange(4)
        epoch = self.random.choice(["E1", "E1", "E1", "E2", "\N{LATIN SMALL LETTER E WITH ACUTE}"])
        times = self.random.choice([0, 1, 1, 1, 2, 3])
        if self.random.random() < 0.35:
            description = self.spoiled(self.description(device, epoch), times, self.random)
            return self.send(b"stream", device, description)
        first = self.next.get((device, epoch), 0) + self.random.choice([0, 0, 0, 1, 100])
        count = self.random.choice([1, 10, 50])
        self.next[device, epoch] = first + count
        self.send(b"samples", device, self.spoiled(self.batch(device, epoch, first, count), times, self.random))

    def answer_honestly(self, connection):
        self.answer(connection, [0])

    def answer(self, connection, times=(0, 1)):
        shake_hands(connection, "ROUTER")
        while True:
            *envelope, request = read_message(connection)
            request = json.loads(request)
            asked = request.get("params", {})
            ranges = (asked.get("ranges") or [asked])[:8]
            batches, found = [], []
            for part in ranges:
                count = min(part.get("count", 1), 200)
                device = part.get("device", asked.get("device", "evil-0"))
                batch = self.batch(device, part.get("epoch", "E1"), part.get("from", 0), count)
                batches.append(json.dumps(self.spoiled(batch, self.answers.choice(times), self.answers)).encode())
                found.append({"from": part.get("from", 0), "count": count, "first": 0, "last": 10**6})
            result = dict(found[0], ranges=found) if asked.get("ranges") else found[0]
            reply = {"jsonrpc": "2.0", "id": request.get("id"), "result": result}
            body = json.dumps(self.spoiled(reply, self.answers.choice(times), self.answers)).encode()
            connection.sendall(b"".join(frame(f, MORE) for f in envelope) + message(body, *batches))


def main():
    seed, count = int(sys.argv[1]), int(sys.argv[2])
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    nonsense = Nonsense(seed)
    nonsense.listen((nonsense.reply, nonsense.answer), (nonsense.honest_reply, nonsense.answer_honestly))
    print(nonsense.publish.getsockname()[1], flush=True)
    signal.sigwait([signal.SIGINT])
    for _ in range(count):
        nonsense.send_next()
    for first in range(0, 100, 10):
        nonsense.next["honest", "E1"] = first
        nonsense.send(b"stream", "honest", nonsense.description("honest", "E1"))
        nonsense.send(b"samples", "honest", nonsense.batch("honest", "E1", first, 10))
    nonsense.next["honest", "E1"] = 100
    nonsense.send(b"stream", "honest", nonsense.description("honest", "E1"))
    print("sent %d" % count, flush=True)
    signal.sigwait([signal.SIGINT])


if __name__ == "__main__":
    main()
