"""Reads the metrics at URLs with Prometheus' own parser for Python, and prints them as JSON, one object a line."""

import json
import sys
import urllib.request

from prometheus_client.parser import text_string_to_metric_families

for url in sys.argv[1:]:
    with urllib.request.urlopen(url, timeout=20) as answer:
        assert answer.headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8", answer.headers
        text = answer.read().decode()
    families = []
    for family in text_string_to_metric_families(text):
        # The parser takes the suffix for a part of the format.
        name = family.name + ("_total" if family.type == "counter" else "")
        samples = [
            {"name": sample.name, "labels": sample.labels, "value": sample.value} for sample in family.samples
        ]
        families.append({"name": name, "type": family.type, "help": family.documentation, "samples": samples})
    # Once each, and none without a value: what it could not read would be of another kind.
    assert len({family["name"] for family in families}) == len(families)
    assert all(family["samples"] and family["type"] != "unknown" for family in families)
    print(json.dumps(families))
