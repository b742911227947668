"""Performs steps with the official prime-traces SDK and prints what came of each, for the TypeScript tests to judge.

Reads ``{"mode": "sync"|"async", "base_url", "api_key", "team_id", "steps": [{"call", "args", "kwargs"}]}`` from standard
input; prints a JSON list with ``{"value": ...}`` or ``{"error": {...}}`` for each step. Bytes travel as base64 under
``{"base64": ...}``. It asserts nothing: the expectations live in one place, the tests.
"""

import asyncio
import base64
import inspect
import json
import sys
from typing import Any

import prime_traces
from prime_traces import AsyncTracesClient, LineFormat, TracesClient


def decoded(value: Any) -> Any:
    """Turn the JSON form of an argument into what the SDK takes."""
    if isinstance(value, dict) and set(value) == {"base64"}:
        return base64.b64decode(value["base64"])
    if isinstance(value, dict) and set(value) == {"line_format"}:
        return LineFormat(value["line_format"])
    if isinstance(value, list):
        return [decoded(item) for item in value]
    return value


def encoded(value: Any) -> Any:
    """Turn what the SDK returned into JSON."""
    if isinstance(value, bytes):
        return {"base64": base64.b64encode(value).decode()}
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json")
    if isinstance(value, (list, tuple)):
        return [encoded(item) for item in value]
    return value


def described(error: Exception) -> dict[str, Any]:
    return {
        "type": type(error).__name__,
        "status": getattr(error, "status_code", None),
        "code": getattr(error, "code", None),
        "message": str(error),
    }


def perform(client: TracesClient, step: dict[str, Any]) -> Any:
    method = getattr(client, step["call"])
    result = method(*decoded(step.get("args", [])), **{k: decoded(v) for k, v in step.get("kwargs", {}).items()})
    return list(result) if inspect.isgenerator(result) else result


async def perform_async(client: AsyncTracesClient, step: dict[str, Any]) -> Any:
    method = getattr(client, step["call"])
    result = method(*decoded(step.get("args", [])), **{k: decoded(v) for k, v in step.get("kwargs", {}).items()})
    if inspect.isasyncgen(result):
        return [item async for item in result]
    return await result


async def main_async(request: dict[str, Any], options: dict[str, Any]) -> list[dict[str, Any]]:
    outcomes: list[dict[str, Any]] = []
    async with AsyncTracesClient(**options) as client:
        for step in request["steps"]:
            try:
                outcomes.append({"value": encoded(await perform_async(client, step))})
            except Exception as error:  # noqa: BLE001 - every failure is an outcome to report
                outcomes.append({"error": described(error)})
    return outcomes


def main_sync(request: dict[str, Any], options: dict[str, Any]) -> list[dict[str, Any]]:
    outcomes: list[dict[str, Any]] = []
    client = TracesClient(**options)
    for step in request["steps"]:
        try:
            outcomes.append({"value": encoded(perform(client, step))})
        except Exception as error:  # noqa: BLE001 - every failure is an outcome to report
            outcomes.append({"error": described(error)})
    return outcomes


def main() -> None:
    request = json.load(sys.stdin)
    options = {key: request[key] for key in ("base_url", "api_key", "team_id") if key in request}
    if request["mode"] == "async":
        outcomes = asyncio.run(main_async(request, options))
    else:
        outcomes = main_sync(request, options)
    json.dump({"sdk": prime_traces.__version__, "outcomes": outcomes}, sys.stdout)


if __name__ == "__main__":
    main()
