"""Speaks with a server of Foxglove's protocol as viewers do: view_foxglove.py URL SUBPROTOCOL [record | reference | slow].

It prints what it saw as one line of JSON. With `reference` it starts Foxglove's own server first, and looks at that: what both
servers say must have the same shape.
"""

import asyncio
import json
import struct
import sys

import websockets
from mcap_ros2._dynamic import generate_dynamic


class Viewer:
    def __init__(self, socket):
        self.socket = socket
        self.channels, self.services, self.info, self.statuses = {}, {}, None, []
        self.messages, self.replies, self.parameters = [], {}, None

    async def take(self):
        """Takes one message of the server."""
        message = await asyncio.wait_for(self.socket.recv(), 50)
        if isinstance(message, bytes):
            if message[0] == 1:
                subscription, time = struct.unpack_from("<IQ", message, 1)
                self.messages.append((subscription, time, message[13:]))
            elif message[0] == 3:
                service, call, length = struct.unpack_from("<III", message, 1)
                assert message[13:13 + length] == b"json"
                self.replies[call] = json.loads(message[13 + length:])
            return
        said = json.loads(message)
        match said["op"]:
            case "serverInfo": self.info = said
            case "advertise": self.channels.update({channel["topic"]: channel for channel in said["channels"]})
            case "unadvertise": self.channels = {topic: channel for topic, channel in self.channels.items() if channel["id"] not in said["channelIds"]}
            case "advertiseServices": self.services.update({service["name"]: service for service in said["services"]})
            case "parameterValues": self.parameters = {parameter["name"]: parameter.get("value") for parameter in said["parameters"]}
            case "status": self.statuses.append(said)
            case "serviceCallFailure": self.replies[said["callId"]] = {"failure": said["message"]}

    async def until(self, is_so):
        while not is_so():
            await self.take()

    async def say(self, **said):
        await self.socket.send(json.dumps(said))

    async def call(self, name, number, **request):
        """Calls a service and waits for what it says."""
        body = json.dumps(request).encode()
        await self.socket.send(struct.pack("<BIII", 2, self.services[name]["id"], number, 4) + b"json" + body)
        await self.until(lambda: number in self.replies)
        return self.replies[number]


def shape(value):
    """What a message has, without what it says."""
    return sorted(value) if isinstance(value, dict) else type(value).__name__


async def look(url, subprotocol, mode, said):
    async with websockets.connect(url, subprotocols=[subprotocol], max_size=None) as socket:
        assert socket.subprotocol == subprotocol, socket.subprotocol
        viewer = Viewer(socket)
        await viewer.until(lambda: viewer.info and viewer.channels)
        said |= {"info": shape(viewer.info), "channel": shape(next(iter(viewer.channels.values())))}
        if mode == "reference":
            await viewer.until(lambda: viewer.services)
            return said.update(service=shape(next(iter(viewer.services.values()))))
        await viewer.until(lambda: any(topic.endswith("/imu") for topic in viewer.channels))
        json_channel, imu_channel = (next(channel for topic, channel in viewer.channels.items() if topic.endswith(end)) for end in ("/accelerometer", "/imu"))
        assert (json_channel["encoding"], json_channel["schemaEncoding"]) == ("json", "jsonschema"), json_channel
        assert (imu_channel["encoding"], imu_channel["schemaEncoding"]) == ("cdr", "ros2msg"), imu_channel
        schema = json.loads(json_channel["schema"])
        await viewer.say(op="subscribe", subscriptions=[{"id": 7, "channelId": json_channel["id"]}, {"id": 4_000_000_000, "channelId": imu_channel["id"]}])
        if mode == "slow":
            # It says nothing and reads nothing: the server must go on without it.
            print(json.dumps(said | {"subscribed": True}), flush=True)
            await asyncio.sleep(3600)
        await viewer.until(lambda: min(sum(message[0] == number for message in viewer.messages) for number in (7, 4_000_000_000)) >= 50)
        decode = generate_dynamic(imu_channel["schemaName"], imu_channel["schema"])[imu_channel["schemaName"]]
        values = {time: json.loads(body) for number, time, body in viewer.messages if number == 7}
        said["values"] = [[time, value["x"], value["y"], value["z"]] for time, value in sorted(values.items())]
        assert all(set(value) == set(schema["properties"]) for value in values.values())
        pairs = 0
        for number, time, body in viewer.messages:
            if number == 7 or time not in values:
                continue
            imu, value = decode(body), values[time]
            assert imu.header.stamp.sec * 1_000_000_000 + imu.header.stamp.nanosec == time
            for axis in "xyz":
                assert abs(getattr(imu.linear_acceleration, axis) - value[axis] * 9.80665) < 1e-9
            pairs += 1
        said["pairs"] = pairs
        await viewer.say(op="unsubscribe", subscriptionIds=[7])
        await viewer.say(op="subscribe", subscriptions=[{"id": 1, "channelId": 999_999}])
        await viewer.until(lambda: viewer.statuses)
        await viewer.say(op="getParameters", parameterNames=[], id="p")
        await viewer.until(lambda: viewer.parameters is not None)
        said["parameters"] = viewer.parameters
        await (await socket.ping())
        if mode == "listen":
            await viewer.say(op="setParameters", parameters=[{"name": "recording.running", "value": True}])
            await viewer.until(lambda: len(viewer.statuses) == 2)
            said |= {"refusal": viewer.statuses[1]["message"], "services": sorted(viewer.services)}
        if mode == "record":
            await viewer.until(lambda: viewer.services)
            said |= {"service": shape(next(iter(viewer.services.values()))), "services": sorted(viewer.services)}
            await viewer.say(op="subscribeParameterUpdates", parameterNames=["recording.running"])
            said["started"] = await viewer.call("/recording/start", 1, session="from-foxglove", task="Walk")
            await viewer.until(lambda: viewer.parameters["recording.running"])
            said["annotated"] = await viewer.call("/recording/annotate", 2, label="turn", note="left")
            await viewer.say(op="setParameters", parameters=[{"name": "recording.annotation", "value": "again"}], id="q")
            said["stopped"] = await viewer.call("/recording/stop", 3)
            await viewer.until(lambda: not viewer.parameters["recording.running"])
            said["failure"] = await viewer.call("/recording/stop", 4)


def main():
    url, subprotocol, mode = (sys.argv + [""])[1:4]
    said = {}
    if mode == "reference":
        import foxglove
        from foxglove import Capability, Channel
        from foxglove.websocket import Service, ServiceSchema

        service = Service("/a", schema=ServiceSchema("a"), handler=lambda request: b"{}")
        server = foxglove.start_server(host="127.0.0.1", port=0, capabilities=[Capability.Services], services=[service], supported_encodings=["json"])
        channel = Channel("/b", schema={"type": "object", "properties": {}})
        channel.log({})
        url = f"ws://127.0.0.1:{server.port}"
    asyncio.run(look(url, subprotocol, mode, said))
    print(json.dumps(said))


main()
