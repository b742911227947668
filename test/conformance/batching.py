"""Cuts lines into batches with the official SDK: ``{"cases": [{"lines": [base64], "target", "maxLine", "maxLines"}]}`` in,
for each case the batches (digest, line count, first line number, bytes) or the error out."""

import base64
import json
import sys
from typing import Any

from prime_traces.batching import iter_batches


def cut(case: dict[str, Any]) -> dict[str, Any]:
    batches: list[dict[str, Any]] = []
    lines = [base64.b64decode(line) for line in case["lines"]]
    try:
        for batch in iter_batches(
            lines,
            target_bytes=case["target"],
            max_line_bytes=case["maxLine"],
            max_lines=case["maxLines"],
        ):
            batches.append(
                {
                    "digest": batch.digest,
                    "lines": batch.num_lines,
                    "firstLine": batch.first_line_number,
                    "bytes": batch.size,
                }
            )
    except Exception as error:  # noqa: BLE001 - the kind of error is the outcome
        return {"batches": batches, "error": type(error).__name__}
    return {"batches": batches, "error": None}


json.dump([cut(case) for case in json.load(sys.stdin)["cases"]], sys.stdout)
