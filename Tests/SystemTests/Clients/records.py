"""Compares recorded files with the records that were published: records.py SOURCE SESSION-DIRECTORY LOG

The source is NDJSON with a member "n" that counts its records. Each run of the publisher begins with its first one.
"""
import csv
import json
import os
import sys

source, directory, log = sys.argv[1:]
csv.field_size_limit(1 << 24)


class Digits(str):
    """A number, as text: every digit counts."""


published = [json.loads(line, parse_int=Digits, parse_float=Digits) for line in open(source, encoding="utf-8")]
log = next(each for each in json.load(open(f"{directory}/session.json"))["logs"] if each["name"] == log)
types = dict(zip(log["fields"], log["types"]))
fields = [field for field in published[0] if field != "t"]


def compact(value):
    """A value's JSON text, as a table has it."""
    if isinstance(value, list):
        return "[" + ",".join(map(compact, value)) + "]"
    if isinstance(value, dict):
        return "{" + ",".join(f"{json.dumps(key)}:{compact(each)}" for key, each in value.items()) + "}"
    return value if isinstance(value, Digits) else json.dumps(value)


def cell(field, value):
    """What a table has for a value."""
    if value is None:
        return ""
    if types[field] in ("json", "boolean"):
        return compact(value)
    return value


def records(path):
    """The samples of a file and whether it is a table."""
    if path.endswith(".json"):
        items = json.load(open(path, encoding="utf-8"), parse_int=Digits, parse_float=Digits)
        return [item for item in items if "sensorType" in item], False
    delimiter = "\t" if path.endswith(".tsv") else ","
    rows = list(csv.DictReader(open(path, encoding="utf-8", newline=""), delimiter=delimiter))
    return [row for row in rows if row["sensorType"]], True


expected = None
runs = count = 0
for file in log["files"]:
    samples, is_table = records(os.path.join(directory, file["name"]))
    assert len(samples) == file["samples"], file
    for sample in samples:
        place = int(sample["n"])
        if place != expected:
            # A new run of the publisher: it begins with its first record, or the session's.
            assert expected is None or place == 0, (place, expected)
            runs += 1
        for field in fields:
            want = published[place].get(field)
            want = cell(field, want) if is_table else want
            assert sample[field] == want, (file["name"], field, sample[field], want)
        expected = place + 1
        count += 1
print("ok", count, "records in", runs, "runs")
