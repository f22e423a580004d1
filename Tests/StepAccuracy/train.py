#!/usr/bin/env python3
"""Learns how likely a movement is of walking: WalkingLikelihood.learned, and tables that each leave some people out.

    step-accuracy DIRECTORY --features features.csv
    train.py DIRECTORY features.csv

Needs numpy. The features are those that the detector itself computes every 0.24 s, with the recordings as they are and
degraded. The true steps, or the activity, of each recording say what was walking. People are in eight parts by their
names (CRC-32 modulo 8); each part has a table that was learned from the others (Tests/StepAccuracy/left-out.json), by which
`step-accuracy` counts the part's people. A logistic regression by Newton's method with a ridge: there is no chance in it.
"""
import csv
import glob
import json
import os
import re
import sys
import zlib

import numpy as np

NAMES = [
    "deviation of the magnitude, ln of a multiple of 0.15 g", "regularity of the magnitude", "regularity of the axes",
    "symmetry", "cadence, ln of a multiple of 1.8 Hz", "strongest frequency, ln of a multiple of 1.8 Hz",
    "above 6 Hz / 0.5 to 3 Hz, ln", "above 3 Hz / 0.5 to 3 Hz, ln", "axes / magnitude, ln", "skewness below 3 Hz",
    "above 6 Hz / 0.5 to 3 Hz in 5 s, ln",
]
SQUARES = [0, 4, 6, 7, 8]
PARTS = 8
RIDGE = 3e-3
HERE = os.path.dirname(os.path.abspath(__file__))
TABLE = os.path.join(HERE, "../../Shared/StepDetection/Walking/WalkingLikelihood+learned.swift")

# Somebody walks in these, at times that nobody wrote down.
UNCLEAR = {"phone_1609_K", "bw4_dishwasher1", "HughB-mixed-390", "P30_wrist100_first30min_A"}


def recordings(directory):
    for path in sorted(glob.glob(f"{directory}/open/*/truth.csv")):
        for row in csv.DictReader(open(path)):
            row["path"] = os.path.dirname(path)
            yield row


def labels(row, time):
    """1 for walking, 0 for something else, -1 for what is not known, at each time."""
    label = np.full(len(time), -1)
    if row["recording"] in UNCLEAR:
        return label
    if row["kind"] == "nonwalk":
        label[:] = 0
        return label
    path = f"{row['path']}/steps/{row['recording']}.csv"
    if os.path.exists(path):
        steps = np.array([float(line.split(",")[0]) for line in open(path).read().split()[1:]])
        before = np.searchsorted(steps, time, "right")
        last = steps[np.clip(before - 1, 0, len(steps) - 1)]
        third = steps[np.clip(before - 3, 0, len(steps) - 1)]
        following = steps[np.clip(before, 0, len(steps) - 1)]
        label[(before >= 3) & (time - third < 3) & (time - last < 1.2)] = 1
        # These have the steps of some bouts only.
        if row["dataset"] not in ("mobgap_lowback", "dcaiti"):
            rest = ((before == 0) | (time - last > 4)) & ((before == len(steps)) | (following - time > 1))
            label[rest] = 0
        return label
    part = re.search(r"walk between samples \((\d+), (\d+)\)", row["notes"])
    if part:
        begin, end = (int(sample) / 100 for sample in part.groups())
        label[(time > begin + 2) & (time < end)] = 1
        label[(time < begin - 1) | (time > end + 4)] = 0
        return label
    label[(time > 4) & (time < float(row["duration_s"]) - 2)] = 1
    return label


def fit(features, label, weight):
    """The weights of the standardized features, and the constant, which the ridge leaves alone."""
    rows = np.column_stack([features, np.ones(len(features))])
    answer = np.zeros(rows.shape[1])
    ridge = np.eye(len(answer)) * RIDGE
    ridge[-1, -1] = 0
    for _ in range(12):
        odds = 1 / (1 + np.exp(-rows @ answer))
        slope = rows.T @ (weight * (odds - label)) / weight.sum() + ridge @ answer
        bend = (rows * (weight * odds * (1 - odds))[:, None]).T @ rows / weight.sum() + ridge
        step = np.linalg.solve(bend, slope)
        answer -= step
        if abs(step).max() < 1e-5:
            break
    return answer


