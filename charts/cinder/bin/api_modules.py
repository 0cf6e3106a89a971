"""The modules of Cinder's API, for preload.py: its objects are registered first, for the others name them as they are imported."""

from cinder import objects

objects.register_all()  # imports a module for each kind of object

import cinder.api.v3.router  # noqa: E402
import cinder.wsgi.wsgi  # noqa: E402, F401
