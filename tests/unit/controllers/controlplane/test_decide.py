"""What an OpenStackControlPlane becomes: the models, the mapping, the decision."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stackwright.api.fields import ini
from stackwright.api.services.kinds import ServiceSpec
from stackwright.cloud.controlplane import NEEDS, STAGE, OpenStackControlPlane, OpenStackControlPlaneSpec
from stackwright.controllers.cloud.level import Level, Rank
from stackwright.controllers.cloud.objects import service_object
from stackwright.controllers.cloud.observe import Observed
from stackwright.controllers.cloud.selection import Wanted, wanted_names, wanted_services
from stackwright.controllers.cloud.settings import cloud_of, settings
from stackwright.controllers.controlplane.decide import decide
from stackwright.controllers.controlplane.levels import levels
from stackwright.controllers.controlplane.objects import SERVICES, deployment, refinement
from stackwright.controllers.controlplane.validate import parse
from stackwright.core.settings import Settings
from stackwright.services.cloud import Cloud
from stackwright.services.context import Context
from stackwright.services.registry import BY_SERVICE
from stackwright.services.values import merged_values
from tests.unit.controllers.builders import ANY, NAMESPACE, condition, makes_nothing, obj, with_ready

KIND = OpenStackControlPlane.KIND
LEAST = {"secret": "osp-secret", "storageClass": "fast"}
INFRASTRUCTURE = {"galera": {}, "rabbitmq": {"templates": {"rabbitmq-cell1": {}}}, "memcached": {}}
APIS = {name: {} for name in ("keystone", "glance", "placement", "neutron", "nova")}
ALL = {
    **LEAST,
    **INFRASTRUCTURE,
    **APIS,
    "heat": {"enabled": True},
    "barbican": {},
    "designate": {"enabled": True},
    "horizon": {"enabled": True},
}


def plane(spec=None, **meta):
    return obj(KIND, "openstack", {**ALL, **(spec or {})}, **meta)


def template(section, **fields):
    return {section: {"enabled": True, "template": fields}}


def spec_of(change=None):
    spec, errors = parse(plane(change))
    assert spec is not None, errors
    return spec


def errors_of(change):
    spec, errors = parse(plane(change))
    assert spec is None
    return errors


def levels_of(change, word, name=None):
    wanted = Wanted(BY_SERVICE[word], name or BY_SERVICE[word].name, Cloud((), (), True))
    return levels(spec_of(change), wanted)


# --- which services


def test_the_sections_are_the_services_except_ingress():
    assert wanted_names(deployment(spec_of())) == [
        "database", "messaging", "memcached", "coordination", "identity", "image", "placement", "networking", "compute",
        "orchestration", "key-manager", "dns", "dashboard",
    ]  # fmt: skip
    assert set(SERVICES.values()) <= set(BY_SERVICE)


def test_an_absent_section_is_off_and_a_present_one_is_as_in_the_reference():
    present = {"heat": {}, "designate": {}, "horizon": {}}
    assert wanted_names(deployment(spec_of({**dict.fromkeys((*APIS, "barbican")), **present}))) == [
        "database", "messaging", "memcached",
    ]  # fmt: skip
    assert "dashboard" not in wanted_names(deployment(spec_of({"horizon": {}}))), "off, unless enabled: true"
    assert "orchestration" not in wanted_names(deployment(spec_of({"heat": {"template": {}}}))), "the same"


def bus(spec, service):
    return settings(spec, BY_SERVICE[service], cloud_of(spec, wanted_names(spec)))["messaging_instance"]


def test_nova_uses_the_bus_of_its_cell_if_declared():
    own, shared = deployment(spec_of()), deployment(spec_of({"rabbitmq": {}}))
    assert own.features.messaging.components_with_dedicated_messaging == ["compute"]
    assert shared.features.messaging.components_with_dedicated_messaging == []
    assert bus(own, "compute") == "nova-rabbitmq"
    assert bus(shared, "compute") == "rabbitmq"
    assert bus(own, "networking") == "rabbitmq"
    assert [wanted.name for wanted in wanted_services(own)][1:3] == ["rabbitmq", "nova-rabbitmq"]


@pytest.mark.parametrize("name", NEEDS)
def test_a_section_without_a_required_one_is_rejected_with_both_names(name):
    for need in NEEDS[name]:
        (error,) = errors_of({need: None})
        assert f"{name} requires {need}" in error


# --- content of a template


def test_a_template_reaches_the_features_of_its_service():
    spec = deployment(
        spec_of(
            {
                **template("keystone", region="r", adminProject="ops"),
                **template("glance", storage={"storageRequest": "20Gi", "storageClass": "slow"}),
                **template("neutron", ml2MechanismDrivers=["ovn"]),
                **template("nova", cellTemplates={"cell1": {"noVNCProxyServiceTemplate": {"enabled": False}}}),
            }
        )
    )
    assert (spec.region_name, spec.local_volume_storage_class) == ("r", "fast")
    assert spec.features.keystone.users.admin.project_name == "ops"
    assert spec.features.glance.backends.file["images"].pvc.model_dump() == {
        "size": "20Gi", "storage_class_name": "slow",
    }  # fmt: skip
    assert spec.features.neutron.backend == "ml2/ovn"
    assert spec.features.nova.console.novnc.enabled is False
    assert deployment(spec_of()).region_name == "regionOne"


@pytest.mark.parametrize(
    ("change", "word", "source", "values"),
    [
        (template("keystone", replicas=3), "identity", "keystone.template.replicas", {"keystone": {"api": 3}}),
        (template("placement", replicas=2), "placement", "placement.template.replicas", {"placement": {"api": 2}}),
        (template("neutron", replicas=2), "networking", "neutron.template.replicas", {"neutron": {"server": 2}}),
        (template("horizon", replicas=2), "dashboard", "horizon.template.replicas", {"horizon": {"horizon": 2}}),
        *(
            (
                template("heat", **{name: {"replicas": 2}}),
                "orchestration",
                f"heat.template.{name}.replicas",
                {"heat": {component: 2}},
            )
            for name, component in (("heatAPI", "api"), ("heatCfnAPI", "cfn"), ("heatEngine", "engine"))
        ),
        *(
            (
                template("barbican", **{name: {"replicas": 2}}),
                "key-manager",
                f"barbican.template.{name}.replicas",
                {"barbican": {component: 2}},
            )
            for name, component in (("barbicanAPI", "api"), ("barbicanWorker", "worker"))
        ),
        *(
            (
                template("designate", **{name: {"replicas": 2}}),
                "dns",
                f"designate.template.{name}.replicas",
                {"designate": {component: 2}},
            )
            for name, component in BY_SERVICE["dns"].programs.items()
        ),
        (
            template("glance", glanceAPIs={"default": {"replicas": 0}}),
            "image",
            "glance.template.glanceAPIs.default.replicas",
            {"glance": {"api": 0}},
        ),
        (
            template("nova", cellTemplates={"cell1": {"conductorServiceTemplate": {"replicas": 2}}}),
            "compute",
            "nova.template.cellTemplates.cell1.conductorServiceTemplate.replicas",
            {"nova": {"conductor": 2}},
        ),
        (
            {"galera": {"templates": {"openstack": {"replicas": 3}}}},
            "database",
            "galera.templates.openstack.replicas",
            {"mariadb": {"server": 3}},
        ),
    ],
)
def test_replicas_are_a_level_that_names_their_field(change, word, source, values):
    ((chart, replicas),) = values.items()
    assert levels_of(change, word) == [(Level(Rank.FIELD, f"spec.{source}"), {chart: {"pod": {"replicas": replicas}}})]


def test_one_replica_needs_no_override():
    for word in SERVICES.values():
        assert levels_of(template("keystone", replicas=1), word) == []


def test_every_bus_has_its_own_volume():
    persistence = {"persistence": {"storage": "3Gi", "storageClassName": "slow"}}
    change = {"rabbitmq": {"templates": {"rabbitmq": {}, "rabbitmq-cell1": persistence}}}
    volume = {"rabbitmq": {"volume": {"size": "3Gi", "class_name": "slow"}}}
    assert levels_of(change, "messaging") == []
    assert levels_of(change, "messaging", "nova-rabbitmq") == [
        (Level(Rank.FIELD, "spec.rabbitmq.templates.rabbitmq-cell1.persistence"), volume)
    ]


def test_options_replace_built_values_of_any_type():
    servers = "[cache]\nmemcache_servers = a:1,b:2\nEnabled: false\n"
    spec = spec_of(template("keystone", customServiceConfig=servers, replicas=2))
    (wanted,) = (each for each in wanted_services(deployment(spec)) if each.name == "keystone")
    thing = service_object(plane(), deployment(spec), wanted, refinement(spec, wanted))
    parsed = ServiceSpec.model_validate(thing["spec"])
    context = Context("keystone", NAMESPACE, parsed, {}, wanted.declared.settings.model_validate(parsed.settings))
    values = merged_values(wanted.declared, context, wanted.declared.charts[0])
    cache = values["conf"]["keystone"]["cache"]
    assert (cache["memcache_servers"], cache["Enabled"], cache["enabled"]) == ("a:1,b:2", "false", True)
    assert values["pod"]["replicas"] == {"api": 2}
    assert {level.source for level in parsed.overrides[1:]} == {"spec.keystone.template.customServiceConfig"}


def test_all_clients_of_memcached_get_its_servers():
    spec = spec_of({"memcached": {"templates": {"memcached": {"replicas": 3}}}})
    for wanted in wanted_services(deployment(spec)):
        made = service_object(plane(), deployment(spec), wanted, refinement(spec, wanted))
        assert made["spec"]["memcachedReplicas"] == 3
    assert "memcachedReplicas" not in refinement(spec_of(), wanted).fields


def test_the_password_is_named_and_never_read():
    spec = spec_of(template("keystone", secret="mine", passwordSelectors={"admin": "Boss"}))
    wanted = Wanted(BY_SERVICE["identity"], "keystone", Cloud((), (), True))
    assert refinement(spec, wanted).settings == {"admin_password": {"name": "mine", "key": "Boss"}}
    assert refinement(spec_of(), wanted).settings == {"admin_password": {"name": "osp-secret", "key": "AdminPassword"}}


# --- rejected values


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"swift": {"enabled": True}}, "spec.swift.enabled: is not supported by this version of Stackwright; only"),
        (
            {"cinder": {"template": {"cinderAPI": {"replicas": 1}}}},
            "spec.cinder: is not supported by this version of Stackwright; remove it, or write enabled: false",
        ),
        ({"tls": {"ingress": {}}}, "spec.tls.ingress: is not supported"),
        ({"manila": {"enabled": True}}, "spec.manila.enabled: is not supported"),
        ({"manila": {"enabled": "no"}}, "spec.manila.enabled: takes true or false"),
        ({"tls": {"podLevel": {"enabled": True}}}, "spec.tls.podLevel.enabled: is not supported"),
        ({"nodeSelector": {"a": "b"}}, "spec.nodeSelector: is not supported"),
        ({"mystery": {}}, "spec.mystery: unknown field; allowed: "),
        (
            template("keystone", tls={"api": {"public": {"secretName": "tls"}}}),
            "spec.keystone.template.tls.api.public.secretName: is not supported",
        ),
        (template("keystone", nodeSelector={"a": "b"}), "spec.keystone.template.nodeSelector: is not supported"),
        (template("keystone", databaseInstance="other"), "spec.keystone.template.databaseInstance: 'other' is not"),
        (template("glance", replicas=2), "spec.glance.template.replicas: unknown field; allowed: "),
        (
            template("glance", glanceAPIs={"default": {"replicas": 2}}),
            "spec.glance.template.glanceAPIs.default.replicas: must be at most 1, not 2",
        ),
        (
            template("horizon", customServiceConfig="A = 1"),
            "spec.horizon.template.customServiceConfig: is not supported",
        ),
        (template("nova", cellTemplates={"cell2": {}}), "spec.nova.template.cellTemplates.cell2: is not supp"),
        ({"galera": {"templates": {"openstack-cell1": {}}}}, "spec.galera.templates.openstack-cell1: is not supp"),
        (
            {"galera": {"templates": {"openstack": {"replicas": 2}}}},
            "spec.galera.templates.openstack.replicas: 2 is not",
        ),
        (
            {"rabbitmq": {"templates": {"rabbitmq-cell1": {"replicas": 3}}}},
            "spec.rabbitmq.templates.rabbitmq-cell1.replicas: 3 is not allowed",
        ),
        (
            template("neutron", customServiceConfig="debug = true"),
            "spec.neutron.template.customServiceConfig: is not in INI format: line 1: an option before",
        ),
    ],
)
def test_an_unsupported_field_is_rejected_by_name(change, expected):
    (error,) = errors_of(change)
    assert error.startswith(expected)
    plan = decide(Observed(Settings(), plane(change)))
    assert plan.empty
    assert condition(plan).reason == "BlockedInvalidSpec"
    assert condition(plan).message == error


def test_disabled_sections_may_contain_anything():
    spec_of({"manila": {"enabled": False, "template": {"manilaAPI": {"replicas": 1}}}, "redis": {"enabled": False}})


@pytest.mark.parametrize(
    "section", sorted(set(APIS) | {"heat", "designate", "horizon", "galera", "rabbitmq", "memcached"})
)
def test_what_a_disabled_section_of_a_service_contains_is_not_judged(section):
    """As in the reference, and as before Stackwright had the service: an update must not block a stored object."""
    stored = {"template": {"serviceUser": "x", "apiTimeout": 600, "later": {"replicas": -1}}, "templates": {"x": 1}}
    off = {**LEAST, section: {"enabled": False, **stored}}
    spec, errors = parse(obj(KIND, "openstack", off))
    assert errors == [] and spec and not spec.on(section)
    assert parse(obj(KIND, "openstack", {**off, section: {**stored, "enabled": True}}))[1]
    assert parse(obj(KIND, "openstack", {**off, section: {**stored, "enabled": "false"}}))[1]
    assert bool(parse(obj(KIND, "openstack", {**off, section: stored}))[1]) == (
        section not in ("heat", "designate", "horizon")
    )


@pytest.mark.parametrize("section", ["applicationCredential", "ironic", "manila", "octavia", "redis", "watcher"])
def test_sections_that_are_disabled_by_default_may_be_absent(section):
    spec_of({section: {"template": {"anything": 1}}})


def test_two_values_for_one_option_of_nova_are_rejected_with_both_places():
    one, other = ({"customServiceConfig": f"[DEFAULT]\ncpu_allocation_ratio = {n}\n"} for n in (2, 3))
    spec_of(template("nova", apiServiceTemplate=one, schedulerServiceTemplate=one))
    (error,) = errors_of(template("nova", apiServiceTemplate=one, schedulerServiceTemplate=other))
    told = "apiServiceTemplate and schedulerServiceTemplate set different values of [DEFAULT] cpu_allocation_ratio"
    assert told in error


def test_an_unknown_stage_is_rejected():
    _, errors = parse(plane(annotations={STAGE: "half"}))
    assert errors == [f"metadata.annotations.{STAGE}: 'half' is not allowed; allowed: infrastructure-only"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[a]\nx = 1\nx = ~2\n", "[a] x: ~ at the beginning"),
        ("[a\n", "line 1: no [section]"),
        ("[]\n", "line 1: no [section]"),
        ("[a]\n= 1\n", "line 2: not in the form option = value"),
        ("[a]\nx = {{ .Password }}\n", "[a] x: {{ … }} is not supported"),
        ("[a]\nx = 1\n  2\n", "[a] x: a value of several lines"),
        ("[a]\nonly\n", "line 2: "),
    ],
)
def test_an_ini_file_beyond_the_format_of_values_is_rejected(text, expected):
    with pytest.raises(ValueError, match=re.escape(expected)):
        ini.sections(text)


def test_default_is_a_section_like_all_others():
    text = "# told\n[DEFAULT]\nDebug = true\n[Sect]\nfoo: %(a)s # kept\nempty =\n"
    assert ini.sections(text) == {"DEFAULT": {"Debug": "true"}, "Sect": {"foo": "%(a)s # kept", "empty": ""}}
    assert ini.sections("") == {}


# --- the decision


def ready(change=None):
    """The service objects as they are wanted, all ready."""
    spec, thing = spec_of(change), plane(change)
    made = {}
    for wanted in wanted_services(deployment(spec)):
        found = service_object(thing, deployment(spec), wanted, refinement(spec, wanted))
        found["metadata"]["generation"] = 1
        made[wanted.key] = with_ready(found, state="APPLIED", release="epoxy")
    return made


def test_a_pause_keeps_existing_services_and_creates_only_infrastructure():
    annotations = {STAGE: "infrastructure-only"}
    there = ready()
    plan = decide(Observed(Settings(), plane(annotations=annotations), (), there))
    assert {action.kind.kind for action in plan.actions} == {"DaemonSet"}
    assert condition(plan, "DeploymentStage").reason == "Paused"
    assert [c.type for c in plan.conditions if c.type in ("MariaDB", "NovaRabbitmq", "Keystone")] == [
        "MariaDB", "NovaRabbitmq",
    ]  # fmt: skip
    fresh = decide(Observed(Settings(), plane(annotations=annotations)))
    assert [action.obj["metadata"]["name"] for action in fresh.actions[1:]] == [
        "mariadb", "rabbitmq", "nova-rabbitmq", "memcached", "etcd",
    ]  # fmt: skip


def test_a_removed_section_removes_its_service_and_reports_why():
    plan = decide(Observed(Settings(), plane({"horizon": None}), (), ready()))
    (removed,) = (action for action in plan.actions if action.verb == "delete")
    assert (removed.kind.kind, removed.why) == ("Horizon", "its section was removed or disabled")


def test_fields_without_effect_are_reported_and_their_defaults_are_not():
    assert not [each for each in decide(Observed(Settings(), plane())).conditions if each.type == "UnusedFields"]
    defaults = {
        **template("nova", secret="", preserveJobs=False),
        "galera": {"templates": {"openstack": {"secret": ""}}},
    }
    assert not [
        each for each in decide(Observed(Settings(), plane(defaults))).conditions if each.type == "UnusedFields"
    ]
    change = {
        **template("keystone", secret="other"),  # it has the administrator's password
        **template("glance", secret="osp-secret", preserveJobs=True),
        "galera": {"templates": {"openstack": {"secret": "osp-secret"}}},
        "openstackclient": {},
    }
    found = condition(decide(Observed(Settings(), plane(change))), "UnusedFields")
    assert (found.status, found.reason) == (True, "Unused")
    fields, _, why = found.message.partition(" are accepted but not used: ")
    assert sorted(fields.split(", ")) == [
        "spec.galera.templates.openstack.secret",
        "spec.glance.template.preserveJobs",
        "spec.glance.template.secret",
        "spec.openstackclient",
    ]
    assert "Stackwright generates the passwords of services" in why


def test_the_oldest_object_is_the_cloud_of_the_namespace():
    plan = decide(Observed(Settings(), plane(), ("OpenStackDeployment cloud",)))
    assert plan.empty
    assert condition(plan).reason == "BlockedAnotherCloud"
    assert "OpenStackDeployment cloud" in condition(plan).message


@given(st.fixed_dictionaries({}, optional=dict.fromkeys((*ALL, "swift", "tls", "mystery"), ANY)) | ANY, st.booleans())
def test_any_spec_gets_a_decision_and_a_deleted_object_creates_nothing(spec, deleting):
    thing = obj(KIND, "openstack", {**LEAST, **spec} if isinstance(spec, dict) else None, deleting=deleting)
    plan = decide(Observed(Settings(), thing))
    assert not deleting or makes_nothing(plan)
    assert deleting or condition(plan) is not None


def test_the_names_on_the_wire_are_those_of_the_reference():
    schema = OpenStackControlPlaneSpec.model_json_schema(by_alias=True)
    names = {name for model in (schema, *schema["$defs"].values()) for name in model.get("properties", ())}
    assert {
        "storageClass", "glanceAPIs", "keystoneEndpoint", "ml2MechanismDrivers", "cellTemplates", "hasAPIAccess",
        "noVNCProxyServiceTemplate", "apiServiceTemplate", "metadataServiceTemplate", "schedulerServiceTemplate",
        "conductorServiceTemplate", "customServiceConfig", "enableSecureRBAC", "externalKeystoneAPI", "rabbitmq-cell1",
        "rabbitMqClusterName", "notificationsBusInstance", "memcachedInstance", "databaseInstance", "imageCache",
        "disableNonTLSListeners", "cellDatabaseInstance", "apiMessageBusInstance", "storageRequest", "dbPurge",
    } <= names  # fmt: skip
