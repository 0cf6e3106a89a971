"""The machine: its properties, kernel settings, network, mounts and cgroups, and the services that s6 supervises."""
