"""Episodes made with the real library, what the library derives from them, and their rows by the restatement in
``fixtures/generate/index_rows.py``, printed by the real orjson.

``{"kind": "generate", "seed": n, "count": n}``: random episodes. ``{"kind": "recorded", "files": [path]}``: the episodes
of stream files, sealed ones read by pyzstd. Both answer a list of facts, lines as base64. ``{"kind": "reprint",
"texts": [base64]}``: what orjson makes of each JSON text when it reads and prints it, null where it refuses.
"""

import base64
import json
import random
import sys
from pathlib import Path
from typing import Any

import orjson
import pyzstd

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "fixtures" / "generate"))

from index_rows import index_row  # noqa: E402
from script import UNICODE  # noqa: E402

COUNTS = ("num_input_tokens", "num_output_tokens")
TEXTS = ("2+2?", "4", "", 'back\\slash "quoted"\n', "漢字 🙂", "\u2028\x7f\x00\x1b", UNICODE)
STOPS = (
    "agent_completed",
    "max_turns",
    "max_input_tokens",
    "max_output_tokens",
    "max_total_tokens",
    "compaction_failed",
    "context_length",
    "error",
    "user_closed",
)


def encode(value: Any) -> bytes:
    """One JSON line, as prime-rl's file monitor writes it."""
    return orjson.dumps(value, default=str, option=orjson.OPT_APPEND_NEWLINE | orjson.OPT_SERIALIZE_NUMPY)


