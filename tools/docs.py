"""Generates the reference pages: one per kind from the models, one of all commands, the table of tested values, the
requests of a cloud of each size, and the README.md of the charts in registries.

`make docs` calls it; a unit test fails if a page is outdated. The source of the text is the code: the descriptions of
the models' fields, the help of the commands, and the comments and schemas of the charts' values.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import sizing
import typer
import yaml

from stackwright.api.crd import crd
from stackwright.api.fields.lines import LINE
from stackwright.api.meta import Resource
from stackwright.cli.app import COMMANDS, WIDTH, LazyCommand, app
from stackwright.cloud.registry import RESOURCES
from stackwright.cloud.support import TESTED
from stackwright.services.tested import RENDERED_ONLY

REFERENCE = Path(__file__).parents[1] / "docs/reference"
CHARTS = Path(__file__).parents[1] / "charts"
NOTE = "<!-- Written by `make docs`; do not edit. -->\n"
HEAD = "| field | type | default | allowed | meaning |\n|---|---|---|---|---|\n"
SUPPORT = """\
# What is tested

Each value that a cloud may use, and the end-to-end test that uses it in a real cloud. `.venv/bin/python
tools/suite.py report` shows when the pack of such a test last passed, or that no run of it is recorded. *Rendered
only*: the value changes charts and options, as golden tests show, but no test has used it in a real cloud;
`stackwright plan`, `apply` and `up --file` report it if a cloud uses it. The datapath of Open vSwitch, in the kernel or
in user space, depends on the nodes and is no value of a cloud.
"""
CHART = """\
# {name}

{description}. Version {version}{needs}.

```
helm install {name} oci://registry.example.org/stackwright/charts/{name} --version {version} \\
  --namespace {namespace} --create-namespace
```

The package of a registry names its images. It needs `images.pull_secrets` if the registry requires a password. {more}

## Values

Helm rejects values that are not in this table.

