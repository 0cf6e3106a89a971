"""A subunit stream on standard input → one line of JSON per test, for readers of the pod's log."""

import json
import sys

import subunit
import testtools

LONGEST = 6000


def tell(test: dict) -> None:
    if test["status"] in ("exists", "inprogress"):
        return
    details = {
        name: content.as_text() for name, content in test["details"].items() if content.content_type.type == "text"
    }
    start, end = test["timestamps"]
    found = {
        "id": test["id"],
        "status": test["status"],
        "seconds": round((end - start).total_seconds(), 2) if start and end else 0.0,
        "reason": details.get("reason", ""),
        "text": "",
    }
    if test["status"] not in ("success", "skip", "xfail"):
        found["text"] = "\n".join(f"{name}:\n{text[-LONGEST:]}" for name, text in sorted(details.items()) if text)
    print(f"result: {json.dumps(found)}", flush=True)


stream = testtools.StreamToDict(tell)
stream.startTestRun()
subunit.ByteStreamToStreamResult(sys.stdin.buffer, "stdout").run(stream)
stream.stopTestRun()
