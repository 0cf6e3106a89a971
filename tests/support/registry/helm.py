"""Helm as a user runs it, without Stackwright."""

from __future__ import annotations

from pathlib import Path


def environment(folder: Path, kubeconfig: Path) -> dict[str, str]:
    """Variables with which Helm keeps all its files in a folder of the test."""
    names = ("HELM_CACHE_HOME", "HELM_CONFIG_HOME", "HELM_DATA_HOME")
    return {**{name: str(folder / name) for name in names}, "KUBECONFIG": str(kubeconfig)}
