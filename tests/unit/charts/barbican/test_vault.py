"""What Barbican's store in Vault lacks, and values of users that Barbican would quote."""

from __future__ import annotations

import runpy
from types import SimpleNamespace
from typing import Any

import pytest
from oslo_config import cfg

from tests.unit.charts.barbican.test_kek import BIN, module


class Forbidden(Exception):
    pass


class KeyManagerError(Exception):
    pass


class Manager:
    """Castellan's client: what it sends is kept, and answered by `answers`."""

    def __init__(self, *answers: Any, token: str | None = "token") -> None:
        self._cached_approle_token_id = token
        self.answers, self.sent = list(answers), 0

    def _do_http_request(self, method: str, resource: str, json: object = None) -> Any:
        self.sent += 1
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


class Store:
    def get_conf(self, conf: Any = None) -> Any:
        made = cfg.ConfigOpts()
        made.register_opts([cfg.IntOpt("kv_version", default=2)], group="vault")
        return made


OK = SimpleNamespace(ok=True, status_code=200, reason="OK")
MISSING = SimpleNamespace(ok=False, status_code=404, reason="Not Found")


@pytest.fixture
def conf(monkeypatch: pytest.MonkeyPatch) -> Any:
    found = cfg.ConfigOpts()
    found([], project="barbican", default_config_files=[], default_config_dirs=[])
    store, manager = type("S", (Store,), {}), type("M", (Manager,), {})
    module(monkeypatch, "barbican.plugin.vault_secret_store", CONF=found, VaultSecretStore=store)
    module(monkeypatch, "castellan.common.exception", Forbidden=Forbidden, KeyManagerError=KeyManagerError)
    module(monkeypatch, "castellan.key_manager.vault_key_manager", VaultKeyManager=manager)
    runpy.run_path(str(BIN / "vault.py"))["install"]()
    return SimpleNamespace(options=found, store=store, manager=manager)


@pytest.mark.parametrize("version", [1, 2])
def test_castellan_gets_the_version_of_the_engine(conf: Any, version: int) -> None:
    conf.options.set_override("kv_version", version, group="vault_plugin")
    assert conf.store().get_conf().vault.kv_version == version


def test_a_refused_write_is_no_success(conf: Any) -> None:
    with pytest.raises(KeyManagerError, match="refused to store: 404 Not Found"):
        conf.manager(MISSING)._do_http_request("POST", "v1/none/data/x", json={"data": {}})
    assert conf.manager(OK)._do_http_request("POST", "v1/secret/data/x", json={"data": {}}) is OK
    assert conf.manager(MISSING)._do_http_request("GET", "v1/secret/data/x") is MISSING, (
        "castellan names what is missing"
    )


def test_a_revoked_token_is_replaced_once(conf: Any) -> None:
    manager = conf.manager(Forbidden(), OK)
    assert manager._do_http_request("GET", "v1/secret/data/x") is OK
    assert manager._cached_approle_token_id is None
    twice = conf.manager(Forbidden(), Forbidden(), OK)
    with pytest.raises(Forbidden):
        twice._do_http_request("GET", "v1/secret/data/x")
    first = conf.manager(Forbidden(), OK, token=None)
    with pytest.raises(Forbidden):
        first._do_http_request("GET", "v1/secret/data/x")
    assert first.sent == 1, "the log-in itself was refused"


def test_a_value_of_a_wrong_form_is_not_quoted(monkeypatch: pytest.MonkeyPatch) -> None:
    class InvalidObject(Exception):
        def __init__(self, schema: str, reason: str, property: str) -> None:
            super().__init__(f"{schema}: {reason}. Invalid property: {property}")
            self.invalid_property = property

    class Base:
        def _assert_schema_is_valid(self, json_data: Any, schema_name: str) -> None:
            if not isinstance(json_data["payload"], str):
                raise InvalidObject(schema_name, f"{json_data['payload']} is not of type 'string'", "payload")

    module(monkeypatch, "barbican.common.exception", InvalidObject=InvalidObject)
    module(monkeypatch, "barbican.common.validators", ValidatorBase=Base)
    runpy.run_path(str(BIN / "guard.py"))["install"]()
    Base()._assert_schema_is_valid({"payload": "text"}, "Secret")
    with pytest.raises(InvalidObject, match="Invalid property: payload") as caught:
        Base()._assert_schema_is_valid({"payload": ["s3cret"]}, "Secret")
    assert "s3cret" not in str(caught.value)
    assert caught.value.__suppress_context__, "a log with the traceback shows no cause"
