"""The models of a record as the real library has them, and random episodes with the lines it writes for them.

``{"kind": "models"}``: what each class reachable from an episode declares: members in order, which of them are floats,
token streams, maps, left out. ``{"kind": "episodes", "seed": n, "count": n}``: for each episode ``full``, every member
with its nulls and every digit, what is never written included, and the lines of ``to_record`` at 4 decimals, with every
digit, and keyed to a run by the SDK. Lines as base64. A number in ``full`` is a string behind a mark, so that its text
survives any parser, and so that there can be NaN and the infinities.
"""

import base64
import json
import math
import random
import sys
import types
import typing
from pathlib import Path
from typing import Any

import numpy as np
import orjson
from prime_runs.sinks.base import stamp_run
from pydantic import BaseModel
from verifiers.v1.episode import TrainRunInfo, TrainWorkInfo, WireEpisode
from verifiers.v1.graph import MessageNode
from verifiers.v1.trace import EXCLUDE_FIELDS
from verifiers.v1.types import SamplingMask

NUMBER_MARK = "#number:"
STREAMS = {int: "ints", bool: "flags", float: "floats"}
PLAIN = {"isFloat": False, "stream": None, "isMap": False, "isModel": False, "models": []}
NEVER = type(None)
NOT_FINITE = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}


def bare(annotation: Any) -> Any:
    """The annotation without Annotated."""
    while typing.get_origin(annotation) is typing.Annotated:
        annotation = typing.get_args(annotation)[0]
    return annotation


def choices(annotation: Any) -> list[Any]:
    """What a value may be: the members of a union, or the one type."""
    annotation = bare(annotation)
    if typing.get_origin(annotation) in (typing.Union, types.UnionType):
        return [choice for member in typing.get_args(annotation) for choice in choices(member)]
    return [annotation]


def elements_of(annotation: Any) -> Any:
    return typing.get_args(annotation)[0] if typing.get_origin(annotation) is list else None


def is_model(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, BaseModel)


def describe(annotation: Any) -> dict[str, Any]:
    """What a member is to a writer. `isFloat` is null where no number can stand, `isModel` where no object can."""
    kinds = [kind for kind in choices(annotation) if kind is not NEVER]
    if len(kinds) == 1 and typing.get_origin(kinds[0]) is dict:
        inner = describe(typing.get_args(kinds[0])[1])
        is_plain = not (inner["isFloat"] or inner["stream"] or inner["models"])
        return PLAIN if is_plain else {**inner, "isMap": True}
    models = [kind for kind in kinds if is_model(kind)]
    stream = None
    for kind in kinds:
        of = elements_of(kind)
        if of is not None:
            models += [choice for choice in choices(of) if is_model(choice)]
            stream = STREAMS.get(bare(of))
    # Where integers can stand as well they stay what they are.
    is_float = float in kinds and int not in kinds if {int, float, Any} & set(kinds) else None
    is_scalar = all(kind in (int, float, bool, str) or typing.get_origin(kind) is typing.Literal for kind in kinds)
    return {
        "isFloat": is_float,
        "stream": stream,
        "isMap": False,
        "isModel": None if is_scalar else len(models) > 0,
        "models": [model.__name__ for model in models],
    }


def declared_models() -> dict[str, Any]:
    answer: dict[str, Any] = {}
    todo: list[type[BaseModel]] = [WireEpisode]
    for model in todo:
        if model.__name__ in answer:
            continue
        serializers = model.__pydantic_decorators__.field_serializers.values()
        serialized = {name for serializer in serializers for name in serializer.info.fields}
        fields = []
        for name, field in model.model_fields.items():
            fact = {**describe(field.annotation), "name": name}
            # `to_record` names what nodes leave out.
            is_named = model is MessageNode and name in EXCLUDE_FIELDS["nodes"]["__all__"]
            fact["isLeftOut"] = bool(field.exclude) or is_named
            fact["dropsEmpty"] = field.exclude_if is not None and field.exclude_if([])
            # A dict that the owner makes of a model is no model any more when nulls are dropped.
            fact["isDumpedByOwner"] = name in serialized and bool(fact["models"])
            if name in serialized and fact["stream"] == "floats":
                fact["stream"] = "rounded"
            if not fact["isLeftOut"]:
                todo += [kind for kind in reachable(field.annotation) if is_model(kind)]
            fields.append(fact)
        answer[model.__name__] = {"fields": fields, "computed": list(model.model_computed_fields)}
    return answer


def reachable(annotation: Any) -> list[Any]:
    found = []
    for kind in choices(annotation):
        found.append(kind)
        for inner in typing.get_args(kind):
            found += reachable(inner)
    return found


TEXTS = ("", "a", 'back\\slash "quoted"\n', "漢字 🙂", "\u2028\x7f\x00\x1b/", "null", "x" * 50)
WHOLE_FLOATS = (0.0, 1.0, -0.0, -3.0, 600.0, 1e15, 1e16, 1e22)
FLOATS = (0.5, 0.1, 1 / 3, 1e-5, 1.5e-7, 0.03125, -0.00005, 2.00005, 1e300, 5e-324, math.nan, math.inf, -math.inf)


