"""What people do from outside: listen and ask over ZeroMQ, with nothing but pyzmq."""
import json
import time

import zmq

context = zmq.Context.instance()


def ask(endpoint, method, timeout=30, **params):
    """Asks a program, and gives its result; what it refuses is an error."""
    with context.socket(zmq.REQ) as socket:
        socket.setsockopt(zmq.LINGER, 0)
        socket.connect(endpoint)
        socket.send_json({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
        assert socket.poll(timeout * 1000), f"no answer from {endpoint} to {method} within {timeout} s"
        reply = socket.recv_json()
    assert "result" in reply, f"{method}: {reply}"
    return reply["result"]


class Listener:
    """Hears samples of all publishers from here on, and knows how far each epoch of each device went."""

    def __init__(self, *endpoints):
        self.socket = context.socket(zmq.SUB)
        for endpoint in endpoints:
            self.socket.connect(endpoint)
        self.socket.subscribe("samples/")

    def ends(self):
        """The number of the sample after the last one that was heard, by epoch; the listener is closed."""
        ends = {}
        while self.socket.poll(500):
            batch = json.loads(self.socket.recv_multipart()[1])
            ends[batch["epoch"]] = batch["sequence"] + batch["count"]
        self.socket.close(linger=0)
        return ends


def listen(endpoint, topic, count, timeout=30):
    """The bodies of the first events under a topic."""
    bodies = []
    deadline = time.monotonic() + timeout
    with context.socket(zmq.SUB) as socket:
        socket.setsockopt(zmq.LINGER, 0)
        socket.connect(endpoint)
        socket.subscribe(topic)
        while len(bodies) < count:
            left = deadline - time.monotonic()
            assert left > 0 and socket.poll(left * 1000), f"{len(bodies)} of {count} events of {topic} from {endpoint}"
            heard, body, sent = socket.recv_multipart()[:3]
            assert heard.decode().startswith(topic) and abs(float(sent) - time.time()) < 60, (heard, sent)
            bodies.append(json.loads(body))
    return bodies
