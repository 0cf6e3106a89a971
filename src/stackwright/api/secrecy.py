"""What may be secret: by the name of a field, or inside a text. One rule for errors, logs and the report. Pure."""

from __future__ import annotations

import re

HIDDEN = "***"
# What is below a field with such a name may be secret too.
_WORDS = re.compile(
    r"pass(?!ive|thr|ed|es|ing)(word|wd|phrase)?|secret|token|credentials?$|user_?data|(^|_)(pw|pwd)$|transport_url|connection$"
    r"|(^|[_.-])(api_?|private_?|access_?)?keys?(?![a-z])|(?-i:[a-z])(?-i:Key)s?(?![a-z])",
    re.IGNORECASE,
)
_TEXTS = re.compile(r"cert|(^|[_.-])pem|config|conf$", re.IGNORECASE)  # may have one somewhere in them
# Names of Secrets and keys in them are no secrets, and explain much.
REFERENCE = re.compile(r"(Name|Ref|_name|_ref|_type|Class)$|^(secret|key|config|conf|configMap)$")
_URL = re.compile(r"(://)[^\s/?#]*@")  # up to the last @: passwords may have one, and each of several hosts its own
_PAIR = re.compile(
    r"((?:password|passwd|passphrase|secret|token|api_?key)\w{0,40}(?:\s{0,9}=\s{0,9}|[\"']\s{0,9}:\s{0,9}))"
    r"(?:\"[^\"]*\"|'[^']*'|[^\s,;&\"']+)",
    re.IGNORECASE,
)


def holds_secret(name: str) -> bool:
    """Whether the value of a field with this name may be a secret, or have one in it."""
    return bool(_WORDS.search(name) or _TEXTS.search(name))


def leads_to_secrets(name: str) -> bool:
    """Whether what is below a field with this name may be one too."""
    return bool(_WORDS.search(name)) and not REFERENCE.search(name)


def hidden(text: str) -> str:
    """A text without credentials in URLs and without values of `password = …`."""
    return _PAIR.sub(rf"\1{HIDDEN}", _URL.sub(rf"\1{HIDDEN}@", text))
