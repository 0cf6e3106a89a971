"""WSGI application of the Placement API, which waits until a Job has created the tables of the database.

Unlike other services, Placement reads its tables when it starts, and inserts the standard traits, once. If it ended
with an error because they are missing, Kubernetes would restart it with a growing delay. So it waits here and is not
ready meanwhile.
Values from memcached are never unpickled.
"""

import sys
import time
from pathlib import Path

from oslo_db.exception import DBError
from placement.wsgi import init_application

sys.path.append("/opt/stackwright")

import no_pickles  # noqa: E402
import schema  # noqa: E402

SNIPPETS = Path("/etc/placement/placement.conf.d")


def load():
    schema.wait_for_any(schema.connection_of(SNIPPETS, "placement_database"))
    while True:
        try:
            return init_application()
        except DBError as error:
            print(f"The database is not ready: {error}", flush=True)
            time.sleep(1)


no_pickles.install()
application = load()
