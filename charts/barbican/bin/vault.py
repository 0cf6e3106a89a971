"""What Barbican's store in Vault lacks: `install()`, before the stores are loaded.

Barbican has no option for the version of the KV secrets engine; here, [vault_plugin] has `kv_version`. Castellan ignores
refused writes, such as those to an engine that does not exist: users would lose the secret that they stored. And after
Vault has revoked a token, it would use that token until it expires.
"""

from barbican.plugin import vault_secret_store
from castellan.common import exception
from castellan.key_manager import vault_key_manager
from oslo_config import cfg

GROUP = "vault_plugin"


def install():
    conf = vault_secret_store.CONF
    conf.register_opt(cfg.IntOpt("kv_version", default=2, min=1, max=2), group=GROUP)
    store, manager = vault_secret_store.VaultSecretStore, vault_key_manager.VaultKeyManager
    get_conf, request = store.get_conf, manager._do_http_request

    def with_version(self, conf=conf):
        made = get_conf(self, conf)
        made.set_default("kv_version", conf.vault_plugin.kv_version, group="vault")
        return made

    def with_a_valid_token(self, method, resource, json=None):
        try:
            return request(self, method, resource, json)
        except exception.Forbidden:
            if self._cached_approle_token_id is None:
                raise
            self._cached_approle_token_id = None
            return request(self, method, resource, json)

    def checked(self, method, resource, json=None):
        answer = with_a_valid_token(self, method, resource, json)
        if json is not None and not answer.ok:
            raise exception.KeyManagerError(f"Vault refused to store: {answer.status_code} {answer.reason}")
        return answer

    store.get_conf, manager._do_http_request = with_version, checked
