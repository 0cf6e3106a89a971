"""Commands that change a cluster: read, check, plan, apply and delete manifests."""
