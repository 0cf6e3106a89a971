"""Why nodes do not start containers because of images: texts of kubelet, containerd and CRI-O from users' reports."""

import pytest

from stackwright.core.kubernetes.pulls import LONGEST, REASONS, Failure, failure, first_failure

IMAGE = "registry.example.org/stackwright/keystone:0a1b2c3d4e5f"
PINNED = f"{IMAGE}@sha256:{'4' * 64}"
# containerd: internal/cri/server/images/image_pull.go around the errors of its resolver and of Go's HTTP client
C = f'failed to pull and unpack image "{IMAGE}": failed to resolve reference "{IMAGE}": '
# CRI-O: pkg/server/image_pull.go around the errors of containers/image
R = f"unable to pull image or OCI artifact: pull image err: initializing source docker://{IMAGE}: "
HEAD = 'failed to do request: Head "https://registry.example.org/v2/stackwright/keystone/manifests/0a1b2c3d4e5f": '
FROM = "unexpected status from HEAD request to https://registry.example.org/v2/stackwright/keystone/manifests/0a1b: "
MANIFEST = "reading manifest 0a1b2c3d4e5f in registry.example.org/stackwright/keystone: "
PING = 'pinging container registry registry.example.org: Get "https://registry.example.org/v2/": '
UNKNOWN, NOTFOUND = "rpc error: code = Unknown desc = ", "rpc error: code = NotFound desc = "

UNREACHABLE = "RegistryUnreachable", "the registry does not answer"
DENIED = "RegistryDenied", "the registry denies access; check the pull Secret"
MISSING = "ImageMissing", "the registry does not have it"
UNTRUSTED = "RegistryCertificateInvalid", "the node does not trust the certificate of the registry"
PLAIN = "RegistryWithoutTLS", "the registry has no TLS, which the node requires"
LIMITED = "RegistryRateLimited", "the registry limits the number of pulls"
FULL = "NodeDiskFull", "the node has no space for it"
FOREIGN = "ImageForOtherPlatform", "it is not for the architecture of the node"
UNSIGNED = "ImageSignatureInvalid", "its signature is not accepted"

TEXTS = [
    # containerd
    (UNKNOWN + C + HEAD + "dial tcp: lookup registry.example.org on 10.0.0.2:53: no such host", UNREACHABLE),
    (UNKNOWN + C + HEAD + "dial tcp: lookup registry.example.org: Temporary failure in name resolution", UNREACHABLE),
    (UNKNOWN + C + HEAD + "dial tcp 192.0.2.7:443: connect: connection refused", UNREACHABLE),
    (UNKNOWN + C + HEAD + "dial tcp 192.0.2.7:443: i/o timeout", UNREACHABLE),
    (UNKNOWN + C + HEAD + "net/http: TLS handshake timeout", UNREACHABLE),
    (UNKNOWN + C + HEAD + "EOF", UNREACHABLE),
    ("rpc error: code = DeadlineExceeded desc = " + C + HEAD + "context deadline exceeded", UNREACHABLE),
    (UNKNOWN + C + FROM + "503 Service Unavailable", UNREACHABLE),
    (UNKNOWN + C + "failed to authorize: failed to fetch oauth token: Post \"https://auth.example.org/token\": dial"
     " tcp: lookup auth.example.org: no such host", UNREACHABLE),
    (UNKNOWN + C + HEAD + "x509: certificate signed by unknown authority", UNTRUSTED),
    (UNKNOWN + C + HEAD + "tls: failed to verify certificate: x509: certificate is valid for a, not b", UNTRUSTED),
    (UNKNOWN + C + HEAD + "x509: certificate has expired or is not yet valid: current time …", UNTRUSTED),
    (UNKNOWN + C + HEAD + "http: server gave HTTP response to HTTPS client", PLAIN),
    (UNKNOWN + C + FROM + "401 Unauthorized", DENIED),
    (UNKNOWN + C + "pulling from host registry.example.org failed with status code [manifests 0a1b2c3d4e5f]: 401"
     " Unauthorized", DENIED),
    (UNKNOWN + C + "failed to authorize: failed to fetch oauth token: unexpected status: 401 Unauthorized", DENIED),
    (UNKNOWN + C + "failed to authorize: failed to fetch anonymous token: unexpected status from GET request to"
     " https://registry.example.org/token?scope=repository%3Astackwright: 403 Forbidden", DENIED),
    (UNKNOWN + C + "pull access denied, repository does not exist or may require authorization: server message:"
     " insufficient_scope: authorization failed", DENIED),
    (UNKNOWN + C + "pull access denied, repository does not exist or may require authorization: authorization failed:"
     " no basic auth credentials", DENIED),
    (NOTFOUND + C + f"{IMAGE}: not found", MISSING),
    (NOTFOUND + f'failed to pull and unpack image "{IMAGE}": failed to copy: httpReadSeeker: failed open: content at'
     " https://registry.example.org/v2/stackwright/keystone/blobs/sha256:12 not found: not found", MISSING),
    (UNKNOWN + C + FROM + "429 Too Many Requests", LIMITED),
    (UNKNOWN + f'failed to pull and unpack image "{IMAGE}": failed to extract layer: mount callback failed: write'
     " /var/lib/containerd/tmp/x: no space left on device", FULL),
    (NOTFOUND + f'failed to pull and unpack image "{IMAGE}": no match for platform in manifest: not found', FOREIGN),
    # CRI-O
    (R + PING + "dial tcp 192.0.2.7:443: connect: no route to host", UNREACHABLE),
    (UNKNOWN + PING + "dial tcp 192.0.2.7:443: connect: connection refused", UNREACHABLE),
    (R + MANIFEST + "received unexpected HTTP status: 500 Internal Server Error", UNREACHABLE),
    (R + PING + "tls: failed to verify certificate: x509: certificate signed by unknown authority", UNTRUSTED),
    (R + PING + "http: server gave HTTP response to HTTPS client", PLAIN),
    (R + MANIFEST + "unauthorized: authentication required; artifact err: get manifest: build image source: " + MANIFEST
     + "unauthorized: authentication required", DENIED),
    (R + MANIFEST + "requested access to the resource is denied", DENIED),
    (R + MANIFEST + "errors:\ndenied: requested access is denied\nunauthorized: authentication required",
     DENIED),
    (UNKNOWN + "unable to retrieve auth token: invalid username/password: unauthorized: incorrect username or password",
     DENIED),
    (R + MANIFEST + "manifest unknown", MISSING),
    (UNKNOWN + "Error reading manifest 0a1b2c3d4e5f in registry.example.org/x: manifest unknown: manifest unknown",
     MISSING),
    (R + MANIFEST + "name unknown: repository name not known to registry", MISSING),
    (R + MANIFEST + "toomanyrequests: You have reached your unauthenticated pull rate limit.", LIMITED),
    ("unable to pull image or OCI artifact: pull image err: choosing image instance: no image found in manifest list"
     ' for architecture "arm64", variant "v8", OS "linux"', FOREIGN),
    ("SignatureValidationFailed: unable to pull image or OCI artifact: pull image err: copying system image from"
     " manifest list: Source image rejected: None of the signatures were accepted", UNSIGNED),
]  # fmt: skip


