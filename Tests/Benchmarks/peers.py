"""Writes samples with the writers that people have, and prints what each took: name, samples, bytes, seconds, CPU seconds, peak MB.

peers.py TABLE DIRECTORY [WRITER…]: a table with the columns time,x,y,z. Each writer runs in a process of its own, and has all samples in memory, in
the form that it wants, before its time begins: it need not read, verify or hash anything, as an export does. The time ends when the
file is durable.
"""
import json
import multiprocessing
import os
import pathlib
import resource
import struct
import sys
import time

import pandas

table, directory = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])


def read():
    data = pandas.read_csv(table)
    data["time"] = (data["time"] * 1000).round().astype("int64") * 1_000_000
    return data


def messages(data):
    """What MCAP has of each sample: its time, and the JSON of its values."""
    rows = zip(data["time"].tolist(), data["x"].tolist(), data["y"].tolist(), data["z"].tolist())
    return [(moment, json.dumps({"x": x, "y": y, "z": z}).encode()) for moment, x, y, z in rows]


def schema():
    number = {"type": "number"}
    return {"title": "samples", "type": "object", "properties": {"x": number, "y": number, "z": number}}


def motions(data):
    """The same samples as sensor_msgs/msg/Imu in CDR: what `recorder export` adds to the JSON of an accelerometer."""
    frame = b"left-wrist\0"
    head = struct.Struct("<4sIII")
    pose = struct.pack(f"<I{len(frame)}s", len(frame), frame)
    pose += b"\0" * (-(len(pose) + 8) % 8)
    pose += struct.pack("<4d9d", 0, 0, 0, 1, -1, *[0.0] * 8) + struct.pack("<3d9d", *[float("nan")] * 3, -1, *[0.0] * 8)
    axes, covariance = struct.Struct("<3d"), bytes(72)
    rows = zip(data["time"].tolist(), *((data[axis] * 9.80665).tolist() for axis in "xyz"))
    return [
        pose.join((head.pack(b"\0\1\0\0", moment // 10**9, moment % 10**9, 0)[:12], axes.pack(x, y, z))) + covariance
        for moment, x, y, z in rows
    ]


def pandas_csv(data, path):
    data["time"] = pandas.to_datetime(data["time"], utc=True)
    yield
    data.to_csv(path, index=False)


def pandas_tsv(data, path):
    data["time"] = (data["time"] - data["time"].iloc[0]) / 1e9
    yield
    data.to_csv(path, index=False, header=False, sep="\t", na_rep="n/a")


def mcap_python(data, path):
    from mcap.writer import CompressionType, Writer

    rows = messages(data)
    yield
    with open(path, "wb") as file:
        writer = Writer(file, compression=CompressionType.LZ4)
        writer.start(library="peer")
        number = writer.register_schema("samples", "jsonschema", json.dumps(schema()).encode())
        channel = writer.register_channel("/left_wrist/accelerometer", "json", number)
        for sequence, (moment, body) in enumerate(rows):
            writer.add_message(channel, moment, body, moment, sequence)
        writer.finish()


def mcap_rust(data, path):
    import foxglove
    from foxglove.mcap import MCAPCompression, MCAPWriteOptions

    rows = messages(data)
    channel = foxglove.Channel("/left_wrist/accelerometer", schema=schema(), message_encoding="json")
    yield
    writer = foxglove.open_mcap(str(path), writer_options=MCAPWriteOptions(compression=MCAPCompression.Lz4))
    for moment, body in rows:
        channel.log(body, log_time=moment)
    writer.close()


def mcap_rust_all(data, path):
    """The messages that `recorder export --format mcap` writes: JSON and Imu in one file, Imu alone in a second one."""
    import foxglove
    from foxglove.mcap import MCAPCompression, MCAPWriteOptions

    rows, imus = messages(data), motions(data)
    both, alone = foxglove.Context(), foxglove.Context()
    samples = foxglove.Channel(
        "/left_wrist/accelerometer", schema=schema(), message_encoding="json", context=both)
    imu = foxglove.Schema(name="sensor_msgs/msg/Imu", encoding="ros2msg", data=b"")
    first, second = (
        foxglove.Channel("/left_wrist/imu", schema=imu, message_encoding="cdr", context=context)
        for context in (both, alone))
    yield
    options = MCAPWriteOptions(compression=MCAPCompression.Lz4)
    main = foxglove.open_mcap(str(path), context=both, writer_options=options)
    other = foxglove.open_mcap(f"{path}_ros2", context=alone, writer_options=options)
    for (moment, body), message in zip(rows, imus):
        samples.log(body, log_time=moment)
        first.log(message, log_time=moment)
        second.log(message, log_time=moment)
    main.close()
    other.close()


def mcap_python_all(data, path):
    """The same with mcap's writer for Python."""
    from mcap.writer import CompressionType, Writer

    rows, imus = messages(data), motions(data)
    yield
    with open(path, "wb") as file, open(f"{path}_ros2", "wb") as second:
        main, other = (Writer(output, compression=CompressionType.LZ4) for output in (file, second))
        channels = []
        for writer, names in ((main, ("accelerometer", "imu")), (other, ("imu",))):
            writer.start(library="peer")
            for name in names:
                encoding, body = ("ros2msg", b"") if name == "imu" else ("jsonschema", json.dumps(schema()).encode())
                number = writer.register_schema(name, encoding, body)
                channels.append(
                    writer.register_channel(f"/left_wrist/{name}", "cdr" if name == "imu" else "json", number))
        for sequence, ((moment, body), message) in enumerate(zip(rows, imus)):
            main.add_message(channels[0], moment, body, moment, sequence)
            main.add_message(channels[1], moment, message, moment, sequence)
            other.add_message(channels[2], moment, message, moment, sequence)
        main.finish()
        other.finish()


writers = {
    "pandas to_csv": pandas_csv, "pandas to_csv, as BIDS": pandas_tsv, "mcap (Python)": mcap_python,
    "foxglove-sdk (Rust)": mcap_rust, "mcap (Python), same messages": mcap_python_all,
    "foxglove-sdk (Rust), same messages": mcap_rust_all,
}


def measure(name):
    data = read()
    path = directory / "peer"
    samples = len(data)
    run = writers[name](data, path)
    next(run)
    start, before = time.monotonic(), time.process_time()
    next(run, None)
    files = [file for file in (path, path.with_name("peer_ros2")) if file.exists()]
    for file in files:
        descriptor = os.open(file, os.O_RDONLY)
        os.fsync(descriptor)
    seconds, processor = time.monotonic() - start, time.process_time() - before
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6
    size = sum(file.stat().st_size for file in files)
    print(name, samples, size, seconds, processor, peak, sep="\t", flush=True)
    for file in files:
        file.unlink()


for name in sys.argv[3:] or writers:
    process = multiprocessing.Process(target=measure, args=[name])
    process.start()
    process.join()
    if process.exitcode != 0:
        raise SystemExit(f"{name} fails")
