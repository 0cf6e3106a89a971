"""Converts errors of openstacksdk to CloudError."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

from stackwright.adapters.openstack.transport.client import message_of, sdk_errors, status_of
from stackwright.smoke.tenant import CloudError

C = TypeVar("C")


def explained(cls: type[C]) -> type[C]:
    """Class decorator: public methods raise CloudError for every SDK error."""
    for name, method in list(vars(cls).items()):
        if callable(method) and not name.startswith("_"):
            setattr(cls, name, _explained(method))
    return cls


def _explained(method: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(method)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return method(*args, **kwargs)
        except sdk_errors() as error:
            status = status_of(error)
            said = f"HTTP {status}: {message_of(error)}" if status else message_of(error) or type(error).__name__
            passing = status in (404, 408, 409, 429) or status >= 500 or not status
            raise CloudError(f"{method.__name__}: {said}", passing=passing) from error

    return call
