"""Finds possible secrets, by field name or inside a text: one rule for errors, logs, plans and reports. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

HIDDEN = "***"
# Fields with such names may contain secrets, at any depth.
_WORDS = re.compile(
    r"pass(?!ive|thr|ed|es|ing)(word|wd|phrase)?|secret|token|credentials?$|cookies?$|user_?data|(^|[_.-])pwd?$"
    r"|transport_url|connection$|(^|[_.-])psk$|(root|bind|admin)pw$|sst_auth$"
    r"|(^|[_.-])(api_?|private_?|access_?)?keys?(?![a-z])|(?-i:[a-z])(?-i:Keys?|Pwd?)(?![a-z])",
    re.IGNORECASE,
)
_TEXTS = re.compile(r"cert|(^|[_.-])pem|config|conf$", re.IGNORECASE)  # their text may contain a secret
# Names of Secrets and of keys in them are not secret, and help to explain errors.
REFERENCE = re.compile(r"(Name|Ref|_name|_ref|_type|Class)$|^(secret|key|config|conf|configMap)$")
# Fields of our kinds, of HelmBundles and of charts, whose content may have any field names.
FREE_FORM = ("services", "values", "releases", "settings", "conf", "overrides", "common")
# Sections of configuration files in such fields: the name of each option in them decides.
_SECTIONS = ("token", "fernet_tokens", "credential", "keystone_authtoken")
_NAMES_ONE = re.compile(r"(Name|Ref|_name|_ref|_type|Class)$")
# Names and texts that almost always belong to secrets, for warnings.
_LITERAL = re.compile(
    r"(password|passwd|passphrase|token|(shared|client)_?secret|(secret|api|private|access|encryption)_?key)$",
    re.IGNORECASE,
)
_LOGIN = re.compile(r"://[^\s/?#:@]*+:[^\s/?#@]++@")
_URL = re.compile(r"(://)[^\s/?#]*@")  # up to the last @: passwords may contain @, and a URL several hosts
_PRIVATE = re.compile(
    r"-----BEGIN[A-Z ]{0,40}PRIVATE KEY(?: BLOCK)?-----.*?(?:-----END[A-Z ]{0,40}PRIVATE KEY(?: BLOCK)?-----|\Z)",
    re.DOTALL,
)
# All patterns below run in linear time: repetitions are bounded or possessive (++, *+, (?>…)).
_WORD = (
    r"(?:pass(?:word|wd|phrase)|(?<![a-z])pass(?![a-z])|(?-i:(?<=[a-z])P(?:ass|w))(?![a-z])|(?<![a-z])pwd"
    r"|(?<![a-z\d])pw(?![a-z])|(?:root|bind|admin)pw(?![a-z])|(?<![a-z])psk(?![a-z])|secret|token|authorization"
    r"|user[_-]?data"
    r"|(?:api|private|access|auth|encryption|fernet|session|shared|signing|master|service|hmac)[_-]?key)"
)
# Quotes may have backslashes, as in JSON inside JSON. A text without a closing quote is masked to the line's end.
_QUOTED = (
    r"(?:b(?=\\{0,9}[\"']))?"  # prefix of bytes in Python
    r"(?:(?P<quote>\\{0,9}[\"'])(?:[^\\\"'\n]|\\++(?![\"'])|(?!(?P=quote))\\*+[\"'])*+(?P=quote)|\\{0,9}[\"'][^\n]*+)"
)
_BARE = r"(?:(?:basic|bearer|digest|negotiate)[ \t]+)?(?:[^\s,;&\"'\\]|[,;&\"'\\](?=\w)(?![\w.-]{0,40}=))++"
# Words with which an error message continues after a field name, in place of a value.
_SENTENCE = (
    r"(?:an?|and|are|at|by|can|cannot|choose|does|for|from|give|has|have|http|in|is|its?|may|must|needs?|no|not|of|on|only"
    r"|or|remove|reserved|set|should|takes?|that|the|there|this|to|unknown|use|waits?|was|were|what|why|with"
    r"|without|write)\b[ ,;]"
)
# Separator of name and value: = or =>, a : not followed by a sentence, or either after a quote; also URL-encoded.
_BETWEEN = (
    rf"(?>[ \t]{{0,9}}(?:=>?|%3D)[ \t]{{0,9}}|:(?![:/])[ \t]{{0,9}}+(?!{_SENTENCE})"
    rf"|\\{{0,9}}[\"'][ \t]{{0,9}}(?::|=>?)[ \t]{{0,9}}|%3A(?!%3A|%2F)|%2[27](?:%20|\+){{0,9}}%3[AD](?:%20|\+){{0,9}})"
)
_PAIR = re.compile(
    # The name, at the beginning of a line or elsewhere,
    rf"(?P<all>(?:(?P<line>(?:^|(?<=\\n))[ \t]{{0,99}}+(?:export[ \t]+|-[ \t]+)?[\w.-]{{0,60}}?))?"
    rf"(?P<name>{_WORD}\w{{0,40}}+)"
    rf"{_BETWEEN})"
    # and the value, unless it is a constant or already masked: the rest of the line if the name begins the line.
    r"(?!(?:true|false|yes|no|null|none)[ \t]{0,9}(?:$|[,;)}\]])|\*{3}[ \t\r]{0,9}(?:$|\\))"
    rf"(?:{_QUOTED}|(?(line)[^\n]++|{_BARE}))",
    re.IGNORECASE | re.MULTILINE,
)
_NAMED = rf"--[\w-]{{0,40}}?{_WORD}[\w-]{{0,40}}+"
_END = r"(?:\r?\n|(?<!\\)(?:\\{1,9}r)?\\{1,9}n)"  # end of a line, also an escaped one in JSON
# The value is the next item of a list, of JSON or Python, or of YAML with an item in each line, also in a diff.
_NEXT = rf"\\{{0,9}}[\"'],(?:[ \t]{{0,9}}+{_END}[ \t+-]{{0,99}}+)?[ \t]{{0,9}}+(?=\\{{0,9}}[\"'](?!--))"
_OPTION = re.compile(
    rf"((?<![\w-]){_NAMED}(?:[ \t]{{1,9}}+(?!-)|{_NEXT})|(?<=[\"'])-p{_NEXT})(?:{_QUOTED}|\S++)", re.IGNORECASE
)
_ITEM = r"[ \t+]{0,99}+(?:-[ \t]{1,99}+){1,9}+"
_ITEMS = re.compile(
    rf"((?:^|(?<=\\n)){_ITEM}[\"']?(?:{_NAMED}|-p)[\"']?[ \t]{{0,9}}+{_END}{_ITEM})"
    r"(?![\"']?--)(?:(?!\\{1,9}n)[^\n])++",
    re.IGNORECASE | re.MULTILINE,
)
_BEFORE = re.compile(rf"{_NAMED}|-p", re.IGNORECASE)
_SPOKEN = re.compile(
    rf"(\bidentified\s{{1,9}}by\s{{1,9}}(?:password\s{{1,9}})?(?=[\"'\\])"
    r"|\bidentified\s{1,9}via\s{1,9}\w{1,40}+\s{1,9}(?:using|as)\s{1,9}(?:password\s{0,9}\(\s{0,9})?(?=[\"'\\])"
    r"|\bbearer[ \t]+(?=[\w.~+/=-]{20})|(?<![a-z])sig(?:nature)?=(?=[\w.~+/=%-]{20}))"
    rf"(?:{_QUOTED}|[\w.~+/=%-]++)",
    re.IGNORECASE,
)
# Values after a blank: of a phrase if it has letters and digits, of names in capitals, and of options of two commands.
_BLANK = r"[ \t]{1,9}+"
_SAID = re.compile(
    rf"(\bpass(?:word|phrase){_BLANK}is{_BLANK}(?=[\"']|(?=\S{{0,99}}\d)(?=\S{{0,99}}[a-z])\S{{6}})"
    rf"|\b(?:(?:root|bind)pw|(?-i:[A-Z][A-Z_]{{0,40}}_(?:PASSWORD|TOKEN|SECRET))){_BLANK}(?!{_SENTENCE}|[=:*])"
    rf"|\b(?-i:(?:mysql|mariadb)(?:-?(?:dump|admin))?(?:{_BLANK}\S++){{0,9}}?{_BLANK}-p(?=[^\s-]))"
    rf"|\b(?-i:curl(?:{_BLANK}\S++){{0,19}}?{_BLANK}(?:-u|--user)[ \t=]{{0,9}}[\"']?[^\s:\"']{{1,99}}:))"
    rf"(?:{_QUOTED}|\S++)",
    re.IGNORECASE,
)
# Up to the end of the line or of the enclosing quotes. Numbers are not masked: Open vSwitch flows have numeric cookies.
_COOKIE = re.compile(
    rf"(<cookie[ \t]|cookies?{_BETWEEN})(?!0x|\d++(?!\w)|(?:true|false|none|null)\b)"
    rf"(?:{_QUOTED}|[{{[(][^\n]*+|(?:[^\n\"'\\]|(?<==)\\{{0,9}}[\"'][^\"'\n]*+[\"'])++)",
    re.IGNORECASE,
)
# Secrets without a name, recognized by their form.
_LOOKS = re.compile(
    r"(?:(?<![\w-])|(?<=\\[nrt])|(?<=%[\dA-Fa-f]{2}))(?:"
    r"eyJ[\w-]{10,}+(?:\.[\w-]*+){2,4}"  # JSON Web Tokens
    r"|gAAAA[\w-]{20,}+={0,2}"  # Fernet tokens; the next line: Fernet keys
    r"|(?=[\w-]{0,42}[a-z])(?=[\w-]{0,42}[A-Z])(?=[\w-]{0,42}\d)[\w-]{43}=(?![\w=])"
    r"|LS0tLS1CRUdJTi(?!BDRVJU|BQVUJMSUM)[\w+/]{20,}+={0,2}"  # PEM in base64, except certificates and public keys
    r"|AQ[\w+/]{36}==|(?:AKIA|ASIA)[A-Z\d]{16}(?![\w-]))"  # Ceph and S3
    r"|(?<![\w$])\$(?:\d[a-z]?|g?y|scrypt|argon2[a-z]{0,2}|pbkdf2[a-z\d-]{0,20})\$[^\s\"':,]{20,}+"  # crypt
)
# The first line of a multi-line value in YAML, or of a list with an item in each line.
_BLOCK = re.compile(
    rf"(?P<name>(?:{_WORD}|cookie)\w{{0,40}}+)\\{{0,9}}[\"']?[ \t]{{0,9}}:"
    r"(?:[ \t]{1,9}(?P<style>[|>][-+\d]{0,2}[ \t]{0,9}(?:[ \t]#.*)?|[\"'][^\"']*+)|[ \t]{0,9}\[?[ \t]{0,9})\Z",
    re.IGNORECASE,
)
_MAY_BE_BLOCK = re.compile(rf":(?:[ \t]{{1,9}}[|>\"']|[ \t]{{0,9}}\[?[ \t]{{0,9}}(?:{_END}|\Z))")  # a quick check
_PLAIN = re.compile(r"(?!.*:(?:[ \t]|\Z))[^\s{}\[\]].*", re.DOTALL)  # an item of a list that is a text
_ENDS = re.compile(f"({_END})")


def holds_secret(name: str) -> bool:
    """Whether the value of a field with this name may be a secret or contain one."""
    return bool(_WORDS.search(name) or _TEXTS.search(name))


def is_value(name: str, free: bool) -> bool:
    """Whether a text in a field with this name may be a secret itself, rather than the name of a Secret or key.

    free  for free-form values, such as those of charts, where `secret` and `key` are not references
    """
    return holds_secret(name) and (not REFERENCE.search(name) or (free and name in ("secret", "key")))


def is_plain_secret(name: str, value: Any) -> bool:
    """Whether a field with this name contains a secret as plain text. Matches fewer names than `is_value`, no paths."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return name.casefold().endswith("password")
    if not isinstance(value, str) or not value:
        return False
    if "PRIVATE KEY-----" in value or _LOGIN.search(value):
        return True
    return bool(_LITERAL.search(name)) and not value.startswith("/")


