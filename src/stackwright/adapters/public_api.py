"""Quick checks of a cloud's public endpoints over HTTP: response times, and the agents that Nova and Neutron list.

Importing openstacksdk would take longer than all requests. Each check has its own result or its own problem; they run
in parallel, except that the lists of agents need a token first.
"""

from __future__ import annotations

import asyncio
import ssl
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import httpx2

from stackwright.core.openstack.access import Access
from stackwright.core.openstack.agents import Agent
from stackwright.services.registry import PUBLIC

LIMIT = 2.0


@dataclass(frozen=True)
class Endpoint:
    """Result of one check; `problem` is empty if the endpoint answered, within `milliseconds`."""

    service: str
    url: str
    milliseconds: int = 0
    problem: str = ""


@dataclass(frozen=True)
class Live:
    """agents   Neutron's agents and Nova's compute services
    problem  why agents are missing
    """

    endpoints: tuple[Endpoint, ...] = ()
    agents: tuple[Agent, ...] = ()
    problem: str = ""

    def as_dict(self) -> dict[str, Any]:
        return {
            "endpoints": [asdict(each) for each in self.endpoints],
            "agents": [asdict(each) for each in self.agents],
            "problem": self.problem,
        }


async def look(access: Access, limit: float = LIMIT) -> Live:
    """Run all checks in parallel; each request has `limit` seconds."""
    tls = ssl.create_default_context(cadata=access.ca)
    async with httpx2.AsyncClient(verify=tls, timeout=limit, trust_env=False) as client:
        asked = [_endpoint(client, access, word) for word in PUBLIC if word in access.services]
        endpoints, (agents, problem) = await asyncio.gather(asyncio.gather(*asked), _agents(client, access))
        return Live(tuple(endpoints), agents, problem)


async def _endpoint(client: httpx2.AsyncClient, access: Access, word: str) -> Endpoint:
    public = PUBLIC[word]
    host = public.host
    url, start = f"{access.host(host)}{public.path}", time.monotonic()
    try:
        answer = await client.get(url)
    except (httpx2.HTTPError, OSError) as error:
        return Endpoint(host, url, problem=_why(error))
    spent = round((time.monotonic() - start) * 1000)
    # Glance and Nova list their versions with status 300; the dashboard redirects to its login page.
    problem = f"HTTP {answer.status_code}" if answer.status_code >= 400 else ""
    return Endpoint(host, url, spent, problem)


async def _agents(client: httpx2.AsyncClient, access: Access) -> tuple[tuple[Agent, ...], str]:
    wanted = [
        (word, ask) for word, ask in (("compute", _computes), ("networking", _networks)) if word in access.services
    ]
    if not wanted:
        return (), ""
    try:
        headers = {"X-Auth-Token": await _token(client, access)}
        lists = await asyncio.gather(*(ask(client, access, headers) for _, ask in wanted))
    except (httpx2.HTTPError, OSError, ValueError) as error:
        return (), _why(error)
    return tuple(agent for found in lists for agent in found), ""


async def _token(client: httpx2.AsyncClient, access: Access) -> str:
    auth = access.auth
    user = {"name": auth["username"], "password": auth["password"], "domain": {"name": auth["user_domain_name"]}}
    scope = {"project": {"name": auth["project_name"], "domain": {"name": auth["project_domain_name"]}}}
    body = {"auth": {"identity": {"methods": ["password"], "password": {"user": user}}, "scope": scope}}
    answer = await client.post(f"{access.auth_url}/auth/tokens", json=body)
    answer.raise_for_status()
    return str(answer.headers["X-Subject-Token"])


async def _computes(client: httpx2.AsyncClient, access: Access, headers: Mapping[str, str]) -> list[Agent]:
    found = await _get(client, f"{access.host('nova')}/v2.1/os-services", headers)
    return [
        Agent(each["binary"], each["host"], each["state"] == "up", each["status"] == "enabled")
        for each in found["services"]
    ]


async def _networks(client: httpx2.AsyncClient, access: Access, headers: Mapping[str, str]) -> list[Agent]:
    found = await _get(client, f"{access.host('neutron')}/v2.0/agents", headers)
    return [
        Agent(each["binary"], each["host"], bool(each["alive"]), bool(each["admin_state_up"]))
        for each in found["agents"]
    ]


async def _get(client: httpx2.AsyncClient, url: str, headers: Mapping[str, str]) -> dict[str, Any]:
    answer = await client.get(url, headers=headers)
    answer.raise_for_status()
    return dict(answer.json())


def _why(error: Exception) -> str:
    """A short description of the error; the library's own is long or empty."""
    if isinstance(error, httpx2.HTTPStatusError):
        return f"HTTP {error.response.status_code} from {error.request.url.host}"
    if isinstance(error, httpx2.TimeoutException):
        return "no response in time"
    text = " ".join(str(error).split())
    if "Name or service not known" in text or "Temporary failure in name resolution" in text:
        return "this machine cannot resolve the name; `stackwright up` adds it to /etc/hosts"
    return text[:160] or type(error).__name__
