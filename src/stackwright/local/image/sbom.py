"""Contents of an image as a CycloneDX document: Debian packages, Python packages, Go modules.

No program is run in the image: dpkg's list and the metadata of Python packages are read from the layers, Go modules
from the go.mod that pins a tool. The contents of the base are copied from the base's document.
"""

from __future__ import annotations

import re
import tarfile
from collections.abc import Iterator
from email.parser import HeaderParser
from pathlib import Path
from typing import Any

Component = dict[str, str]

_DPKG_STATUS = "var/lib/dpkg/status"
_PIP_METADATA = re.compile(r"site-packages/[^/]+\.dist-info/METADATA$")
_GO_REQUIRE = re.compile(r"^(?:require)?\s+([^\s()]+/[^\s()]+|[^\s()]+\.[^\s()]+) (v\S+)")


def document(name: str, version: str, components: list[Component]) -> dict[str, Any]:
    """Wrap components as the bill of materials of an image."""
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": {"type": "container", "name": name, "version": version}},
        "components": sorted(components, key=lambda component: component["purl"]),
    }


def components(layers: list[Path], base: list[Component]) -> list[Component]:
    """Return the contents of an image: those of its base, with the additions and changes of its own layers."""
    found = {component["purl"]: component for component in base}
    for layer in layers:
        with tarfile.open(layer, "r:") as archive:
            for member in archive:
                path = member.name.removeprefix("./")
                if path == _DPKG_STATUS:  # complete, so it replaces the base's list
                    found = {purl: c for purl, c in found.items() if not purl.startswith("pkg:deb/")}
                    found |= {c["purl"]: c for c in debian_packages(_read(archive, member))}
                elif _PIP_METADATA.search(path):
                    component = python_package(_read(archive, member))
                    found[component["purl"]] = component
    return list(found.values())


def debian_packages(status: str) -> Iterator[Component]:
    """Read the installed packages from dpkg's list."""
    for block in status.split("\n\n"):
        headers = HeaderParser().parsestr(block.lstrip("\n"), headersonly=True)
        if headers["Status"] and headers["Status"].split()[-1] == "installed":
            name, version = headers["Package"], headers["Version"]
            purl = f"pkg:deb/debian/{name}@{version}?arch={headers['Architecture']}"
            yield {"type": "library", "name": name, "version": version, "purl": purl}


def python_package(metadata: str) -> Component:
    """Read the metadata of one installed Python package."""
    headers = HeaderParser().parsestr(metadata, headersonly=True)
    name, version = headers["Name"], headers["Version"]
    normal = re.sub(r"[-_.]+", "-", name).lower()
    return {"type": "library", "name": name, "version": version, "purl": f"pkg:pypi/{normal}@{version}"}


def go_modules(go_mod: str) -> Iterator[Component]:
    """Read the requirements in a go.mod."""
    for line in go_mod.splitlines():
        if match := _GO_REQUIRE.match(line):
            name, version = match.groups()
            yield {"type": "library", "name": name, "version": version, "purl": f"pkg:golang/{name}@{version}"}


def _read(archive: tarfile.TarFile, member: tarfile.TarInfo) -> str:
    content = archive.extractfile(member)
    return content.read().decode(errors="replace") if content else ""
