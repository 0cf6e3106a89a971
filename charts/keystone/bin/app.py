"""Keystone as uWSGI runs it: its cache is sealed, and its policy is whole before the first request.

Left to itself the policy is built by the first request, and whoever asks at the same time in another thread finds half of
it and is forbidden (403) what they may do: Keystone puts the enforcer in its place before it has its rules.
"""

import sys

sys.path.append("/opt/stackwright")

import sealed_cache  # noqa: E402
from keystone.common.rbac_enforcer.enforcer import RBACEnforcer  # noqa: E402
from keystone.server.wsgi import initialize_public_application  # noqa: E402

sealed_cache.install()
application = initialize_public_application()

enforcer = RBACEnforcer()._enforcer
# One warning for each rule whose default will change; Keystone itself does not give them while it serves.
enforcer.suppress_deprecation_warnings = True
enforcer.load_rules()
