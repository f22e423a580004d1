"""A whole study session, from docs/protocol.md, docs/archives.md and docs/personal-data.md alone:
study.py RECORDER_REPLY RECORDER_PUBLISH STEP_COUNTER_REPLY ARCHIVER_REPLY ARCHIVER_PUBLISH RESULT_FILE"""
import hashlib
import json
import sys
import time

import zmq

context = zmq.Context()


def requester(endpoint):
    socket = context.socket(zmq.REQ)
    socket.setsockopt(zmq.RCVTIMEO, 60_000)
    socket.setsockopt(zmq.LINGER, 0)
    socket.connect(endpoint)

    def ask(method, frames=(), **params):
        request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        socket.send_multipart([json.dumps(request).encode(), *frames])
        reply = socket.recv_json()
        if "error" in reply:
            raise RuntimeError(reply["error"]["message"])
        return reply["result"]

    return ask


def subscriber(endpoint, topic):
    socket = context.socket(zmq.SUB)
    socket.setsockopt(zmq.RCVTIMEO, 60_000)
    socket.connect(endpoint)
    socket.subscribe(topic)
    return lambda: json.loads(socket.recv_multipart()[1])


recorder, steps, archiver = requester(sys.argv[1]), requester(sys.argv[3]), requester(sys.argv[4])
recordings, archives = subscriber(sys.argv[2], "recording/participant-7"), subscriber(sys.argv[5], "archive/participant-7")

# Start.
started = recorder(
    "recording.start", session="participant-7", task="Walk", step="outbound", streams=["left-wrist/"],
    keys={"schedule": "2026-w48"})
assert started["status"] == "running", started
# Who comes late learns of it within a second or so.
assert any(event["status"] == "running" for event in (recordings() for _ in range(3)))

# Steps.
assert steps("steps.isAvailable", device="left-wrist") is not None
counting = steps("steps.startUpdates", device="left-wrist", updateOn=5)
assert recorder("recording.moveTo", session="participant-7", step="return")["currentStep"] == "return"
deadline = time.monotonic() + 40
while recorder("recording.status", session="participant-7")["logs"][0]["samples"] < 300:
    assert time.monotonic() < deadline
    time.sleep(0.1)

# A photo in two pieces, and answers, twice.
photo = bytes(range(256)) * 5_000
piece = 1 << 20
first = recorder("recording.addFile", [photo[:piece]], session="participant-7", name="photo.jpg", more=True)
assert first["bytes"] == piece, first
last = recorder("recording.addFile", [photo[piece:]], session="participant-7", name="photo.jpg", offset=piece)
assert last["bytes"] == len(photo) and last["sha256"] == hashlib.sha256(photo).hexdigest(), last


def results(pain):
    return {"stepHistory": [
        {"identifier": "pain", "value": pain}, {"identifier": "photo", "relativePath": "photo.jpg", "contentType": "image/jpeg"}]}


recorder("recording.setResults", session="participant-7", results=results(3))
recorder("recording.setResults", session="participant-7", results=results(2))

# Stop.
stopped = recorder("recording.stop", session="participant-7")
assert stopped["status"] == "finished" and stopped["report"]["isWhole"], stopped
assert steps("steps.stopUpdates", subscription=counting["subscription"])["numberOfSteps"] >= 0
status = recorder("recording.status", session="participant-7")
assert status["keys"] == {"schedule": "2026-w48"}, status

# The encoded result, before there is an archive.
encoded = recorder("recording.result", session="participant-7", encoded=True)["taskResult"]
assert encoded["stepHistory"] == results(2)["stepHistory"] and encoded["schedule"] == "2026-w48", encoded
with open(sys.argv[6], "w") as file:
    json.dump(encoded, file)

# Archive and receipt: the event, or what is there by now.
while True:
    state = archiver("archive.status", session="participant-7")
    if state["state"] == "marked":
        break
    assert state["state"] != "failed", state
    assert time.monotonic() < deadline + 40, state
    time.sleep(0.1)
assert state["receipt"]["session"] == "participant-7", state

# Discard.
discarded = recorder("recording.discard", session="participant-7")
assert discarded["isComplete"] and discarded["uploaded"], discarded
assert {part["program"] for part in discarded["others"]} == {"archiver", "log-manager", "step-counter"}
assert [entry for entry in recorder("recording.list")["recordings"]] == []
print("ok", hashlib.sha256(b"participant-7").hexdigest())
