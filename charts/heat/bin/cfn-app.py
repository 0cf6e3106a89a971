"""WSGI application of Heat's API in the form of CloudFormation, by which virtual machines send signals.

Headers by which Heat's middleware passes on a login are deleted from requests: it would send its own password to a
Keystone of the client's choice. The API checks its policies without a target, which they require, so they would refuse
all requests; here the target is the project of the client. The engines show each project its own stacks only.

Their URLs are signed. Keystone verifies a signature for users with the role `service` or `admin` only (CVE-2025-65073),
but this release of Heat requests it without a token, so this application adds one. Values from memcached are never
unpickled.
"""

import sys
import time
from typing import Any

import requests
import heat.api.aws.ec2token as ec2token  # noqa: PLR0402
from heat.api.cfn.wsgi import init_application
from heat.common.policy import Enforcer
from keystoneauth1 import loading, session
from oslo_config import cfg

sys.path.append("/opt/stackwright")

import guard  # noqa: E402
import no_pickles  # noqa: E402

LOGIN = ("HTTP_X_AUTH_URL", "HTTP_X_AUTH_USER", "HTTP_X_AUTH_KEY", "HTTP_X_AUTH_EC2_CREDS")
PATIENCE = 60  # seconds


class WithToken:
    """`requests`, as the middleware for signatures uses it, with a token of Heat's own user.

    Keystone refuses a wrong signature as it refuses an expired token (401), so at most one response of PATIENCE leads to
    a new login: clients with wrong signatures could cause others, which take Keystone much longer.
    """

    def __init__(self) -> None:
        self._session: session.Session | None = None
        self._renewed = 0.0

    def post(self, url: str, **options: Any) -> requests.Response:
        if self._session is None:  # the options are registered when the application is ready
            auth = loading.load_auth_from_conf_options(cfg.CONF, "keystone_authtoken")
            self._session = session.Session(auth=auth)
        now = time.monotonic()
        renew = now - self._renewed > PATIENCE
        response = self._session.post(url, authenticated=True, allow_reauth=renew, raise_exc=False, log=False, **options)
        if renew and response.status_code == requests.codes.unauthorized:
            self._renewed = now
        return response


def without_login(inner):
    """The application without these headers of clients."""

    def call(environ, start_response):
        for name in LOGIN:
            environ.pop(name, None)
        return inner(environ, start_response)

    return call


def with_target(enforce):
    """Heat's check of a policy, with the project of the client, if it has one, as the target unless there is another."""

    def call(self, context, action, scope=None, target=None, is_registered_policy=False):
        if not target and context.project_id:
            target = {"project_id": context.project_id}
        return enforce(self, context, action, scope, target, is_registered_policy)

    return call


no_pickles.install()
guard.install()
application = without_login(init_application())
Enforcer.enforce = with_target(Enforcer.enforce)
ec2token.requests = WithToken()
