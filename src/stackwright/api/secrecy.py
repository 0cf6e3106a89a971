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
_NAMES_ONE = re.compile(r"(Name|Ref|_name|_ref|_type|Class)$")
_URL = re.compile(r"(://)[^\s/?#]*@")  # up to the last @: passwords may have one, and each of several hosts its own
_PRIVATE = re.compile(
    r"-----BEGIN[A-Z ]{0,40}PRIVATE KEY-----.*?(?:-----END[A-Z ]{0,40}PRIVATE KEY-----|\Z)", re.DOTALL
)
# Everything below takes time linear in the text: what repeats is bounded, or never given back (++, *+, (?>…)).
_WORD = (
    r"(?:pass(?:word|wd|phrase)|(?<![a-z])pass(?![a-z])|(?-i:(?<=[a-z])Pass)(?![a-z])|(?<![a-z])pwd|secret|token|authorization"
    r"|(?:api|private|access|auth|encryption|fernet|session|shared|signing|master|service)[_-]?key)"
)
# With any number of backslashes before its quotes, as in JSON in JSON. What has no end is hidden up to the line's.
_QUOTED = (
    r"(?:(?P<quote>\\{0,9}[\"'])(?:[^\\\"'\n]|\\++(?![\"'])|(?!(?P=quote))\\*+[\"'])*+(?P=quote)|\\{0,9}[\"'][^\n]*+)"
)
_BARE = r"(?:(?:basic|bearer|digest|negotiate)[ \t]+)?(?:[^\s,;&\"'\\]|[,;&\"'\\](?=\w)(?![\w.-]{0,40}=))++"
# What an error says of a field comes after its name, as a value does.
_SENTENCE = (
    r"(?:an?|and|are|at|by|can|cannot|choose|does|for|from|give|has|have|http|in|is|its?|may|must|needs?|no|not|of|on|only"
    r"|or|remove|reserved|set|should|takes?|that|the|there|this|to|unknown|use|waits?|was|were|what|why|with"
    r"|without|write)\b[ ,;]"
)
_PAIR = re.compile(
    # The name, at the beginning of a line or anywhere,
    rf"(?P<all>(?:(?P<line>(?:^|(?<=\\n))[ \t]{{0,99}}+(?:export[ \t]+|-[ \t]+)?[\w.-]{{0,60}}?))?"
    rf"(?P<name>{_WORD}\w{{0,40}}+)"
    # what is between it and its value: = or =>, or a : that no sentence follows, or either after a quote,
    rf"(?>[ \t]{{0,9}}=>?[ \t]{{0,9}}|:(?![:/])[ \t]{{0,9}}+(?!{_SENTENCE})"
    rf"|\\{{0,9}}[\"'][ \t]{{0,9}}(?::|=>?)[ \t]{{0,9}}))"
    # and the value: the rest of the line where the name begins it.
    rf"(?!(?:true|false|yes|no|null|none)[ \t]{{0,9}}(?:$|[,;)}}\]]))(?:{_QUOTED}|(?(line)[^\n]++|{_BARE}))",
    re.IGNORECASE | re.MULTILINE,
)
_OPTION = re.compile(
    rf"((?<![\w-])--[\w-]{{0,40}}?{_WORD}[\w-]{{0,40}}+[ \t]{{1,9}}+)(?!-)(?:{_QUOTED}|\S++)", re.IGNORECASE
)
_SPOKEN = re.compile(
    rf"(\bidentified\s{{1,9}}by\s{{1,9}}(?:password\s{{1,9}})?)(?=[\"'\\])(?:{_QUOTED})"
    r"|(\bbearer[ \t]+)[\w.~+/=-]{20,}+",
    re.IGNORECASE,
)


def holds_secret(name: str) -> bool:
    """Whether the value of a field with this name may be a secret, or have one in it."""
    return bool(_WORDS.search(name) or _TEXTS.search(name))


def is_value(name: str, free: bool) -> bool:
    """Whether a text in a field with this name is itself what the name says, and may be secret.

    free  in values of charts and the like, where `secret` and `key` name no Secret and no key in one
    """
    return holds_secret(name) and (not REFERENCE.search(name) or (free and name in ("secret", "key")))


def leads_to_secrets(name: str) -> bool:
    """Whether what is below a field with this name may be one too."""
    return bool(_WORDS.search(name)) and not REFERENCE.search(name)


def hidden(text: str) -> str:
    """A text without credentials in URLs, private keys and values: `password = …`, `X-Auth-Token: …`, `--password …`.

    Names of Secrets stay, and so does what an error says of a field. What is hidden may be more than the value.
    """
    text = _PRIVATE.sub(HIDDEN, _URL.sub(rf"\1{HIDDEN}@", text))
    text = _PAIR.sub(lambda found: found[0] if _NAMES_ONE.search(found["name"]) else found["all"] + HIDDEN, text)
    return _SPOKEN.sub(lambda found: (found[1] or found[3]) + HIDDEN, _OPTION.sub(rf"\1{HIDDEN}", text))
