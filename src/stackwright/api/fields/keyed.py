"""Lists whose items have an identity."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic_core import CoreSchema, core_schema


@dataclass(frozen=True)
class Keyed:
    """Annotation of a list whose items have an identity, so that different appliers can own different items.

    by  field that identifies an item; empty if the item itself does
    """

    by: str = ""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_after_validator_function(self._check, handler(source))

    def __get_pydantic_json_schema__(self, core: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        mark = {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": [self.by]}
        return {**handler(core), **(mark if self.by else {"x-kubernetes-list-type": "set"})}

    def _check(self, values: list[Any]) -> list[Any]:
        seen = Counter(getattr(value, self.by) if self.by else value for value in values)
        if twice := sorted(str(each) for each, times in seen.items() if times > 1):
            raise ValueError(f"duplicate entry: {', '.join(twice)}")
        return values
