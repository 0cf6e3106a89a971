"""WSGI application of Glance's API, which waits until the first migration of the database has ended.

A repeated migration would drop the images that users create before. Values from memcached are never unpickled.
"""

import sys
from pathlib import Path

from glance.common.wsgi_app import init_app

sys.path.append("/opt/stackwright")

import no_pickles  # noqa: E402
import schema  # noqa: E402

URL = schema.connection_of(Path("/etc/glance/glance.conf.d"))


def lack():
    with schema.connect(URL) as server, server.cursor() as cursor:
        return "" if schema.versions(cursor) else "no version"


schema.wait(lack, "the database's schema")
no_pickles.install()
application = init_app()
