"""Answers questions about bytes with the real libraries. ``{"kind": "parse", "texts": [base64]}``: does orjson take each
text. ``{"kind": "lines", "chunks": [path]}``: the lines of chunk files, sealed ones read by pyzstd, as base64."""

import base64
import json
import sys
from typing import Any

import orjson
import pyzstd


def parses(text: bytes) -> bool:
    try:
        orjson.loads(text)
    except orjson.JSONDecodeError:
        return False
    return True


def lines(path: str) -> list[str]:
    opener = pyzstd.SeekableZstdFile if path.endswith(".zst") else open
    with opener(path, "rb") as chunk:
        return [base64.b64encode(line + b"\n").decode() for line in chunk.read().split(b"\n") if line]


def answer(question: dict[str, Any]) -> Any:
    if question["kind"] == "parse":
        return [parses(base64.b64decode(text)) for text in question["texts"]]
    return [lines(path) for path in question["chunks"]]


json.dump(answer(json.load(sys.stdin)), sys.stdout)
