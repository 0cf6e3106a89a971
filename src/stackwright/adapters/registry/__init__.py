"""A container registry, by the OCI Distribution Specification.

    reference     names: prefixes, repositories, digests         session  requests: login, redirects, retries
    credentials   auth files and credential helpers              client   manifests and blobs
    certificates  CAs                                            upload   one blob: mount, or chunks
    challenge     how a registry wants to be logged in to        errors   messages for users

Everything that a registry answers is untrusted: names, digests, addresses, sizes and texts are checked, and no message
contains a credential.
"""
