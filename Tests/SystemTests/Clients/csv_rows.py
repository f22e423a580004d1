"""Counts the samples of a log with csv.DictReader: csv_rows.py FILE"""
import csv
import sys

with open(sys.argv[1], newline="") as file:
    rows = list(csv.DictReader(file))
samples = [row for row in rows if row["sensorType"] == "accelerometer"]
assert [row["marker"] for row in rows if row["marker"]] == ["start", "stop"], rows[0]
assert all(None not in row and None not in row.values() for row in rows)
assert all(row["stepPath"] == 'Walk, "quoted"/out' for row in rows), rows[0]
for row in samples:
    float(row["uptime"]), float(row["timestamp"]), float(row["x"])
print(len(samples))
