"""Generator of a CustomResourceDefinition from a model.

Pydantic's JSON schema is converted to a structural schema: references are inlined, `anyOf: [X, null]` becomes X,
`const` becomes an enum, titles and `additionalProperties: false` are removed (the API server prunes unknown fields).
Three markers add constraints: an unsupported field gets a CEL rule that rejects it by name, free-form fields keep
unknown fields, and NEEDS_ONE requires one of several fields to which CEL has no access. Rules of models (`rules.py`)
already are CEL. All versions of a kind share one schema, so no conversion is needed.

The two kinds of a whole cloud also preserve unknown fields for our admission webhook, which rejects them by name. The
API server would remove them without an error for clients without strict validation.
"""

from __future__ import annotations

from typing import Any

from stackwright.api.errors import NOT_SUPPORTED
from stackwright.api.meta import Kind, Resource
from stackwright.api.rules import VALIDATIONS, validations
from stackwright.api.support import MARK

Schema = dict[str, Any]
KEEP = "x-kubernetes-preserve-unknown-fields"
ATOMIC = "x-kubernetes-map-type"
CLOUDS = ("OpenStackDeployment", "OpenStackControlPlane")
INFRASTRUCTURE, MOVED = "infrastructure.cluster.x-k8s.io", "clusterctl.cluster.x-k8s.io"
NEEDS_ONE = "x-stackwright-needs-one-of"
_DROPPED = (
    "title",
    "default",
    "additionalProperties",
    "patternProperties",
    "propertyNames",
    "discriminator",
    MARK,
    NEEDS_ONE,
)


def crd(resource: type[Resource]) -> Schema:
    """The CustomResourceDefinition of a model, ready to apply."""
    kind, schema = resource.KIND, _root(resource)
    names = {
        "kind": kind.kind,
        "plural": kind.plural,
        "singular": kind.kind.lower(),
        "listKind": f"{kind.kind}List",
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{kind.plural}.{kind.group}", **_labels(kind)},
        "spec": {
            "group": kind.group,
            "scope": "Namespaced" if kind.namespaced else "Cluster",
            "names": {**names, "shortNames": list(kind.short), "categories": list(kind.categories)},
            "versions": [
                {
                    "name": version,
                    "served": True,
                    "storage": version == kind.version,
                    "subresources": {"status": {}},
                    "additionalPrinterColumns": [_column(c) for c in kind.columns],
                    "schema": {"openAPIV3Schema": schema},
                }
                for version in (kind.version, *kind.also)
            ],
        },
    }


def _labels(kind: Kind) -> Schema:
    """Labels by which Cluster API finds the kinds that `clusterctl move` moves, and the versions for a contract."""
    moved = {MOVED: ""} if kind.group == INFRASTRUCTURE else {}
    versions = {f"cluster.x-k8s.io/{kind.contract}": "_".join((kind.version, *kind.also))} if kind.contract else {}
    return {"labels": {**moved, **versions}} if moved or versions else {}


def _column(column: Any) -> Schema:
    shown = {"name": column.name, "type": column.type, "jsonPath": column.path}
    return {**shown, "priority": column.priority} if column.priority else shown


def _root(resource: type[Resource]) -> Schema:
    raw = resource.model_json_schema(by_alias=True, mode="validation")
    definitions = raw.get("$defs", {})
    if resource.TEMPLATE:
        definitions = {name: _without_update_rules(each) for name, each in definitions.items()}
    strict_in_webhook = resource.KIND.kind in CLOUDS
    spec = structural(raw["properties"]["spec"], definitions, keep=strict_in_webhook)
    status = _without_defaults(structural(raw["properties"]["status"], definitions))
    _conditions_are_a_map(status)
    if resource.REPORTED:  # before the first report; without it, kstatus treats a new object as finished
        status["default"] = {"observedGeneration": -1}
    root: Schema = {
        "type": "object",
        "description": resource.DESCRIPTION,
        "properties": {"spec": spec, "status": status},
    }
    if "spec" in raw.get("required", ()):
        root["required"] = ["spec"]
    if checks := validations(getattr(resource, "CHANGES", ())):
        root[VALIDATIONS] = checks
    return root


