"""An outside client, which subscribes and sends requests over ZeroMQ with nothing but pyzmq."""
import json
import time

import zmq
import zmq.auth

PORTS = {"sensor-publisher": 5550, "recorder": 5560, "step-counter": 5570, "log-manager": 5580, "archiver": 5590}


class Client:
    """A client on the host with its own key, with an unknown key, or with none."""

    def __init__(self, stack, keys, name=None, pair=None):
        """`keys` is the directory with the programs' public keys and, if no pair is given, NAME.key_secret."""
        self.stack = stack
        self.keys = keys
        self.pair = zmq.auth.load_certificate(f"{keys}/{name}.key_secret") if name else pair

    def connect(self, kind, program, index=1):
        """A socket connected to a program's events or to its replies."""
        socket = zmq.Context.instance().socket(kind)
        socket.setsockopt(zmq.LINGER, 0)
        if self.pair:
            socket.curve_publickey, socket.curve_secretkey = self.pair
            socket.curve_serverkey, _ = zmq.auth.load_certificate(f"{self.keys}/{program}.key")
        socket.connect(self.stack.port(program, PORTS[program] + (kind == zmq.REQ), index))
        return socket

    def reply(self, program, method, timeout=30, **params):
        """A program's reply to a request; None if there is no reply in time."""
        with self.connect(zmq.REQ, program) as socket:
            # A refused connection is removed, and a request cannot wait without a connection.
            socket.sndtimeo = int(timeout * 1000)
            try:
                socket.send_json({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
            except zmq.Again:
                return None
            return socket.recv_json() if socket.poll(timeout * 1000) else None

    def ask(self, program, method, **params):
        """A request's result; a refusal, or silence, is an error."""
        reply = self.reply(program, method, **params)
        assert reply and "result" in reply, f"{method}: {reply}"
        return reply["result"]

    def listen(self, program, topic, count, index=1, timeout=30):
        """The bodies of the first events under a topic, or of as many as arrive in time."""
        bodies = []
        deadline = time.monotonic() + timeout
        with self.connect(zmq.SUB, program, index) as socket:
            socket.subscribe(topic)
            while len(bodies) < count and socket.poll(max(0, deadline - time.monotonic()) * 1000):
                heard, body, sent = socket.recv_multipart()[:3]
                assert heard.decode().startswith(topic) and abs(float(sent) - time.time()) < 60, (heard, sent)
                bodies.append(json.loads(body))
        return bodies

    def samples(self):
        """A socket that receives one publisher's samples from now on; `ends` reads it."""
        socket = self.connect(zmq.SUB, "sensor-publisher")
        socket.subscribe("samples/")
        return socket


def ends(socket):
    """The number after the last sample that a socket received, by epoch. Closes the socket."""
    numbers = {}
    while socket.poll(500):
        batch = json.loads(socket.recv_multipart()[1])
        numbers[batch["epoch"]] = batch["sequence"] + batch["count"]
    socket.close()
    return numbers
