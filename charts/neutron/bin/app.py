"""WSGI application of Neutron's API. Values from memcached are never unpickled."""

import sys

from neutron.cmd.server import main_api_uwsgi

sys.path.append("/opt/stackwright")

import no_pickles  # noqa: E402

no_pickles.install()
application = main_api_uwsgi()
