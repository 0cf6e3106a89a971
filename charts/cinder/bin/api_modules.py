"""Modules of Cinder's API for preload.py. Objects are registered first, because other modules use them on import."""

from cinder import objects

objects.register_all()  # imports the module of each object class

import cinder.api.v3.router  # noqa: E402
import cinder.wsgi.wsgi  # noqa: E402, F401
