"""Keystone as uWSGI runs it: its policy is whole before the first request.

Left to itself it is built by the first one, and whoever asks at the same time in another thread finds half of it and is
forbidden (403) what he may do: Keystone puts the enforcer in its place before it has its rules.
"""

from keystone.common.rbac_enforcer.enforcer import RBACEnforcer
from keystone.server.wsgi import initialize_public_application

application = initialize_public_application()

enforcer = RBACEnforcer()._enforcer
# One warning for each rule whose default will change; Keystone itself does not give them while it serves.
enforcer.suppress_deprecation_warnings = True
enforcer.load_rules()
