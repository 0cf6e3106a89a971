"""Reviews one admission request, in a process apart from the operator (`reviewer.py`). Pure."""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from stackwright.core.bounds import values_in
from stackwright.core.errors import frames, place, words
from stackwright.core.plan import Object

VALUES = 200_000  # JSON values in the old and the new object, with the fields that API servers add
PROCESSOR = 4.0  # seconds of processor time of one review; API servers wait ten seconds
MEMORY = 256 << 20  # bytes of memory of one review
UID = 128  # characters of a request's uid, which the response repeats: memory holds it while the client does not read
OUT_OF_MEMORY = 3  # exit code of the process
SIZE = struct.Struct(">I")  # precedes each message between the operator and the process


class Check(Protocol):
    def __call__(self, obj: Object, old: Object | None, dry_run: bool) -> list[str]:
        """Errors of the object, and of the change of `old` into it."""


@dataclass(frozen=True)
class Review:
    """status  of the HTTP response;  text  its body, JSON if the status is 200
    fault, frames, kind  place and stack of an internal error of the check, and the kind of the object
    """

    status: int
    text: str
    fault: str = ""
    frames: str = ""
    kind: str = ""


def review(body: bytes | bytearray, check: Check) -> Review:
    """The response to an AdmissionReview. Raises MemoryError."""
    if values_in(body) > VALUES:
        return Review(413, f"more than {VALUES} values")
    try:
        question = json.loads(body.decode())["request"]
        uid, obj, old = question["uid"], question.get("object"), question.get("oldObject")
        if (
            not isinstance(uid, str)
            or len(uid) > UID
            or any(not _is_object(each) for each in (obj, old) if each is not None)
        ):
            raise TypeError
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return Review(400, "no AdmissionReview")
    if not obj:
        return _answer(uid, {"allowed": True})
    try:
        errors = check(obj, old, question.get("dryRun") is True)
    except MemoryError:
        raise
    except Exception as error:  # clients must not see its text
        kind = str(obj.get("kind"))[:64]
        return _answer(uid, _refused(500, words(error)), fault=place(error), frames=frames(error), kind=kind)
    return _answer(uid, _refused(422, "\n".join(errors)) if errors else {"allowed": True})


def _answer(uid: str, verdict: Mapping[str, Any], **fault: str) -> Review:
    answer = {"uid": uid, **verdict}
    text = json.dumps({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": answer})
    return Review(200, text, **fault)


def _is_object(value: object) -> bool:
    return isinstance(value, dict) and isinstance(value.get("metadata"), Mapping)


def _refused(code: int, message: str) -> dict[str, Any]:
    return {"allowed": False, "status": {"code": code, "message": message}}
