#!/usr/bin/env python3
"""Learns how likely a movement is walking: WalkingLikelihood.learned, and tables that each leave some people out.

    step-accuracy DIRECTORY --features features.csv
    train.py DIRECTORY features.csv
    step-accuracy DIRECTORY --left-out left-out.json --bouts bouts.csv
    train.py DIRECTORY --bouts bouts.csv

The second pair learns how likely a bout is walking (WalkingConfidence.learned). It uses bouts that the detector finds for
people from whom it has not learned; a bout counts as walking if most of its steps were made in walking.

Needs numpy. The features are those that the detector itself computes every 0.24 s, with the recordings as they are and
degraded. The true steps, or the activity, of each recording show what was walking. People are in eight parts by their
names (CRC-32 modulo 8); each part has a table that was learned from the others (Tests/StepAccuracy/left-out.json), by which
`step-accuracy` counts the part's people. A logistic regression by Newton's method with a ridge: the result is deterministic.
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
    "above 6 Hz / 0.5 to 3 Hz in 5 s, ln", "straightness of the axes",
]
SQUARES = [0, 4, 6, 7, 8]
PARTS = 8
RIDGE = 3e-3
HERE = os.path.dirname(os.path.abspath(__file__))
TABLE = os.path.join(HERE, "../../Shared/StepDetection/Walking/WalkingLikelihood+learned.swift")
CONFIDENCE = os.path.join(HERE, "../../Shared/StepDetection/Walking/WalkingConfidence+learned.swift")
LEFT_OUT = "left-out.json"

# People walk in these recordings, at times that nobody wrote down.
UNCLEAR = {"phone_1609_K", "bw4_dishwasher1", "HughB-mixed-390", "P30_wrist100_first30min_A"}


def recordings(directory):
    for path in sorted(glob.glob(f"{directory}/open/*/truth.csv")):
        for row in csv.DictReader(open(path)):
            row["path"] = os.path.dirname(path)
            yield row


def labels(row, time):
    """1 for walking, 0 for something else, -1 for unknown, at each time."""
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
        # These data sets have the steps of some bouts only.
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

    # Each group is weighted by the root of its size; walking and the rest have equal weight in
    # total.
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
    # These tables have no confidence until it is learned from their counts.
    json.dump(left, open(os.path.join(HERE, LEFT_OUT), "w"), indent=1)
    unseen = np.zeros(len(label))
    for number in range(PARTS):
        unseen[part == number] = odds(left[number], part == number)
    whole = table(np.ones(len(label), bool))
    for name, values in (("seen", odds(whole, np.ones(len(label), bool))), ("unseen", unseen)):
        loss = (weight * np.logaddexp(0, np.where(label == 1, -values, values))).sum() / weight.sum()
        found = [(values[label == value] > 0).mean() for value in (1, 0)]
        print(f"people {name}: log loss {loss:.3f}, {found[0]:.3f} of walking and {found[1]:.3f} of the rest above even odds")
    # Calibration: the share of walking among estimates with these odds.
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


def confidence(directory, path):
    """Learns WalkingConfidence from bouts of people who were left out, and prints its accuracy."""
    byName = {row["recording"]: row for row in recordings(directory)}
    bouts = {}
    for line in open(path):
        name, number, *rest = line.split(",")
        bouts.setdefault((name, int(number)), []).append([float(value) for value in rest])
    rows, label, part, weight, steps = [], [], [], [], []
    for (name, _), found in bouts.items():
        found = np.array(found)
        known = labels(byName[name], found[:, 0])
        known = known[known >= 0]
        if len(known) < 3:
            continue
        rows.append([found[-1, 1], np.log(max(1, found[-1, 2]))])
        label.append(known.mean() > 0.5)
        part.append(zlib.crc32(byName[name]["subject"].encode()) % PARTS)
        steps.append(len(found))
        weight.append(name)
    rows, label, part, steps = np.array(rows), np.array(label, float), np.array(part), np.array(steps)
    # Each recording is weighted by the root of its number of bouts.
    _, index, size = np.unique(weight, return_inverse=True, return_counts=True)
    weight = size[index] ** -0.5

    def answer(of):
        # Constant, mean log odds, length.
        values = fit(rows[of], label[of], weight[of])
        return [round(float(value), 4) for value in (values[2], values[0], values[1])]

    def chance(answer, of):
        return np.clip(1 / (1 + np.exp(-(answer[0] + rows[of] @ answer[1:]))), 0.01, 0.99)

    path = os.path.join(HERE, LEFT_OUT)
    left = json.load(open(path))
    unseen = np.zeros(len(label))
    for number in range(PARTS):
        left[number]["confidence"] = answer(part != number)
        unseen[part == number] = chance(left[number]["confidence"], part == number)
    json.dump(left, open(path, "w"), indent=1)
    whole = answer(np.ones(len(label), bool))
    loss = -(weight * (label * np.log(unseen) + (1 - label) * np.log(1 - unseen))).sum() / weight.sum()
    print(f"{len(label)} bouts, {label.mean():.3f} walking; constant, mean odds, length: {whole}")
    print(f"people unseen: log loss {loss:.3f}; false steps expected {((1 - unseen) * steps).sum():.0f}, "
          f"in bouts that are no walking {((1 - label) * steps).sum():.0f}, of {steps.sum()}")
    print("confidence: mean, bouts, share of walking; steps, share of walking")
    for low, high in ((0, 0.3), (0.3, 0.5), (0.5, 0.7), (0.7, 0.9), (0.9, 0.97), (0.97, 1)):
        at = (unseen >= low) & (unseen < high)
        if at.sum():
            print(f"  {low} to {high}: {unseen[at].mean():.2f}, {at.sum()}, {label[at].mean():.2f}; "
                  f"{steps[at].sum()}, {(label * steps)[at].sum() / steps[at].sum():.2f}")
    open(CONFIDENCE, "w").write(
        "extension WalkingConfidence {\n    /// Written by Tests/StepAccuracy/train.py: do not edit.\n"
        f"    package static let learned = WalkingConfidence(constant: {whole[0]}, mean: {whole[1]}, length: {whole[2]})\n}}\n")


if __name__ == "__main__":
    if sys.argv[2] == "--bouts":
        confidence(sys.argv[1], sys.argv[3])
    else:
        main(*sys.argv[1:])
