"""WSGI application of Glance's API, which waits for the first migration. Values from memcached are never unpickled."""

import sys
from pathlib import Path

from glance.common.wsgi_app import init_app

sys.path.append("/opt/stackwright")

import no_pickles  # noqa: E402
import schema  # noqa: E402

schema.wait_for_any(schema.connection_of(Path("/etc/glance/glance.conf.d")))
no_pickles.install()
application = init_app()