def structural(schema: Schema, definitions: Schema, *, keep: bool = False) -> Schema:
    """One node of pydantic's schema as a node of a structural schema; `keep` keeps unknown fields."""
    node = _inline(schema, definitions)
    if MARK in node:
        return {"description": node.get("description", ""), **_refused(node[MARK])}
    if node.get(KEEP):
        kept = {"description": node.get("description", ""), KEEP: True, **_kept(node.get("type"))}
        return {**kept, ATOMIC: node[ATOMIC]} if ATOMIC in node else kept
    out = {key: value for key, value in node.items() if key not in _DROPPED}
    if (default := node.get("default")) not in (None, "", {}, []) and not isinstance(default, dict):
        out["default"] = default
    if "const" in out:
        out["enum"] = [out.pop("const")]
    for limit in ("Minimum", "Maximum"):
        if (value := out.pop(f"exclusive{limit}", None)) is not None:
            out[limit.lower()], out[f"exclusive{limit}"] = value, True
    if "items" in out:
        out["items"] = structural(out["items"], definitions, keep=keep)
    if "properties" in out:
        _object(out, node, definitions, keep)
    elif (values := _values(node)) is not None:
        out["additionalProperties"] = structural(values, definitions, keep=keep)
    elif out.get("type") == "object":
        out[KEEP] = True
    return out


def _values(node: Schema) -> Schema | None:
    """The schema of the values of a map. A structural schema cannot constrain keys; Python checks their pattern."""
    if values := node.get("patternProperties"):
        (only,) = values.values()
        return dict(only)
    values = node.get("additionalProperties")
    return values if isinstance(values, dict) else None


def _refused(mark: str) -> Schema:
    """The type of an unsupported field: `object`, `string`, `map` of texts, or `array of` one of them.

    CEL can access only fields with a type.
    """
    if mark.startswith("array"):
        return {"type": "array", "items": _refused(mark.removeprefix("array of ").replace("array", "object"))}
    if mark == "map":
        return {"type": "object", "additionalProperties": {"type": "string"}}
    return {"type": mark, **_kept(mark)}


def _kept(type_: str | None) -> Schema:
    return {"type": "object", KEEP: True} if type_ == "object" else {}


def _object(out: Schema, node: Schema, definitions: Schema, keep: bool) -> None:
    """Add children, unknown-field policy and rules of an object node."""
    children = node["properties"]
    out["properties"] = {name: structural(child, definitions, keep=keep) for name, child in children.items()}
    if keep or node.get("additionalProperties") is True:
        out[KEEP] = True
    refused = {name: mark for name, child in children.items() if (mark := _inline(child, definitions).get(MARK))}
    if one_of := node.get(NEEDS_ONE):
        out["anyOf"] = [{"required": [name]} for name in one_of]
    if refused:
        out[VALIDATIONS] = [*node.get(VALIDATIONS, ()), *(_refusal(name, mark) for name, mark in refused.items())]


# Type → CEL for accepted values of an unsupported field: those that request nothing.
_EMPTY = "self.{}.size() == 0"
_NOTHING = {"boolean": "!self.{}", "string": "self.{} == ''", "array": _EMPTY, "map": _EMPTY}


def _refusal(name: str, mark: str) -> Schema:
    nothing = _NOTHING.get(mark.split()[0])
    return {
        "rule": f"!has(self.{name})" + (f" || {nothing.format(name)}" if nothing else ""),
        "message": f"{name} {NOT_SUPPORTED}; remove it",
        "fieldPath": f".{name}",
        "reason": "FieldValueForbidden",
    }


def _without_update_rules(definition: Schema) -> Schema:
    """A definition without its rules that read the stored object."""
    rules = [rule for rule in definition.get(VALIDATIONS, ()) if "oldSelf" not in rule["rule"]]
    rest = {key: value for key, value in definition.items() if key != VALIDATIONS}
    return {**rest, VALIDATIONS: rules} if rules else rest


def _without_defaults(node: Schema) -> Schema:
    """The schema of a status without defaults of its fields, which would make comparisons with written status fail."""
    return {
        key: _without_defaults(value) if isinstance(value, dict) else value
        for key, value in node.items()
        if key != "default"
    }


def _inline(schema: Schema, definitions: Schema) -> Schema:
    """The node with its reference resolved and null removed; keywords beside the reference take precedence."""
    node = dict(schema)
    if (choices := node.get("anyOf")) is not None:
        real = [choice for choice in choices if choice.get("type") != "null"]
        del node["anyOf"]
        node = {**_inline(real[0], definitions), **node} if len(real) == 1 else {**node, KEEP: True}
    if (reference := node.pop("$ref", None)) is not None:
        target = _inline(definitions[reference.rsplit("/", 1)[-1]], definitions)
        if VALIDATIONS in target and VALIDATIONS in node:
            node[VALIDATIONS] = [*target[VALIDATIONS], *node[VALIDATIONS]]
        node = {**target, **node}
    return node


def _conditions_are_a_map(status: Schema) -> None:
    """Declare conditions as a map by type, so that each controller owns its conditions under server-side apply."""
    conditions = status["properties"]["conditions"]
    conditions["x-kubernetes-list-type"] = "map"
    conditions["x-kubernetes-list-map-keys"] = ["type"]
    # The key must have no default: clients that omit it in an apply would conflict.
    conditions["items"].setdefault("required", ["type", "status"])
