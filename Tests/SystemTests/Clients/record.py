"""Records over a plain REQ socket, and gets an answer for whatever it sends: record.py REPLY"""
import json
import sys
import time

import zmq

context = zmq.Context()


def connect():
    socket = context.socket(zmq.REQ)
    socket.setsockopt(zmq.RCVTIMEO, 20_000)
    socket.setsockopt(zmq.LINGER, 0)
    socket.connect(sys.argv[1])
    return socket


socket = connect()


def send(*frames):
    socket.send_multipart(frames)
    reply = json.loads(socket.recv())
    assert reply["jsonrpc"] == "2.0" and ("result" in reply) != ("error" in reply), reply
    return reply


def ask(method, **params):
    return send(json.dumps({"jsonrpc": "2.0", "id": 7, "method": method, "params": params}).encode())


def refused(reply, code):
    assert reply["error"]["code"] == code and reply["error"]["message"], reply


# Garbage, unknown methods, wrong types, oversized frames: an error each time, and the next request is served.
refused(send(b""), -32700)
refused(send(b"\xff\xfe\x00"), -32700)
refused(send(b"{"), -32700)
refused(send(b"[]"), -32600)
refused(send(b'{"id":1}'), -32600)
refused(ask("recording.explode"), -32601)
refused(ask("recording.start"), -32602)
refused(ask("recording.start", streams="phone/"), -32602)
refused(ask("recording.start", streams=[1]), -32602)
refused(send(b'{"jsonrpc":"2.0","id":1,"method":"recording.start","params":[1]}'), -32602)
refused(send(b"[" * 1_100_000), -32600)
refused(send(b"{}", b"{}"), -32600)
refused(ask("recording.start", streams=[]), 4)
refused(ask("recording.start", streams=["phone"]), 4)
refused(ask("recording.status", session="nobody"), 5)
assert ask("service.health")["result"]["status"] in ("ok", "degraded")
assert "recording.start" in ask("service.describe")["result"]["methods"]

started = ask("recording.start", session="python", task="Walk", step="out", streams=["phone/accelerometer"])
assert started["id"] == 7 and started["result"]["status"] == "running", started
assert [log["name"] for log in started["result"]["logs"]] == ["phone_accelerometer"], started
refused(ask("recording.start", session="python", streams=["phone/"]), 1)


def wait_for(samples):
    for _ in range(2_000):
        status = ask("recording.status", session="python")["result"]
        if status["logs"][0]["samples"] >= samples:
            return status
        time.sleep(0.01)
    raise AssertionError(status)


assert wait_for(20)["step"] == "Walk/out"
assert ask("recording.moveTo", session="python", step="back")["result"]["step"] == "Walk/back"
wait_for(40)
assert ask("recording.pause", session="python")["result"]["paused"] is True
# Long enough for samples to fall into the pause, of which there are 200 a second.
time.sleep(0.1)
resumed = ask("recording.resume", session="python")["result"]
assert resumed["paused"] is False
wait_for(resumed["logs"][0]["samples"] + 20)
stopped = ask("recording.stop", session="python")["result"]
assert stopped["status"] == "finished" and stopped["report"]["isWhole"], stopped
assert ask("recording.result", session="python")["result"] == stopped
refused(ask("recording.start", session="python", streams=["phone/"]), 2)
assert [entry["session"] for entry in ask("recording.list")["result"]["recordings"]] == ["python"]

path = stopped["directory"] + "/" + stopped["logs"][0]["files"][0]
with open(path) as file:
    records = json.load(file)
assert [record["marker"] for record in records if "marker" in record] == ["start", "step", "pause", "resume", "position", "stop"]
assert len([record for record in records if "sensorType" in record]) == stopped["logs"][0]["samples"]
print("ok", path)
