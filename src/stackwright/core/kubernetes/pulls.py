"""Image errors of containers: kubelet's waiting states as reasons of conditions. Pure.

Kubelet's message contains the error of the container runtime, containerd or CRI-O, in which the cause is a text of the
registry, of Go's HTTP client, or of the runtime itself. Such texts may contain credentials: signed URLs of a registry's
storage, tokens, and containerd's "invalid decoded auth". So a known cause is reported in our own words. Of an unknown
one, a bounded part is reported, without URL queries and without possible secrets (api/secrecy.py).

Kubelet alternates between ErrImagePull and ImagePullBackOff, which have the same cause since Kubernetes 1.32; the
reported message is the same for both.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from stackwright.api.errors import printable, shortened
from stackwright.api.secrecy import hidden

Object = Mapping[str, Any]
LONGEST = 200  # characters of an image's name, and of the text of an unknown cause
READ = 4096  # characters of kubelet's message that are read


@dataclass(frozen=True)
class _Cause:
    """reason  of a condition
    words   the cause in our words; if empty, kubelet's text is reported
    text    pattern in the texts of container runtimes
    """

    reason: str
    words: str = ""
    text: str = r"(?!)"


_SIGNATURE = _Cause(
    "ImageSignatureInvalid", "its signature is not accepted", r"SignatureValidationFailed|Source image rejected"
)
_UNREACHABLE = _Cause(
    "RegistryUnreachable",
    "the registry does not answer",
    r"dial (?:tcp|udp)\b|no such host|server misbehaving|connection refused|connection reset by peer|no route to host"
    r"|network is unreachable|i/o timeout|TLS handshake timeout|deadline exceeded|Client\.Timeout exceeded|\bEOF\b"
    r"|proxyconnect|\b50[0234] (?:Internal Server|Bad Gateway|Service Unavailable|Gateway Time)",
)
# The order matters: a text may match several causes, and the first match is the most specific. "Not found" is last,
# because some registries also return it for requests that they deny.
_CAUSES = (
    _Cause(
        "RegistryCertificateInvalid",
        "the node does not trust the certificate of the registry",
        r"\bx509: |tls: failed to verify certificate|remote error: tls: ",
    ),
    _Cause(
        "RegistryWithoutTLS",
        "the registry has no TLS, which the node requires",
        r"server gave HTTP response to HTTPS client|first record does not look like a TLS handshake",
    ),
    _SIGNATURE,
    _Cause("NodeDiskFull", "the node has no space for it", r"no space left on device|disk quota exceeded"),
    _Cause(
        "ImageForOtherPlatform",
        "it is not for the architecture of the node",
        r"no match for platform in manifest|no image found in .{0,80} for architecture",
    ),
    _Cause("RegistryRateLimited", "the registry limits the number of pulls", r"toomanyrequests|429 Too Many Requests"),
    _UNREACHABLE,
    _Cause(
        "RegistryDenied",
        "the registry denies access; check the pull Secret",
        r"unauthorized\b|\b403 Forbidden|\bdenied\b|authentication required|authorization failed|not authorized"
        r"|no basic auth credentials|insufficient_scope|invalid username/password|invalid decoded auth",
    ),
    _Cause(
        "ImageMissing",
        "the registry does not have it",
        r"\bnot found\b|\b(?:manifest|name|blob)[ _]unknown|404 Not Found",
    ),
)
_TEXTS = tuple((cause, re.compile(cause.text, re.IGNORECASE)) for cause in _CAUSES)
# Kubelet's waiting reasons that concern images → the cause, for failed pulls only if no cause in _CAUSES matches.
WAITING = {
    "ErrImagePull": _Cause("ImagePullFailed"),
    "ImagePullBackOff": _Cause("ImagePullFailed"),
    "RegistryUnavailable": _UNREACHABLE,
    "SignatureValidationFailed": _SIGNATURE,
    "ErrImageNeverPull": _Cause("ImageNotOnNode", "it is not on the node, and its pull policy is Never"),
    "InvalidImageName": _Cause("InvalidImageName", "its name is not valid"),
    "ImageInspectError": _Cause("ImageInspectFailed"),
    "ImageVolumeMountFailed": _Cause("ImageVolumeNotMounted"),
    "CreateContainerError": _Cause("ContainerNotCreated"),
}
_PULLING = ("ErrImagePull", "ImagePullBackOff")
REASONS = frozenset(cause.reason for cause in (*_CAUSES, *WAITING.values()))
_IN_TEXT = re.compile(r"(?:image|reference) \\?\"([^\"\\\s]+)|docker://(\S+?):?(?:\s|$)")
_QUERY = re.compile(r"\?[^\s\"')]*")
_BACK_OFF = re.compile(r'^Back-off pulling image "[^"\s]*"(?:: ErrImagePull: |$)')  # before the cause in a back-off


@dataclass(frozen=True)
class Failure:
    """reason   of a condition, such as RegistryDenied
    message  one sentence that names the node and the image
    """

    reason: str
    message: str


def failure(container: Object, node: str) -> Failure | None:
    """The image error of a container in a pod's status; None if the container does not wait for an image.

    The reported image is the one in kubelet's text, which may be that of an image volume instead of the container's
    own.
    """
    waiting = (container.get("state") or {}).get("waiting") or {}
    known = str(waiting.get("reason") or "")
    if known not in WAITING:
        return None
    text = _BACK_OFF.sub("", " ".join(str(waiting.get("message") or "")[:READ].split()))
    own = str(container.get("image") or "")
    image = _image(text, own)
    cause = (_cause(text.replace(image, "").replace(own, "")) if known in _PULLING else None) or WAITING[known]
    why = cause.words or _shortened(hidden(_QUERY.sub("", text)))
    verb = "create a container of" if known == "CreateContainerError" else "pull"
    return Failure(cause.reason, f"node {node or 'unknown'} cannot {verb} {_shown(image)}{f': {why}' if why else ''}")


def first_failure(pods: Iterable[Object]) -> Failure | None:
    """The image error of the first pod, by name, that has one."""
    for pod in sorted(pods, key=lambda each: str(each["metadata"]["name"])):
        status, node = pod.get("status") or {}, str((pod.get("spec") or {}).get("nodeName") or "")
        for container in (*(status.get("initContainerStatuses") or ()), *(status.get("containerStatuses") or ())):
            if found := failure(container, node):
                return found
    return None


def _cause(text: str) -> _Cause | None:
    """The first cause that matches a text of a container runtime."""
    return next((cause for cause, pattern in _TEXTS if pattern.search(text)), None)


def _image(text: str, own: str) -> str:
    """The image that the text names, without a registry that the runtime added to the container's own name."""
    if own and own in text:
        return own
    found = _IN_TEXT.search(text)
    return (found[1] or found[2]) if found else own


def _shown(image: str) -> str:
    """An image reference without user and password; references should not contain them, but may."""
    before, mark, digest = image.partition("@sha256:")
    return _shortened(f"{before.rpartition('@')[2]}{mark}{digest}") or "an image without a name"


def _shortened(text: str) -> str:
    return shortened(printable(text), LONGEST)
