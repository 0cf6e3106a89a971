"""Errors of the Kubernetes API as the operator's three classes: TransientError, TerminalError, Conflict.

The Status object of the API has all causes of a refusal; authors of manifests need all of them at once, so none is
dropped. An error that resolves by itself (a namespace that is being created, an API server that starts) is
TransientError.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from stackwright.api.meta import Kind
from stackwright.core.errors import Conflict, NotServed, TerminalError, TransientError, Unavailable, UndeclaredStatus
from stackwright.core.plan import Key

_RBAC = re.compile(
    r'(?:User "(?P<user>[^"]+)" )?cannot (?P<verb>\w+) resource "(?P<resource>[^"]+)" '
    r'in API group "(?P<group>[^"]*)"(?P<where>.*)'
)
# Server-side apply reports a field that the schema does not have as an internal error of the server.
_OUR_FAULT = ("field not declared in schema", "failed to create typed patch object", "duplicate entries for key")
_UNDECLARED = re.compile(r"\bstatus\.([^\s:]+): field not declared in schema")
# Some refusals quote the whole object, which may hold a Secret's data.
_QUOTED = ('Invalid value: "{', '}": ')


class Unauthenticated(Unavailable):
    """The API server refuses the credentials of the request, which may be renewed."""


class MissingRight(TerminalError):
    """The user of the request lacks a right, unlike other refusals, such as those by admission."""


@dataclass(frozen=True)
class Call:
    """One request, for messages."""

    verb: str
    kind: Kind
    target: str

    @property
    def key(self) -> Key:
        namespace, _, name = self.target.rpartition("/")
        return namespace, name

    def __str__(self) -> str:
        return f"{self.verb} {self.kind.kind} {self.target}".rstrip()


def error_of(call: Call, code: int, body: bytes) -> Exception:
    """The exception for an error response."""
    status = _status(body)
    message = str(status.get("message") or f"HTTP {code}")
    if code == 409 or (code == 422 and "metadata.uid: Invalid value" in message):  # another object has its name
        return Conflict(f"{call}: {message}", call.kind, call.key)
    if code == 404:
        return _absent(call, status, message)
    if code == 403:
        return _forbidden(call, status, message)
    if code == 401:
        return Unauthenticated(f"{call}: the Kubernetes API refuses the credentials: HTTP {code} {message}")
    if code in (408, 410, 429) or (code >= 500 and not any(text in message for text in _OUR_FAULT)):
        # An internal error of the API server may concern this object only, as of its conversion webhook.
        kind = TransientError if code == 500 and status.get("kind") == "Status" else Unavailable
        return kind(f"{call}: the Kubernetes API returned {code}: {message}")
    text = f"{call}: {_causes(status, message)}"
    undeclared = _UNDECLARED.findall(text)
    return UndeclaredStatus(text, undeclared) if undeclared else TerminalError(text)


def _status(body: bytes) -> Mapping[str, Any]:
    """The Status of a response; a proxy may have sent any other text."""
    try:
        parsed = json.loads(body)
    except (ValueError, RecursionError):
        return {"message": body[:200].decode(errors="replace").strip()}
    return parsed if isinstance(parsed, dict) else {}


def _absent(call: Call, status: Mapping[str, Any], message: str) -> Exception:
    """Conflict if the response is about this object. TransientError if it is about its namespace or another object: a
    proxy or an admission webhook may report that something else does not exist. Otherwise NotServed, which the
    discovery must confirm.
    """
    details = _details(status)
    namespace, name = call.key
    of, named = details.get("kind"), details.get("name")
    if of == "namespaces" and call.kind.plural != "namespaces" and named == namespace:
        return TransientError(f"{call}: namespace {namespace} does not exist")
    if name and (of, named, details.get("group") or "") == (call.kind.plural, name, call.kind.group):
        return Conflict(f"{call}: the object does not exist", call.kind, call.key)
    if named:
        return TransientError(f"{call}: {of} {named} does not exist: {message}")
    text = f"{call}: the API does not serve {call.kind.plural} of {call.kind.api_version}: {message}"
    return NotServed(text, call.kind.group)


def _details(status: Mapping[str, Any]) -> dict[str, Any]:
    """Of a Status, which may come from a proxy in any form."""
    details = status.get("details")
    return details if isinstance(details, dict) else {}


def _cause_list(status: Mapping[str, Any]) -> list[dict[str, Any]]:
    causes = _details(status).get("causes")
    return [cause for cause in causes if isinstance(cause, dict)] if isinstance(causes, list) else []


def _forbidden(call: Call, status: Mapping[str, Any], message: str) -> Exception:
    causes = _cause_list(status)
    if any(cause.get("reason") == "NamespaceTerminating" for cause in causes):
        return TransientError(f"{call}: its namespace is being deleted")
    found = _RBAC.search(message)
    if found is None:
        return TerminalError(f"{call}: {message}")
    group = found["group"] or "core"
    missing = f"{found['verb']} {found['resource']} of the API group {group}{found['where']}"
    account = (found["user"] or "this user").removeprefix("system:serviceaccount:")
    return MissingRight(f"{call}: {account} lacks the RBAC permission to {missing}")


def _causes(status: Mapping[str, Any], message: str) -> str:
    """All causes as `field: message`, or the message without causes; sorted, as the API's order varies."""
    causes = _cause_list(status)
    lines = [f"{cause['field']}: {cause['message']}" for cause in causes if cause.get("field") and cause.get("message")]
    return "; ".join(sorted({" ".join(_unquoted(line).split()) for line in lines or [message]}))


def _unquoted(line: str) -> str:
    """The line without the text from the first start to the last end of a quoted object; linear, as it may be long."""
    before, begin, rest = line.partition(_QUOTED[0])
    _, end, after = rest.rpartition(_QUOTED[1])
    return before + after if begin and end else line
