"""What clients get whose keys are on the list, or not: locked.py KEYS PUBLISH REPLY LOG-MANAGER-REPLY

PUBLISH is sensor-publisher's, REPLY is recorder's. KEYS has those of alice, bob and carol, who may listen, command and
delete. Prints the public key that it tried and that is not on the list.
"""
import json
import os
import sys

import zmq
import zmq.auth

keys, publish, reply, log_manager = sys.argv[1:]
context = zmq.Context()


def socket(kind, endpoint, pair=None, server=None, timeout=20_000):
    socket = context.socket(kind)
    socket.setsockopt(zmq.RCVTIMEO, timeout)
    socket.setsockopt(zmq.LINGER, 0)
    if pair:
        socket.curve_publickey, socket.curve_secretkey = pair
        socket.curve_serverkey = public(server) if isinstance(server, str) else server
    if kind == zmq.SUB:
        socket.subscribe("samples/")
    socket.connect(endpoint)
    return socket


def secret(name):
    return zmq.auth.load_certificate(f"{keys}/{name}.key_secret")


def public(name):
    return zmq.auth.load_certificate(f"{keys}/{name}.key")[0]


def ask(socket, method, **params):
    socket.send_json({"jsonrpc": "2.0", "id": 7, "method": method, "params": params})
    answer = socket.recv_json()
    assert answer["id"] == 7 and ("result" in answer) != ("error" in answer), answer
    return answer


def allowed(answer):
    assert "result" in answer, answer
    return answer["result"]


def refused(answer, role):
    assert answer["error"]["code"] == 19 and answer["error"]["data"]["reason"] == "notAllowed", answer
    assert role in answer["error"]["message"], answer


def silent(socket):
    try:
        message = socket.recv_multipart()
    except zmq.Again:
        return
    raise AssertionError(message)


# Strangers begin first, so that what they do not get is not for lack of time.
unknown = zmq.curve_keypair()
alice = secret("alice")
strangers = []
for endpoint, server in ((publish, "sensor-publisher"), (reply, "recorder"), (log_manager, "log-manager")):
    kind = zmq.SUB if endpoint == publish else zmq.REQ
    for pair, its in (
        (None, None),  # in plain text
        (unknown, server),  # with a key that is not on the list
        (alice, zmq.curve_keypair()[0]),  # thinking that somebody else is there
        (alice, "archiver"),
        ((alice[0], unknown[1]), server),  # with alice's public key, without her secret one
    ):
        stranger = socket(kind, endpoint, pair, its, timeout=50)
        if kind == zmq.REQ:
            stranger.send_json({"jsonrpc": "2.0", "id": 1, "method": "service.health", "params": {}})
        strangers.append(stranger)

# Listen.
listener = socket(zmq.SUB, publish, alice, "sensor-publisher")
for _ in range(100):
    topic, body, time = listener.recv_multipart()
    assert topic == b"samples/phone/accelerometer" and json.loads(body)["schema"] == "samples.v1"
asker = socket(zmq.REQ, reply, alice, "recorder")
assert allowed(ask(asker, "service.health"))["status"] in ("ok", "degraded")
assert allowed(ask(asker, "recording.list"))["recordings"] == []
refused(ask(asker, "recording.start", session="alices", streams=["phone/"]), "command")
refused(ask(asker, "recording.stop", session="alices"), "command")

# Command.
bob = secret("bob")
commander = socket(zmq.REQ, reply, bob, "recorder")
assert allowed(ask(commander, "recording.start", session="bobs", streams=["phone/"]))["status"] == "running"
assert allowed(ask(commander, "recording.stop", session="bobs"))["status"] == "finished"
cleaner = socket(zmq.REQ, log_manager, bob, "log-manager")
refused(ask(cleaner, "logs.removeOldAndUploaded", bytes=0), "delete")
refused(ask(cleaner, "logs.markUploaded", paths=[]), "delete")
refused(ask(cleaner, "logs.setThresholds", totalBytes=1), "delete")
refused(ask(cleaner, "logs.remove", name="phone_accelerometer", deleteFiles=True), "delete")
# Without leave to delete files it may ask, and there is no such log.
assert ask(cleaner, "logs.remove", name="none")["error"]["code"] == 13

# Delete.
deleter = socket(zmq.REQ, log_manager, secret("carol"), "log-manager")
assert allowed(ask(deleter, "logs.removeOldAndUploaded", bytes=10**12))["removed"] == []

for stranger in strangers:
    silent(stranger)
# A connection that is open gets no answer any more once its key is off the list, and a new one is not made.
os.remove(f"{keys}/bob.key")
for _ in range(10_000):
    answer = ask(commander, "service.health")
    if "error" in answer:
        break
refused(answer, "listen")
# sensor-publisher may have looked at the list just before, and looks again after 0.1 s.
for _ in range(100):
    late = socket(zmq.SUB, publish, bob, "sensor-publisher", timeout=1_000)
    try:
        late.recv_multipart()
    except zmq.Again:
        break
    late.close()
else:
    raise AssertionError("sensor-publisher serves a key that is off the list")

# One that came too early is served once its key, made by pyzmq, is on the list with a role.
public_file, secret_file = zmq.auth.create_certificates(".", "dave")
early = socket(zmq.SUB, publish, zmq.auth.load_certificate(secret_file), "sensor-publisher", timeout=1_000)
silent(early)
with open(public_file) as certificate, open(f"{keys}/new", "w") as new:
    new.write(certificate.read().replace("metadata\n", "metadata\n    role = listen\n"))
os.rename(f"{keys}/new", f"{keys}/dave.key")
early.setsockopt(zmq.RCVTIMEO, 20_000)
assert len(early.recv_multipart()) == 3
print("ok", unknown[0].decode())
