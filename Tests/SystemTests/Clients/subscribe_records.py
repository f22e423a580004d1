"""Subscribes to a stream of records and prints the first ones: subscribe_records.py PUBLISH TOPIC COUNT"""
import json
import sys

import zmq

endpoint, topic, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
socket = zmq.Context().socket(zmq.SUB)
socket.setsockopt(zmq.RCVTIMEO, 20_000)
socket.connect(endpoint)
socket.subscribe(topic)

kinds = {"number": (int, float), "text": str, "date": str, "boolean": bool, "json": object}
rows = 0
while rows < count:
    body = json.loads(socket.recv_multipart()[1])
    assert body["schema"] == "samples.v1" and len(body["values"]) == body["count"], body
    assert len(body["types"]) == len(body["fields"]) and body["types"][0] == "number", body
    for row in body["values"]:
        for kind, value in zip(body["types"], row, strict=True):
            assert value is None or isinstance(value, kinds[kind]), (kind, value)
    rows += body["count"]
print("ok", " ".join(f"{field}:{kind}" for field, kind in zip(body["fields"], body["types"])))