class Maker:
    """Random episodes out of the library's own classes; the same seed, the same bytes."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def chance(self, share: float) -> bool:
        return self.random.random() < share

    def hex(self) -> str:
        return f"{self.random.getrandbits(128):032x}"

    def clock(self) -> float:
        return round(1_790_000_000 + self.random.random() * 1000, self.random.choice((0, 1, 3, 6)))

    def text(self) -> str:
        return self.random.choice(TEXTS)

    def episode(self) -> Any:
        from verifiers.v1.episode import EnvInfo, GroupInfo, WireEpisode

        shape = self.random.choice(("none", "one", "one", "one", "judged", "team"))
        agents = {"none": [], "one": ["agent"], "judged": ["solver", "judge"], "team": ["solver"] * 4}[shape]
        episode = WireEpisode(
            id=self.hex(),
            env=EnvInfo(id=self.random.choice(("", "arith", "agentic-judge+code", "ünit")), name=self.name()),
            task=self.task(),
            group=GroupInfo(id=str(self.random.randrange(50))) if self.chance(0.5) else None,
            ok=self.chance(0.7),
            errors=[self.error() for _ in range(self.random.choice((0, 0, 0, 1, 3)))],
            traces=[self.trace(agent) for agent in agents],
        )
        if self.chance(0.8):
            episode.record_run(self.run())
        return episode

    def name(self) -> str | None:
        return self.random.choice((None, "", "arith-train", 'tab\tand "quotes"', "日本"))

    def task(self) -> Any:
        from verifiers.v1.task import WireTaskData
        from verifiers.v1.trace import TraceTask

        return TraceTask(type="GeneratedTask", data=WireTaskData(idx=self.random.randrange(99), prompt=self.text()))

    def run(self) -> Any:
        from verifiers.v1.episode import EvalRunInfo, EvalWorkInfo, TrainRunInfo, TrainWorkInfo

        if self.chance(0.3):
            return EvalRunInfo(id=self.hex())
        work = self.random.choice((TrainWorkInfo, EvalWorkInfo))
        return TrainRunInfo(id=self.hex(), work=work(step=self.random.randrange(100)))

    def error(self) -> Any:
        from verifiers.v1.trace import Error

        return Error(type="ProviderError", message=self.text())

    def trace(self, agent: str) -> Any:
        from verifiers.v1.configs.agent import WireAgentConfig
        from verifiers.v1.trace import AgentInfo, WireTrace

        is_judge = agent == "judge"
        trace = WireTrace(
            id=self.hex(),
            task=self.task(),
            agent=AgentInfo(config=WireAgentConfig(), name=agent, trainable=not is_judge),
            ok=self.chance(0.8),
            timing=self.timing(),
        )
        self.grow(trace)
        self.call(trace)
        if not is_judge:
            self.score(trace)
        if self.chance(0.6):
            self.stamp(trace)
        if self.chance(0.8):
            trace.stop(self.random.choice(STOPS))
        if self.chance(0.2):
            trace.extra_usage.append(self.usage())
        return trace

    def timing(self) -> Any:
        from verifiers.v1.trace import AgentSpan, TimeSpan, Timing

        spans = {}
        for name in ("boot", "setup", "agent", "finalize", "scoring"):
            start = self.clock()
            # The last one was cut off in the middle.
            end = self.random.choice((start + self.random.random(), start + self.random.random() * 100, start, 0.0))
            span = AgentSpan if name == "agent" else TimeSpan
            spans[name] = span(start=start, end=end) if self.chance(0.8) else span()
        return Timing(start=self.clock(), **spans)

    def grow(self, trace: Any) -> None:
        """Messages in a graph: mostly one after the other, at times from an earlier one or from nothing."""
        from verifiers.v1.graph import MessageNode

        for index in range(self.random.randrange(14)):
            parent = None
            if index > 0 and not self.chance(0.05):
                parent = self.random.randrange(index) if self.chance(0.25) else index - 1
            message = self.message()
            length = self.random.randrange(4)
            is_sampled = message.role == "assistant" and not self.chance(0.15)
            trace.nodes.append(
                MessageNode(
                    parent=parent,
                    message=message,
                    sampled=is_sampled,
                    timestamp=self.clock(),
                    token_ids=[self.random.randrange(150_000) for _ in range(length)],
                    mask=[is_sampled] * length,
                    logprobs=[-self.random.random() for _ in range(length)] if is_sampled else [],
                )
            )

    def message(self) -> Any:
        from verifiers.v1.types import AssistantMessage, SystemMessage, ToolCall, ToolMessage, UserMessage

        role = self.random.choice(("system", "user", "assistant", "assistant", "assistant", "tool"))
        if role == "system":
            return SystemMessage(content=self.text())
        if role == "user":
            return UserMessage(content=self.text())
        if role == "tool":
            return ToolMessage(tool_call_id="c1", content=self.text())
        calls = [ToolCall(id="c1", name="run", arguments='{"x": "}]"}')] if self.chance(0.3) else None
        return AssistantMessage(content=None if calls else self.text(), tool_calls=calls)

    def call(self, trace: Any) -> None:
        """A call for most sampled nodes, failed ones between them, and retries that name the same node."""
        from verifiers.v1.trace import ModelCall

        for index, node in enumerate(trace.nodes):
            while self.chance(0.1):
                trace.calls.append(ModelCall(error=self.error(), finish_reason=self.finish()))
            if not node.sampled:
                continue
            while self.chance(0.9):
                usage = self.usage() if self.chance(0.9) else None
                trace.calls.append(ModelCall(node=index, finish_reason=self.finish(), usage=usage))
                if not self.chance(0.1):
                    break
        if self.chance(0.1):
            self.random.shuffle(trace.calls)
        if self.chance(0.2):
            trace.calls.append(ModelCall(error=self.error()))

    def finish(self) -> str | None:
        return self.random.choice((None, "stop", "tool_calls", "length"))

    def usage(self) -> Any:
        from verifiers.v1.types import Usage

        return Usage(
            prompt_tokens=self.random.randrange(2000),
            completion_tokens=self.random.randrange(500),
            cached_input_tokens=self.random.choice((None, 0, self.random.randrange(4000))),
            reasoning_tokens=self.random.choice((None, self.random.randrange(100))),
            cost=self.random.choice((None, 0, 1, 0.1, 0.2, 0.3, 1.5e-06, 1e16, self.random.random())),
        )

    def score(self, trace: Any) -> None:
        for name in self.random.sample(("correct", "format", "10", "2", "länge"), self.random.randrange(6)):
            if self.chance(0.2):
                trace.rewards[name] = None
                continue
            value = self.random.choice((0, 1, -1, 0.1, 1 / 3, -0.0, 1e16, self.random.gauss(0, 1)))
            trace.record_reward(name, value, self.random.choice((1, 0, 0.5, -0.25, 0.1)))
        trace.record_metric("length", self.random.random())

    def stamp(self, trace: Any) -> None:
        """What prime-rl leaves in ``info`` at arrival, and the advantage that comes later."""
        trace.info["kind"] = self.random.choice(("train", "eval"))
        trace.info["dispatch"] = {"step": 3, "time": trace.timing.start}
        if self.chance(0.8):
            trace.info["arrival"] = {"step": 4, "time": self.random.choice((self.clock(), int(self.clock())))}
        if self.chance(0.5):
            trace.info["advantage"] = self.random.choice((1, 0, 0.25, self.random.gauss(0, 1)))


def facts(episode: Any, line: bytes, number: int, offset: int) -> dict[str, Any]:
    """A line with its row, and what the library's own objects say of the episode."""
    record = orjson.loads(line)
    derived = {name: getattr(episode, name) for name in COUNTS}
    row = index_row({**record, **derived}, number, offset, 0)
    nodes = [node for trace in episode.traces for node in trace.nodes]
    return {
        "line": base64.b64encode(line).decode(),
        "row": base64.b64encode(encode(row)).decode(),
        "offset": offset,
        "num_input_tokens": derived["num_input_tokens"],
        "num_output_tokens": derived["num_output_tokens"],
        "is_truncated": any(trace.is_truncated for trace in episode.traces),
        "num_turns": episode.num_turns,
        "num_branches": sum(trace.num_branches for trace in episode.traces),
        "unsampled_assistants": sum(node.message.role == "assistant" and not node.sampled for node in nodes),
    }


def generate(seed: int, count: int) -> list[dict[str, Any]]:
    maker = Maker(seed)
    answer: list[dict[str, Any]] = []
    offset = 0
    for number in range(1, count + 1):
        episode = maker.episode()
        line = encode(episode.to_record())
        answer.append(facts(episode, line, number, offset))
        offset += len(line)
    return answer


def recorded(files: list[str]) -> list[dict[str, Any]]:
    from verifiers.v1.episode import WireEpisode

    answer: list[dict[str, Any]] = []
    for path in files:
        opener = pyzstd.SeekableZstdFile if path.endswith(".zst") else open
        with opener(path, "rb") as chunk:
            data = chunk.read()
        offset = 0
        for number, line in enumerate(data.splitlines(keepends=True), 1):
            answer.append(facts(WireEpisode.model_validate_json(line), line, number, offset))
            offset += len(line)
    return answer


def reprint(text: bytes) -> str | None:
    try:
        return base64.b64encode(orjson.dumps(orjson.loads(text))).decode()
    except orjson.JSONDecodeError:
        return None


def answer(question: dict[str, Any]) -> Any:
    if question["kind"] == "generate":
        return generate(question["seed"], question["count"])
    if question["kind"] == "recorded":
        return recorded(question["files"])
    return [reprint(base64.b64decode(text)) for text in question["texts"]]


json.dump(answer(json.load(sys.stdin)), sys.stdout)
