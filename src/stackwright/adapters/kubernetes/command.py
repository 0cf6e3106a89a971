"""Run the command that a kubeconfig names (`exec`), as client-go does.

If a user can read the standard error of the command, it is shown at once: it may contain the address of the log-in
page. Otherwise it becomes part of the error.
"""

from __future__ import annotations

import asyncio
import base64
import codecs
import json
import os
import sys
from asyncio.subprocess import DEVNULL, PIPE
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from lightkube.config.kubeconfig import SingleConfig
from lightkube.config.models import Cluster, UserExec
from lightkube.core.exceptions import ConfigError

from stackwright.api.errors import printable
from stackwright.api.secrecy import hidden

API = "client.authentication.k8s.io"
VERSIONS = tuple(f"{API}/{version}" for version in ("v1", "v1beta1", "v1alpha1"))
INFO = "KUBERNETES_EXEC_INFO"
READ, LONGEST, LINES = 1 << 14, 1 << 12, 20  # bytes per read; characters per line; lines in an error
PAUSE = 0.2  # seconds after which an unfinished line is shown, too: it may be a question
EXIT_POLL = 0.02  # seconds between checks whether a command that closed its output has ended
FOR_COMMANDS = ("tls-server-name", "proxy-url", "disable-compression")
Tell = Callable[[str], None]  # shows a text to the user, on a terminal or not


class Exec(UserExec, omit_defaults=True):
    """The fields that lightkube lacks."""

    interactiveMode: str | None = None
    provideClusterInfo: bool | None = None


class Served(Cluster, omit_defaults=True, rename={name.replace("-", "_"): name for name in FOR_COMMANDS}):
    """The fields of a cluster that lightkube lacks and does not use; a command may use them."""

    tls_server_name: str | None = None
    proxy_url: str | None = None
    disable_compression: bool | None = None
    extensions: Any = None


async def output(config: SingleConfig, limit: float, tell: Tell | None) -> bytes:
    """Standard output of the user's command, which may run for `limit` seconds. Raises ConfigError."""
    command = config.user.exec if config.user else None
    assert isinstance(command, Exec)
    name = f"its command {command.command}"
    asks = _asks(command, name, tell is not None and sys.stdin is not None and sys.stdin.isatty())
    environment = {**os.environ, **{each.name: each.value for each in command.env or ()}}
    try:
        process = await asyncio.create_subprocess_exec(
            *(command.command, *(command.args or ())),
            env={**environment, INFO: _info(command, config, asks)},
            stdin=None if asks else DEVNULL,
            stdout=PIPE,
            stderr=PIPE,
        )
    except (OSError, ValueError) as error:
        raise ConfigError(f"{name} could not be started: {getattr(error, 'strerror', None) or error}") from error
    assert process.stdout and process.stderr
    said = _Said(tell)
    listening = asyncio.create_task(said.listen(process.stderr))
    try:
        async with asyncio.timeout(limit):
            found = await process.stdout.read()
            while process.returncode is None:  # wait() would also wait until its children close standard error
                await asyncio.sleep(EXIT_POLL)
        await asyncio.wait({listening}, timeout=PAUSE)  # a browser started by the command may never close it
    except TimeoutError:
        last = f"; its last message: {said.last}" if said.last else ""
        raise ConfigError(f"{name} was not finished after {limit:.0f} s{last}") from None
    finally:
        listening.cancel()
        process._transport.close()  # type: ignore[attr-defined]  # kills it without waiting for its children
        await process.wait()
    if process.returncode:
        raise ConfigError(f"{name} ended with exit code {process.returncode}" + ("" if tell else f": {said.all}"))
    return found


def _asks(command: Exec, name: str, terminal: bool) -> bool:
    """Whether the command may ask the user, on standard input. Raises ConfigError."""
    if command.apiVersion not in VERSIONS:
        raise ConfigError(f"{name} has the unknown apiVersion {command.apiVersion}")
    mode = command.interactiveMode or "IfAvailable"
    if mode not in ("Never", "IfAvailable", "Always"):
        raise ConfigError(f"{name} has the unknown interactiveMode {mode}")
    if mode == "Always" and not terminal:
        raise ConfigError(f"{name} requires a terminal (interactiveMode: Always), but standard input is not a terminal")
    return terminal and mode != "Never"


def _info(command: Exec, config: SingleConfig, asks: bool) -> str:
    spec: dict[str, Any] = {"interactive": asks}
    if command.provideClusterInfo:
        spec["cluster"] = _served(config)
    return json.dumps({"kind": "ExecCredential", "apiVersion": command.apiVersion, "spec": spec})


def _served(config: SingleConfig) -> dict[str, Any]:
    """The cluster with the field names of the API. Raises ConfigError."""
    cluster = config.cluster
    assert isinstance(cluster, Served)
    authority = cluster.certificate_auth_data
    if cluster.certificate_auth and not authority:
        try:
            authority = base64.b64encode(Path(config.abs_file(cluster.certificate_auth)).read_bytes()).decode()
        except OSError as error:
            raise ConfigError(f"{cluster.certificate_auth}: {error.strerror}") from error
    extensions = cluster.extensions if isinstance(cluster.extensions, list) else []
    own = (each for each in extensions if isinstance(each, dict) and each.get("name") == f"{API}/exec")
    info = {
        "server": cluster.server,
        "tls-server-name": cluster.tls_server_name,
        "insecure-skip-tls-verify": cluster.insecure,
        "certificate-authority-data": authority,
        "proxy-url": cluster.proxy_url,
        "disable-compression": cluster.disable_compression,
        "config": next(own, {}).get("extension"),
    }
    return {name: value for name, value in info.items() if value}


class _Said:
    """Standard error of a command: line by line, safe for a terminal, without secrets."""

    def __init__(self, tell: Tell | None) -> None:
        self._tell = tell
        self._lines = deque[str](maxlen=LINES)
        self._line, self._shown = "", ""  # the unfinished line; its shown part

    @property
    def all(self) -> str:
        return hidden("\n".join(self._lines))

    @property
    def last(self) -> str:
        return _safe(next((line for line in (self._line, *reversed(self._lines)) if line.strip()), ""))

    async def listen(self, stream: asyncio.StreamReader) -> None:
        decoder, loop = codecs.getincrementaldecoder("utf-8")("replace"), asyncio.get_running_loop()
        question: asyncio.TimerHandle | None = None
        try:
            while chunk := await stream.read(READ):
                if question:
                    question.cancel()
                first, *more = decoder.decode(chunk).split("\n")
                self._line += first
                for line in more:
                    self._end()
                    self._line = line
                if len(self._line) > LONGEST:
                    self._end()
                question = loop.call_later(PAUSE, self._show)
        finally:
            if question:
                question.cancel()
            if self._line:
                self._end()

    def _end(self) -> None:
        self._show("\n")
        self._lines.append(self._line[:LONGEST])
        self._line = self._shown = ""

    def _show(self, end: str = "") -> None:
        if self._tell is None:
            return
        text = _safe(self._line[:LONGEST])
        again = "" if text.startswith(self._shown) else "\n"  # the new part revealed a secret
        with suppress(OSError, ValueError):  # standard error may be closed
            self._tell(again + (text if again else text[len(self._shown) :]) + end)
        self._shown = text


def _safe(line: str) -> str:
    return printable(hidden(line.rstrip("\r")))
