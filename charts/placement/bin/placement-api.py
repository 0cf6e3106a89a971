"""The Placement API, as uWSGI loads it: it begins when the database has its tables, which a Job makes.

Unlike other services Placement looks into its tables when it starts. If it ended because they are not there yet, the
container would be started again later and later; so it waits here, and the readiness probe tells that it does.
It unpickles nothing that memcached holds.
"""

import sys
import time

from oslo_db.exception import DBError
from placement.wsgi import init_application

sys.path.append("/opt/stackwright")

import no_pickles  # noqa: E402


def load():
    while True:
        try:
            return init_application()
        except DBError as error:
            print(f"The database is not ready: {error}", flush=True)
            time.sleep(1)


no_pickles.install()
application = load()
