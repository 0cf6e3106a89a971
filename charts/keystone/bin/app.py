"""WSGI application of Keystone, with an encrypted cache and a policy that is loaded before the first request.

Without this, concurrent first requests see a half-loaded policy and get 403, because Keystone publishes the enforcer
before its rules are loaded.
"""

import sys

sys.path.append("/opt/stackwright")

import sealed_cache  # noqa: E402
from keystone.common.rbac_enforcer.enforcer import RBACEnforcer  # noqa: E402
from keystone.server.wsgi import initialize_public_application  # noqa: E402

sealed_cache.install()
application = initialize_public_application()

enforcer = RBACEnforcer()._enforcer
# Suppress a warning for each rule whose default will change; Keystone itself does not log them while it serves.
enforcer.suppress_deprecation_warnings = True
enforcer.load_rules()
