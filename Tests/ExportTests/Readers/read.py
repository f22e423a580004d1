"""Reads exports of one session with the usual readers, and compares every sample with the recorded one.

read.py CSV BIDS MCAP XDF EXPECTED: directories, and a JSON file with "streams": {name: {"fields", "unit", "rate", "samples": [[
nanoseconds since the start, number, values ...], ...], "gaps": [[after, before], ...]}}, "start": nanoseconds since 1970.
"""
import json
import math
import pathlib
import subprocess
import sys

import actipy
import numpy
import pandas
import pyxdf
from mcap.reader import make_reader
from mcap.stream_reader import StreamReader
from mcap_ros2.decoder import DecoderFactory
from rosbags.highlevel import AnyReader
from rosbags.typesys import Stores, get_typestore

csv, bids, mcap, xdf = (pathlib.Path(path) for path in sys.argv[1:5])
expected = json.loads(pathlib.Path(sys.argv[5]).read_text())
start = expected["start"]
session = expected["session"]


def same(one, other):
    if other is None or isinstance(other, str) and other in ("NaN", "Infinity", "-Infinity"):
        if other in ("Infinity", "-Infinity"):
            return one == float(other) or one is None
        return one is None or isinstance(one, float) and math.isnan(one)
    return one == other


def check(condition, *what):
    if not condition:
        raise SystemExit(" ".join(str(part) for part in what))


def rows_of(stream):
    return stream["samples"]


def is_numeric(stream):
    return all(kind == "number" for kind in stream["types"])


# pandas and actipy
for name, stream in expected["streams"].items():
    path = csv / session / (name.replace("/", "_") + ".csv")
    table = pandas.read_csv(path, parse_dates=["time"])
    rows = rows_of(stream)
    check(len(table) == len(rows), path, "has", len(table), "rows, not", len(rows))
    times = table["time"].astype("datetime64[ns, UTC]").astype("int64")
    check(list(times) == [start + row[0] for row in rows], path, "has other times")
    for index, field in enumerate(stream["fields"]):
        for value, row in zip(table[field], rows):
            value = None if isinstance(value, float) and math.isnan(value) else value
            if hasattr(value, "item"):
                value = value.item()
            other = row[2 + index]
            check(same(value, other), path, field, value, other)
    if not is_numeric(stream) or any(row[2] in (None, "NaN") for row in rows):
        continue
    data = table.set_index("time")[stream["fields"]]
    data.index = data.index.tz_localize(None)
    grid, info = actipy.process(
        data, stream["rate"], lowpass_hz=None, calibrate_gravity=False, detect_nonwear=False,
        resample_hz=stream["rate"])
    absent = int(grid["x"].isna().sum())
    missing = sum(round((before - after) / 1e9 * stream["rate"]) - 1 for after, before in stream["gaps"])
    # At either end of a gap, actipy may give a row its neighbour's value.
    check(missing - 2 * len(stream["gaps"]) <= absent <= missing, name, "has", absent, "rows without values, not", missing)
    print("actipy:", name, absent, "rows without values, of", missing, "absent samples in", len(stream["gaps"]), "gaps")
gaps = pandas.read_csv(csv / session / "gaps.tsv", sep="\t")
check(len(gaps) == sum(len(stream["gaps"]) for stream in expected["streams"].values()), "gaps.tsv has", len(gaps), "rows")

# mcap
path = mcap / (session + ".mcap")
topics = {name: "/" + name.replace("-", "_") for name in expected["streams"]}
with open(path, "rb") as file:
    # Reads the whole file, with all checksums.
    count = sum(1 for _ in StreamReader(file, validate_crcs=True).records)
with open(path, "rb") as file:
    reader = make_reader(file, validate_crcs=True)
    summary = reader.get_summary()
    check(summary.statistics.chunk_count == len(summary.chunk_indexes) > 0, "no chunks")
    for name, stream in expected["streams"].items():
        messages = [
            (message.log_time, message.sequence, json.loads(message.data))
            for _, _, message in reader.iter_messages(topics=[topics[name]], log_time_order=False)
        ]
        rows = rows_of(stream)
        check(len(messages) == len(rows), name, "has", len(messages), "messages, not", len(rows))
        for (time, sequence, values), row in zip(messages, rows):
            check((time, sequence) == (start + row[0], row[1]), name, time, sequence, row)
            for field, other in zip(stream["fields"], row[2:]):
                check(same(values[field], other), name, field, values[field], other)
    gap_messages = [json.loads(message.data) for _, _, message in reader.iter_messages(topics=["/session/gaps"])]
    check(len(gap_messages) == len(gaps), "/session/gaps has", len(gap_messages), "messages")
    events = [json.loads(message.data) for _, _, message in reader.iter_messages(topics=["/session/events"])]
    check([event["event"] for event in events] == expected["events"], "/session/events has", events)

imu = expected["imu"]
accelerometer = expected["streams"][imu["accelerometer"]]
scale = 9.80665 if accelerometer["unit"] == "g" else 1
with open(path, "rb") as file:
    reader = make_reader(file, decoder_factories=[DecoderFactory()])
    decoded = [item for item in reader.iter_decoded_messages(topics=[imu["topic"]], log_time_order=False)]
