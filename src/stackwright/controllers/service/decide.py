"""(service object, its requested objects, existing objects) → Plan. Pure.

The stages, in order: Placement (nodes with the required labels), Settings (overrides and the Secrets they name),
Certificates, the stages of the contracts (Database, Messaging …; several may share one), and Release. Secrets and
contracts are requested at once; the release waits for them, and each wait names its cause.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from stackwright.api.services.helmbundle import HelmBundle
from stackwright.api.services.kinds import OPENSTACK_RELEASE
from stackwright.cloud.registry import kind_of
from stackwright.controllers.service.agents import without_left_agents
from stackwright.controllers.service.backends import backends_in_use, removed_backends
from stackwright.controllers.service.data_keys import keys_stage, lost_keys, marks
from stackwright.controllers.service.objects import (
    bundle,
    certificate_secret,
    contract_object,
    generated_secret,
    rotated_keys,
    sensitive_secret,
    sources_of,
)
from stackwright.controllers.service.observe import Observed, secret_name
from stackwright.controllers.service.serving import serving
from stackwright.controllers.service.volumes import grown
from stackwright.core.conditions import (
    Condition,
    SameAs,
    blocked,
    done,
    find,
    is_ready,
    summary,
    waiting,
    waiting_for,
    why_not_ready,
)
from stackwright.core.objects import (
    AUTHORITY,
    DIGEST,
    EXPIRES,
    annotation,
    ensure,
    is_deleting,
    key_of,
    version_of,
)
from stackwright.core.openstack.deployed.inventory import CONFIRM
from stackwright.core.plan import Action, Delete, Object, Plan
from stackwright.core.secrets.certificate_validity import seconds_left
from stackwright.services.context import CLOUD_AUTHORITY, Context
from stackwright.services.voters import level, release_errors

RELEASE = "Release"
POLL = 5.0  # seconds, while a Secret is missing
REFRESH = 60.0  # seconds, to detect a change of an existing Secret
CLOCK = 3600.0  # seconds; longest requeue for a time of the wall clock, because no event reports a change of the clock


def decide(seen: Observed) -> Plan:
    if is_deleting(seen.obj):
        return Plan()  # owned objects are deleted by Kubernetes
    return without_left_agents(seen, _decide(seen))


def _decide(seen: Observed) -> Plan:
    if seen.errors or seen.context is None:
        return _report(seen, (), [blocked("Settings", "InvalidSpec", "; ".join(seen.errors))], None)
    if lack := seen.declared.missing_facts(seen.context):
        return _report(seen, (), [_placement(seen), waiting("Storage", lack, "WaitingForCeph")], None)
    lost = lost_keys(seen, seen.context)
    secrets, turn = _secrets(seen, seen.context, lost)
    issued, certificates, renew = _certificates(seen, seen.context)
    issued += [each for each in _of_another_authority(seen, seen.context) if each not in issued]
    turn = min((min(t, CLOCK) for t in (turn, renew) if t is not None), default=None)
    copies, settings, desired = _settings(seen, seen.context)
    contracts, stages, gates = _contracts(seen, seen.context)
    look, kept = removed_backends(seen, seen.context, desired)
    larger, volumes = grown(seen, desired)
    actions = [*secrets, *marks(seen, seen.context), *issued, *copies, *contracts, *look, *larger]
    before = [_placement(seen), settings, *keys_stage(lost, seen.context), *certificates, *([kept] if kept else [])]
    stages = [*before, *stages]
    if desired and all(stage.status for stage in (*before, *gates)):
        release, condition = _release(seen, desired)
        actions += release
        if condition.status:  # until then pods may still use the previous contracts
            actions += _surplus(seen, seen.context)
    else:
        condition = waiting(RELEASE, "Waiting for the earlier stages")
    if any(_users_keys(seen, seen.context)):  # users' Secrets are not watched
        turn = min(turn or REFRESH, POLL if settings.reason == "BlockedMissingSecret" else REFRESH)
    if kept:
        turn = min(turn or CONFIRM, CONFIRM)
    if lost:
        turn = min(turn or POLL, POLL)
    return _report(seen, tuple(actions), [*stages, condition], turn, volumes)


def _placement(seen: Observed) -> Condition:
    """Whether the required labels exist on nodes; an unschedulable pod would wait without an explanation."""
    for label, value in seen.declared.node_labels:
        if not any((node["metadata"].get("labels") or {}).get(label) == value for node in seen.nodes):
            command = f"kubectl label node NODE {label}={value}"
            return blocked("Placement", "NoNode", f"No node has the label {label}={value}; set it: {command}")
    return done("Placement")


def _report(
    seen: Observed,
    actions: tuple[Action, ...],
    stages: list[Condition],
    turn: float | None,
    volumes: tuple[Condition, ...] = (),
) -> Plan:
    ready = summary([*_watched(seen), *stages])
    finished = sum(1 for stage in stages if stage.status)
    state = "APPLIED" if ready.status else "APPLYING" if stages[-1].reason != "Waiting" else "WAITING"
    release = (seen.obj.get("spec") or {}).get("release", OPENSTACK_RELEASE)
    deployed = release if ready.status else str((seen.obj.get("status") or {}).get("release") or "")
    status: dict[str, Any] = {"state": state, "progress": f"{finished}/{len(stages)}", "release": deployed}
    if seen.declared.backends:
        wanted = list(seen.declared.backends(seen.context.settings)) if seen.context else []
        status["backends"] = wanted if ready.status else backends_in_use(seen)
    reported = seen.declared.pod_conditions(seen.context.pods) if seen.declared.pod_conditions and seen.context else ()
    return Plan(actions, (ready, *stages, *serving(seen, ready), *reported, *volumes), status, turn)


def _watched(seen: Observed) -> list[Condition]:
    """Conditions that other controllers set on this object, if they are false."""
    entries = [find(seen.obj, type_) for type_ in seen.declared.external_conditions]
    bad = [entry for entry in entries if entry and entry["status"] == "False"]
    return [Condition(str(e["type"]), False, str(e["reason"]), str(e["message"])) for e in bad]


def _secrets(seen: Observed, context: Context, lost: list[str]) -> tuple[list[Action], float | None]:
    """Actions for generated Secrets and key repositories (not for lost keys); seconds until the next key rotation."""
    actions: list[Action] = []
    for secret in seen.declared.secrets(context):
        action = None if secret.name in lost else generated_secret(seen, context, secret)
        if action and annotation(seen.secrets.get(secret.name), DIGEST) != action.digest:
            actions.append(action)
    due = []
    for keys in seen.declared.keys(context):
        rotation, left = (None, keys.every) if keys.name in lost else rotated_keys(seen, context, keys)
        actions += [rotation] if rotation else []
        due.append(left)
    return actions, min(due, default=None)


def _certificates(seen: Observed, context: Context) -> tuple[list[Action], list[Condition], float | None]:
    """Actions that issue or copy certificates, the stage, and the seconds until the next renewal."""
    actions: list[Action] = []
    missing, left = set(), []
    for wanted in seen.declared.certificates(context):
        current = seen.secrets.get(wanted.name)
        missing |= {
            f"key {key} of Secret {context.namespace}/{name}"
            for name, key in wanted.source.values()
            if key not in ((seen.secrets.get(name) or {}).get("data") or {})
        }
        action = certificate_secret(seen, context, wanted)
        expires = annotation(current, EXPIRES)
        remaining = seconds_left(float(expires), seen.now) if expires.isdecimal() else REFRESH
        if not wanted.source and not (wanted.names or wanted.addresses):
            continue  # the certificate has no name or address yet
        if annotation(current, DIGEST) != action.digest or remaining <= 0:
            actions.append(action)
        left.append(max(remaining, POLL))
    if missing:
        text = f"Waiting for {', '.join(sorted(missing))}, named in the settings of the certificate; create it"
        return [], [Condition("Certificates", False, "BlockedMissingSecret", text)], POLL
    if not left:
        return [], [], None
    if actions:
        return actions, [waiting("Certificates", "Issuing certificates", "Applying")], None
    return [], [done("Certificates")], min(left)


def _of_another_authority(seen: Observed, context: Context) -> list[Action]:
    """Actions for certificates from another CA than the cloud's present one, because clients may not trust them."""
    present = version_of(seen.secrets.get(CLOUD_AUTHORITY))
    issued = [
        each for each in seen.declared.certificates(context) if not each.source and (each.names or each.addresses)
    ]
    others = [each for each in issued if annotation(seen.secrets.get(each.name), AUTHORITY) != present]
    return [certificate_secret(seen, context, each) for each in others] if present else []


