"""Quick checks of a cloud's public endpoints over HTTP: response times, and the agents that Nova and Neutron list.

openstacksdk is not used: its import takes longer than all requests. Each check has its own result or problem. The
checks run in parallel, except that the lists of agents need a token first. No response of an endpoint raises an
exception.
"""

from __future__ import annotations

import asyncio
import ssl
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import httpx2

from stackwright.core.openstack.deployed.access import BAD_CA, Access
from stackwright.core.openstack.deployed.agents import Agent
from stackwright.services.registry import AGENT_LISTS, PUBLIC

LIMIT = 2.0


@dataclass(frozen=True)
class Endpoint:
    """Result of one check; `problem` is empty if the endpoint responded, within `milliseconds`."""

    service: str
    url: str
    milliseconds: int = 0
    problem: str = ""


@dataclass(frozen=True)
class Live:
    """agents   Neutron's agents and Nova's compute services
    problem  cause for which the agents, or all results, are missing
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


async def check_endpoints(access: Access, limit: float = LIMIT) -> Live:
    """Run all checks in parallel; each request has `limit` seconds."""
    try:
        tls = ssl.create_default_context(cadata=access.ca)
    except (ssl.SSLError, ValueError, TypeError):  # TypeError for text that is not ASCII
        return Live(problem=BAD_CA)
    async with httpx2.AsyncClient(verify=tls, timeout=limit, trust_env=False) as client:
        asked = [_endpoint(client, access, word, limit) for word in PUBLIC if word in access.services]
        endpoints, (agents, problem) = await asyncio.gather(asyncio.gather(*asked), _agents(client, access, limit))
        return Live(tuple(endpoints), agents, problem)


async def _endpoint(client: httpx2.AsyncClient, access: Access, word: str, limit: float) -> Endpoint:
    public = PUBLIC[word]
    host = public.host
    url, start = f"{access.host(host)}{public.path}", time.monotonic()
    try:
        async with asyncio.timeout(limit):
            answer = await client.get(url)
    except Exception as error:
        return Endpoint(host, url, problem=_why(error))
    spent = round((time.monotonic() - start) * 1000)
    # Glance and Nova list their versions with status 300; the dashboard redirects to its login page.
    problem = f"HTTP {answer.status_code}" if answer.status_code >= 400 else ""
    return Endpoint(host, url, spent, problem)


async def _agents(client: httpx2.AsyncClient, access: Access, limit: float) -> tuple[tuple[Agent, ...], str]:
    wanted = [word for word in AGENT_LISTS if word in access.services]
    if not wanted:
        return (), ""
    try:
        async with asyncio.timeout(limit):
            headers = {"X-Auth-Token": await _token(client, access)}
        async with asyncio.timeout(limit):
            lists = await asyncio.gather(*(_listed(client, access, headers, each) for each in wanted))
    except Exception as error:
        return (), _why(error)
    return tuple(agent for found in lists for agent in found), ""


async def _token(client: httpx2.AsyncClient, access: Access) -> str:
    auth = access.auth
    user = {"name": auth["username"], "password": auth["password"], "domain": {"name": auth["user_domain_name"]}}
    scope = {"project": {"name": auth["project_name"], "domain": {"name": auth["project_domain_name"]}}}
    body = {"auth": {"identity": {"methods": ["password"], "password": {"user": user}}, "scope": scope}}
    answer = await client.post(f"{access.auth_url}/auth/tokens", json=body)
    answer.raise_for_status()
    token = answer.headers.get("X-Subject-Token")
    if token is None:
        raise ValueError(f"{answer.url.host} returned no token")
    return str(token)


async def _listed(client: httpx2.AsyncClient, access: Access, headers: Mapping[str, str], word: str) -> list[Agent]:
    listing = AGENT_LISTS[word]
    answer = await client.get(f"{access.host(PUBLIC[word].host)}{listing.path}", headers=headers)
    answer.raise_for_status()
    try:
        found = answer.json()[listing.name]
        return [Agent(str(each["binary"]), str(each["host"]), *listing.state(each)) for each in found]
    except Exception:  # for any other content
        raise ValueError(f"{answer.url.host} returned no list of {listing.name}") from None


def _why(error: Exception) -> str:
    """A short description of the error; the library's own is long or empty."""
    if isinstance(error, httpx2.HTTPStatusError):
        return f"HTTP {error.response.status_code} from {error.request.url.host}"
    if isinstance(error, httpx2.TimeoutException | TimeoutError):
        return "no response in time"
    text = " ".join(str(error).split())
    if "Name or service not known" in text or "Temporary failure in name resolution" in text:
        return "this machine cannot resolve the name; `stackwright up` adds it to /etc/hosts"
    return text[:160] or type(error).__name__
