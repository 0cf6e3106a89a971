"""The features of the dashboard."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from stackwright.api.meta import Model
from stackwright.api.support import Unsupported, UnsupportedList, unsupported
from stackwright.services.context import Settings


class HorizonFeatures(Model):
    default_theme: Literal["default", "material"] = Field("default", description="Default theme.")
    themes: UnsupportedList = unsupported("Custom themes.")
    motd: Unsupported = unsupported("Messages of the day.")


class HorizonSettings(HorizonFeatures, Settings):
    """features.horizon."""
