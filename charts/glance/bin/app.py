"""WSGI application of Glance's API. Values from memcached are never unpickled."""

import sys

from glance.common.wsgi_app import init_app

sys.path.append("/opt/stackwright")

import no_pickles  # noqa: E402

no_pickles.install()
application = init_app()