def waiting(reason, message="", image=IMAGE):
    return {"name": "main", "image": image, "state": {"waiting": {"reason": reason, "message": message}}}


def pod(name, *containers, init=()):
    status = {"containerStatuses": [*containers], "initContainerStatuses": [*init]}
    return {"metadata": {"name": name}, "spec": {"nodeName": "node-1"}, "status": status}


@pytest.mark.parametrize("before", ["", f'Back-off pulling image "{IMAGE}": ErrImagePull: '])
@pytest.mark.parametrize(("text", "expected"), TEXTS)
def test_the_cause_is_found_in_texts_of_both_runtimes(text, expected, before):
    reason, cause = expected
    found = failure(waiting("ImagePullBackOff" if before else "ErrImagePull", before + text), "node-1")
    assert found == Failure(reason, f"node node-1 cannot pull {IMAGE}: {cause}")


@pytest.mark.parametrize(
    ("reason", "message", "expected"),
    [
        ("InvalidImageName", "Failed to apply default image tag …: invalid reference format",
         Failure("InvalidImageName", f"node node-1 cannot pull {IMAGE}: its name is not valid")),
        ("ErrImageNeverPull", f'Container image "{IMAGE}" is not present with pull policy of Never',
         Failure("ImageNotOnNode", f"node node-1 cannot pull {IMAGE}: it is not on the node, and its pull policy is"
                 " Never")),
        ("RegistryUnavailable", f"image pull failed for {IMAGE} because the registry is unavailable.",
         Failure("RegistryUnreachable", f"node node-1 cannot pull {IMAGE}: the registry does not answer")),
        ("ImageInspectError", f'Failed to inspect image "{IMAGE}": rpc error: code = Internal',
         Failure("ImageInspectFailed", f'node node-1 cannot pull {IMAGE}: Failed to inspect image "{IMAGE}": rpc error:'
                 " code = Internal")),
        ("CreateContainerError", "name is reserved",
         Failure("ContainerNotCreated", f"node node-1 cannot create a container of {IMAGE}: name is reserved")),
        ("ErrImagePull", "", Failure("ImagePullFailed", f"node node-1 cannot pull {IMAGE}")),
        # Kubernetes before 1.32
        ("ImagePullBackOff", f'Back-off pulling image "{IMAGE}"',
         Failure("ImagePullFailed", f"node node-1 cannot pull {IMAGE}")),
        ("CrashLoopBackOff", "back-off: connection refused", None),
        ("ContainerCreating", "", None),
    ],
)  # fmt: skip
def test_other_waits_of_kubelet_have_reasons_too(reason, message, expected):
    assert failure(waiting(reason, message), "node-1") == expected


