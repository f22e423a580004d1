"""Reads exports of streams of records with the usual readers: each text, boolean, date and nested value, and annotations.

values.py CSV BIDS MCAP XDF EXPECTED: directories, and a JSON file with "session", "start" (nanoseconds since 1970), "types" by field,
"streams": {name: [[nanoseconds since the start, values ...], ...]}, "annotations": [{"label", "at", "duration", "stream", "note"}, ...].
"""
import csv
import json
import pathlib
import sys

import pandas
import pyxdf
from mcap.reader import make_reader

tables, bids, mcap, xdf = (pathlib.Path(path) for path in sys.argv[1:5])
expected = json.loads(pathlib.Path(sys.argv[5]).read_text())
session, start = expected["session"], expected["start"]
fields, types = list(expected["types"]), list(expected["types"].values())


def check(condition, *what):
    if not condition:
        raise SystemExit(" ".join(str(part) for part in what))


def text(value, kind):
    """The text of a cell in a format without types."""
    if value is None:
        return ""
    if kind in ("text", "date"):
        return value
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def same(one, other):
    return type(one) is type(other) and one == other


for name, rows in expected["streams"].items():
    path = tables / session / (name.replace("/", "_") + ".csv")
    # Python's own reader, and pandas': NUL, line ends, separators and quotes within cells.
    with open(path, newline="") as file:
        read = list(csv.DictReader(file))
    frame = pandas.read_csv(path, dtype=str, keep_default_na=False, lineterminator="\n")
    check(len(read) == len(frame) == len(rows), path, "has", len(read), len(frame), "rows, not", len(rows))
    for cells, (_, series), row in zip(read, frame.iterrows(), rows):
        for field, kind, value in zip(fields, types, row[1:]):
            for cell in (cells[field], series[field]):
                if kind == "json" and value is not None:
                    check(same(json.loads(cell), value), path, field, repr(cell), repr(value))
                elif kind == "number" and value is not None:
                    # Python may write the same number with other digits.
                    check(float(cell) == value, path, field, repr(cell), repr(value))
                else:
                    check(cell == text(value, kind), path, field, repr(cell), repr(value))

    streams, _ = pyxdf.load_xdf(str(xdf / (session + ".xdf")))
    found = {stream["info"]["name"][0]: stream for stream in streams}
    columns = [place for place, kind in enumerate(types) if kind != "number"]
    series = found[name + " text"]["time_series"]
    check(len(series) == len(rows), name, "has", len(series), "texts in XDF")
    for cells, row in zip(series, rows):
        for place, cell in zip(columns, cells):
            value = row[1 + place]
            if types[place] == "json" and value is not None:
                check(same(json.loads(cell), value), name, repr(cell), repr(value))
            else:
                check(cell == text(value, types[place]), name, fields[place], repr(cell), repr(value))

with open(mcap / (session + ".mcap"), "rb") as file:
    reader = make_reader(file, validate_crcs=True)
    for name, rows in expected["streams"].items():
        topic = "/" + name.replace("-", "_")
        messages = [json.loads(message.data) for _, _, message in reader.iter_messages(topics=[topic], log_time_order=False)]
        check(len(messages) == len(rows), topic, "has", len(messages), "messages")
        for message, row in zip(messages, rows):
            for field, value in zip(fields, row[1:]):
                check(same(message[field], value), topic, field, repr(message[field]), repr(value))
    notes = []
    for _, _, message in reader.iter_messages(topics=["/session/events"]):
        event = json.loads(message.data)
        if event["event"] == "annotation":
            notes.append((message.log_time - start, event))
check(len(notes) == len(expected["annotations"]), notes)
for (time, event), other in zip(notes, expected["annotations"]):
    check(time == other["at"], event, time, other)
    for key in ("label", "stream", "note"):
        check(event.get(key) == other.get(key), key, event, other)
    check(event.get("duration") == other.get("duration"), event, other)

# In BIDS, values that are not numbers become events, one for each change.
for name, rows in expected["streams"].items():
    label = name.replace("-", "").replace("/", "")
    path = bids / f"sub-01/motion/sub-01_task-{expected['task']}_tracksys-{label}_events.tsv"
    events = pandas.read_csv(path, sep="\t", dtype=str, keep_default_na=False)
    for place, (field, kind) in enumerate(zip(fields, types)):
        changes, last = 0, None
        for row in rows:
            if row[1 + place] is not None and kind != "number" and row[1 + place] != last:
                changes += 1
            last = row[1 + place]
        found = (events["trial_type"] == field).sum()
        check(kind == "number" and found == 0 or found >= changes, path, field, found, changes)
print("values:", sum(len(rows) for rows in expected["streams"].values()), "records,", len(notes), "annotations")
