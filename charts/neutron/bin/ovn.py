"""Waits for OVN's databases, and passes their addresses to a process of Neutron by environment variables.

Python's library of Open vSwitch connects to addresses only: it looks up a name as one of IPv6, and finds none in most
clusters. A Service keeps its address. As a program: `ovn.py FILE…` prints a line NAME=VALUE for each option.
"""

import configparser
import socket
import sys
from pathlib import Path

import schema

OPTIONS = ("ovn_nb_connection", "ovn_sb_connection")
PATIENCE = 5  # seconds of an attempt


def variables(*files: Path) -> dict[str, str]:
    """Environment variable of oslo.config → remotes with addresses; empty without OVN."""
    conf = configparser.RawConfigParser(strict=False)
    conf.read(files)
    options = conf["ovn"] if conf.has_section("ovn") else {}
    return {f"OS_OVN__{name.upper()}": _reachable(name, options[name]) for name in OPTIONS if name in options}


def _reachable(option: str, remotes: str) -> str:
    """The remotes with addresses, as soon as one of them accepts connections."""
    found: list[str] = []

    def missing() -> str:
        found.clear()
        problems = []
        for remote in remotes.split(","):
            protocol, _, place = remote.strip().partition(":")
            name, _, port = place.rpartition(":")
            try:
                address = socket.getaddrinfo(name.strip("[]"), int(port), type=socket.SOCK_STREAM)[0][4][0]
                found.append(f"{protocol}:[{address}]:{port}" if ":" in address else f"{protocol}:{address}:{port}")
                socket.create_connection((address, int(port)), PATIENCE).close()
            except (OSError, ValueError) as error:
                problems.append(f"{name}:{port}: {getattr(error, 'strerror', None) or error}")
        return "; ".join(problems) if len(problems) == len(remotes.split(",")) else ""

    schema.wait(missing, f"OVN's database ({option})")
    return ",".join(found)


if __name__ == "__main__":
    for variable, value in variables(*map(Path, sys.argv[1:])).items():
        print(f"{variable}={value}")
