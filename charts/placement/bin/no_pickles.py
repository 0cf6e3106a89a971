"""Nothing that memcached holds is unpickled, for scripts of charts.

python-memcached unpickles whatever a server sends, before anybody has looked at a signature, so that any pod that reaches
memcached could run code in the service. What keystonemiddleware keeps there is bytes, and needs no pickles.
"""

import pickle
from typing import Any, NoReturn

import memcache


def install() -> None:
    """Let all clients that are made from now on take a pickle for a value that is not there."""
    made = memcache.Client.__init__

    def init(self: Any, *args: Any, **named: Any) -> None:
        made(self, *args, **{**named, "unpickler": _refuse})

    memcache.Client.__init__ = init


def _refuse(_file: object) -> NoReturn:
    raise pickle.UnpicklingError("values of memcached are not unpickled")
