"""Names of Kubernetes objects and keys of Secrets: one definition for CRDs, validators and the API client.

A name becomes a segment of a URL path. Fields with names use the types of this module, so that the API server, the
admission webhook and `plan` reject invalid names; the API client checks again before each request.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Annotated, Any

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic_core import CoreSchema, core_schema

# Regular expressions of the API server do not support \u2028; admission rejects these characters.
_ESCAPED = re.compile(r"\\u[0-9a-f]{4}")


@dataclass(frozen=True)
class Format:
    """The format of a text field: adds pattern and length to the schema, and its own message to validation.

    pattern   pattern of the whole text
    longest   maximum number of characters; None for no limit
    problem   error message
    optional  whether the empty text is allowed too; it means a default
    """

    pattern: str
    longest: int | None
    problem: str
    optional: bool = False

    def matches(self, text: str) -> bool:
        if not text and self.optional:
            return True
        fits = self.longest is None or len(text) <= self.longest
        return fits and re.fullmatch(self.pattern, text) is not None

    @property
    def schema(self) -> str:
        """The pattern in the syntax of the API server."""
        return _ESCAPED.sub("", f"^({self.pattern})?$" if self.optional else f"^{self.pattern}$")

    @property
    def message(self) -> str:
        return self.problem if self.longest is None else f"{self.problem}, at most {self.longest} characters"

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_after_validator_function(self._checked, handler(source))

    def __get_pydantic_json_schema__(self, core: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        limit = {} if self.longest is None else {"maxLength": self.longest}
        return {**handler(core), **limit, "pattern": self.schema}

    def _checked(self, text: str) -> str:
        if not self.matches(text):
            raise ValueError(self.message)
        return text


@dataclass(frozen=True)
class Account:
    """The name of an account or database of a provider.

    reserved  names of the provider's own accounts and databases, which are not allowed
    fixed     the field cannot change, because the account with the old name would be left behind
    colons    whether they are allowed, as in key-manager:service-admin
    """

    reserved: tuple[str, ...] = ()
    fixed: bool = True
    colons: bool = False

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_after_validator_function(self._checked, handler(source))

    def __get_pydantic_json_schema__(self, core: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        rules = [FIXED_RULE] if self.fixed else []
        if self.reserved:
            rules.append({"rule": f"!(self.lowerAscii() in {list(self.reserved)})", "message": self._problem})
        limits = {"maxLength": ACCOUNT_LENGTH, "pattern": self._pattern}
        return {**limits, **handler(core), "x-kubernetes-validations": rules}

    @property
    def _pattern(self) -> str:
        return ACCOUNT.replace("_-", "_:-") if self.colons else ACCOUNT

    @property
    def _problem(self) -> str:
        return f"must not be a name that the provider reserves: {', '.join(self.reserved)}"

    def _checked(self, text: str) -> str:
        if not re.fullmatch(self._pattern.strip("^$"), text):
            more = ", '-', '_' and ':'" if self.colons else ", '-' and '_'"
            raise ValueError(f"must be at most 32 letters, digits{more}, beginning with a letter")
        if text.lower() in self.reserved:
            raise ValueError(self._problem)
        return text


# Characters that SQL and AMQP identifiers allow without quoting; 32 is MariaDB's limit for portable user names.
ACCOUNT_LENGTH = 32
ACCOUNT = r"^[a-zA-Z][a-zA-Z0-9_-]{0,31}$"
FIXED_RULE = {"rule": "self == oldSelf", "message": "cannot change; create another object"}
_DASHED = "must be lower-case letters, digits and '-', with a letter or digit at both ends"
_DOTTED = "must be lower-case letters, digits, '-' and '.', with a letter or digit at both ends of each part"
NAMESPACE = Format("[a-z0-9]([-a-z0-9]*[a-z0-9])?", 63, _DASHED)
# Equivalent to the usual pattern but shorter, because CRDs repeat it often.
OBJECT = Format(r"[a-z0-9]+((-+|\.)[a-z0-9]+)*", 253, _DOTTED)
SECRET_KEY = Format("[-._a-zA-Z0-9]+", 253, "must be letters, digits, '-', '_' and '.'")

GROUP = OBJECT  # group of an API
RESOURCE = NAMESPACE  # version of an API, or plural of a kind

ObjectName = Annotated[str, OBJECT]
OptionalObjectName = Annotated[str, replace(OBJECT, optional=True)]
# Name of an object that is also the name of a Service, and therefore part of a host name.
InstanceName = Annotated[str, NAMESPACE]
NamespaceName = Annotated[str, NAMESPACE]
OptionalNamespaceName = Annotated[str, replace(NAMESPACE, optional=True)]
SecretKeyName = Annotated[str, SECRET_KEY]
