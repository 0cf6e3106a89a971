"""Generates examples/gitops/argocd-cm.yaml: the health script of Argo CD for each kind with conditions.

`make docs` calls it; a unit test fails if the file is outdated. The script is tools/gitops/health.lua.
"""

from __future__ import annotations

from pathlib import Path

import yaml

from stackwright.cloud.registry import RESOURCES

ROOT = Path(__file__).parents[1]
SCRIPT = ROOT / "tools/gitops/health.lua"
TARGET = ROOT / "examples/gitops/argocd-cm.yaml"
HEAD = """\
# Argo CD: the health of all kinds of Stackwright, as entries of its ConfigMap; `make docs` generates this file.
# Add them to those that the ConfigMap has: kubectl -n argocd patch configmap argocd-cm --patch-file argocd-cm.yaml
# Required cloud: none.
"""


class _Block(str):
    """A text that YAML contains as a block."""


yaml.SafeDumper.add_representer(
    _Block, lambda dumper, text: dumper.represent_scalar("tag:yaml.org,2002:str", str(text), style="|")
)


def config_map() -> str:
    """The ConfigMap as YAML. Argo CD reads the keys `resource.customizations.health.<group>_<kind>`."""
    kinds = sorted(f"{each.KIND.group}_{each.KIND.kind}" for each in RESOURCES if each.REPORTED)
    labels = {"app.kubernetes.io/name": "argocd-cm", "app.kubernetes.io/part-of": "argocd"}
    made = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "argocd-cm", "namespace": "argocd", "labels": labels},
        "data": {f"resource.customizations.health.{kind}": _Block(SCRIPT.read_text()) for kind in kinds},
    }
    return HEAD + yaml.safe_dump(made, sort_keys=False, width=120)


if __name__ == "__main__":
    TARGET.write_text(config_map())