check(len(decoded) == len(accelerometer["samples"]), imu["topic"], "has", len(decoded), "messages")
# The gyroscope's samples follow after 2 ms.
gyroscope = expected["streams"].get(imu.get("gyroscope"), {"samples": []})
rotations = {row[0] - 2_000_000: row[2:5] for row in gyroscope["samples"]}
without = 0
for (_, _, message, value), row in zip(decoded, accelerometer["samples"]):
    check(message.log_time == value.header.stamp.sec * 10**9 + value.header.stamp.nanosec == start + row[0], "stamp", row)
    check(message.sequence == row[1], "sequence", message.sequence, row)
    vector = value.linear_acceleration
    for one, other in zip((vector.x, vector.y, vector.z), row[2:5]):
        check(same(one, other if isinstance(other, str) or other is None else other * scale), imu["topic"], one, other)
    without += value.angular_velocity_covariance[0] == -1
    vector = value.angular_velocity
    # Its times are sums of hundredths, so the last digit may differ.
    found = next((rotations[time] for time in (row[0], row[0] - 1, row[0] + 1) if time in rotations), None)
    check((found is None) == (value.angular_velocity_covariance[0] == -1), "rotation at", row[0])
    if found is not None:
        for one, other in zip((vector.x, vector.y, vector.z), found):
            check(same(one, other), imu["topic"], "rotation", one, other)
check(without == imu["without"], imu["topic"], "has", without, "messages without rotation, not", imu["without"])
with AnyReader([mcap / (session + "_ros2.mcap")], default_typestore=get_typestore(Stores.ROS2_HUMBLE)) as reader:
    connections = [connection for connection in reader.connections if connection.topic == imu["topic"]]
    stamps = []
    for connection, time, raw in reader.messages(connections=connections):
        value = reader.deserialize(raw, connection.msgtype)
        stamps.append(value.header.stamp.sec * 10**9 + value.header.stamp.nanosec)
    check(stamps == sorted(start + row[0] for row in accelerometer["samples"]), "rosbags has other times")
print("mcap:", count, "records,", len(decoded), "of sensor_msgs/msg/Imu,", without, "without rotation")

# pyxdf
streams, header = pyxdf.load_xdf(str(xdf / (session + ".xdf")))
found = {stream["info"]["name"][0]: stream for stream in streams}
for name, stream in expected["streams"].items():
    rows = rows_of(stream)
    numbers = [index for index, kind in enumerate(stream["types"]) if kind == "number"]
    texts = [index for index, kind in enumerate(stream["types"]) if kind != "number"]
    if numbers:
        read = found[name]
        check(len(read["time_stamps"]) == len(rows), name, "has", len(read["time_stamps"]), "samples in XDF")
        for time, values, row in zip(read["time_stamps"], read["time_series"], rows):
            check(time == row[0] / 1e9, name, "has time", time, "in XDF, not", row[0] / 1e9)
            for place, index in enumerate(numbers):
                check(same(float(values[place]), row[2 + index]), name, values[place], row[2 + index])
    if texts:
        read = found[name + " text" if numbers else name]
        for values, row in zip(read["time_series"], rows):
            for place, index in enumerate(texts):
                other = row[2 + index]
                if not isinstance(other, (dict, list, bool)):
                    check(values[place] == ("" if other is None else other), name, values[place], other)
markers = [text[0] for text in found["markers"]["time_series"]]
check(sum(text.startswith("gap ") for text in markers) == len(gaps), "markers", markers)
print("pyxdf:", len(streams), "streams,", len(markers), "markers")

# BIDS
answer = subprocess.run(
    [pathlib.Path(sys.executable).parent / "bids-validator-deno", "--json", bids], capture_output=True, text=True)
report = json.loads(answer.stdout)
errors = [issue for issue in report["issues"]["issues"] if issue["severity"] == "error"]
check(answer.returncode == 0 and not errors, answer.returncode, errors, answer.stderr)
for name, stream in expected["streams"].items():
    label = name.replace("-", "").replace("/", "")
    stem = bids / f"sub-07/motion/sub-07_task-{expected['task']}_tracksys-{label}_run-2_"
    channels = pandas.read_csv(f"{stem}channels.tsv", sep="\t", keep_default_na=False)
    check(list(channels.columns[:5]) == ["name", "component", "type", "tracked_point", "units"], "columns", channels)
    numbers = [index for index, kind in enumerate(stream["types"]) if kind == "number"]
    check(list(channels["name"]) == ["latency"] + [stream["fields"][index] for index in numbers], name, channels)
    motion = pandas.read_csv(f"{stem}motion.tsv", sep="\t", header=None, na_values=["n/a"])
    rows = rows_of(stream)
    check(motion.shape == (len(rows), len(numbers) + 1), name, motion.shape)
    for index, row in enumerate(rows):
        check(abs(motion[0][index] - (row[0] - rows[0][0]) / 1e9) < 1e-12, name, motion[0][index], row)
        for place, column in enumerate(numbers):
            other = row[2 + column]
            check(same(float(motion[place + 1][index]), "NaN" if isinstance(other, str) else other), name, row)
    description = json.loads(pathlib.Path(f"{stem}motion.json").read_text())
    check(description["MotionChannelCount"] == len(channels), description)
    events = pandas.read_csv(f"{stem}events.tsv", sep="\t", keep_default_na=False)
    check((events["trial_type"] == "gap").sum() == len(stream["gaps"]), name, events)
warnings = sorted({issue["code"] for issue in report["issues"]["issues"] if issue["severity"] == "warning"})
print("bids:", report["summary"]["totalFiles"], "files, warnings:", " ".join(warnings) or "none")