def leads_to_secrets(name: str) -> bool:
    """Whether fields below a field with this name may contain secrets too."""
    return bool(_WORDS.search(name)) and not REFERENCE.search(name)


def is_free(names: Iterable[str], free: bool = False) -> bool:
    """Whether a field below these takes values with any names, except in references to a key of a Secret."""
    for name in names:
        free = (free or name in FREE_FORM) and not name.endswith("Ref")
    return free


def masked_text(value: Any, shown: str) -> str:
    return shown


def blanked(
    value: Any, name: str = "", within: bool = False, free: bool = False, hide: Callable[[Any, str], Any] = masked_text
) -> Any:
    """A copy without possible secrets.

    name    name of the field with this value
    within  whether it is below a field whose name marks all of its content as possibly secret
    free    whether it is below a field that accepts values with any names
    hide    called with a possible secret, or a text that may contain one, and the part that may be shown
    """
    within = within or (leads_to_secrets(name) and not (free and name in _SECTIONS and isinstance(value, Mapping)))
    free = is_free([name], free)
    if isinstance(value, Mapping):
        # An environment variable, or metadata: another field determines whether its value is secret.
        is_secret = any(is_value(str(value.get(each) or ""), False) for each in ("name", "key"))
        return {
            key: hide(item, HIDDEN) if is_secret and key == "value" else blanked(item, str(key), within, free, hide)
            for key, item in value.items()
        }
    if isinstance(value, list):
        return [
            hide(item, HIDDEN) if _is_option(before, item) else blanked(item, name, within, free, hide)
            for before, item in zip([None, *value], value, strict=False)
        ]
    if value is None or value == "" or isinstance(value, bool):
        return value
    if not isinstance(value, str):  # a password may be a number; a number in a `config` is no secret
        return hide(value, HIDDEN) if within else value
    shown = HIDDEN if within or is_value(name, free) or "PRIVATE KEY" in value else hidden(value)
    return value if shown == value else hide(value, shown)


