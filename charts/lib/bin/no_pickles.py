"""Disables unpickling in python-memcached.

python-memcached unpickles values before a signature is checked, so any pod with access to memcached could run code in
the service. keystonemiddleware stores only bytes and needs no pickles.
"""

import pickle
from typing import Any, NoReturn

import memcache


def install() -> None:
    """Makes all new clients treat a pickled value as missing."""
    made = memcache.Client.__init__

    def init(self: Any, *args: Any, **named: Any) -> None:
        made(self, *args, **{**named, "unpickler": _refuse})

    memcache.Client.__init__ = init


def _refuse(_file: object) -> NoReturn:
    raise pickle.UnpicklingError("values of memcached are not unpickled")
