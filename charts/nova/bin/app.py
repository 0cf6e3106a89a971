"""WSGI application of Nova's API. Values from memcached are never unpickled."""

import sys

from nova.api.openstack.compute.wsgi import init_application

sys.path.append("/opt/stackwright")

import no_pickles  # noqa: E402

no_pickles.install()
application = init_application()
