"""`stackwright doctor` for a cluster: what an installation and a cloud would lack there.

`observe` reads the cluster, `demand` computes what the clouds of manifests need, and the checks are pure functions of
both: `server`, `rights`, `storage`, `nodes`, `capacity`, `rivals`. `images` asks a registry, and `probe/` runs a pod on
each node.
"""
