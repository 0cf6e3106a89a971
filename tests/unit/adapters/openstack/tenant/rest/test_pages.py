"""Pages of a list, with the links that Neutron, Nova and Cinder give to further ones."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any
from unittest.mock import Mock

import pytest

from stackwright.adapters.openstack.tenant.rest.reads import fetch
from stackwright.core.openstack.errors import TransientCloudError


def answers(body: Any, status: int = 200) -> Mock:
    text = json.dumps(body)
    headers = {"X-Openstack-Request-Id": "req-1"}
    return Mock(status_code=status, headers=headers, content=text.encode(), text=text, json=lambda: json.loads(text))


class Lists:
    """A cloud with a list of ids, in pages of at most `most`. `links` gives those of an answer."""

    def __init__(self, ids: list[str], most: int, links: Callable[[list[str], int], Any]) -> None:
        self.ids, self.asked = ids, 0
        self._most, self._links = most, links
        self.current_project_id, self.session = "p", Mock(auth=None)
        self.network = self.compute = self.block_storage = Mock(request=self._request)
        self.gone: str = ""  # a resource that is deleted after the first response
        self.status = 404  # of a response to an absent marker

    def _request(self, path: str, method: str, params: Any, **_: Any) -> Mock:
        self.asked += 1
        if "marker" in params and params["marker"] not in self.ids:
            return answers({"error": {"message": f"{params['marker']} could not be found"}}, self.status)
        begin = self.ids.index(params["marker"]) + 1 if "marker" in params else 0
        limit = min(self._most, params["limit"])
        found = self.ids[begin : begin + limit]
        if self.gone in self.ids:
            self.ids.remove(self.gone)
        key = path.strip("/").split("/")[0]
        return answers({key: [{"id": id_} for id_ in found], f"{key}_links": self._links(found, limit)})


def neutron(found: list[str], limit: int) -> Any:
    """Like its get_pagination_links: a request with a limit always gets a previous page, even on the first one."""
    more = [{"rel": "next", "href": "http://n"}] if len(found) >= limit else []
    return [*more, {"rel": "previous", "href": "http://n"}]


def nova(found: list[str], limit: int) -> Any:
    return [{"rel": "next", "href": "http://n"}] if len(found) >= limit else []


@pytest.mark.parametrize(("what", "links"), [("port", neutron), ("server", nova)])
@pytest.mark.parametrize(("items", "most", "asked"), [(0, 9, 1), (3, 9, 1), (3, 2, 2), (4, 2, 3), (750, 1000, 2)])
def test_pages_are_requested_until_the_last_one(what: str, links: Any, items: int, most: int, asked: int) -> None:
    lists = Lists([str(n) for n in range(items)], most, links)
    assert [thing.id for thing in fetch(lists, what)] == [str(n) for n in range(items)]  # type: ignore[arg-type]
    assert lists.asked == asked


@pytest.mark.parametrize("links", [5, [5], "x", {"rel": "next"}, [{}], [{"rel": None}]])
def test_links_in_another_format_are_followed(links: Any) -> None:
    lists = Lists(["1"], 9, lambda found, limit: links)
    assert [thing.id for thing in fetch(lists, "port")] == ["1"]  # type: ignore[arg-type]
    assert lists.asked == 2


@pytest.mark.parametrize(("what", "status"), [("port", 404), ("trunk", 404), ("volume", 404), ("server", 400)])
def test_a_marker_that_was_deleted_meanwhile_is_no_word_about_the_service(what: str, status: int) -> None:
    """For trunks and volumes, a 404 would mean that the cloud lacks this service, and no user can resolve a 400."""
    lists = Lists(["1", "2", "3"], 2, nova)
    lists.gone, lists.status = "2", status
    with pytest.raises(TransientCloudError) as raised:
        fetch(lists, what)  # type: ignore[arg-type]
    assert (raised.value.reason, lists.asked) == ("Unreachable", 2)


def test_a_missing_service_is_reported_as_before() -> None:
    lists = Lists([], 2, nova)
    lists.network = Mock(request=lambda *_, **__: answers({}, 404))
    with pytest.raises(TransientCloudError) as raised:
        fetch(lists, "trunk")  # type: ignore[arg-type]
    assert raised.value.reason == "NotFound"