@pytest.mark.parametrize(
    ("reason", "expected"),
    [("SignatureValidationFailed", "ImageSignatureInvalid"), ("ImageVolumeMountFailed", "ImageVolumeNotMounted")],
)
def test_a_reason_of_kubelet_without_a_text_is_enough(reason, expected):
    assert failure(waiting(reason), "node-1").reason == expected


def test_a_text_about_something_else_than_a_pull_shows_no_cause_of_a_pull():
    found = failure(waiting("CreateContainerError", "runtime class not found"), "node-1")
    words = f"node node-1 cannot create a container of {IMAGE}: runtime class not found"
    assert found == Failure("ContainerNotCreated", words)


def test_a_pod_without_a_node_is_not_of_a_node_without_a_name():
    assert failure(waiting("ErrImagePull"), "").message == f"node unknown cannot pull {IMAGE}"


@pytest.mark.parametrize("image", [IMAGE, "registry.example.org/pause:1"])
def test_a_failure_of_unknown_cause_is_the_same_between_attempts(image):
    """Kubelet alternates between the two; each difference would be written to the status."""
    text = f'{UNKNOWN}failed to pull and unpack image "{IMAGE}": broken'
    tried = failure(waiting("ErrImagePull", text, image), "node-1")
    assert tried == Failure("ImagePullFailed", f"node node-1 cannot pull {IMAGE}: {text}")
    again = failure(
        waiting("ImagePullBackOff", f'Back-off pulling image "{IMAGE}": ErrImagePull: {text}', image), "node-1"
    )
    assert again == tried


def test_an_image_volume_is_named_instead_of_the_image_of_its_container():
    text = f'Back-off pulling image "{IMAGE}": ErrImagePull: {NOTFOUND}{C}{IMAGE}: not found'
    found = failure(waiting("ImagePullBackOff", text, image="registry.example.org/pause:1"), "node-1")
    assert found == Failure("ImageMissing", f"node node-1 cannot pull {IMAGE}: the registry does not have it")


@pytest.mark.parametrize("name", ["unauthorized", "x509: ", "not-found", "denied"])
def test_the_name_of_an_image_is_no_cause(name):
    image = f"registry.example.org/{name}:denied"
    text = f'failed to pull and unpack image "{image}": {HEAD}dial tcp 192.0.2.7:443: i/o timeout'
    assert failure(waiting("ErrImagePull", text, image), "n").reason == "RegistryUnreachable"
    assert failure(waiting("ErrImagePull", f'failed to unpack image "{image}": broken', image), "n").reason == (
        "ImagePullFailed"
    )


SECRETS = [
    'broken: happened during read: unexpected status (while reconnecting: Get "https://cdn.example.org/sha256/c4?X-Amz-Credential='
    'AKIAhunter2&X-Amz-Signature=hunter2": EOT)',
    "Get https://jane:hunter2@registry.example.org/v2/: broken",
    "broken: Authorization: Basic aHVudGVyMjpodW50ZXIy",
]


@pytest.mark.parametrize("text", SECRETS)
@pytest.mark.parametrize("reason", ["ErrImagePull", "ImageInspectError", "CreateContainerError"])
def test_no_credentials_are_repeated(text, reason):
    message = failure(waiting(reason, text), "node-1").message
    assert "broken" in message and "hunter2" not in message and "aHVudGVy" not in message


def test_a_pull_secret_that_containerd_cannot_decode_is_not_repeated():
    found = failure(waiting("ErrImagePull", 'get credentials: invalid decoded auth: "jane hunter2"'), "node-1")
    assert found.reason == "RegistryDenied" and "hunter2" not in found.message


def test_a_name_with_credentials_is_shown_without_them():
    found = failure(waiting("InvalidImageName", "", "https://jane:hunter2@registry.example.org/x:1"), "node-1")
    assert found.message == "node node-1 cannot pull registry.example.org/x:1: its name is not valid"
    assert PINNED in failure(waiting("ErrImagePull", "", PINNED), "node-1").message


@pytest.mark.parametrize("text", ["x" * 100_000, 'image "' + "y" * 100_000 + '" ' + "z" * 50_000, "\x1b[2J\n" * 9000])
def test_a_message_is_bounded_and_printable(text):
    found = failure(waiting("ErrImagePull", text, "w" * 9000), "node-1")
    assert len(found.message) < 2 * LONGEST + 50 and found.message.isprintable()


def test_the_first_failing_container_of_the_first_pod_is_reported():
    running = {"name": "main", "state": {"running": {}}}
    init = pod("a", waiting("PodInitializing"), init=[waiting("ErrImagePull", "manifest unknown", "one")])
    pods = [pod("b", waiting("InvalidImageName", "", "two")), init, pod("0", running)]
    assert first_failure(pods).message == "node node-1 cannot pull one: the registry does not have it"
    assert first_failure([pod("0", running)]) is None
    assert {each.reason for each in map(first_failure, [pods[:1], [init]])} <= REASONS
