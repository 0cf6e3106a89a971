"""Waits for OVN's databases, and configures a process of Neutron for them by environment variables of oslo.config.

Python's library of Open vSwitch connects to addresses only: it looks up a name as one of IPv6, and finds none in most
clusters. A Service keeps its address. As a program: `ovn.py FILE…` prints a line NAME=VALUE for each option.
"""

import configparser
import contextlib
import socket
import sys
from pathlib import Path

import schema

OPTIONS = ("ovn_nb_connection", "ovn_sb_connection")
PATIENCE = 5  # seconds of an attempt


def options_of(*files: Path) -> dict[str, str]:
    """Options of the section `ovn`; empty without OVN."""
    conf = configparser.RawConfigParser(strict=False)
    conf.read(files)
    return dict(conf["ovn"]) if conf.has_section("ovn") else {}


def variables(options: dict[str, str]) -> dict[str, str]:
    """Remotes with addresses."""
    return {f"OS_OVN__{name.upper()}": _reachable(name, options[name]) for name in OPTIONS if name in options}


def _reachable(option: str, remotes: str) -> str:
    """The remotes with addresses, as soon as all have one, and one of them accepts connections."""
    found: list[str] = []

    def missing() -> str:
        found.clear()
        unresolved, refused = [], []
        for remote in remotes.split(","):
            protocol, _, place = remote.strip().partition(":")
            name, _, port = place.rpartition(":")
            try:
                address = socket.getaddrinfo(name.strip("[]"), int(port), type=socket.SOCK_STREAM)[0][4][0]
            except (OSError, ValueError) as error:
                unresolved.append(_cause(name, port, error))
                continue
            found.append(f"{protocol}:[{address}]:{port}" if ":" in address else f"{protocol}:{address}:{port}")
            try:
                socket.create_connection((address, int(port)), PATIENCE).close()
            except OSError as error:
                refused.append(_cause(name, port, error))
        return "; ".join(unresolved or (refused if len(refused) == len(found) else []))

    with contextlib.redirect_stdout(sys.stderr):  # the result of the program is on the standard output
        schema.wait(missing, f"OVN's database ({option})")
    return ",".join(found)


def _cause(name: str, port: str, error: Exception) -> str:
    return f"{name}:{port}: {getattr(error, 'strerror', None) or error}"


if __name__ == "__main__":
    for variable, value in variables(options_of(*map(Path, sys.argv[1:]))).items():
        print(f"{variable}={value}")