"""
OF_CHARTS = {
    "stackwright": (
        "stackwright",
        "The CustomResourceDefinitions are installed and upgraded with the release, and kept when it is uninstalled. "
        "Those that were installed outside of it must be given to it before: `docs/howto/install.md` has the commands.",
    ),
    "local-volume-provisioner": (
        "kube-system",
        "Each volume is a directory of one node, which is lost with that node.",
    ),
}
"""Chart → the usual namespace, and notes for its users."""
COMMENT = "# -- "  # begins the description of the value below it, as in helm-docs
Schema = dict[str, Any]


def pages() -> dict[str, str]:
    """Path below docs/reference → text."""
    found = {f"api/{resource.KIND.kind}.md": api_page(resource) for resource in RESOURCES}
    found |= {"api/README.md": index(), "cli.md": cli_page(), "support.md": support_page()}
    return {**found, "sizing.md": f"{NOTE}\n{sizing.page()}"}


def chart_pages() -> dict[str, str]:
    """Path below charts/ → text."""
    return {f"{name}/README.md": chart_page(name) for name in OF_CHARTS}


def chart_page(name: str) -> str:
    chart = yaml.safe_load((CHARTS / name / "Chart.yaml").read_text())
    schema = json.loads((CHARTS / name / "values.schema.json").read_text())
    needs = f", for Kubernetes `{chart['kubeVersion']}`" if "kubeVersion" in chart else ""
    namespace, more = OF_CHARTS[name]
    words = {key: chart[key] for key in ("name", "description", "version")}
    values = values_of((CHARTS / name / "values.yaml").read_text())
    found = (_row(path, {**_below(schema, path), **given}, required=False) for path, given in values)
    return f"{NOTE}\n" + CHART.format(**words, needs=needs, namespace=namespace, more=more) + HEAD + _lines(found)


def values_of(text: str) -> Iterator[tuple[str, Schema]]:
    """Path of each value, and its default and description. Raises ValueError for a value without a description."""
    lines = text.splitlines()

    def below(node: Any, under: str) -> Iterator[tuple[str, Schema]]:
        for key, value in node.value:
            path = f"{under}{key.value}"
            words: list[str] = []
            for line in reversed(lines[: key.start_mark.line]):
                if not line.lstrip().startswith("#"):
                    break
                words.insert(0, line.strip())
            first = next((number for number, word in enumerate(words) if word.startswith(COMMENT)), None)
            if first is not None:
                meaning = " ".join(word.removeprefix(COMMENT).removeprefix("# ") for word in words[first:])
                default = json.dumps(yaml.safe_load(yaml.serialize(value)))
                yield path, {"default": default, "description": meaning}
            elif isinstance(value, yaml.MappingNode):
                yield from below(value, f"{path}.")
            else:
                raise ValueError(f"{path} has no description")

    yield from below(yaml.compose(text), "")


def _below(schema: Schema, path: str) -> Schema:
    """Raises KeyError for a path that the schema does not have."""
    for name in path.split("."):
        schema = schema["properties"][name]
    return schema


def index() -> str:
    rows = [
        f"| [{r.KIND.kind}]({r.KIND.kind}.md) | `{r.KIND.api_version}` | {', '.join(f'`{s}`' for s in r.KIND.short)} |"
        f" {r.DESCRIPTION} |"
        for r in RESOURCES
    ]
    return f"{NOTE}\n# Kinds\n\n| kind | group and version | short | what it is |\n|---|---|---|---|\n" + _lines(rows)


def support_page() -> str:
    def row(path: str, value: object, test: str) -> str:
        state = "**rendered only**" if test == RENDERED_ONLY else f"`{test}`"
        return f"| `{path}` | `{_shown(value)}` | {state} |"

    rows = [row(path, value, test) for path, values in TESTED.items() for value, test in values.items()]
    return f"{NOTE}\n{SUPPORT}\n| field of spec | value | used by |\n|---|---|---|\n" + _lines(rows)


def api_page(resource: type[Resource]) -> str:
    kind = resource.KIND
    schema = crd(resource)["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    short = ", ".join(f"`{name}`" for name in kind.short)
    also = "".join(f", also served as `{version}`" for version in kind.api_versions[1:])
    named = f"; short {short}" if short else ""
    text = f"{NOTE}\n# {kind.kind}\n\n{resource.DESCRIPTION} `{kind.api_version}`{also}{named}.\n"
    for part, what in (("spec", "what you write"), ("status", "what the operator writes")):
        text += f"\n## {part}: {what}\n\n{HEAD}" + _lines(_row(*row) for row in rows(schema["properties"][part], part))
    refused = sorted(refusals(schema["properties"]["spec"], "spec"))
    if refused:
        text += (
            "\n## Refused by this version\n\nThese fields of the reference shape are known, and refused by name:\n\n"
        )
        text += _lines(f"- `{path}`: {meaning}" for path, meaning in refused)
    return text


def rows(schema: Schema, path: str) -> Iterator[tuple[str, Schema, bool]]:
    """Every settable field below a node: path, schema, whether it is required."""
    refused = _refused(schema)
    for name, child in sorted(schema.get("properties", {}).items()):
        if name in refused:
            continue
        here = f"{path}.{name}"
        yield here, child, name in schema.get("required", ())
        inner, mark = child, ""
        if isinstance(items := child.get("items"), dict):
            inner, mark = items, "[]"
        elif isinstance(extra := child.get("additionalProperties"), dict):
            inner, mark = extra, ".<name>"
        yield from rows(inner, here + mark)


REJECTED = " Not supported by this version; the field is rejected."  # as written by api/support.unsupported


def refusals(schema: Schema, path: str) -> Iterator[tuple[str, str]]:
    refused = _refused(schema)
    for name, child in schema.get("properties", {}).items():
        if name in refused:
            yield f"{path}.{name}", child.get("description", "").replace(REJECTED, "")
        else:
            yield from refusals(child, f"{path}.{name}")


def _refused(schema: Schema) -> set[str]:
    rules = [rule for rule in schema.get("x-kubernetes-validations", ()) if rule["rule"].startswith("!has(self.")]
    names = {rule.get("fieldPath", "").removeprefix(".") for rule in rules if rule["message"].endswith("; remove it")}
    return names & schema.get("properties", {}).keys()


def _row(path: str, schema: Schema, required: bool) -> str:
    default = f"`{_shown(schema['default'])}`" if "default" in schema else "required" if required else ""
    cells = [f"`{path}`", _type(schema), default, _allowed(schema), schema.get("description", "")]
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def _type(schema: Schema) -> str:
    if "items" in schema:
        return f"list of {_type(schema['items'])}"
    if isinstance(extra := schema.get("additionalProperties"), dict):
        return f"name → {_type(extra)}"
    if schema.get("x-kubernetes-preserve-unknown-fields") and "properties" not in schema:
        return "free form"
    kinds = schema.get("type", "any")
    return " or ".join(kinds) if isinstance(kinds, list) else str(kinds)


def _allowed(schema: Schema) -> str:
    inner = schema.get("items", schema)
    found = [f"`{_shown(value)}`" for value in inner.get("enum", ())]
    if "pattern" in inner:
        found.append("one line" if inner["pattern"] == LINE.schema else f"`{inner['pattern']}`")
    for key, word in (("minimum", "≥"), ("maximum", "≤"), ("minLength", "length ≥"), ("maxLength", "length ≤")):
        if key in inner:
            found.append(f"{word} {inner[key]}")
    if "minItems" in schema:
        found.append(f"{schema['minItems']} or more")
    if "maxItems" in schema:
        found.append(f"{schema['maxItems']} at most")
    return ", ".join(found)


def _shown(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _lines(rows: Any) -> str:
    return "".join(f"{row}\n" for row in rows)


def cli_page() -> str:
    group: Any = typer.main.get_command(app)
    text = f"{NOTE}\n# Commands\n\n```\n{_help(group, 'stackwright')}\n```\n"
    for name in group.list_commands(None):
        command = LazyCommand(name=name, help=COMMANDS[name].help, rich_markup_mode=None).load()
        text += f"\n## stackwright {name}\n\n```\n{_help(command, f'stackwright {name}')}\n```\n"
        for sub, below in sorted(getattr(command, "commands", {}).items()):
            text += f"\n### stackwright {name} {sub}\n\n```\n{_help(below, f'stackwright {name} {sub}')}\n```\n"
    return text


def _help(command: Any, path: str) -> str:
    inherited: Any = typer.main.get_command(app).context_settings
    settings = {**inherited, **command.context_settings, "terminal_width": WIDTH}
    context = command.context_class(command, info_name=path, **settings)
    return "\n".join(line.rstrip() for line in command.get_help(context).strip().splitlines())


def write() -> list[Path]:
    """Write changed pages and remove pages of removed kinds; returns the changed paths."""
    wanted = {REFERENCE / name: text for name, text in pages().items()}
    wanted |= {CHARTS / name: text for name, text in chart_pages().items()}
    changed = []
    for stale in (REFERENCE / "api").glob("*.md"):
        if stale not in wanted:
            stale.unlink()
            changed.append(stale)
    for path, text in wanted.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or path.read_text() != text:
            path.write_text(text)
            changed.append(path)
    return changed


if __name__ == "__main__":
    import man

    for changed in (*write(), *man.write()):
        sys.stdout.write(f"{changed}\n")
