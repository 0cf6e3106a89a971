"""Nova's metadata API as uWSGI runs it: it unpickles nothing that memcached holds."""

import sys

from nova.api.metadata.wsgi import init_application

sys.path.append("/opt/stackwright")

import no_pickles  # noqa: E402

no_pickles.install()
application = init_application()
