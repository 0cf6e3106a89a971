"""Cinder's API as uWSGI runs it: it unpickles nothing that memcached holds."""

import sys

from cinder.wsgi.wsgi import initialize_application

sys.path.append("/opt/stackwright")

import no_pickles  # noqa: E402

no_pickles.install()
application = initialize_application()