def _is_option(before: Any, value: Any) -> bool:
    """Whether a list item is the value of the option before it, and the option's name may belong to a secret."""
    if not isinstance(before, str) or not _BEFORE.fullmatch(before) or isinstance(value, bool):
        return False
    return isinstance(value, int | float) or (isinstance(value, str) and value != "" and not value.startswith("--"))


def hidden(text: str) -> str:
    """A text with masked credentials: in URLs, private keys, `password = …`, `X-Auth-Token: …`, `--password …`.

    Tokens and keys of a known form are masked even without a name. Names of Secrets and error messages about fields
    are kept. The masked part may be longer than the secret.
    """
    text = _without_blocks(_PRIVATE.sub(HIDDEN, _URL.sub(rf"\1{HIDDEN}@", text)))
    text = _COOKIE.sub(rf"\1{HIDDEN}", text)
    text = _PAIR.sub(lambda found: found[0] if _NAMES_ONE.search(found["name"]) else found["all"] + HIDDEN, text)
    text = _ITEMS.sub(rf"\1{HIDDEN}", _OPTION.sub(rf"\1{HIDDEN}", text))
    text = _SAID.sub(rf"\1{HIDDEN}", _SPOKEN.sub(rf"\1{HIDDEN}", text))
    return _LOOKS.sub(HIDDEN, text)


def _without_blocks(text: str) -> str:
    """Mask indented lines after `password: |` and after an opening quote that is not closed in its line, and the items
    of lists with such names.
    """
    if not _MAY_BE_BLOCK.search(text):
        return text
    kept = list[str]()
    column = None  # indentation of the line whose value is masked
    items = False  # whether that value is a list
    parts = ["", *_ENDS.split(text)]
    for end, line in zip(parts[::2], parts[1::2], strict=True):
        content = line.lstrip(" \t+-")
        begin = len(line) - len(content)  # indentation, also in lists and in diffs
        if column is not None and (begin > column or begin == len(line)):
            if not items:
                continue
            if _PLAIN.match(content):
                kept += [end, line[:begin] + HIDDEN]
                continue
        column = None
        found = _MAY_BE_BLOCK.search(line) and _BLOCK.search(line)
        if found and not _NAMES_ONE.search(found["name"]):
            column, items = begin, found["style"] is None
            line = line if items else line[: found.start("style")] + HIDDEN
        kept += [end, line]
    return "".join(kept)
