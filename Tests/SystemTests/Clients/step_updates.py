"""Prints the total and the time of each update of a subscription, one a line: step_updates.py PUBLISH DEVICE SUBSCRIPTION"""
import json
import sys

import zmq

endpoint, device, subscription = sys.argv[1:]
socket = zmq.Context().socket(zmq.SUB)
socket.setsockopt(zmq.RCVTIMEO, 60_000)
socket.connect(endpoint)
socket.subscribe(f"steps/{device}")
print("listening", flush=True)
while True:
    topic, body, time = socket.recv_multipart()
    event = json.loads(body)
    assert event["schema"] == "steps.v1" and event["device"] == device, event
    if event.get("subscription") == subscription:
        print(event["numberOfSteps"], time.decode(), flush=True)
