#!/usr/bin/env python3
"""Puts the schemas of data/schema/ into data/openapi.json: gen-openapi.py OPENAPI OUT SCHEMA...

Where it says {"x-weir-schema": "queue.json"}, the content of that file comes in. The result is one line: it is
for programs."""
import json
import pathlib
import sys


def filled(node, schemas, used):
    if isinstance(node, list):
        return [filled(item, schemas, used) for item in node]
    if not isinstance(node, dict):
        return node
    if "x-weir-schema" in node:
        name = node["x-weir-schema"]
        used.add(name)
        return schemas[name]
    return {key: filled(value, schemas, used) for key, value in node.items()}


def main(source, out, *paths):
    schemas = {pathlib.Path(path).name: json.loads(pathlib.Path(path).read_text(encoding="utf-8")) for path in paths}
    used = set()
    document = filled(json.loads(pathlib.Path(source).read_text(encoding="utf-8")), schemas, used)
    if used != set(schemas):
        sys.exit(f"gen-openapi.py: not used: {', '.join(sorted(set(schemas) - used))}")
    text = json.dumps(document, ensure_ascii=False, separators=(",", ":")) + "\n"
    pathlib.Path(out).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
