"""Prefixes and images below them: what is accepted, and what a refusal says."""

import pytest

from stackwright.adapters.registry.reference import Image, is_digest, prefix


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


DIGEST = "sha256:" + "a" * 64


@pytest.mark.parametrize(
    ("title", "name", "tag"),
    [
        ("nova", "nova", "latest"),
        ("nova:1", "nova", "1"),
        ("nova:_A.b-1", "nova", "_A.b-1"),
        ("nova:" + "a" * 128, "nova", "a" * 128),
        (f"a/b-c:1@{DIGEST}", "a/b-c", DIGEST),
    ],
)
def test_an_image_has_a_repository_and_a_tag_or_digest(title: str, name: str, tag: str) -> None:
    assert prefix("registry.test/sw").image(title) == Image(name, f"sw/{name}", tag)


@pytest.mark.parametrize(
    ("title", "rule"),
    [
        ("NOVA:1", "a name has lower-case letters"),
        ("../nova:1", "a name has lower-case letters"),
        ("", "a name has lower-case letters"),
        ("a" * 300, "at most 255 characters"),
        ("nova:", "a tag has at most 128"),
        ("nova:.1", "a tag has at most 128"),
        ("nova:" + "a" * 129, "a tag has at most 128"),
        ("nova:1/../../../api?q=1", "a tag has at most 128"),
        ("nova:1\n", "a tag has at most 128"),
        ("nova:ä", "a tag has at most 128"),
        (f"nova:1:2@{DIGEST}", "a tag has at most 128"),
        ("nova@", "a digest is sha256:"),
        (f"nova@{DIGEST}/..", "a digest is sha256:"),
        (f"nova@{DIGEST}@{DIGEST}", "a digest is sha256:"),
    ],
)
def test_what_is_no_image_is_refused_with_the_rule(title: str, rule: str) -> None:
    with pytest.raises(ValueError, match=rule):
        prefix("registry.test/sw").image(title)
