"""Subscribes to one stream and decodes JSON or packed batches: subscribe.py PUBLISH DEVICE COUNT"""
import json
import sys

import numpy
import zmq

endpoint, device, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
socket = zmq.Context().socket(zmq.SUB)
socket.setsockopt(zmq.RCVTIMEO, 20_000)
socket.connect(endpoint)
socket.subscribe(f"samples/{device}/")

rows = 0
following = None
while rows < count:
    topic, body, time, *packed = socket.recv_multipart()
    assert topic.decode() == f"samples/{device}/accelerometer", topic
    event = json.loads(body)
    assert event["schema"] == "samples.v1" and event["source"] == "sensor-publisher", event
    assert event["fields"] == ["uptime", "x", "y", "z"], event
    assert 1.7e9 < float(time) < 5e9 and "date" in event["clock"], time
    if packed:
        assert "values" not in event
        matrix = numpy.frombuffer(packed[0]).reshape(event["count"], -1)
    else:
        matrix = numpy.array(event["values"])
    assert matrix.shape == (event["count"], 4), matrix.shape
    # x = y = z = 2 sin(t + 0.2) + 0.5, as the publisher was told.
    assert (matrix[:, 1] == matrix[:, 2]).all() and (abs(matrix[:, 1] - 0.5) <= 2).all()
    assert (numpy.diff(matrix[:, 0]) > 0).all()
    assert following in (None, event["sequence"]), (following, event["sequence"])
    following = event["sequence"] + event["count"]
    rows += event["count"]
print("ok", rows, "packed" if packed else "json")
