"""A container registry, by the OCI Distribution Specification.

    reference     names: prefixes, repositories, digests         exchange  one request, with bounds on size and time
    credentials   auth files and credential helpers              session   requests: login, redirects, retries
    certificates  CAs                                            client    manifests and blobs
    challenge     the log-in method of a registry                upload    one blob: mount, chunks, or whole
    errors        messages for users                             parallel  concurrent calls
    referrers     artifacts that refer to an image

All data from a registry is untrusted: names, digests, addresses, sizes and texts are checked, and no message contains a
credential.
"""
