"""Signals of virtual machines to Heat: the token with which Keystone checks signatures, policies, what is logged."""

from __future__ import annotations

import runpy
import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
import yaml

from support.paths import ROOT

CHART = ROOT / "charts/heat"
URL = "http://keystone-api:5000/v3/ec2tokens"


class Session:
    """Responds with `status`, and notes the options of each request."""

    status = 200

    def __init__(self, auth: object) -> None:
        self.auth = auth
        self.sent: list[dict[str, Any]] = []

    def post(self, url: str, **options: Any) -> SimpleNamespace:
        self.sent.append({"url": url, **options})
        return SimpleNamespace(status_code=self.status)


class Enforcer:
    """Notes the targets of policies."""

    def __init__(self) -> None:
        self.targets: list[object] = []

    def enforce(self, context: object, action: str, scope: object, target: object, registered: bool) -> bool:
        self.targets.append(target)
        return registered


class Sessions(list[Session]):
    def __call__(self, auth: object) -> Session:
        self.append(Session(auth))
        return self[-1]


@pytest.fixture
def sessions() -> Sessions:
    return Sessions()


@pytest.fixture
def requests_of_heat(monkeypatch: pytest.MonkeyPatch, sessions: Sessions) -> Any:
    """What Heat's middleware uses as `requests`, after the application has started."""

    def module(name: str, **content: Any) -> ModuleType:
        made = ModuleType(name)
        made.__dict__.update(content)
        monkeypatch.setitem(sys.modules, name, made)
        return made

    conf = object()
    for name in ("heat", "heat.api", "heat.api.cfn"):
        module(name)
    middleware = module("heat.api.aws.ec2token", requests="of Heat")
    sys.modules["heat"].api = module("heat.api", aws=module("heat.api.aws", ec2token=middleware))  # type: ignore[attr-defined]
    module("heat.common")
    module("heat.common.policy", Enforcer=type("Enforcer", (Enforcer,), {}))
    module("heat.api.cfn.wsgi", init_application=lambda: lambda environ, start_response: environ)
    module("oslo_config", cfg=SimpleNamespace(CONF=conf))
    module("no_pickles", install=lambda: None)
    module("guard", install=lambda: None)
    login = {(conf, "keystone_authtoken"): "heat-cfn"}
    loading = SimpleNamespace(load_auth_from_conf_options=lambda of, section: login[of, section])
    module("keystoneauth1", loading=loading, session=SimpleNamespace(Session=sessions))
    monkeypatch.setattr(sys, "path", list(sys.path))
    script = runpy.run_path(str(CHART / "bin/cfn-app.py"))
    sent = {f"HTTP_X_AUTH_{name}": "mine" for name in ("URL", "USER", "KEY", "EC2_CREDS")}
    assert script["application"]({**sent, "PATH_INFO": "/v1"}, None) == {"PATH_INFO": "/v1"}
    return script["ec2token"].requests


def test_a_signature_is_sent_with_a_token_of_heats_user(requests_of_heat: Any, sessions: Sessions) -> None:
    answer = requests_of_heat.post(URL, data="{}", headers={"a": "b"}, verify=True, cert=None, timeout=60)
    assert answer.status_code == 200
    (session,) = sessions
    assert session.auth == "heat-cfn"
    (sent,) = session.sent
    assert (sent["url"], sent["data"], sent["headers"], sent["verify"], sent["timeout"]) == (
        URL, "{}", {"a": "b"}, True, 60,
    )  # fmt: skip
    assert sent["authenticated"] is True
    assert sent["raise_exc"] is False, "Heat explains the refusal to the client"
    assert sent["log"] is False
    requests_of_heat.post(URL)
    assert len(sessions) == 1, "one login"


def test_policies_are_checked_with_the_project_of_the_client(requests_of_heat: Any) -> None:
    """Without a target, each policy would refuse all. A client without a project has none."""
    enforcer = sys.modules["heat.common.policy"].Enforcer()
    for project, target in (("mine", None), ("mine", {"project_id": "other"}), (None, None)):
        context = SimpleNamespace(project_id=project)
        assert enforcer.enforce(context, "CreateStack", target=target, is_registered_policy=True)
    assert enforcer.targets == [{"project_id": "mine"}, {"project_id": "other"}, None]


def test_heats_default_policies_apply_to_both_apis() -> None:
    """The older ones allow users with the role `reader` to change stacks."""
    conf = yaml.safe_load((CHART / "values.yaml").read_text())["conf"]["heat"]["oslo_policy"]
    assert conf == {"enforce_scope": True, "enforce_new_defaults": True}
    assert "set_override" not in (CHART / "bin/cfn-app.py").read_text()


def test_wrong_signatures_cause_one_login_a_minute(
    requests_of_heat: Any, sessions: Sessions, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [1000.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    monkeypatch.setattr(Session, "status", 401)
    renewals = []
    for passed in (0, 1, 30, 60, 61, 62):
        now[0] = 1000.0 + passed
        requests_of_heat.post(URL)
        renewals.append(sessions[0].sent[-1]["allow_reauth"])
    assert renewals == [True, False, False, False, True, False]


def test_accepted_signatures_do_not_defer_the_next_login(
    requests_of_heat: Any, sessions: Sessions, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A token that expires between two signals is replaced at once."""
    monkeypatch.setattr("time.monotonic", lambda: 1000.0)
    for status in (200, 200, 401):
        monkeypatch.setattr(Session, "status", status)
        requests_of_heat.post(URL)
    assert [each["allow_reauth"] for each in sessions[0].sent] == [True, True, True]


def test_the_log_of_requests_has_no_query() -> None:
    """A signature is in the query. uWSGI's own format has it."""
    conf = yaml.safe_load((CHART / "values.yaml").read_text())["conf"]["heat_cfn_uwsgi"]["uwsgi"]
    assert "%(var.PATH_INFO)" in conf["log-format"]
    assert not {"%(uri)", "%(var.QUERY_STRING)", "%(var.REQUEST_URI)"} & set(
        conf["log-format"].replace('"', " ").split()
    )