class Maker:
    """Random values for annotations; the same seed, the same values."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def chance(self, share: float) -> bool:
        return self.random.random() < share

    def few(self, most: int = 3) -> range:
        return range(self.random.randrange(most + 1))

    def number(self) -> float:
        choice = self.random.choice
        return choice((choice(WHOLE_FLOATS), choice(FLOATS), self.random.gauss(0, 2)))

    def integer(self) -> int:
        return self.random.choice((0, 1, -1, self.random.randrange(200_000), 2**53 + 1, -(2**63), 2**64 - 1))

    def count(self) -> int:
        return self.random.choice((0, 1, self.random.randrange(200_000)))

    def text(self) -> str:
        return self.random.choice(TEXTS)

    def key(self) -> str:
        return self.random.choice(("a", "länge", 'q"uote', "x y", f"k{self.random.randrange(9)}", ""))

    def anything(self, depth: int = 0) -> Any:
        kind = self.random.randrange(8 if depth < 3 else 5)
        if kind >= 5:
            inner = [self.anything(depth + 1) for _ in self.few()]
            return inner if kind == 5 else {self.key(): value for value in inner}
        return (None, self.chance(0.5), self.integer(), self.number(), self.text())[kind]

    def value(self, annotation: Any) -> Any:
        kinds = choices(annotation)
        if NEVER in kinds and self.chance(0.35):
            return None
        kind = bare(self.random.choice([kind for kind in kinds if kind is not NEVER]))
        origin = typing.get_origin(kind)
        if origin is typing.Literal:
            return self.random.choice(typing.get_args(kind))
        if origin is list:
            return [self.value(elements_of(kind)) for _ in self.few()]
        if origin is dict:
            return self.mapping(*typing.get_args(kind))
        if is_model(kind):
            return self.model(kind)
        makers = {int: self.integer, bool: lambda: self.chance(0.5), float: self.number, str: self.text}
        makers |= {Any: self.anything, Path: lambda: Path("/skills") / self.random.choice("ab")}
        makers |= {np.ndarray: lambda: self.tensor("uint8"), SamplingMask: self.sampling_mask}
        return makers[kind]()

    def mapping(self, key: Any, value: Any) -> dict[Any, Any]:
        if key is int:
            # In JavaScript such keys stand in ascending order, whatever the order they came in.
            return {number: self.count() for number in sorted(self.random.sample(range(150_000), len(self.few())))}
        names = [self.key() for _ in self.few()] if key is str else typing.get_args(key)
        return {name: self.value(value) for name in names}

    def tensor(self, kind: str) -> np.ndarray:
        return np.array([self.random.randrange(100) for _ in self.few()], dtype=kind)

    def sampling_mask(self) -> SamplingMask:
        return SamplingMask(ids=self.tensor("int32"), counts=self.tensor("int32"))

    def model(self, kind: type[BaseModel]) -> BaseModel:
        fields = {name: field.annotation for name, field in kind.model_fields.items() if not field.exclude}
        values = {name: self.value(annotation) for name, annotation in fields.items()}
        if kind.model_config.get("extra") == "allow":
            values |= {f"extra_{self.key()}": self.anything() for _ in self.few()}
        # Validators would refuse most of it; what is written does not depend on them.
        made = kind.model_construct(**values)
        if kind is WireEpisode:
            for trace in made.traces:
                self.connect(trace)
        return made

    def connect(self, trace: Any) -> None:
        """Gives a trace references that its token counts can be computed from."""
        for index, node in enumerate(trace.nodes):
            node.parent = self.random.randrange(index) if index > 0 and self.chance(0.8) else None
        for call in trace.calls:
            call.node = self.random.randrange(len(trace.nodes)) if trace.nodes and self.chance(0.8) else None
            if call.usage is not None:
                call.usage.prompt_tokens = self.count()
                call.usage.completion_tokens = self.count()
                call.usage.cached_input_tokens = self.random.choice((None, self.count()))


def full_dump(episode: Any) -> Any:
    """Everything a producer may have in hand, also what is not written. JSON mode would make nulls of NaN."""
    full = episode.model_dump(mode="python")
    for trace in full["traces"]:
        trace["state"] = {"artifacts": {"a": None}}
        trace["pending"] = [{"role": "user", "content": "x"}]
        for node in trace["nodes"]:
            node["renderer_token_ids"] = [1]
            node.setdefault("tools", [])
    return marked(full)


def marked(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: marked(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [marked(inner) for inner in value]
    if isinstance(value, bytes):
        return list(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return value
    is_finite = isinstance(value, int) or math.isfinite(value)
    return NUMBER_MARK + (orjson.dumps(value).decode() if is_finite else NOT_FINITE[str(value)])


def encode(value: Any) -> str:
    """One line, as prime-rl's file monitor writes it."""
    line = orjson.dumps(value, default=str, option=orjson.OPT_APPEND_NEWLINE | orjson.OPT_SERIALIZE_NUMPY)
    return base64.b64encode(line).decode()


def episodes(seed: int, count: int) -> list[dict[str, str]]:
    maker = Maker(seed)
    answer = []
    for _ in range(count):
        episode = maker.model(WireEpisode)
        lines = {"full": encode(full_dump(episode)), "rounded": encode(episode.to_record())}
        lines["exact"] = encode(episode.to_record(float_decimals=None))
        episode.record_run(TrainRunInfo(id="local", name="n", work=TrainWorkInfo(step=3)))
        lines["keyed"] = encode(stamp_run(episode.to_record(), "r1", "train"))
        answer.append(lines)
    return answer


def answer(question: dict[str, Any]) -> Any:
    if question["kind"] == "models":
        return {"root": WireEpisode.__name__, "models": declared_models()}
    return episodes(question["seed"], question["count"])


json.dump(answer(json.load(sys.stdin)), sys.stdout)
