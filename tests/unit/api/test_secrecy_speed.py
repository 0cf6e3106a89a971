"""Any text, also one that was made to be slow, is searched for secrets in time proportional to its length."""

from __future__ import annotations

import time

import pytest

from stackwright.api.secrecy import hidden

MIB = 1 << 20
MOST_RATIO = 10
LEAST_SECONDS = 0.02  # shorter times vary by more than the ratio
HOSTILE = [
    *(
        each * 100_000
        for each in ("://", "password", 'password="', "password =", "password=\\'", "\\", "--", "\n- ", "a: ")
    ),
    *(f"password{each * 200_000}" for each in (" ", "a", '"', "\\", "='\\", "=,a", "='\\\\\\\"", ": bearer ")),
    *(
        f"{each * 20_000}password='x"
        for each in ("-----BEGIN PRIVATE KEY-----", "identified by ", "bearer a", "export ")
    ),
    *(" " * 200_000 + each for each in ("", "password", "password=")),
    "\n".join([" " * 200 + "a" * 200] * 2000),
    *(
        each * (MIB // 4 // len(each))
        for each in (
            *(" ", "\t", "-", "=", "a", "|", "\n", "\r\n", "\\", "\\n", "\\\\n", "%3D", ".", "$", "$6$", "$6$a"),
            *("eyJ.", "eyJ", "eyJabcdefghij", "eyJabcdefghij.", "\\neyJabcdefghijk", "gAAAA", "gAAAA ", "AKIA", "AQ"),
            *("LS0tLS1CRUdJTi", "-----BEGIN ", "-----BEGIN PRIVATE KEY", "aB1", "aB1" * 14 + "=", "sig=", "://", "a@"),
            *("cookie", "cookie:", "cookie: ", 'cookie: "', "cookie='", 'cookie=a="', "cookie=\\'", "Set-Cookie: a\n"),
            *("pw", "pw=", "pw:", "password: |", "password: |\n", "password: |\n ", "password: |#", "password: > \\n"),
            *("--token", "--token ", '"--token", ', '"-p", ', "'-p',", '"-p",  "', '"-p",\n', "- --token\n- ", "- - "),
            *(
                "mysql ",
                "mysql -",
                "mysql -u a -",
                "curl -u ",
                "curl -u a",
                "password is ",
                "A_",
                "A_PASSWORD ",
                "bindpw",
            ),
            *("- -p\n", "- -p\\n", "passwords:\n- a\n", "tokens: [\n", "passwords:\n", "tokens:\n  - a: b\n"),
        )
    ),
    *(each * (MIB // len(each)) for each in (" ", "-", "eyJ.", "eyJabcdefghij.", "password: |\n", "cookie: a=' ")),
    "".join(f"{' ' * indent}password: |\n" for indent in range(1400)),
    "".join(f"{' ' * indent}password: |\n" for indent in range(1400, 0, -1)),
]


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_every_text_is_processed_fast_and_in_time_proportional_to_its_length(text: str) -> None:
    """A quarter, which has both ends of the text, needs a quarter of the time; a sixteenth if the time is quadratic."""
    eighth = len(text) // 8
    quarter, whole = seconds(text[:eighth] + text[-eighth:]), seconds(text)
    assert whole < 10
    assert whole < MOST_RATIO * max(quarter, LEAST_SECONDS)


def seconds(text: str) -> float:
    """Of the processor."""
    began = time.process_time()
    hidden(text)
    return time.process_time() - began