def _settings(seen: Observed, context: Context) -> tuple[list[Action], Condition, Object | None]:
    """Actions for the Secrets of sensitive options, the stage, and the HelmBundle if its values can be built."""
    actions: list[Action] = []
    missing = [
        f"key {key} of Secret {context.namespace}/{name}"
        for name, key in _users_keys(seen, context)
        if key not in ((seen.secrets.get(name) or {}).get("data") or {})
    ]
    for chart in seen.sensitive:
        copy = sensitive_secret(seen, context, chart)
        if annotation(seen.secrets.get(secret_name(chart)), DIGEST) != copy.digest:
            actions.append(copy)
    if missing:
        text = f"Waiting for {', '.join(sorted(set(missing)))}, named by value_from in {_sources(seen)}; create it"
        return [], Condition("Settings", False, "BlockedMissingSecret", text), None
    try:
        desired = bundle(seen, context)
    except ValueError as error:
        return [], blocked("Settings", "InvalidValues", str(error)), None
    if wrong := _bundle_voter_error(seen, context, desired):
        return [], blocked("Settings", "WouldLoseMajority", wrong), None
    if actions:
        return actions, waiting("Settings", "Copying sensitive options", "Applying"), None
    return [], done("Settings"), desired


def _users_keys(seen: Observed, context: Context) -> Iterator[tuple[str, str]]:
    """(Secret, key) of users that the service needs."""
    yield from seen.declared.mounted(context.settings)
    for sections in seen.sensitive.values():
        for options in sections.values():
            yield from options.values()


