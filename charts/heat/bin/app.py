"""WSGI application of Heat's API. Values from memcached are never unpickled; templates are bounded (guard.py)."""

import sys

from heat.api.openstack.wsgi import init_application

sys.path.append("/opt/stackwright")

import guard  # noqa: E402
import no_pickles  # noqa: E402

no_pickles.install()
guard.install()
application = init_application()
