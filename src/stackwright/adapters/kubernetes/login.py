"""Log-in by the command that a kubeconfig names (`exec`), as client-go does it: a token, a client certificate, or both.

lightkube itself supports tokens only, has no timeout for the command, and ignores when a token expires.
"""

from __future__ import annotations

import asyncio
import ssl
import tempfile
from collections.abc import AsyncGenerator, Iterator
from contextlib import contextmanager
from copy import copy
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx2
from lightkube.config.client_adapter import ExecAuth, verify_cluster
from lightkube.config.kubeconfig import KubeConfig, SingleConfig, StrOrPath, to_mapping
from lightkube.config.models import Context, User
from lightkube.core.exceptions import ConfigError
from lightkube.core.generic_client import GenericAsyncClient
from pydantic import AwareDatetime, BaseModel, Field, ValidationError
from yaml import YAMLError

from stackwright.adapters.kubernetes.command import Exec, Served, Tell, output
from stackwright.api.errors import printable
from stackwright.api.wording import choices
from stackwright.core.errors import TransientError, Unreachable

# Timeout in seconds for a command of a kubeconfig; users may have to log in with a browser.
LOGIN = 120.0
WANTED = "status.token, or status.clientCertificateData and status.clientKeyData"


class _Given(BaseModel):
    """`status` of an ExecCredential from a command. Without an expiry it is used until the API server refuses it."""

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


class _User(User, omit_defaults=True):
    exec: Exec | None = None


class Kubeconfig(KubeConfig):
    """A kubeconfig with the fields that lightkube lacks."""

    @classmethod
    def from_dict(cls, conf: dict[str, Any], fname: StrOrPath | None = None) -> Kubeconfig:
        if not isinstance(conf, dict):
            raise ConfigError("it is not a mapping" if conf else "it is empty")
        for part in ("clusters", "contexts"):
            if not isinstance(conf.get(part), list):
                raise ConfigError(f"it lacks the list {part}")
        return cls(
            current_context=conf.get("current-context"),
            clusters=to_mapping(conf["clusters"], "cluster", Served),
            contexts=to_mapping(conf["contexts"], "context", Context),
            users=to_mapping(conf.get("users") or [], "user", _User),
            fname=fname,
        )


def wrong_with(error: Exception) -> str:
    """The error about a kubeconfig in one line. YAML's own text is not used: it quotes lines that may hold secrets."""
    if mark := getattr(error, "problem_mark", None):
        return f"line {mark.line + 1}, column {mark.column + 1}: {getattr(error, 'problem', '')}"
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    if isinstance(error, UnicodeDecodeError):
        return "it is not UTF-8 text"
    if isinstance(error, ConfigError | YAMLError | OSError):
        return " ".join(str(error).split())
    return "a field is missing or has a value of the wrong type"


def kubeconfig(path: StrOrPath | None) -> KubeConfig:
    """The kubeconfig at a path; None means the pod's service account."""
    return Kubeconfig.from_service_account() if path is None else Kubeconfig.from_file(path)


class _Command(httpx2.Auth):
    """Replaces lightkube's log-in with a command; `tell` gets its standard error, or else the exception contains it."""

    def __init__(self, client: httpx2.AsyncClient, config: SingleConfig, tell: Tell | None) -> None:
        self._client, self._config, self._tell = client, config, tell
        self._outcome: _Given | ConfigError | None = None  # of the last run of the command
        self._lock = asyncio.Lock()

    async def async_auth_flow(self, request: httpx2.Request) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        last = self._outcome
        if isinstance(last, _Given) and not last.over() and (yield last.into(request)).status_code != 401:
            return
        request.headers.pop("Authorization", None)
        yield (await self._login_after(last)).into(request)

    async def _login_after(self, last: _Given | ConfigError | None) -> _Given:
        """Credentials from a run later than `last`; all waiting requests share one run. Raises ConfigError."""
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
        """Run the command. Raises ConfigError."""
        assert self._config.user and self._config.user.exec
        command = f"its command {self._config.user.exec.command}"
        try:
            given = _Answer.model_validate_json(await output(self._config, LOGIN, self._tell)).status
        except ValidationError:  # it may repeat a token
            given = None
        if not given or not given.enough():
            raise ConfigError(f"{command} returned no ExecCredential with {WANTED}")
        if given.certificate:
            try:
                context = self._context(f"{given.certificate}\n{given.key}")
            except (ssl.SSLError, UnicodeError):
                raise ConfigError(f"{command} returned a certificate and a key that do not match") from None
            # No keep-alive: no connection stays open with a previous certificate.
            limits = httpx2.Limits(max_keepalive_connections=0)
            self._client._transport = httpx2.AsyncHTTPTransport(verify=context, trust_env=False, limits=limits)
        return given

    def _context(self, pem: str) -> ssl.SSLContext:
        assert self._config.user
        context = verify_cluster(self._config.cluster, self._config.user, self._config.abs_file, trust_env=False)
        with tempfile.NamedTemporaryFile() as file:  # Python reads certificates from files only; mode 0600
            file.write(pem.encode())
            file.flush()
            context.load_cert_chain(file.name, password="")  # never prompts on the terminal
        return context


def logged_in(client: GenericAsyncClient, tell: Tell | None) -> GenericAsyncClient:
    """The same client; a log-in by command uses `_Command`."""
    if isinstance(client._client.auth, ExecAuth):
        assert client.config
        client._client.auth = _Command(client._client, client.config, tell)
    return client


@contextmanager
def explained(what: object, config: SingleConfig | None) -> Iterator[None]:
    """Context for a request. Raises TransientError if it gets no response; the message contains no token."""
    login = f"{what}: authentication with the kubeconfig failed"
    try:
        yield
    except httpx2.LocalProtocolError:  # its text repeats the header
        raise TransientError(f"{login}: its token contains characters that are not allowed in HTTP headers") from None
    except (httpx2.TransportError, OSError) as error:
        where = f" at {_address(config)}" if config else ""
        text = f"{what}: the Kubernetes API cannot be reached{where}: {str(error) or type(error).__name__}"
        raise Unreachable(text) from error
    except UnicodeDecodeError:  # its text repeats its input
        raise TransientError(f"{login}: the file of its token is not text") from None
    except ConfigError as error:  # from a command or file that should provide a token
        raise TransientError(f"{login}: {printable(' '.join(str(error).split())[:300])}") from error


def _address(config: SingleConfig) -> str:
    """The API server's address without credentials, and, if it is from a file, its context."""
    server = urlsplit(config.cluster.server)
    address = f"{server.scheme}://{server.netloc.rpartition('@')[2]}{server.path}"
    return f"{address} (context {config.context_name})" if config.fname else address


def of_context(config: KubeConfig, context: str | None) -> SingleConfig:
    """Cluster and user of a context; None means the current one. Raises ConfigError with the known contexts if it is
    unknown.

    As for kubectl, relative paths of files, and of a command with a slash, start at the kubeconfig's folder.
    """
    name = config.current_context if context is None else context
    if name not in config.contexts:
        problem = f"Context '{name}' not found" if name else "it has no current context"
        raise ConfigError(f"{problem}; {choices(name, sorted(map(str, config.contexts)))}")
    single = config.get(context_name=name)
    assert single is not None, "lightkube returns None only without a name"
    if single.user is None or single.fname is None:
        return single
    user, folder = copy(single.user), Path(single.fname).absolute().parent
    if user.token_file:
        user.token_file = str(folder / user.token_file)
    if user.exec and "/" in user.exec.command:
        user.exec = copy(user.exec)
        user.exec.command = str(folder / user.exec.command)
    return single._replace(user=user)
