"""What may be secret: by the name of a field, or inside a text. One rule for errors, logs, plans and reports. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

HIDDEN = "***"
# What is below a field with such a name may be secret too.
_WORDS = re.compile(
    r"pass(?!ive|thr|ed|es|ing)(word|wd|phrase)?|secret|token|credentials?$|cookies?$|user_?data|(^|[_.-])pwd?$"
    r"|transport_url|connection$|(^|[_.-])(api_?|private_?|access_?)?keys?(?![a-z])|(?-i:[a-z])(?-i:Keys?|Pwd?)(?![a-z])",
    re.IGNORECASE,
)
_TEXTS = re.compile(r"cert|(^|[_.-])pem|config|conf$", re.IGNORECASE)  # may have one somewhere in them
# Names of Secrets and keys in them are no secrets, and explain much.
REFERENCE = re.compile(r"(Name|Ref|_name|_ref|_type|Class)$|^(secret|key|config|conf|configMap)$")
# Fields of our kinds, of HelmBundles and of charts, whose content has any names.
FREE_FORM = ("services", "values", "releases", "settings", "conf", "overrides", "common")
# Sections of configuration files, in such fields: what is in them is judged by its own name.
_SECTIONS = ("token", "fernet_tokens", "credential", "keystone_authtoken")
_NAMES_ONE = re.compile(r"(Name|Ref|_name|_ref|_type|Class)$")
_URL = re.compile(r"(://)[^\s/?#]*@")  # up to the last @: passwords may have one, and each of several hosts its own
_PRIVATE = re.compile(
    r"-----BEGIN[A-Z ]{0,40}PRIVATE KEY(?: BLOCK)?-----.*?(?:-----END[A-Z ]{0,40}PRIVATE KEY(?: BLOCK)?-----|\Z)",
    re.DOTALL,
)
# Everything below takes time linear in the text: what repeats is bounded, or never given back (++, *+, (?>…)).
_WORD = (
    r"(?:pass(?:word|wd|phrase)|(?<![a-z])pass(?![a-z])|(?-i:(?<=[a-z])P(?:ass|w))(?![a-z])|(?<![a-z])pwd"
    r"|(?<![a-z\d])pw(?![a-z])|secret|token|authorization"
    r"|(?:api|private|access|auth|encryption|fernet|session|shared|signing|master|service)[_-]?key)"
)
# With any number of backslashes before its quotes, as in JSON in JSON. What has no end is hidden up to the line's.
_QUOTED = (
    r"(?:b(?=\\{0,9}[\"']))?"  # of bytes in Python
    r"(?:(?P<quote>\\{0,9}[\"'])(?:[^\\\"'\n]|\\++(?![\"'])|(?!(?P=quote))\\*+[\"'])*+(?P=quote)|\\{0,9}[\"'][^\n]*+)"
)
_BARE = r"(?:(?:basic|bearer|digest|negotiate)[ \t]+)?(?:[^\s,;&\"'\\]|[,;&\"'\\](?=\w)(?![\w.-]{0,40}=))++"
# What an error says of a field comes after its name, as a value does.
_SENTENCE = (
    r"(?:an?|and|are|at|by|can|cannot|choose|does|for|from|give|has|have|http|in|is|its?|may|must|needs?|no|not|of|on|only"
    r"|or|remove|reserved|set|should|takes?|that|the|there|this|to|unknown|use|waits?|was|were|what|why|with"
    r"|without|write)\b[ ,;]"
)
# Between a name and its value: = or =>, or a : that no sentence follows, or either after a quote; in URLs, too.
_BETWEEN = (
    rf"(?>[ \t]{{0,9}}(?:=>?|%3D)[ \t]{{0,9}}|:(?![:/])[ \t]{{0,9}}+(?!{_SENTENCE})"
    rf"|\\{{0,9}}[\"'][ \t]{{0,9}}(?::|=>?)[ \t]{{0,9}}|%3A(?!%3A|%2F)|%2[27](?:%20|\+){{0,9}}%3[AD](?:%20|\+){{0,9}})"
)
_PAIR = re.compile(
    # The name, at the beginning of a line or anywhere,
    rf"(?P<all>(?:(?P<line>(?:^|(?<=\\n))[ \t]{{0,99}}+(?:export[ \t]+|-[ \t]+)?[\w.-]{{0,60}}?))?"
    rf"(?P<name>{_WORD}\w{{0,40}}+)"
    rf"{_BETWEEN})"
    # and the value, if it is one, and is not hidden: the rest of the line where the name begins it.
    r"(?!(?:true|false|yes|no|null|none)[ \t]{0,9}(?:$|[,;)}\]])|\*{3}[ \t\r]{0,9}(?:$|\\))"
    rf"(?:{_QUOTED}|(?(line)[^\n]++|{_BARE}))",
    re.IGNORECASE | re.MULTILINE,
)
_OPTION = re.compile(
    rf"((?<![\w-])--[\w-]{{0,40}}?{_WORD}[\w-]{{0,40}}+[ \t]{{1,9}}+)(?!-)(?:{_QUOTED}|\S++)", re.IGNORECASE
)
_SPOKEN = re.compile(
    rf"(\bidentified\s{{1,9}}by\s{{1,9}}(?:password\s{{1,9}})?(?=[\"'\\])"
    r"|\bbearer[ \t]+(?=[\w.~+/=-]{20})|(?<![a-z])sig(?:nature)?=(?=[\w.~+/=%-]{20}))"
    rf"(?:{_QUOTED}|[\w.~+/=%-]++)",
    re.IGNORECASE,
)
# Up to the end of the line, or of the text in quotes that it is in. Numbers are cookies of flows in Open vSwitch.
_COOKIE = re.compile(
    rf"(<cookie[ \t]|cookies?{_BETWEEN})(?!0x|\d++(?!\w)|(?:true|false|none|null)\b)"
    rf"(?:{_QUOTED}|[{{[(][^\n]*+|(?:[^\n\"'\\]|(?<==)\\{{0,9}}[\"'][^\"'\n]*+[\"'])++)",
    re.IGNORECASE,
)
# What nothing names, by what it looks like.
_LOOKS = re.compile(
    r"(?:(?<![\w-])|(?<=\\[nrt])|(?<=%[\dA-Fa-f]{2}))(?:"
    r"eyJ[\w-]{10,}+(?:\.[\w-]*+){2,4}"  # JSON Web Tokens
    r"|gAAAA[\w-]{20,}+={0,2}"  # Fernet: tokens, and keys
    r"|(?=[\w-]{0,42}[a-z])(?=[\w-]{0,42}[A-Z])(?=[\w-]{0,42}\d)[\w-]{43}=(?![\w=])"
    r"|LS0tLS1CRUdJTi(?!BDRVJU|BQVUJMSUM)[\w+/]{20,}+={0,2}"  # PEM in base64 that is no certificate or public key
    r"|AQ[\w+/]{36}==|(?:AKIA|ASIA)[A-Z\d]{16}(?![\w-]))"  # Ceph and S3
    r"|(?<![\w$])\$(?:\d[a-z]?|g?y|scrypt|argon2[a-z]{0,2}|pbkdf2[a-z\d-]{0,20})\$[^\s\"':,]{20,}+"  # crypt
)
# The head of a value of several lines in YAML, and the ends of such lines, in JSON too.
_BLOCK = re.compile(
    rf"(?P<name>(?:{_WORD}|cookie)\w{{0,40}}+)\\{{0,9}}[\"']?[ \t]{{0,9}}:[ \t]{{1,9}}"
    r"(?P<style>[|>][-+\d]{0,2}[ \t]{0,9}(?:[ \t]#.*)?|[\"'][^\"']*+)\Z",
    re.IGNORECASE,
)
_ENDS = re.compile(r"(\r?\n|(?<!\\)(?:\\{1,9}r)?\\{1,9}n)")


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


def is_free(names: Iterable[str], free: bool = False) -> bool:
    """Whether a field below these takes values of any name; not in what refers to a key of a Secret."""
    for name in names:
        free = (free or name in FREE_FORM) and not name.endswith("Ref")
    return free


def told(value: Any, shown: str) -> str:
    return shown


def blanked(
    value: Any, name: str = "", within: bool = False, free: bool = False, hide: Callable[[Any, str], Any] = told
) -> Any:
    """A copy without what may be secret.

    name    of the field that it is the value of
    within  below a field whose name says that all of it may be secret
    free    below a field that takes values of any name
    hide    called with what may be secret or have a secret in it, and with what may be told of it
    """
    within = within or (leads_to_secrets(name) and not (free and name in _SECTIONS and isinstance(value, Mapping)))
    free = is_free([name], free)
    if isinstance(value, Mapping):
        # A variable, or metadata: whether its value is secret, another field says.
        is_secret = any(is_value(str(value.get(each) or ""), False) for each in ("name", "key"))
        return {
            key: hide(item, HIDDEN) if is_secret and key == "value" else blanked(item, str(key), within, free, hide)
            for key, item in value.items()
        }
    if isinstance(value, list):
        return [blanked(item, name, within, free, hide) for item in value]
    if value is None or value == "" or isinstance(value, bool):
        return value
    if not isinstance(value, str):  # a password may be a number; one in a `config` is none
        return hide(value, HIDDEN) if within else value
    shown = HIDDEN if within or is_value(name, free) or "PRIVATE KEY" in value else hidden(value)
    return value if shown == value else hide(value, shown)


def hidden(text: str) -> str:
    """A text without credentials in URLs, private keys and values: `password = …`, `X-Auth-Token: …`, `--password …`.

    Tokens and keys whose form is known are hidden without a name, too.
    Names of Secrets stay, and so does what an error says of a field. What is hidden may be more than the value.
    """
    text = _without_blocks(_PRIVATE.sub(HIDDEN, _URL.sub(rf"\1{HIDDEN}@", text)))
    text = _COOKIE.sub(rf"\1{HIDDEN}", text)
    text = _PAIR.sub(lambda found: found[0] if _NAMES_ONE.search(found["name"]) else found["all"] + HIDDEN, text)
    return _LOOKS.sub(HIDDEN, _SPOKEN.sub(rf"\1{HIDDEN}", _OPTION.sub(rf"\1{HIDDEN}", text)))


def _without_blocks(text: str) -> str:
    """Without the lines that stand deeper below `password: |`, or below a quote that does not end in its line."""
    if not re.search(r":[ \t]{1,9}[|>\"']", text):
        return text
    kept = list[str]()
    column = None  # where the line begins whose value is left out
    parts = ["", *_ENDS.split(text)]
    for end, line in zip(parts[::2], parts[1::2], strict=True):
        begin = len(line) - len(line.lstrip(" \t+-"))  # also in lists, and in what diff writes
        if column is not None and (begin > column or begin == len(line)):
            continue
        column = None
        found = _BLOCK.search(line)
        if found and not _NAMES_ONE.search(found["name"]):
            column, line = begin, line[: found.start("style")] + HIDDEN
        kept += [end, line]
    return "".join(kept)
