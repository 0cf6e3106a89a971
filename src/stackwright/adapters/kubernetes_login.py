"""Log-in by the command that a kubeconfig names (`exec`), as client-go does it: a token, a client certificate, or both.

lightkube knows tokens only, waits for a command as long as it takes, and knows nothing of the end of what it gives.
"""

from __future__ import annotations

import asyncio
import ssl
import tempfile
from asyncio.subprocess import PIPE
from collections.abc import AsyncGenerator
from datetime import UTC, datetime

import httpx2
from lightkube.config.client_adapter import ExecAuth, verify_cluster
from lightkube.config.kubeconfig import KubeConfig, SingleConfig
from lightkube.config.models import User
from lightkube.core.exceptions import ConfigError
from lightkube.core.generic_client import GenericAsyncClient
from pydantic import AwareDatetime, BaseModel, Field, ValidationError

from stackwright.api.secrecy import hidden
from stackwright.core.ports import Refused

# Seconds that a command of a kubeconfig may take; people may have to log in with a browser.
LOGIN = 120.0
EXEC_V1, EXEC_V1BETA1 = (f"client.authentication.k8s.io/{version}" for version in ("v1", "v1beta1"))
WANTED = "status.token, or status.clientCertificateData and status.clientKeyData"


class _Given(BaseModel):
    """What a command gave: `status` of an ExecCredential. Without an end it is used until the API server refuses it."""

    token: str | None = None
    certificate: str | None = Field(None, alias="clientCertificateData")
    key: str | None = Field(None, alias="clientKeyData")
    end: AwareDatetime | None = Field(None, alias="expirationTimestamp")

    def enough(self) -> bool:
        return bool(self.token or self.certificate) and bool(self.certificate) == bool(self.key)

    def over(self) -> bool:
        return self.end is not None and self.end <= datetime.now(UTC)

    def into(self, request: httpx2.Request) -> httpx2.Request:
        if self.token:
            request.headers["Authorization"] = f"Bearer {self.token}"
        return request


class _Answer(BaseModel):
    status: _Given


class _Command(ExecAuth):
    """lightkube's log-in by a command, with a limit of its time, and its name in what is wrong with it."""

    def __init__(self, client: httpx2.AsyncClient, config: SingleConfig, user: User) -> None:
        assert user.exec
        super().__init__(user.exec)
        self._client, self._config, self._user = client, config, user
        self._outcome: _Given | ConfigError | None = None  # of the command's last run
        self._lock = asyncio.Lock()

    async def async_auth_flow(self, request: httpx2.Request) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        last = self._outcome
        if isinstance(last, _Given) and not last.over() and (yield last.into(request)).status_code != 401:
            return
        request.headers.pop("Authorization", None)
        yield (await self._login_after(last)).into(request)

    async def _login_after(self, last: _Given | ConfigError | None) -> _Given:
        """What a later run of the command gives; all requests that wait for one share it. Raises ConfigError."""
        async with self._lock:
            if self._outcome is last:
                try:
                    self._outcome = await self._login()
                except ConfigError as error:
                    self._outcome = error
            outcome = self._outcome
        if isinstance(outcome, _Given):
            return outcome
        raise ConfigError(str(outcome))

    async def _login(self) -> _Given:
        """Raises ConfigError."""
        command = f"its command {self._exec.command}"
        try:
            given = _Answer.model_validate_json(await self._output()).status
        except ValidationError:  # it may repeat a token
            given = None
        if not given or not given.enough():
            raise ConfigError(f"{command} gives no ExecCredential with {WANTED}")
        if given.certificate:
            try:
                context = self._context(f"{given.certificate}\n{given.key}")
            except (ssl.SSLError, UnicodeError):
                raise ConfigError(f"{command} gives a certificate and a key that do not belong together") from None
            # Connections end with their requests: none stays open with a former certificate.
            limits = httpx2.Limits(max_keepalive_connections=0)
            self._client._transport = httpx2.AsyncHTTPTransport(verify=context, trust_env=False, limits=limits)
        return given

    def _context(self, pem: str) -> ssl.SSLContext:
        context = verify_cluster(self._config.cluster, self._user, self._config.abs_file, trust_env=False)
        with tempfile.NamedTemporaryFile() as file:  # Python reads certificates from files only; this is its owner's
            file.write(pem.encode())
            file.flush()
            context.load_cert_chain(file.name, password="")  # never asks a terminal for one
        return context

    async def _output(self) -> bytes:
        """Raises ConfigError."""
        words, environment = self._prepare()
        try:
            process = await asyncio.create_subprocess_exec(*words, env=environment, stdout=PIPE, stderr=PIPE)
        except OSError as error:
            raise ConfigError(f"its command {words[0]} cannot be run: {error.strerror or error}") from error
        try:
            output, errors = await asyncio.wait_for(process.communicate(), LOGIN)
        except TimeoutError:
            raise ConfigError(f"its command {words[0]} has not ended after {LOGIN:.0f} s") from None
        finally:
            process._transport.close()  # type: ignore[attr-defined]  # kills it, and waits for none of its children
            await process.wait()
        if process.returncode:
            said = hidden(errors.decode(errors="replace").strip())
            raise ConfigError(f"its command {words[0]} ended with {process.returncode}: {said}")
        return output


def logged_in(client: GenericAsyncClient) -> GenericAsyncClient:
    """The same client; if a command logs it in, by what is above."""
    if isinstance(client._client.auth, ExecAuth):
        config = client.config
        assert config and config.user
        client._client.auth = _Command(client._client, config, config.user)
    return client


def of_context(config: KubeConfig, context: str | None) -> SingleConfig:
    """A cluster and a user; the current context if None. Raises Refused if there is none."""
    single = config.get(context_name=context)
    if single is None:  # lightkube answers None only for a default that nobody gives
        raise Refused("the kubeconfig has no current context")
    if single.user and single.user.exec and single.user.exec.apiVersion == EXEC_V1:
        single.user.exec.apiVersion = EXEC_V1BETA1  # of the answer both have what is read; lightkube knows this one
    return single