def main(directory, path):
    byName = {row["recording"]: row for row in recordings(directory)}
    names, numbers = [], []
    for line in open(path):
        name, rest = line.split(",", 1)
        names.append(name)
        numbers.append(np.fromstring(rest, sep=","))
    names, numbers = np.array(names), np.array(numbers)
    time, features = numbers[:, 0], numbers[:, 1:]
    label = np.full(len(names), -1)
    for name in set(names):
        of = names == name
        label[of] = labels(byName[name], time[of])
    known = label >= 0
    names, features, label = names[known], features[known], label[known]
    rows = [byName[name] for name in names]
    part = np.array([zlib.crc32(row["subject"].encode()) % PARTS for row in rows])

    # A group counts by the root of its size, walking and the rest alike in all.
    groups = np.array(
        ["/".join([row["dataset"], row["placement"], row["subject"] if row["kind"] == "walk" else row["activity"]])
         for row in rows])
    groups = np.char.add(groups, label.astype(str))
    _, index, size = np.unique(groups, return_inverse=True, return_counts=True)
    weight = size[index] ** -0.5
    for value in (0, 1):
        weight[label == value] /= weight[label == value].sum()

    terms = np.hstack([features, features[:, SQUARES] ** 2])
    mean, spread = terms.mean(0), terms.std(0)
    scaled = (terms - mean) / spread

    def table(rows):
        answer = fit(scaled[rows], label[rows], weight[rows])
        weights = answer[:-1] / spread
        squares = np.zeros(len(NAMES))
        squares[SQUARES] = weights[len(NAMES):]
        constant = answer[-1] - (answer[:-1] * mean / spread).sum()
        return {"weights": [round(float(v), 4) for v in weights[:len(NAMES)]],
                "squares": [round(float(v), 4) for v in squares], "constant": round(float(constant), 4)}

    def odds(table, rows):
        return (features[rows] @ table["weights"] + features[rows] ** 2 @ table["squares"] + table["constant"])

    left = [table(part != number) for number in range(PARTS)]
    json.dump(left, open(os.path.join(HERE, "left-out.json"), "w"), indent=1)
    unseen = np.zeros(len(label))
    for number in range(PARTS):
        unseen[part == number] = odds(left[number], part == number)
    whole = table(np.ones(len(label), bool))
    for name, values in (("seen", odds(whole, np.ones(len(label), bool))), ("unseen", unseen)):
        loss = (weight * np.logaddexp(0, np.where(label == 1, -values, values))).sum() / weight.sum()
        found = [(values[label == value] > 0).mean() for value in (1, 0)]
        print(f"people {name}: log loss {loss:.3f}, {found[0]:.3f} of walking and {found[1]:.3f} of the rest above even odds")
    # Calibration: of what has these odds, how much is walking?
    for low in range(-6, 6):
        of = (unseen >= low) & (unseen < low + 1)
        if of.sum() > 50:
            share = (weight * label)[of].sum() / weight[of].sum()
            print(f"log odds {low} to {low + 1}: {share:.3f} walking (said {1 / (1 + np.exp(-low - 0.5)):.3f}), {of.sum()} estimates")

    lines = ["extension WalkingLikelihood {", "    /// Written by Tests/StepAccuracy/train.py: do not edit.",
             "    package static let learned = WalkingLikelihood(", "        ["]
    for name, one, square in zip(NAMES, whole["weights"], whole["squares"]):
        lines += [f"            // {name}", f"            ({one}, {square}),"]
    lines += ["        ],", f"        constant: {whole['constant']})", "}", ""]
    open(TABLE, "w").write("\n".join(lines))


if __name__ == "__main__":
    main(*sys.argv[1:])
