"""Parts that the features of several services share."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from stackwright.api.fields.naming import Format, ObjectName, SecretKeyName
from stackwright.api.meta import Model

Quantity = Annotated[
    str,
    Format(
        r"(0*[1-9][0-9]*(\.[0-9]+)?|0+\.0*[1-9][0-9]*)(Ki|Mi|Gi|Ti|k|M|G|T)?",
        32,
        "must be a number above 0 with a unit, such as 20Gi",
    ),
]


class SecretKey(Model):
    name: ObjectName = Field(description="Secret in the namespace of the cloud.")
    key: SecretKeyName = Field(description="Key in the Secret.")


class ValueFrom(Model):
    secret_key_ref: SecretKey = Field(description="Reference to the value.")


class SecretValue(Model):
    """A reference to a text in a Secret, because many users may read the object and the text may be confidential."""

    value_from: ValueFrom = Field(description="Read the value from a Secret.")


class Enabled(Model):
    enabled: bool = Field(description="Whether it is enabled.")
