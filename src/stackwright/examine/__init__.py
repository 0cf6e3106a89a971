"""`stackwright doctor` for a cluster: finds missing prerequisites of an installation and of a cloud.

`observe` reads the cluster, `demand` computes the needs of the clouds in manifests, and the checks are pure functions
of both: `server`, `rights`, `storage`, `nodes`, `capacity`, `rivals`. `images` queries a registry, and `probe/` runs a
pod on each node.
"""
