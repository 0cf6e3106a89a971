"""Parser of the header WWW-Authenticate: the log-in method of a registry."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

_SCHEME = re.compile(r"(?:^|,)[ \t]{0,9}(Basic|Bearer)(?=[ \t,]|$)", re.IGNORECASE)
_PARAMETER = re.compile(r'([a-z_]{1,40})[ \t]{0,9}=[ \t]{0,9}(?:"([^"]{0,2000})"|([^\s",]{1,2000}))', re.IGNORECASE)


@dataclass(frozen=True)
class Challenge:
    """scheme   `basic` or `bearer`
    realm    address of the server that issues tokens
    service  name of the registry for that server
    """

    scheme: str
    realm: str
    service: str


def parse(headers: Iterable[str]) -> Challenge | None:
    """Return the first challenge that is supported."""
    for header in headers:
        for found in _SCHEME.finditer(header):
            scheme = found[1].lower()
            following = _SCHEME.search(header, found.end())
            text = header[found.end() : following.start() if following else len(header)]
            given = {name.lower(): quoted or bare for name, quoted, bare in _PARAMETER.findall(text)}
            if scheme == "basic" or given.get("realm"):
                return Challenge(scheme, given.get("realm", ""), given.get("service", ""))
    return None
