"""WSGI application of Cinder's API. Values from memcached are never unpickled."""

import sys

from cinder.wsgi.wsgi import initialize_application

sys.path.append("/opt/stackwright")

import no_pickles  # noqa: E402

no_pickles.install()
application = initialize_application()
