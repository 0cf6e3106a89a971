"""WSGI application of Designate's API. Values from memcached are never unpickled."""

import sys

from designate.api.wsgi import init_application

sys.path.append("/opt/stackwright")

import no_pickles  # noqa: E402

no_pickles.install()
application = init_application()
