"""The machine: what it has, its kernel, network, mounts and cgroups, and the programs that s6 keeps alive on it."""
