"""Prefixes: what is accepted, and what a refusal says."""

import pytest

from stackwright.adapters.registry.reference import is_digest, prefix


@pytest.mark.parametrize(
    ("text", "host", "path"),
    [
        ("registry.example.org/stackwright", "registry.example.org", "stackwright"),
        ("registry.example.org/a/b-c/", "registry.example.org", "a/b-c"),
        ("localhost/x", "localhost", "x"),
        ("localhost:5000/x", "localhost:5000", "x"),
        ("10.0.0.1:5000", "10.0.0.1:5000", ""),
        ("[fd00::1]:5000/x", "[fd00::1]:5000", "x"),
        ("Registry.Example.org/x", "registry.example.org", "x"),
    ],
)
def test_a_prefix_has_a_host_and_a_path(text: str, host: str, path: str) -> None:
    found = prefix(text)
    assert (found.host, found.path) == (host, path)
    assert found.reference("nova:1") == "/".join(part for part in (host, path, "nova:1") if part)


def test_docker_hub_has_another_host_for_its_api() -> None:
    assert prefix("docker.io/user").api_host == "registry-1.docker.io"
    for host in ("index.docker.io", "registry-1.docker.io"):
        assert prefix(f"{host}/user") == prefix("docker.io/user")


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("https://registry.example.org/x", "leave out the scheme"),
        ("stackwright", "begin with the host"),
        ("", "begin with the host"),
        ("user:password@registry.example.org/x", "begin with the host"),
        ("../x.y", "begin with the host"),
        ("1.2.3.999/x", "a host or port that is not valid"),
        ("[::1::2]/x", "a host or port that is not valid"),
        ("registry.example.org:0/x", "a host or port that is not valid"),
        ("registry.example.org:99999/x", "a host or port that is not valid"),
        ("registry.example.org/x:1", "no tag or digest"),
        ("registry.example.org/x@sha256:0", "no tag or digest"),
        ("registry.example.org/Nova", "lower-case letters"),
        ("registry.example.org/../x", "lower-case letters"),
        ("registry.example.org/a//b", "lower-case letters"),
        ("registry.example.org/a b", "lower-case letters"),
        ("registry.example.org/" + "a" * 250, "too long"),
    ],
)
def test_what_is_no_prefix_is_refused_with_the_reason(text: str, part: str) -> None:
    with pytest.raises(ValueError, match=part):
        prefix(text)


def test_only_complete_digests_are_digests() -> None:
    assert is_digest("sha256:" + "0" * 64)
    wrong = ("sha256:0", "sha512:" + "0" * 64, "sha256:" + "A" * 64, "sha256:" + "0" * 64 + "\n")
    assert not any(map(is_digest, wrong))
