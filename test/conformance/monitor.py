"""A run that the TypeScript file monitor wrote, as the Python side reads it: each record at the address of its index
row (sealed chunks by pyzstd, as prime-rl's reader opens them), parsed by orjson, loaded by verifiers, its row restated.

``{"run": path}`` answers a list of faults and what was looked at. ``{"rows": [text]}`` answers what Python's own json
makes of each row of metrics when it reads and prints it.
"""

import json
import sys
from pathlib import Path
from typing import Any, BinaryIO

import orjson
import pyzstd
from verifiers.v1.episode import WireEpisode

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "fixtures" / "generate"))

from index_rows import index_row  # noqa: E402

COUNTS = ("num_input_tokens", "num_output_tokens")


class Stream:
    """The chunks of a directory, each opened once."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.chunks: dict[int, BinaryIO] = {}
        self.sealed = 0

    def line(self, chunk: int, offset: int) -> bytes:
        if chunk not in self.chunks:
            self.chunks[chunk] = self.open(self.directory / f"{chunk:05d}.jsonl")
        self.chunks[chunk].seek(offset)
        return self.chunks[chunk].readline()

    def open(self, path: Path) -> BinaryIO:
        if path.exists():
            return open(path, "rb")
        self.sealed += 1
        return pyzstd.SeekableZstdFile(path.with_name(path.name + ".zst"), "rb")

    def lines(self) -> int:
        total = 0
        for path in sorted(self.directory.iterdir()):
            opener = pyzstd.SeekableZstdFile if path.suffix == ".zst" else open
            with opener(path, "rb") as chunk:
                total += sum(1 for _ in chunk)
        return total


def dumps(value: Any) -> bytes:
    """One line, as prime-rl's file monitor writes it."""
    return orjson.dumps(value, option=orjson.OPT_APPEND_NEWLINE)


def check_episode(row: bytes, number: int, stream: Stream) -> tuple[list[str], dict[str, Any]]:
    facts = orjson.loads(row)
    line = stream.line(facts["chunk"], facts["offset"])
    record = orjson.loads(line)
    faults = []
    if dumps(record) != line:
        faults.append(f"line {number}: orjson prints {dumps(record)[:2000]!r} for {line[:2000]!r}")
    episode = WireEpisode.model_validate_json(line)
    derived = {name: getattr(episode, name) for name in COUNTS}
    restated = dumps(index_row({**record, **derived}, number, facts["offset"], facts["chunk"]))
    if restated != row:
        faults.append(f"line {number}: row {row!r}, restated {restated!r}")
    if any(trace.get("run") != record["run"] for trace in record["traces"]):
        faults.append(f"line {number}: a trace of another run")
    if episode.run is None or episode.run.id != record["run"]["id"]:
        faults.append(f"line {number}: verifiers reads the run as {episode.run!r}")
    return faults, {"id": record["id"], "run": record["run"], "infos": [t["info"] for t in record["traces"]]}


def check_update(row: bytes, stream: Stream) -> tuple[list[str], dict[str, Any]]:
    facts = orjson.loads(row)
    line = stream.line(facts["chunk"], facts["offset"])
    update = orjson.loads(line)
    address = {"chunk": facts["chunk"], "offset": facts["offset"]}
    restated = dumps({"trace_id": update["trace_id"], **address, "info": update.get("info") or {}})
    faults = [] if dumps(update) == line else [f"orjson prints {dumps(update)!r} for {line!r}"]
    return faults + ([] if restated == row else [f"row {row!r}, restated {restated!r}"]), update


def check_run(run: Path) -> dict[str, Any]:
    traces = run / "monitors" / "file" / "traces"
    faults: list[str] = []
    stream = Stream(traces / "stream")
    rows = (traces / "stream.index.jsonl").read_bytes().splitlines(keepends=True)
    episodes = []
    for number, row in enumerate(rows, 1):
        found, seen = check_episode(row, number, stream)
        faults += found
        episodes.append(seen)
    if stream.lines() != len(rows):
        faults.append(f"{stream.lines()} lines, {len(rows)} rows")
    updates = []
    annotations = Stream(traces / "annotations" / "orch")
    for row in (traces / "annotations" / "orch.index.jsonl").read_bytes().splitlines(keepends=True):
        found, seen = check_update(row, annotations)
        faults += found
        updates.append(seen)
    return {"faults": faults, "sealed": stream.sealed, "episodes": episodes, "updates": updates}


def answer(question: dict[str, Any]) -> Any:
    if "run" in question:
        return check_run(Path(question["run"]))
    return [json.dumps(json.loads(row)) + "\n" for row in question["rows"]]


json.dump(answer(json.load(sys.stdin)), sys.stdout)
