"""An outlet of LSL: waits for a receiver, pushes samples whose values and times follow from their numbers, and stays.

outlet.py NAME SOURCE_ID FORMAT CHANNELS RATE FIRST COUNT
"""
import signal
import sys
import time

import pylsl

name, source, form, channels, rate, first, count = sys.argv[1:]
channels, rate, first, count = int(channels), float(rate), int(first), int(count)


def value(number, channel):
    whole = number * channels + channel
    if form == "string":
        return f"{number} \"ä\" \\ {channel}"
    if form == "int64":
        return (1 << 60) + whole
    if form == "double64":
        return whole + 0.1
    return whole % {"int8": 128, "int16": 32_768, "int32": 1 << 31, "float32": 1 << 24}[form]


info = pylsl.StreamInfo(name, "Test", channels, rate, form, source)
description = info.desc().append_child("channels")
for channel in range(channels):
    item = description.append_child("channel")
    item.append_child_value("label", f"c{channel}")
    item.append_child_value("unit", "m/s2")
info.desc().append_child_value("maker", "A & B")
outlet = pylsl.StreamOutlet(info)
print("ready", flush=True)
if count and not outlet.wait_for_consumers(50):
    sys.exit("no receiver came")
began = pylsl.local_clock()
for number in range(count):
    stamp = began + (number / rate if rate else 0)
    # Wait for the time of the sample: a receiver takes whatever is available.
    pause = stamp - pylsl.local_clock()
    if pause > 0:
        time.sleep(pause)
    outlet.push_sample([value(first + number, channel) for channel in range(channels)], stamp)
print("done", flush=True)
signal.pause()
