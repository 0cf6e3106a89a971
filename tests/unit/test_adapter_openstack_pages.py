"""Pages of a list, with the links that Neutron, Nova and Cinder give to further ones."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any
from unittest.mock import Mock

import pytest

from stackwright.adapters.openstack.tenant.snapshot import fetch
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
        self.gone: str = ""  # a thing that goes after the first answer
        self.status = 404  # of an answer to a marker that is not there

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
    """As its get_pagination_links: whoever sets a limit is always told of a previous page, even on the first."""
    more = [{"rel": "next", "href": "http://n"}] if len(found) >= limit else []
    return [*more, {"rel": "previous", "href": "http://n"}]


def nova(found: list[str], limit: int) -> Any:
    return [{"rel": "next", "href": "http://n"}] if len(found) >= limit else []


@pytest.mark.parametrize(("what", "links"), [("port", neutron), ("server", nova)])
@pytest.mark.parametrize(("items", "most", "asked"), [(0, 9, 1), (3, 9, 1), (3, 2, 2), (4, 2, 3), (750, 1000, 2)])
def test_a_list_is_asked_for_only_as_far_as_it_goes(what: str, links: Any, items: int, most: int, asked: int) -> None:
    lists = Lists([str(n) for n in range(items)], most, links)
    assert [thing.id for thing in fetch(lists, what)] == [str(n) for n in range(items)]  # type: ignore[arg-type]
    assert lists.asked == asked


@pytest.mark.parametrize("links", [5, [5], "x", {"rel": "next"}, [{}], [{"rel": None}]])
def test_links_of_another_form_lead_on(links: Any) -> None:
    lists = Lists(["1"], 9, lambda found, limit: links)
    assert [thing.id for thing in fetch(lists, "port")] == ["1"]  # type: ignore[arg-type]
    assert lists.asked == 2


@pytest.mark.parametrize(("what", "status"), [("port", 404), ("trunk", 404), ("volume", 404), ("server", 400)])
def test_a_marker_that_was_deleted_meanwhile_is_no_word_about_the_service(what: str, status: int) -> None:
    """Of trunks and volumes a 404 would mean that the cloud has no such service, and a 400 is nobody's to mend."""
    lists = Lists(["1", "2", "3"], 2, nova)
    lists.gone, lists.status = "2", status
    with pytest.raises(TransientCloudError) as raised:
        fetch(lists, what)  # type: ignore[arg-type]
    assert (raised.value.reason, lists.asked) == ("Unreachable", 2)


def test_a_service_that_is_missing_is_told_as_before() -> None:
    lists = Lists([], 2, nova)
    lists.network = Mock(request=lambda *_, **__: answers({}, 404))
    with pytest.raises(TransientCloudError) as raised:
        fetch(lists, "trunk")  # type: ignore[arg-type]
    assert raised.value.reason == "NotFound"
