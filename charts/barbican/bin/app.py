"""WSGI application of Barbican's API, which waits for the first migration. Values from memcached are never unpickled."""

import sys
from pathlib import Path

from barbican.api.app import get_api_wsgi_script

sys.path.append("/opt/stackwright")

import guard  # noqa: E402
import kek  # noqa: E402
import no_pickles  # noqa: E402
import schema  # noqa: E402
import vault  # noqa: E402

schema.wait_for_any(schema.connection_of(Path("/etc/barbican/barbican.conf.d")))
no_pickles.install()
guard.install()
kek.install()
vault.install()
application = get_api_wsgi_script()