def _bundle_voter_error(seen: Observed, context: Context, desired: Object) -> str:
    """The error if the new values have fewer voting servers than the current ones; empty otherwise."""
    current = ((seen.bundle or {}).get("spec") or {}).get("releases") or ()
    for _, chart, problem in release_errors(current, desired["spec"]["releases"]):
        index = level(context.spec, chart)
        source = "" if index is None else f"{context.spec.overrides[index].source}, "
        return f"{source}chart {chart.name}: {chart.voters_field}: {problem}"
    return ""


def _sources(seen: Observed) -> str:
    names = {name for chart in seen.sensitive for name in sources_of(seen, chart)}
    found = [o["source"] for o in (seen.obj.get("spec") or {}).get("overrides", ()) if any(n in str(o) for n in names)]
    return ", ".join(found) or "spec.settings"


def _contracts(seen: Observed, context: Context) -> tuple[list[Action], list[Condition], list[Condition]]:
    """Actions, one condition for each stage (several contracts may share one), and the conditions for which the release
    waits.
    """
    actions: list[Action] = []
    stages: dict[str, Condition] = {}
    gates: list[Condition] = []
    for contract in seen.declared.contracts(context):
        name = contract.name or context.name
        current = seen.contracts.get((contract.kind.kind, name))
        needed = ensure(contract.kind, contract_object(seen, context, contract), current)
        actions += needed
        stage = done(contract.stage)
        if needed or not is_ready(current):
            cause = "it is being created" if needed else why_not_ready(current)
            reason = str((find(current) or {}).get("reason") or "Waiting")
            stage = waiting_for(contract.stage, f"{contract.kind.kind} {context.namespace}/{name}", cause, reason)
        if contract.stage not in stages or stages[contract.stage].status:
            stages[contract.stage] = stage
        gates += [stage] if contract.gates else []
    return actions, list(stages.values()), gates


def _surplus(seen: Observed, context: Context) -> list[Action]:
    """Contracts that are no longer needed."""
    wanted = {(each.kind.kind, each.name or context.name) for each in seen.declared.contracts(context)}
    return [
        Delete(kind_of(kind), key_of(found), "no longer needed")
        for (kind, name), found in sorted(seen.contracts.items())
        if (kind, name) not in wanted and not is_deleting(found)
    ]


def _release(seen: Observed, desired: Object) -> tuple[list[Action], Condition]:
    if not desired["spec"]["releases"]:  # another system runs the service
        gone = (
            [Delete(HelmBundle.KIND, key_of(desired), "no part of it runs in this cluster any more")]
            if seen.bundle
            else []
        )
        return [*gone], done(RELEASE, "No part of it runs in this cluster")
    needed = ensure(HelmBundle.KIND, desired, seen.bundle)
    name = f"HelmBundle {'/'.join(key_of(desired))}"
    if needed:
        return list(needed), waiting(RELEASE, f"Updating {name}", "Applying")
    if is_deleting(seen.bundle):
        return [], waiting(RELEASE, f"Waiting for the old {name} to be removed", "Deleting")
    if is_ready(seen.bundle):
        return [], done(RELEASE)
    reason = str((find(seen.bundle) or {}).get("reason") or "Installing")
    same = SameAs(HelmBundle.KIND, key_of(desired))
    return [], Condition(RELEASE, False, reason, why_not_ready(seen.bundle), same)
